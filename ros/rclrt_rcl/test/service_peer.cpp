// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The other side of test_service_peers.py: a node with services, parameters and a timer.
//   service_peer <preemptive|isolated|events> [--ros-args ...]

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "builtin_interfaces/msg/time.hpp"
#include "rcl_interfaces/srv/get_parameters.hpp"
#include "rcl_interfaces/srv/set_parameters.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace
{

using rclrt_rcl::Parameter;
using rclrt_rcl::Responder;
using Get = rcl_interfaces::srv::GetParameters;
using Set = rcl_interfaces::srv::SetParameters;
using Event = rcl_interfaces::msg::ParameterEvent;
using Time = builtin_interfaces::msg::Time;

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
      std::chrono::seconds(1), [this] { ticks_->publish(rclrt_rcl::to_message(now())); })),
    events_(create_subscription<Event>(
      "/parameter_events", rclrt_rcl::QoS::parameter_events(),
      [this](const Event & event) { report(event); }))
  {
    rclrt_rcl::ParameterDescriptor descriptor;
    descriptor.description = "how often";
    descriptor.floating_point_range.resize(1);
    descriptor.floating_point_range[0].to_value = 100.0;
    declare_parameter("rate", 10.0, descriptor);
    declare_parameter("arm.name", "left");
    on_set_ = add_on_set_parameters_callback([](const std::vector<Parameter> & wanted) {
      rclrt_rcl::SetParametersResult result;
      result.successful = wanted.at(0).value() != "nobody";
      result.reason = result.successful ? "" : "there is no such arm";
      return result;
    });
    logger().debug("details");
  }

private:
  static void echo(const Get::Request & request, Get::Response & response)
  {
    for (const auto & name : request.names) {
      response.values.push_back(rclrt_rcl::ParameterValue(name).to_message());
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

  void report(const Event & event)
  {
    for (const auto & changed : event.changed_parameters) {
      logger().info("heard " + event.node + " " + changed.name);
    }
  }

  std::shared_ptr<rclrt_rcl::Client<Get>> remote_;
  std::shared_ptr<rclrt_rcl::Service<Get>> echo_;
  std::shared_ptr<rclrt_rcl::Service<Get>> relay_;
  std::shared_ptr<rclrt_rcl::Client<Set>> remote_set_;
  std::shared_ptr<rclrt_rcl::Service<Set>> relay_set_;
  std::shared_ptr<rclrt_rcl::Publisher<Time>> ticks_;
  std::shared_ptr<rclrt_rcl::Timer> timer_;
  std::shared_ptr<rclrt_rcl::Subscription<Event>> events_;
  rclrt_rcl::Parameters::CallbackHandle on_set_;
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
  rclrt_rcl::init(argc, argv);
  {
    auto server = std::make_shared<Server>();
    const auto executor = make_executor(argv[1]);
    executor->add_node(server);
    std::puts("ready");
    std::fflush(stdout);
    executor->spin();
  }
  rclrt_rcl::shutdown();
}
