// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// A program on one executor, for tests of the order in which callbacks run.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "system.hpp"

// What several calls have returned.
inline void expect_all(rclrt_ret wanted, const std::vector<rclrt_ret> & returned)
{
  for (size_t i = 0; i < returned.size(); ++i) {
    EXPECT_EQ(returned[i], wanted) << "of call " << i << ", from 0";
  }
}

// Its callbacks write their names.
class Program : public ::testing::Test
{
protected:
  struct Job
  {
    Program * program;
    std::string name;
    uint64_t work_ns;
    rclrt_timer timer{};
    rclrt_guard guard{};
    rclrt_subscription subscription{};
    Blob message;
  };

  Job & job(const std::string & name, uint64_t work_ns = 0)
  {
    jobs.push_back(std::make_unique<Job>());
    jobs.back()->program = this;
    jobs.back()->name = name;
    jobs.back()->work_ns = work_ns;
    return *jobs.back();
  }

  Job & timer(const std::string & name, uint64_t period_ms, uint8_t priority, uint64_t work_ns = 0)
  {
    Job & added = job(name, work_ns);
    EXPECT_EQ(
      rclrt_executor_add_timer_at(
        &system.executor, &added.timer, start_ns() + period_ms * kMs, period_ms * kMs, priority,
        [](void * context, rclrt_timer *) { ran(context, ""); }, &added),
      RCLRT_OK);
    return added;
  }

  Job & guard(const std::string & name, uint8_t priority, uint64_t work_ns = 0)
  {
    Job & added = job(name, work_ns);
    EXPECT_EQ(
      rclrt_executor_add_guard(
        &system.executor, &added.guard, priority, [](void * context) { ran(context, ""); }, &added),
      RCLRT_OK);
    return added;
  }

  Job & subscription(
    const std::string & name, uint8_t priority, uint64_t work_ns = 0,
    rclrt_invocation invocation = RCLRT_ON_NEW_DATA)
  {
    Job & added = job(name, work_ns);
    EXPECT_EQ(
      rclrt_subscription_init(
        &added.subscription, &system.node, &kBlob, added.name.c_str(), rclrt_qos_reliable()),
      RCLRT_OK);
    EXPECT_EQ(
      rclrt_executor_add_subscription(
        &system.executor, &added.subscription, &added.message,
        [](void * context, const void * message) {
          const auto * blob = static_cast<const Blob *>(message);
          ran(context, blob == nullptr ? "-" : std::to_string(blob->number));
        },
        &added, priority, invocation),
      RCLRT_OK);
    system.settle(100);
    rclrt_session_handle(&system.session);
    system.settle(100);
    return added;
  }

  static void ran(void * context, const std::string & what)
  {
    auto & self = *static_cast<Job *>(context);
    auto & program = *self.program;
    program.log += (program.log.empty() ? "" : " ") + self.name + what;
    program.system.world.work(self.work_ns);
  }

  void publish(const std::string & name, uint32_t number)
  {
    system.agent.publish("rt/" + name, ::number(number));
    system.arm_agent();
  }

  // Levels from these priorities on.
  rclrt_micro::SimLevels & use_levels(const std::vector<uint8_t> & floors)
  {
    levels_.emplace(system.world, system.port, [this](unsigned level) {
      (void)rclrt_executor_run_level(&system.executor, level);
    });
    must(rclrt_executor_use_levels(
      &system.executor, floors.data(), static_cast<uint8_t>(floors.size())));
    return *levels_;
  }

  // Phases are counted from here.
  uint64_t start_ns()
  {
    if (start_ns_ == 0) {
      start_ns_ = (system.world.now_ns() / (1000 * kMs) + 5) * 1000 * kMs;
    }
    return start_ns_;
  }

  // Rounds until `ms` after the start; a round that waits is cut at the end.
  void spin_until(uint64_t ms) { system.spin_until(start_ns() + ms * kMs); }

  Started system;
  std::vector<std::unique_ptr<Job>> jobs;
  std::string log;

private:
  std::optional<rclrt_micro::SimLevels> levels_;
  uint64_t start_ns_ = 0;
};
