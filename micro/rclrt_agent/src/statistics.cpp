// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "program.hpp"

#ifdef RCLRT_HAS_DIAGNOSTIC_MSGS

#include <cstdio>
#include <string>
#include <utility>

#include "diagnostic_msgs/msg/diagnostic_array.hpp"
#include "rclrt_rcl/clock.hpp"

namespace rclrt_agent
{
namespace
{

using diagnostic_msgs::msg::DiagnosticArray;
using diagnostic_msgs::msg::DiagnosticStatus;

DiagnosticStatus status_of(const std::string & what)
{
  DiagnosticStatus status;
  status.name = "rclrt_agent: " + what;
  status.level = DiagnosticStatus::OK;
  status.message = "ok";
  return status;
}

void add(DiagnosticStatus * status, const char * key, uint64_t value)
{
  diagnostic_msgs::msg::KeyValue pair;
  pair.key = key;
  pair.value = std::to_string(value);
  status->values.push_back(std::move(pair));
}

void warn(DiagnosticStatus * status, const char * why)
{
  status->level = DiagnosticStatus::WARN;
  status->message = why;
}

DiagnosticStatus status_of(const ClientReport & client)
{
  char key[16];
  std::snprintf(
    key, sizeof(key), "%02x%02x%02x%02x", client.key[0], client.key[1], client.key[2],
    client.key[3]);
  DiagnosticStatus status = status_of(std::string("client ") + key);
  status.hardware_id = client.where;
  add(&status, "entities", client.objects);
  add(&status, "received", client.counters.received);
  add(&status, "received_dropped", client.counters.dropped);
  add(&status, "over_budget", client.counters.over_budget);
  add(&status, "malformed", client.counters.malformed);
  add(&status, "written", client.counters.written);
  add(&status, "write_refused", client.counters.refused);
  add(&status, "delivered", client.counters.delivered);
  add(&status, "lost", client.counters.lost);
  add(&status, "sent", client.outgoing.messages);
  add(&status, "repeated", client.outgoing.repeated);
  add(&status, "heartbeats", client.outgoing.heartbeats);
  add(&status, "acknowledgements", client.outgoing.acknacks);
  add(&status, "best_effort_dropped", client.outgoing.dropped);
  add(&status, "too_long", client.outgoing.too_long);
  add(&status, "given_up", client.outgoing.given_up);
  if (client.counters.dropped > 0 || client.counters.lost > 0 || client.outgoing.given_up > 0) {
    warn(&status, "messages were lost");
  }
  if (client.silent) {
    warn(&status, "silent");
  }
  return status;
}

}  // namespace

struct Statistics::Impl
{
  rclrt_rcl::Node & node;
  std::shared_ptr<rclrt_rcl::Publisher<DiagnosticArray>> publisher;
};

Statistics::Statistics(rclrt_rcl::Node & node)
: impl_(new Impl{node, node.create_publisher<DiagnosticArray>("/diagnostics", 10)})
{
}

Statistics::~Statistics() = default;

void Statistics::publish(
  const Agent & agent, const std::vector<std::unique_ptr<LineThread>> & lines, TimePoint now)
{
  if (impl_->publisher->subscription_count() == 0) {
    return;
  }
  DiagnosticArray all;
  all.header.stamp = rclrt_rcl::to_message(impl_->node.now());
  const AgentCounters counters = agent.counters();
  DiagnosticStatus whole = status_of("agent");
  const auto clients = agent.report(now);
  add(&whole, "clients", clients.size());
  add(&whole, "greetings", counters.greetings);
  add(&whole, "greetings_denied", counters.denied);
  add(&whole, "clients_ended", counters.ended);
  add(&whole, "foreign", counters.foreign);
  add(&whole, "malformed", counters.malformed);
  all.status.push_back(std::move(whole));
  for (const auto & line : lines) {
    DiagnosticStatus status = status_of("line " + line->name());
    const LineCounters of = line->counters();
    add(&status, "received", of.received);
    add(&status, "sent", of.sent);
    add(&status, "broken", of.broken);
    add(&status, "failures", of.failures);
    all.status.push_back(std::move(status));
  }
  for (const auto & client : clients) {
    all.status.push_back(status_of(client));
  }
  impl_->publisher->publish(all);
}

}  // namespace rclrt_agent

#else

namespace rclrt_agent
{

struct Statistics::Impl
{
};

Statistics::Statistics(rclrt_rcl::Node &) {}
Statistics::~Statistics() = default;
void Statistics::publish(const Agent &, const std::vector<std::unique_ptr<LineThread>> &, TimePoint)
{
}

}  // namespace rclrt_agent

#endif
