// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// An action server asks whether to accept a goal by the deadline of the job that has sent it, in another process.

#include <atomic>
#include <memory>

#include "deadlines_fixture.hpp"
#include "rclcpp_action/rclcpp_action.hpp"
#include "test_msgs/action/fibonacci.hpp"

namespace rclrt_rclcpp
{
namespace
{

using Fibonacci = test_msgs::action::Fibonacci;
using ServerGoal = rclcpp_action::ServerGoalHandle<Fibonacci>;

template <typename ExecutorT>
using DeadlinesOfGoals = CarriedDeadlines<ExecutorT>;

TYPED_TEST_SUITE(DeadlinesOfGoals, Configurable, ExecutorNames);

TYPED_TEST(DeadlinesOfGoals, come_from_other_processes)
{
  const File file(
    "/**:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
    "        /goal_source/timer/20ms: {relative_deadline: 500ms}\n");
  const std::shared_ptr<rclcpp::Node> node = this->make_node("server");
  const auto executor = this->make_edf_executor();
  std::atomic<int> right{0};
  std::atomic<int> wrong{0};
  const auto server = rclcpp_action::create_server<Fibonacci>(
    node, "fibonacci",
    [&](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Fibonacci::Goal> & goal) {
      ++((deadline_here() & 0x7fffffff) == goal->order ? right : wrong);
      return rclcpp_action::GoalResponse::REJECT;
    },
    [](const std::shared_ptr<ServerGoal> &) { return rclcpp_action::CancelResponse::ACCEPT; },
    [](const std::shared_ptr<ServerGoal> &) {});
  executor->add_node(node);
  const Process source({GOAL_SOURCE, file.path().c_str()});
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return right + wrong >= 10; }));
  EXPECT_EQ(wrong, 0) << "beside " << right << " that are right";
}

}  // namespace
}  // namespace rclrt_rclcpp
