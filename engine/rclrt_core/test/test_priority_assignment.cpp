// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/policy.hpp"

#include <gtest/gtest.h>

namespace rclrt_core
{
namespace
{

using std::chrono::milliseconds;

PriorityTask timer(const char * name, int period_ms, int deadline_ms = 0)
{
  PriorityTask task;
  task.name = name;
  task.period = milliseconds(period_ms);
  task.relative_deadline = milliseconds(deadline_ms);
  return task;
}

PriorityTask subscription(const char * name, std::vector<std::size_t> upstream)
{
  PriorityTask task;
  task.name = name;
  task.upstream = std::move(upstream);
  return task;
}

std::vector<int> priorities(const std::vector<PriorityTask> & tasks)
{
  std::vector<int> result;
  for (const PriorityTask & task : tasks) {
    result.push_back(task.priority);
  }
  return result;
}

TEST(RateMonotonic, shorter_periods_get_higher_priorities_and_equal_ones_share)
{
  std::vector<PriorityTask> tasks{timer("a", 100), timer("b", 25), timer("c", 100), timer("d", 60)};
  ASSERT_TRUE(assign_priorities(PriorityKey::kRateMonotonic, 1, 50, &tasks).ok());
  EXPECT_EQ(priorities(tasks), (std::vector<int>{48, 50, 48, 49}));
}

TEST(DeadlineMonotonic, shorter_relative_deadlines_get_higher_priorities)
{
  std::vector<PriorityTask> tasks{timer("a", 100, 10), timer("b", 25), timer("c", 50, 40)};
  ASSERT_TRUE(assign_priorities(PriorityKey::kDeadlineMonotonic, 1, 50, &tasks).ok());
  EXPECT_EQ(priorities(tasks), (std::vector<int>{50, 49, 48}));
}

TEST(Inheritance, a_subscription_gets_the_highest_priority_of_everything_upstream)
{
  std::vector<PriorityTask> tasks{
    timer("slow", 100),
    timer("fast", 10),
    subscription("after slow", {0}),
    subscription("join", {2, 4}),
    subscription("after fast", {1}),
    subscription("end", {3})};
  ASSERT_TRUE(assign_priorities(PriorityKey::kRateMonotonic, 1, 50, &tasks).ok());
  EXPECT_EQ(priorities(tasks), (std::vector<int>{49, 50, 49, 50, 50, 50}));
}

TEST(Inheritance, a_given_priority_is_kept_and_passed_on)
{
  std::vector<PriorityTask> tasks{
    timer("t", 100), subscription("own", {0}), subscription("end", {1})};
  tasks[1].priority = 80;
  ASSERT_TRUE(assign_priorities(PriorityKey::kRateMonotonic, 1, 50, &tasks).ok());
  EXPECT_EQ(priorities(tasks), (std::vector<int>{50, 80, 80}));
}

TEST(Inheritance, a_cycle_that_a_timer_feeds_settles)
{
  std::vector<PriorityTask> tasks{
    timer("t", 100), subscription("a", {0, 2}), subscription("b", {1})};
  ASSERT_TRUE(assign_priorities(PriorityKey::kRateMonotonic, 1, 50, &tasks).ok());
  EXPECT_EQ(priorities(tasks), (std::vector<int>{50, 50, 50}));
}

TEST(Range, more_keys_than_priorities_share_the_lowest)
{
  std::vector<PriorityTask> tasks{timer("a", 1), timer("b", 2), timer("c", 3), timer("d", 4)};
  ASSERT_TRUE(assign_priorities(PriorityKey::kRateMonotonic, 10, 11, &tasks).ok());
  EXPECT_EQ(priorities(tasks), (std::vector<int>{11, 10, 10, 10}));
}

TEST(Errors, name_the_task_and_the_reason)
{
  const auto message = [](std::vector<PriorityTask> tasks, int lowest = 1, int highest = 50) {
    return assign_priorities(PriorityKey::kRateMonotonic, lowest, highest, &tasks).message();
  };
  EXPECT_NE(message({subscription("lone", {})}).find("'lone': has no period"), std::string::npos);
  EXPECT_NE(
    message({subscription("a", {1}), subscription("b", {0})}).find("cycle"), std::string::npos);
  EXPECT_NE(message({subscription("a", {9})}).find("index 9"), std::string::npos);
  EXPECT_NE(message({timer("neg", -1)}).find("'neg': period is negative"), std::string::npos);
  EXPECT_NE(message({timer("a", 1)}, 0, 50).find("1-99"), std::string::npos);
  EXPECT_NE(message({timer("a", 1)}, 60, 50).find("1-99"), std::string::npos);
}

}  // namespace
}  // namespace rclrt_core
