// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "ros_backend.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <utility>

#include "rclrt_front_end/on_rcl.hpp"
#include "rclrt_rcl/error.hpp"
#include "representation.hpp"

namespace rclrt_agent
{
namespace
{

constexpr int16_t kDomainOfAgent = 255;
constexpr std::size_t kServiceDepth = 100;  // replies that wait for a slow line are not lost

// Messages for a slow line wait in the middleware. A reliable reader that asks for more than the latest message is to
// get them all, so it may have more of them wait there than its client has room for.
constexpr uint16_t kReliableDepth = 100;

// A message for a client is copied into its queue and given to its line, which takes no longer than that: so the thread
// that brings it does so itself, where the middleware bears it.
constexpr std::chrono::milliseconds kDeliveryBound{5};

rclrt_rcl::QoS qos_of(const EndpointQos & from, bool reader)
{
  const bool many = reader && from.reliable && from.depth > 1;
  rclrt_rcl::QoS qos(
    many ? std::max(from.depth, kReliableDepth) : std::max<uint16_t>(from.depth, 1));
  if (from.depth == 0) {
    qos.keep_all();
  }
  if (!from.reliable) {
    qos.best_effort();
  }
  if (from.transient_local) {
    qos.transient_local();
  }
  return qos;
}

std::string topic_of(const Description & what)
{
  const auto topic = ros_topic(what.name);
  if (!topic) {
    throw Refused(RCLRT_STATUS_INVALID_DATA, "'" + what.name + "' is no name of a topic");
  }
  return *topic;
}

const rosidl_message_type_support_t * type_of(const Description & what)
{
  const auto name = ros_type(what.type);
  const MessageType * const type = name ? message_type(*name) : nullptr;
  if (type == nullptr) {
    throw Refused(
      name ? RCLRT_STATUS_RESOURCES : RCLRT_STATUS_INVALID_DATA,
      "'" + what.type + "' is no type of a message, or there are too many");
  }
  return type->handle();
}

const rosidl_service_type_support_t * service_type_of(const Description & what)
{
  const auto name = ros_service_type(what.type);
  const ServiceType * const type = name ? service_type(*name) : nullptr;
  if (type == nullptr) {
    throw Refused(
      name ? RCLRT_STATUS_RESOURCES : RCLRT_STATUS_INVALID_DATA,
      "'" + what.type + "' is no type of a request, or there are too many");
  }
  return type->handle();
}

// The name by which rcl knows the service. rq/addRequest counts more than the name in the profile.
std::string service_of(const Description & what)
{
  const auto service = ros_service(what.request_topic.empty() ? what.name : what.request_topic);
  if (!service) {
    throw Refused(RCLRT_STATUS_INVALID_DATA, "'" + what.name + "' is no name of a service");
  }
  return *service;
}

// What may fail at the middleware: the client is told, the agent goes on.
template <typename F>
auto attempt(const F & create)
{
  try {
    return create();
  } catch (const rclrt_rcl::Error & error) {
    throw Refused(RCLRT_STATUS_DDS_ERROR, error.what());
  }
}

class RosNode : public BackendNode
{
public:
  RosNode(
    std::unique_ptr<rclrt_rcl::Node> node, rclrt_rcl::Executor & executor,
    std::function<int(const std::string & topic)> urgency_of)
  : node_(std::move(node)), executor_(executor), urgency_of_(std::move(urgency_of))
  {
    executor_.add_node(*node_);
  }
  ~RosNode() override
  {
    try {
      executor_.remove_node(*node_);
    } catch (const rclrt_rcl::Error &) {
      // The executor has gone first.
    }
  }

  std::shared_ptr<Writer> make_writer(const Description & what) override
  {
    return attempt([&] {
      return std::make_shared<RawPublisher>(
        node_->context(), node_->handle(), type_of(what), topic_of(what), qos_of(what.qos, false));
    });
  }

  std::shared_ptr<Source> make_reader(
    const Description & what, uint16_t object, const std::weak_ptr<Sink> & sink) override
  {
    const std::string topic = topic_of(what);
    const auto * const type = type_of(what);
    rclrt_rcl::Scheduling how = scheduling(topic);
    if (rclrt_front_end::middleware_in_use().may_run_callbacks) {
      how.inline_bound = kDeliveryBound;
    }
    return attempt([&] {
      return node_->make_entity<RawSubscription>(
        rclrt_core::CallbackKind::kSubscription, topic, how, nullptr, object, sink,
        node_->context(), node_->handle(), type, topic, qos_of(what.qos, true), false);
    });
  }

  std::shared_ptr<Requester> make_requester(
    const Description & what, uint16_t object, const std::weak_ptr<Sink> & sink) override
  {
    const std::string service = service_of(what);
    const auto * const type = service_type_of(what);
    return attempt([&] {
      return node_->make_entity<RawClient>(
        rclrt_core::CallbackKind::kClient, service, scheduling(service), nullptr, object, sink,
        node_->context(), node_->handle(), type, service, service_qos(),
        RawClient::kPendingRequests);
    });
  }

  std::shared_ptr<Replier> make_replier(
    const Description & what, uint16_t object, const std::weak_ptr<Sink> & sink) override
  {
    const std::string service = service_of(what);
    const auto * const type = service_type_of(what);
    return attempt([&] {
      return node_->make_entity<RawService>(
        rclrt_core::CallbackKind::kService, service, scheduling(service), nullptr, object, sink,
        node_->context(), node_->handle(), type, service, service_qos(),
        rclrt_rcl::detail::Symbol{});
    });
  }

private:
  static rclrt_rcl::QoS service_qos()
  {
    return rclrt_rcl::QoS::services().keep_last(kServiceDepth);
  }

  rclrt_rcl::Scheduling scheduling(const std::string & topic) const
  {
    // Clients may have nodes of the same name, and the executor wants names that nobody else has. Numbers that differ
    // are all that is asked: relaxed.
    static std::atomic<uint64_t> made{0};
    rclrt_rcl::Scheduling scheduling;
    scheduling.name = topic + "#" + std::to_string(made.fetch_add(1, std::memory_order_relaxed));
    const int urgency = urgency_of_ ? urgency_of_(topic) : -1;
    scheduling.queue_priority = 1 + (urgency < 0 ? 0 : urgency);
    return scheduling;
  }

  const std::unique_ptr<rclrt_rcl::Node> node_;
  rclrt_rcl::Executor & executor_;
  const std::function<int(const std::string & topic)> urgency_of_;
};

}  // namespace

RosBackend::RosBackend(
  std::shared_ptr<rclrt_rcl::Context> context, rclrt_rcl::Executor & executor,
  std::function<int(const std::string & topic)> urgency_of)
: context_(std::move(context)), executor_(executor), urgency_of_(std::move(urgency_of))
{
}

std::shared_ptr<BackendNode> RosBackend::make_node(
  const std::string & participant, int16_t domain, const Key & key)
{
  const auto own = static_cast<int16_t>(context_->domain_id());
  // Clients that do not care say 0 or 255.
  if (domain != own && domain != kDomainOfAgent && domain != 0) {
    throw Refused(
      RCLRT_STATUS_DENIED, "domain " + std::to_string(domain) + " is not the agent's, " +
                             std::to_string(own) + "; start another agent there");
  }
  char by_key[32];  // of a client that says none
  std::snprintf(by_key, sizeof(by_key), "xrce_%02x%02x%02x%02x", key[0], key[1], key[2], key[3]);
  const auto name = node_name(participant.empty() ? by_key : participant);
  if (!name) {
    throw Refused(RCLRT_STATUS_INVALID_DATA, "'" + participant + "' is no name of a node");
  }
  rclrt_rcl::NodeOptions options;
  options.context = context_;
  // What the client does not have, its node does not show.
  options.enable_rosout = false;
  options.use_global_arguments = false;
  return attempt([&]() -> std::shared_ptr<BackendNode> {
    return std::make_shared<RosNode>(
      std::make_unique<rclrt_rcl::Node>(name->name, name->name_space, options), executor_,
      urgency_of_);
  });
}

}  // namespace rclrt_agent
