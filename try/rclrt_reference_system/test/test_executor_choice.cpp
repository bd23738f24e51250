// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor_choice.hpp"

namespace rclrt_reference_system
{
namespace
{

using rclrt_core::SchedulingPolicy;
using testing::HasSubstr;

ExecutorChoice chosen(const std::string & name, const std::string & policy = "")
{
  ExecutorChoice choice;
  const rclrt_core::Status status = choose_executor(name, policy, "", &choice);
  EXPECT_TRUE(status.ok()) << status.message();
  return choice;
}

std::string refusal(
  const std::string & name, const std::string & policy = "", const std::string & file = "")
{
  ExecutorChoice choice;
  return choose_executor(name, policy, file, &choice).message();
}

PlannedCallback urgent()
{
  PlannedCallback callback;
  callback.priority = 42;
  callback.deadline = std::chrono::milliseconds(7);
  return callback;
}

TEST(ExecutorChoice, every_name_can_be_chosen)
{
  for (const std::string & name : executor_names()) {
    EXPECT_EQ(chosen(name).name, name);
  }
}

TEST(ExecutorChoice, an_unknown_name_is_refused_and_the_known_ones_listed)
{
  EXPECT_THAT(refusal("preemtive"), HasSubstr("unknown executor 'preemtive'. Use one of: "));
  EXPECT_THAT(refusal(""), HasSubstr("wait_set_single, wait_set_multi, static, events_fifo, "));
  EXPECT_THAT(refusal("preemptive", "lifo"), HasSubstr("unknown policy 'lifo'"));
  EXPECT_THAT(refusal("static", "rm"), HasSubstr("executor 'static' has no policy 'rm'"));
  EXPECT_THAT(refusal("static", "", "x.yaml"), HasSubstr("takes no parameters file"));
}

TEST(ExecutorChoice, the_pool_and_the_isolated_threads_ask_the_os_for_the_priority)
{
  for (const char * name : {"preemptive", "isolated", "preemptive_hot"}) {
    const rclrt_rcl::Scheduling asked = scheduling_for(chosen(name), urgent(), {});
    EXPECT_EQ(asked.attributes.policy, SchedulingPolicy::kFifo) << name;
    EXPECT_EQ(asked.attributes.priority, 42) << name;
  }
}

TEST(ExecutorChoice, where_the_executor_orders_jobs_all_callbacks_share_one_os_priority)
{
  const rclrt_rcl::Scheduling asked = scheduling_for(chosen("priority_events"), urgent(), {});
  EXPECT_EQ(asked.attributes.policy, SchedulingPolicy::kFifo);
  EXPECT_EQ(asked.attributes.priority, 50);
  EXPECT_EQ(asked.queue_priority, 42);
  EXPECT_EQ(asked.relative_deadline, std::chrono::milliseconds(7));
}

TEST(ExecutorChoice, under_preemptive_edf_the_os_orders_by_deadline)
{
  const rclrt_rcl::Scheduling asked = scheduling_for(chosen("preemptive_edf"), urgent(), {});
  EXPECT_EQ(asked.attributes.policy, SchedulingPolicy::kExt);
  EXPECT_EQ(asked.attributes.priority, 0);
  EXPECT_EQ(asked.relative_deadline, std::chrono::milliseconds(7));
}

TEST(ExecutorChoice, a_baseline_asks_for_nothing)
{
  ScenarioNode node;
  node.cpu_affinity = rclrt_core::CpuSet({0});
  for (const char * name : {"wait_set_single", "wait_set_multi", "static", "events_fifo"}) {
    const rclrt_rcl::Scheduling asked = scheduling_for(chosen(name), urgent(), node);
    EXPECT_EQ(asked.attributes, rclrt_core::Attributes()) << name;
  }
}

}  // namespace
}  // namespace rclrt_reference_system
