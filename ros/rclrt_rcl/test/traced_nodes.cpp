// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A timer, a chain of two topics, a service and its client, for the tests of rclrt_probe.
//
//   traced_nodes preemptive|isolated|events|intra JOBS
//
// Stops after so many jobs of the timer, when all that they have set off is done.

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "builtin_interfaces/msg/time.hpp"
#include "rcl_interfaces/srv/list_parameters.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace
{

using Message = builtin_interfaces::msg::Time;
using Service = rcl_interfaces::srv::ListParameters;
using std::chrono::milliseconds;

std::unique_ptr<rclrt_rcl::Executor> make(const std::string & kind)
{
  if (kind == "isolated") {
    return std::make_unique<rclrt_rcl::CallbackIsolatedExecutor>();
  }
  if (kind == "events") {
    return std::make_unique<rclrt_rcl::PriorityEventsExecutor>();
  }
  return std::make_unique<rclrt_rcl::PreemptiveExecutor>();
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
  rclrt_rcl::init(argc, argv);
  const std::string kind = argc > 1 ? argv[1] : "preemptive";
  const int jobs = argc > 2 ? std::atoi(argv[2]) : 50;
  std::atomic<int> fired{0};
  std::atomic<int> arrived{0};
  std::atomic<int> answered{0};
  const rclrt_rcl::QoS deep(1000);  // On a busy machine no message is to be dropped.

  rclrt_rcl::NodeOptions options;
  options.use_intra_process = kind == "intra";
  rclrt_rcl::Node source("source", options);
  rclrt_rcl::Node relay("relay", "/robot", options);
  rclrt_rcl::Node sink("sink", options);

  const auto second = relay.create_publisher<Message>("/second", deep);
  const auto relaying = relay.create_subscription<Message>(
    "/first", deep, [&](std::unique_ptr<Message> message) { second->publish(std::move(message)); });
  const auto service =
    relay.create_service<Service>("/ask", [](const Service::Request &, Service::Response &) {});
  const auto sinking =
    sink.create_subscription<Message>("/second", deep, [&](const Message &) { ++arrived; });
  const auto first = source.create_publisher<Message>("/first", deep);
  const auto client = source.create_client<Service>("/ask");
  wait_for([&] {
    return first->subscription_count() == 1 && second->subscription_count() == 1 &&
           client->service_is_ready();
  });
  const auto timer = source.create_wall_timer(milliseconds(10), [&](rclrt_rcl::Timer & self) {
    const int job = fired + 1;
    first->publish(std::make_unique<Message>());
    client->async_send_request(Service::Request(), [&](const Service::Response &) { ++answered; });
    if (job >= jobs) {
      self.cancel();
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
  rclrt_rcl::shutdown();
  return arrived == jobs && answered == jobs ? 0 : 1;
}
