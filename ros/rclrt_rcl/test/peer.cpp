// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The other side of test_peers.py: an ordinary program with a node that answers every message.
//   peer <preemptive|isolated|events> [--never-return] [--ros-args ...]

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "rcl_interfaces/msg/log.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace
{

using rcl_interfaces::msg::Log;

class Echo : public rclrt_rcl::Node
{
public:
  explicit Echo(bool never_return)
  : Node("echo"),
    publisher_(create_publisher<Log>("answer", 10)),
    subscription_(
      create_subscription<Log>("question", 10, [this, never_return](const Log & question) {
        Log answer = question;
        answer.name = fully_qualified_name();
        publisher_->publish(answer);
        while (never_return) {
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
          try {
            publisher_->publish(answer);  // who asked may not have been connected the first time
          } catch (const rclrt_rcl::ShutdownError &) {
            continue;  // it does not even stop for this
          }
        }
      }))
  {
  }

private:
  std::shared_ptr<rclrt_rcl::Publisher<Log>> publisher_;
  std::shared_ptr<rclrt_rcl::Subscription<Log>> subscription_;
};

std::unique_ptr<rclrt_rcl::Executor> make_executor(const std::string & kind)
{
  if (kind == "isolated") {
    return std::make_unique<rclrt_rcl::CallbackIsolatedExecutor>();
  }
  if (kind == "events") {
    return std::make_unique<rclrt_rcl::PriorityEventsExecutor>();
  }
  return std::make_unique<rclrt_rcl::PreemptiveExecutor>();
}

}  // namespace

int main(int argc, char ** argv)
{
  try {
    rclrt_rcl::init(argc, argv);
  } catch (const rclrt_rcl::Error & error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  const auto arguments = rclrt_rcl::default_context()->non_ros_arguments();
  {
    auto echo = std::make_shared<Echo>(arguments.back() == "--never-return");
    const auto executor = make_executor(arguments.at(1));
    executor->add_node(echo);
    std::puts("ready");
    std::fflush(stdout);
    executor->spin();
  }
  std::puts(rclrt_rcl::default_context()->shutdown_reason().c_str());
  rclrt_rcl::shutdown();
}
