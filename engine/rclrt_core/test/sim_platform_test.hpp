// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What the tests of the simulated platform share.
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "rclrt_core/sim_platform.hpp"

namespace rclrt_core
{

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

inline Attributes fifo(int priority, const std::vector<int> & cpus = {})
{
  Attributes attributes;
  attributes.policy = SchedulingPolicy::kFifo;
  attributes.priority = priority;
  attributes.cpu_affinity = CpuSet(cpus);
  return attributes;
}

inline Attributes other(int nice)
{
  Attributes attributes;
  attributes.policy = SchedulingPolicy::kOther;
  attributes.nice = nice;
  return attributes;
}

inline TimePoint at_ms(int64_t ms) { return TimePoint(milliseconds(ms)); }

class SimPlatformTest : public ::testing::Test
{
protected:
  void start_on(
    SimPlatform & platform, const std::string & name, const Attributes & attributes,
    std::function<void()> body)
  {
    ThreadOptions options;
    options.name = name;
    options.attributes = attributes;
    std::unique_ptr<Thread> thread;
    const Status status = platform.start_thread(
      options, std::move(body), [this](const Finding & f) { findings.push_back(to_string(f)); },
      &thread);
    ASSERT_TRUE(status.ok()) << status.message();
    threads.push_back(std::move(thread));
  }
  void start(const std::string & name, const Attributes & attributes, std::function<void()> body)
  {
    start_on(sim, name, attributes, std::move(body));
  }

  /// Threads that use the CPU: NAME PRIORITY FROM_MS WORK_MS, then perhaps: with MUTEX (first or second); on CPU.
  void expect_schedule(
    const std::string & promise, int cpus, SimPlatform::Locks locks, const std::string & jobs,
    const std::vector<std::string> & schedule)
  {
    SCOPED_TRACE(promise);
    SimPlatform platform(cpus);
    platform.set_locks(locks);
    const std::unique_ptr<Mutex> first = platform.make_mutex();
    const std::unique_ptr<Mutex> second = platform.make_mutex();
    expect_run(platform, [&] {
      std::istringstream lines(jobs);
      for (std::string line; std::getline(lines, line, ',');) {
        std::istringstream words(line);
        std::string name;
        int priority = 0, from_ms = 0, work_ms = 0;
        words >> name >> priority >> from_ms >> work_ms;
        ASSERT_TRUE(words) << line;
        std::vector<Mutex *> used;
        std::vector<int> on;
        for (std::string word; words >> word;) {
          if (word == "with") {
            words >> word;
            used.push_back(word == "first" ? first.get() : second.get());
          } else {
            words >> on.emplace_back();
          }
        }
        const auto body = [=, &platform] {
          platform.sleep_until(at_ms(from_ms));
          for (Mutex * mutex : used) {
            mutex->lock();
          }
          platform.work(milliseconds(work_ms));
          for (auto mutex = used.rbegin(); mutex != used.rend(); ++mutex) {
            (*mutex)->unlock();
          }
        };
        start_on(platform, name, fifo(priority, on), body);
      }
    });
    EXPECT_EQ(platform.schedule(), schedule);
    threads.clear();
  }

  void expect_run(SimPlatform & platform, std::function<void()> main_body)
  {
    const Status status = platform.run(std::move(main_body));
    EXPECT_TRUE(status.ok()) << status.message();
  }
  void expect_run(std::function<void()> main_body) { expect_run(sim, std::move(main_body)); }

  SimPlatform sim{1};
  SimPlatform duo{2};
  std::vector<std::string> findings;
  std::vector<std::string> events;
  std::vector<std::unique_ptr<Thread>> threads;
};

}  // namespace rclrt_core
