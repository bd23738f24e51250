// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What a thread learns of its own use of the CPU.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <thread>

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

#include "rclrt_core/linux_platform.hpp"

namespace rclrt_core
{
namespace
{

class CpuWatches : public ::testing::Test
{
protected:
  LinuxPlatform platform;
};

/// Whether the kernel and the C library have restartable sequences.
bool has_rseq()
{
#if __has_include(<sys/rseq.h>)
  return __rseq_size != 0;
#else
  return false;
#endif
}
constexpr char kNoRseq[] = "this kernel or C library has no restartable sequences (rseq)";

TEST_F(CpuWatches, a_thread_that_loses_its_cpu_now_and_then_has_kept_it_in_between)
{
  if (!has_rseq()) {
    GTEST_SKIP() << kNoRseq;
  }
  CpuUse use;
  for (int i = 0; i < 1000 && !use.has_kept; ++i) {
    use = platform.end_watch(platform.watch_cpu(true));
  }
  EXPECT_TRUE(use.has_kept);
  EXPECT_EQ(use.preemptions, 0);
  EXPECT_EQ(use.cpu_ns, -1) << "nobody need ask the system";
}

TEST_F(CpuWatches, the_cpu_time_of_a_thread_that_lost_its_cpu_is_what_the_system_says)
{
  const auto cpu_time = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::nanoseconds(std::chrono::seconds(time.tv_sec)).count() + time.tv_nsec;
  };
  const int64_t before = cpu_time();
  const CpuWatch watch = platform.watch_cpu(true);
  const int64_t begin = cpu_time();
  while (cpu_time() < begin + 1'000'000) {
  }
  const int64_t end = cpu_time();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const CpuUse use = platform.end_watch(watch);
  const int64_t after = cpu_time();
  EXPECT_GE(use.cpu_ns, end - begin);
  EXPECT_LE(use.cpu_ns, after - before);
}

TEST_F(CpuWatches, a_thread_that_slept_has_not_kept_its_cpu_and_its_sleep_is_no_cpu_time)
{
  const CpuWatch watch = platform.watch_cpu(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const CpuUse use = platform.end_watch(watch);
  EXPECT_FALSE(use.has_kept);
  EXPECT_EQ(use.preemptions, -1);
  EXPECT_GE(use.cpu_ns, 0);
  const CpuWatch unmeasured = platform.watch_cpu(false);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const CpuUse unknown = platform.end_watch(unmeasured);
  EXPECT_FALSE(unknown.has_kept);
  EXPECT_EQ(unknown.cpu_ns, -1);
}

TEST_F(CpuWatches, a_watch_around_another_learns_that_the_cpu_was_lost_before_the_inner_one)
{
  if (!has_rseq()) {
    GTEST_SKIP() << kNoRseq;
  }
  const CpuWatch outer = platform.watch_cpu(false);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  bool inner_has_kept = false;
  for (int i = 0; i < 100 && !inner_has_kept; ++i) {
    inner_has_kept = platform.end_watch(platform.watch_cpu(false)).has_kept;
  }
  EXPECT_TRUE(inner_has_kept);
  EXPECT_FALSE(platform.end_watch(outer).has_kept);
}

TEST_F(CpuWatches, a_watch_around_another_goes_on_when_the_inner_one_has_ended)
{
  if (!has_rseq()) {
    GTEST_SKIP() << kNoRseq;
  }
  bool has_kept = false;
  for (int i = 0; i < 1000 && !has_kept; ++i) {
    const CpuWatch outer = platform.watch_cpu(false);
    platform.end_watch(platform.watch_cpu(false));
    has_kept = platform.end_watch(outer).has_kept;
  }
  EXPECT_TRUE(has_kept);
  EXPECT_FALSE(platform.end_watch({}).has_kept) << "nothing is watched any more";
}

}  // namespace
}  // namespace rclrt_core
