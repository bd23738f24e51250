// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A timer, a chain of two topics, a service and its client on an executor of ours, for the tests of rclrt_probe.
//
//   traced_nodes preemptive|isolated|events JOBS
//
// Stops after so many jobs of the timer, when all that they have set off is done.

#include <atomic>
#include <builtin_interfaces/msg/time.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <rcl_interfaces/srv/list_parameters.hpp>
#include <rclcpp/rclcpp.hpp>
#include <string>
#include <thread>

#include "rclrt_rclcpp/callback_isolated_executor.hpp"
#include "rclrt_rclcpp/preemptive_executor.hpp"
#include "rclrt_rclcpp/priority_events_executor.hpp"

namespace
{

using Message = builtin_interfaces::msg::Time;
using Service = rcl_interfaces::srv::ListParameters;
using std::chrono::milliseconds;

std::unique_ptr<rclcpp::Executor> make(const std::string & kind)
{
  if (kind == "isolated") {
    return std::make_unique<rclrt_rclcpp::CallbackIsolatedExecutor>();
  }
  if (kind == "events") {
    return std::make_unique<rclrt_rclcpp::PriorityEventsExecutor>();
  }
  return std::make_unique<rclrt_rclcpp::PreemptiveExecutor>();
}

template <typename Condition>
void wait_for(Condition condition)
{
  for (int i = 0; i < 6000 && !condition(); ++i) {
    std::this_thread::sleep_for(milliseconds(5));
  }
}

}  // namespace

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  const std::string kind = argc > 1 ? argv[1] : "preemptive";
  const int jobs = argc > 2 ? std::atoi(argv[2]) : 50;
  std::atomic<int> fired{0};
  std::atomic<int> arrived{0};
  std::atomic<int> answered{0};
  const rclcpp::QoS deep(1000);  // On a busy machine no message is to be dropped.

  const auto source = std::make_shared<rclcpp::Node>("source");
  const auto relay = std::make_shared<rclcpp::Node>("relay", "/robot");
  const auto sink = std::make_shared<rclcpp::Node>("sink");

  const auto second = relay->create_publisher<Message>("/second", deep);
  const auto relaying = relay->create_subscription<Message>(
    "/first", deep, [&](const Message & message) { second->publish(message); });
  const auto service = relay->create_service<Service>(
    "/ask", [](Service::Request::SharedPtr, Service::Response::SharedPtr) {});
  const auto sinking =
    sink->create_subscription<Message>("/second", deep, [&](const Message &) { ++arrived; });
  const auto first = source->create_publisher<Message>("/first", deep);
  const auto client = source->create_client<Service>("/ask");
  wait_for([&] {
    return first->get_subscription_count() == 1 && second->get_subscription_count() == 1 &&
           client->service_is_ready();
  });
  rclcpp::TimerBase::SharedPtr timer;
  timer = source->create_wall_timer(milliseconds(10), [&] {
    const int job = fired + 1;
    first->publish(Message());
    client->async_send_request(
      std::make_shared<Service::Request>(),
      [&](rclcpp::Client<Service>::SharedFuture) { ++answered; });
    if (job >= jobs) {
      timer->cancel();
    }
    fired = job;
  });

  const auto executor = make(kind);
  executor->add_node(relay);
  executor->add_node(sink);
  executor->add_node(source);
  std::thread spinning([&] { executor->spin(); });
  wait_for([&] { return fired >= jobs && arrived >= jobs && answered >= jobs; });
  executor->cancel();
  spinning.join();
  rclcpp::shutdown();
  return arrived == jobs && answered == jobs ? 0 : 1;
}
