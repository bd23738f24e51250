// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What an action server publishes does not hold it up, and the more urgent client comes first.

#include "conformance/publications.hpp"
#include "rclcpp_action/rclcpp_action.hpp"
#include "test_msgs/action/fibonacci.hpp"

namespace rclrt_rclcpp
{
namespace
{

using Fibonacci = test_msgs::action::Fibonacci;
using ClientGoal = rclcpp_action::ClientGoalHandle<Fibonacci>;
using ServerGoal = rclcpp_action::ServerGoalHandle<Fibonacci>;

class PublicationsOfActions : public conformance::Publications
{
};
OVER_OUR_EXECUTORS(PublicationsOfActions);

// Every client of an action is told of all feedback. It is for `mid`; `high` has nothing to do with it.
TEST_P(PublicationsOfActions, release_the_more_urgent_client_first)
{
  std::shared_ptr<ServerGoal> goal;
  std::atomic<bool> has_goal{false};
  const auto server = rclcpp_action::create_server<Fibonacci>(
    low, "fibonacci",
    [](const rclcpp_action::GoalUUID &, const std::shared_ptr<const Fibonacci::Goal> &) {
      return rclcpp_action::GoalResponse::ACCEPT_AND_EXECUTE;
    },
    [](const std::shared_ptr<ServerGoal> &) { return rclcpp_action::CancelResponse::ACCEPT; },
    [&](const std::shared_ptr<ServerGoal> & accepted) {
      goal = accepted;
      has_goal = true;
    });
  const auto of_mid = rclcpp_action::create_client<Fibonacci>(mid, "fibonacci");
  const auto of_high = rclcpp_action::create_client<Fibonacci>(high, "fibonacci");
  spin();
  ASSERT_TRUE(of_mid->wait_for_action_server(seconds(30)));
  ASSERT_TRUE(of_high->wait_for_action_server(seconds(30)));
  typename rclcpp_action::Client<Fibonacci>::SendGoalOptions options;
  options.feedback_callback =
    [](const ClientGoal::SharedPtr &, const std::shared_ptr<const Fibonacci::Feedback> &) {
      conformance::compute();
    };
  const auto sent = of_mid->async_send_goal(Fibonacci::Goal(), options);
  ASSERT_EQ(sent.wait_for(seconds(30)), std::future_status::ready);
  ASSERT_TRUE(wait_for([&] { return has_goal.load(); }));
  std::this_thread::sleep_for(milliseconds(100));  // the goal's status, too, has arrived everywhere
  run_at_low([&] { goal->publish_feedback(std::make_shared<Fibonacci::Feedback>()); });
  expect_high_before_mid();
  run_at_low([&] { goal->succeed(std::make_shared<Fibonacci::Result>()); });
  goal.reset();
}

}  // namespace
}  // namespace rclrt_rclcpp
