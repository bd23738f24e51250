// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A timer, a chain of two topics, a service and its client, for the tests of rclrt_probe.
//
//   traced_nodes preemptive|isolated|events|intra JOBS
//
// Stops after so many jobs of the timer, when all that they have set off is done.

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "front_end.hpp"

int main(int argc, char ** argv)
{
  using namespace conformance;
  using namespace std::chrono_literals;
  const std::string kind = argc > 1 ? argv[1] : "preemptive";
  const int jobs = argc > 2 ? std::atoi(argv[2]) : 50;
  std::atomic<int> fired{0};
  std::atomic<int> arrived{0};
  std::atomic<int> answered{0};
  const QoS deep(1000);  // On a busy machine no message is to be dropped.

  const auto context = make_context();
  const NodeOptions options = by_pointer(kind == "intra");
  const auto source = make_node_in(context, "source", options);
  const auto relay = make_node_in(context, "relay", options, "/robot");
  const auto sink = make_node_in(context, "sink", options);

  const auto second = relay->create_publisher<Message>("/second", deep);
  const auto relaying = relay->create_subscription<Message>(
    "/first", deep, [&](std::unique_ptr<Message> message) { second->publish(std::move(message)); });
  const auto service = make_service(*relay, "/ask");
  const auto sinking =
    sink->create_subscription<Message>("/second", deep, [&](const Message &) { ++arrived; });
  const auto first = source->create_publisher<Message>("/first", deep);
  const auto client = make_client(*source, "/ask", nullptr);
  wait_for([&] {
    return readers_of(*first) == 1 && readers_of(*second) == 1 && client->service_is_ready();
  });
  const auto timer = source->create_wall_timer(10ms, [&](Timer & itself) {
    const int job = fired + 1;
    first->publish(std::make_unique<Message>());
    ask(*client, {}, [&] { ++answered; });
    if (job >= jobs) {
      itself.cancel();
    }
    fired = job;
  });

  const auto executor = make_executor_in(
    context, kind == "isolated" ? Kind::kIsolated
             : kind == "events" ? Kind::kEvents
                                : Kind::kPreemptive);
  executor->add_node(relay);
  executor->add_node(sink);
  {
    const Spinning spinning(*executor, source);
    wait_for([&] { return fired >= jobs && arrived >= jobs && answered >= jobs; });
  }
  context->shutdown("over");
  return arrived == jobs && answered == jobs ? 0 : 1;
}
