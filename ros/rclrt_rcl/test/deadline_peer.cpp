// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// One side of test_deadlines_across_processes.py.
//   deadline_peer source <relative deadline ms>   publishes on /ping, by a timer, and says each deadline
//   deadline_peer relay [<relative deadline ms>]  answers /ping on /pong, and says its jobs' deadlines
//   deadline_peer sink                            takes /pong and says its jobs' deadlines
//   deadline_peer stamped <relative deadline ms>  takes /ping; deadlines count from source time stamps
//   deadline_peer times                           takes messages of a plain type on /times, and says its jobs' deadlines
//   deadline_peer asker <relative deadline ms>    asks /echo by a timer, and says its deadlines and those of its replies
//   deadline_peer server                          answers /echo, and says its jobs' deadlines
// Each line: the message's number and the job's deadline, nanoseconds of CLOCK_MONOTONIC, or "none". Replies have the
// number of the request and a million.

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "builtin_interfaces/msg/time.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rcl_interfaces/srv/get_parameters.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace
{

using builtin_interfaces::msg::Time;
using rcl_interfaces::msg::Log;
using Ask = rcl_interfaces::srv::GetParameters;
using std::chrono::milliseconds;

void say(uint32_t number)
{
  const rclrt_core::TimePoint deadline = rclrt_core::current_job()->deadline;
  if (deadline == rclrt_core::kNever) {
    std::printf("%" PRIu32 " none\n", number);
  } else {
    std::printf("%" PRIu32 " %" PRId64 "\n", number, rclrt_core::nanoseconds_of(deadline));
  }
  std::fflush(stdout);
}

std::shared_ptr<rclrt_rcl::Entity> make_server(rclrt_rcl::Node & node)
{
  return node.create_service<Ask>("echo", [](const Ask::Request & request, Ask::Response &) {
    say(static_cast<uint32_t>(std::stoul(request.names.at(0))));
  });
}

std::shared_ptr<rclrt_rcl::Entity> make_asker(rclrt_rcl::Node & node, milliseconds relative)
{
  const auto client = node.create_client<Ask>("echo");
  rclrt_rcl::TimerOptions options;
  options.scheduling.relative_deadline = relative;
  return node.create_wall_timer(
    milliseconds(20),
    [client, number = uint32_t{0}]() mutable {
      if (client->service_is_ready()) {
        Ask::Request request;
        request.names.push_back(std::to_string(++number));
        say(number);
        client->async_send_request(
          request, [number](const Ask::Response &) { say(number + 1'000'000); });
      }
    },
    options);
}

}  // namespace

int main(int argc, char ** argv)
{
  rclrt_rcl::init(argc, argv);
  const std::string role = argc > 1 ? argv[1] : "";
  const milliseconds own(argc > 2 ? std::atoi(argv[2]) : 0);
  {
    auto node = std::make_shared<rclrt_rcl::Node>(role);
    std::shared_ptr<rclrt_rcl::Publisher<Log>> publisher;
    std::shared_ptr<rclrt_rcl::Entity> entity;
    uint32_t number = 0;
    if (role == "asker") {
      entity = make_asker(*node, own);
    } else if (role == "server") {
      entity = make_server(*node);
    } else if (role == "times") {
      entity = node->create_subscription<Time>(
        "times", 10, [](const Time & time) { say(static_cast<uint32_t>(time.sec)); });
    } else if (role == "source") {
      publisher = node->create_publisher<Log>("ping", 10);
      rclrt_rcl::TimerOptions options;
      options.scheduling.relative_deadline = own;
      entity = node->create_wall_timer(
        milliseconds(20),
        [&] {
          Log message;
          message.line = ++number;
          say(number);
          publisher->publish(message);
        },
        options);
    } else {
      if (role == "relay") {
        publisher = node->create_publisher<Log>("pong", 10);
      }
      rclrt_rcl::SubscriptionOptions options;
      options.scheduling.relative_deadline = own;
      if (role == "stamped") {
        options.scheduling.deadline_from = rclrt_core::DeadlineFrom::kSourceStamp;
        options.scheduling.clock_error = milliseconds(1);
      }
      entity = node->create_subscription<Log>(
        role == "sink" ? "pong" : "ping", 10,
        [&](const Log & message) {
          say(message.line);
          if (publisher) {
            publisher->publish(message);
          }
        },
        options);
    }
    rclrt_rcl::PreemptiveExecutorOptions options;
    options.policy = &rclrt_core::edf_policy();
    rclrt_rcl::PreemptiveExecutor executor(options);
    executor.add_node(node);
    std::puts("ready");
    std::fflush(stdout);
    executor.spin();
  }
  rclrt_rcl::shutdown();
}
