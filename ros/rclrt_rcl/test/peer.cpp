// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The other side of test_peers.py: an ordinary program.
//   peer echo <preemptive|isolated|events> [--never-return] [--ros-args ...]     a node that answers every message
//   peer server <preemptive|isolated|events> [--ros-args ...]                    a node with services and a timer

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "builtin_interfaces/msg/time.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rcl_interfaces/msg/parameter_type.hpp"
#include "rcl_interfaces/srv/get_parameters.hpp"
#include "rcl_interfaces/srv/set_parameters.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace
{

using builtin_interfaces::msg::Time;
using rcl_interfaces::msg::Log;
using rclrt_rcl::Responder;
using Get = rcl_interfaces::srv::GetParameters;
using Set = rcl_interfaces::srv::SetParameters;

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
            publisher_->publish(answer);  // the first time the asker may not be connected
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

class Server : public rclrt_rcl::Node
{
public:
  Server()
  : Node("server"),
    remote_(create_client<Get>("remote_echo")),
    echo_(create_service<Get>("echo", &Server::echo)),
    relay_(relay("relay", remote_)),
    remote_set_(create_client<Set>("remote_set")),
    relay_set_(relay("relay_set", remote_set_)),
    ticks_(create_publisher<Time>("ticks", 100)),
    timer_(create_timer(
      std::chrono::seconds(1), [this] { ticks_->publish(rclrt_rcl::to_message(now())); }))
  {
    logger().debug("details");
  }

private:
  static void echo(const Get::Request & request, Get::Response & response)
  {
    for (const auto & name : request.names) {
      response.values.emplace_back();
      response.values.back().type = rcl_interfaces::msg::ParameterType::PARAMETER_STRING;
      response.values.back().string_value = name;
    }
  }

  /// A service that asks the other process, and answers when that has answered. What is sent before the two
  /// have found each other is lost.
  template <typename S>
  std::shared_ptr<rclrt_rcl::Service<S>> relay(
    const std::string & name, const std::shared_ptr<rclrt_rcl::Client<S>> & remote)
  {
    return create_service<S>(
      name, [remote](const typename S::Request & request, Responder<S> responder) {
        auto open = std::make_shared<Responder<S>>(std::move(responder));
        remote->wait_for_service();
        remote->async_send_request(
          request, [open](const typename S::Response & response) { open->send(response); });
      });
  }

  std::shared_ptr<rclrt_rcl::Client<Get>> remote_;
  std::shared_ptr<rclrt_rcl::Service<Get>> echo_;
  std::shared_ptr<rclrt_rcl::Service<Get>> relay_;
  std::shared_ptr<rclrt_rcl::Client<Set>> remote_set_;
  std::shared_ptr<rclrt_rcl::Service<Set>> relay_set_;
  std::shared_ptr<rclrt_rcl::Publisher<Time>> ticks_;
  std::shared_ptr<rclrt_rcl::Timer> timer_;
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
    std::shared_ptr<rclrt_rcl::Node> node;
    if (arguments.at(1) == "server") {
      node = std::make_shared<Server>();
    } else {
      node = std::make_shared<Echo>(arguments.back() == "--never-return");
    }
    const auto executor = make_executor(arguments.at(2));
    executor->add_node(node);
    std::puts("ready");
    std::fflush(stdout);
    executor->spin();
  }
  std::puts(rclrt_rcl::default_context()->shutdown_reason().c_str());
  rclrt_rcl::shutdown();
}
