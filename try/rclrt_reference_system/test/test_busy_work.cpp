// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "rclrt_reference_system/busy_work.hpp"

namespace rclrt_reference_system
{
namespace
{

using namespace std::chrono_literals;
using rclrt_core::Duration;

// Everything here is compared with the CPU clock of the thread, never with the wall clock. Kernels
// charge interrupts to whom they interrupt, so a single reading may be off; the median is not.
Duration median_cpu_time(const BusyWork & work, Duration asked, int runs)
{
  std::vector<Duration> took;
  for (int i = 0; i < runs; ++i) {
    const Duration start = thread_cpu_time();
    work.run(asked);
    took.push_back(thread_cpu_time() - start);
  }
  std::sort(took.begin(), took.end());
  return took[took.size() / 2];
}

TEST(BusyWork, takes_the_cpu_time_asked_for)
{
  const BusyWork work = BusyWork::calibrate();
  for (const Duration asked : {Duration(200us), Duration(1930us), Duration(10ms)}) {
    const Duration took = median_cpu_time(work, asked, 9);
    EXPECT_GE(took, asked);
    EXPECT_LT(took, asked + 2 * BusyWork::kStep) << asked.count();
  }
}

TEST(BusyWork, never_takes_less_than_asked_even_if_the_calibration_is_wrong)
{
  const double speed = BusyWork::calibrate().iterations_per_ms();
  for (const double wrong : {speed / 1000, speed / 2}) {
    EXPECT_GE(median_cpu_time(BusyWork(wrong), 2ms, 5), Duration(2ms));
  }
  // Calibrated too fast by a half: it overshoots by half a step at most.
  EXPECT_LT(median_cpu_time(BusyWork(speed * 1.5), 2ms, 9), Duration(2ms) + 2 * BusyWork::kStep);
}

TEST(BusyWork, nothing_is_asked_nothing_is_done)
{
  const BusyWork work = BusyWork::calibrate();
  EXPECT_LT(median_cpu_time(work, Duration(0), 9), Duration(100us));
  EXPECT_LT(median_cpu_time(work, Duration(-1), 9), Duration(100us));
}

// On one CPU two threads preempt each other: on the wall clock each takes twice as long, but neither
// may work less for it.
TEST(BusyWork, preempted_work_still_takes_all_of_its_cpu_time)
{
  const BusyWork work = BusyWork::calibrate();
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed)) {
    ++cpu;
  }
  constexpr Duration kAsked = 60ms;
  struct Result
  {
    Duration took{0};
    Duration elapsed{0};
    Duration away{0};
    long preemptions = 0;
  };
  std::vector<Result> results(2);
  pthread_barrier_t both_ready;
  pthread_barrier_init(&both_ready, nullptr, 2);
  std::vector<std::thread> threads;
  for (Result & result : results) {
    threads.emplace_back([&work, &result, &both_ready, cpu, kAsked] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
      pthread_barrier_wait(&both_ready);
      const Duration start = thread_cpu_time();
      const auto began = std::chrono::steady_clock::now();
      result.away = work.run(kAsked);
      result.elapsed = std::chrono::steady_clock::now() - began;
      result.took = thread_cpu_time() - start;
      rusage usage{};
      getrusage(RUSAGE_THREAD, &usage);
      result.preemptions = usage.ru_nivcsw;
    });
  }
  for (std::thread & thread : threads) {
    thread.join();
  }
  pthread_barrier_destroy(&both_ready);
  EXPECT_GT(results[0].preemptions + results[1].preemptions, 0);
  for (const Result & result : results) {
    EXPECT_GE(result.took, kAsked);
    EXPECT_LT(result.took, kAsked + 20 * BusyWork::kStep);
    EXPECT_LE(result.away, result.elapsed - kAsked) << "only what it took longer";
  }
  EXPECT_GT(results[0].away + results[1].away, 2 * BusyWork::kAway);
}

TEST(BusyWork, that_is_not_preempted_was_not_away)
{
  const BusyWork work = BusyWork::calibrate();
  std::vector<Duration> away;
  for (int i = 0; i < 21; ++i) {
    away.push_back(work.run(300us));
  }
  std::sort(away.begin(), away.end());
  EXPECT_EQ(away[away.size() / 2], Duration(0));
}

}  // namespace
}  // namespace rclrt_reference_system
