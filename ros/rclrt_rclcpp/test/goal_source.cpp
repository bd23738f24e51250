// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// For test_deadlines_of_goals.cpp: a process of rclcpp whose goals have deadlines.
//
//   goal_source FILE   with a parameters file that gives /goal_source/timer/20ms a deadline
//
// Sends a goal to the action /fibonacci every 20 ms. Its order is the lower 31 bits of the deadline of the job that sends
// it, ns.

#include <signal.h>
#include <sys/prctl.h>

#include <chrono>
#include <memory>
#include <rclcpp/rclcpp.hpp>
#include <rclcpp_action/rclcpp_action.hpp>
#include <test_msgs/action/fibonacci.hpp>

#include "rclrt_core/job.hpp"
#include "rclrt_core/policy.hpp"
#include "rclrt_rclcpp/preemptive_executor.hpp"

int main(int argc, char ** argv)
{
  using test_msgs::action::Fibonacci;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  rclcpp::init(argc, argv);
  const auto node = std::make_shared<rclcpp::Node>("goal_source");
  const auto client = rclcpp_action::create_client<Fibonacci>(node, "fibonacci");
  const auto timer = node->create_wall_timer(std::chrono::milliseconds(20), [&] {
    const int64_t deadline = rclrt_core::nanoseconds_of(rclrt_core::current_job()->deadline);
    Fibonacci::Goal goal;
    goal.order = static_cast<int32_t>(deadline & 0x7fffffff);
    if (client->action_server_is_ready()) {
      client->async_send_goal(goal);
    }
  });
  rclrt_rclcpp::PreemptiveExecutorOptions options;
  options.policy = &rclrt_core::edf_policy();
  options.configuration_file = argc > 1 ? argv[1] : "";
  rclrt_rclcpp::PreemptiveExecutor executor({}, options);
  executor.add_node(node);
  executor.spin();
  rclcpp::shutdown();
}
