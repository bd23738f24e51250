// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What the tests of the simulated platform share.
#ifndef SIM_PLATFORM_TEST_HPP_
#define SIM_PLATFORM_TEST_HPP_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
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
  void start(
    const std::string & name, const Attributes & attributes, std::function<void()> body,
    SimPlatform * platform = nullptr)
  {
    ThreadOptions options;
    options.name = name;
    options.attributes = attributes;
    SimPlatform & on = platform == nullptr ? sim : *platform;
    std::unique_ptr<Thread> thread;
    const Status status = on.start_thread(
      options, std::move(body), [this](const Finding & f) { findings.push_back(to_string(f)); },
      &thread);
    ASSERT_TRUE(status.ok()) << status.message();
    threads.push_back(std::move(thread));
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

#endif  // SIM_PLATFORM_TEST_HPP_
