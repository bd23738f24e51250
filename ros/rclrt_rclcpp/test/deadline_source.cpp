// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// For test_deadlines.cpp: a process of rclcpp whose messages have deadlines.
//
//   deadline_source FILE   with a parameters file that gives /source/timer/20ms a deadline
//
// Publishes on /said, by turns as a message, as bytes and on loan. Each message is the deadline of the job that
// publishes it. A thread that is no job publishes {-1, 0}.

#include <signal.h>
#include <sys/prctl.h>

#include <atomic>
#include <builtin_interfaces/msg/time.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <rclcpp/rclcpp.hpp>
#include <rclcpp/serialization.hpp>
#include <thread>

#include "rclrt_core/job.hpp"
#include "rclrt_core/policy.hpp"
#include "rclrt_rclcpp/preemptive_executor.hpp"

using builtin_interfaces::msg::Time;
using std::chrono::milliseconds;

int main(int argc, char ** argv)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setenv("ROS_DISABLE_LOANED_MESSAGES", "0", 1);
  rclcpp::init(argc, argv);
  const auto node = std::make_shared<rclcpp::Node>("source");
  const auto publisher = node->create_publisher<Time>("said", 30);
  int turn = 0;
  const auto timer = node->create_wall_timer(milliseconds(20), [&] {
    const int64_t deadline = rclrt_core::nanoseconds_of(rclrt_core::current_job()->deadline);
    Time message;
    message.sec = static_cast<int32_t>(deadline / 1'000'000'000);
    message.nanosec = static_cast<uint32_t>(deadline % 1'000'000'000);
    if (turn == 0) {
      publisher->publish(message);
    } else if (turn == 1) {
      rclcpp::SerializedMessage bytes;
      rclcpp::Serialization<Time>().serialize_message(&message, &bytes);
      publisher->publish(bytes);
    } else {
      auto loan = publisher->borrow_loaned_message();
      loan.get() = message;
      publisher->publish(std::move(loan));
    }
    turn = (turn + 1) % 3;
  });
  rclrt_rclcpp::PreemptiveExecutorOptions options;
  options.policy = &rclrt_core::edf_policy();
  options.configuration_file = argc > 1 ? argv[1] : "";
  rclrt_rclcpp::PreemptiveExecutor executor({}, options);
  executor.add_node(node);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    Time message;
    message.sec = -1;
    while (!stop) {
      publisher->publish(message);
      std::this_thread::sleep_for(milliseconds(50));
    }
  });
  executor.spin();
  stop = true;
  other.join();
  rclcpp::shutdown();
}
