// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The backend that is ROS: a node of rclrt_rcl for each participant.
#ifndef ROS_BACKEND_HPP_
#define ROS_BACKEND_HPP_

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "backend.hpp"
#include "rclrt_front_end/process_platform.hpp"
#include "rclrt_rcl/client.hpp"
#include "rclrt_rcl/executor.hpp"
#include "rclrt_rcl/node.hpp"
#include "rclrt_rcl/publisher.hpp"
#include "rclrt_rcl/service.hpp"
#include "rclrt_rcl/subscription.hpp"
#include "types.hpp"

namespace rclrt_agent
{

class RosBackend : public Backend
{
public:
  /// `urgency_of`: of topics, as in SessionOptions; subscriptions get that priority in the executor.
  RosBackend(
    std::shared_ptr<rclrt_rcl::Context> context, rclrt_rcl::Executor & executor,
    std::function<int(const std::string & topic)> urgency_of);

  /// The domain is that of the context; another one is refused.
  std::shared_ptr<BackendNode> make_node(
    const std::string & participant, int16_t domain, const Key & key) override;

private:
  const std::shared_ptr<rclrt_rcl::Context> context_;
  rclrt_rcl::Executor & executor_;
  const std::function<int(const std::string & topic)> urgency_of_;
};

// Its entities, whose messages are bytes.
using ContextPointer = std::shared_ptr<rclrt_rcl::Context>;
using NodePointer = std::shared_ptr<rcl_node_t>;

class RawPublisher : public rclrt_rcl::PublisherBase
{
public:
  RawPublisher(
    ContextPointer context, const NodePointer & node, const rosidl_message_type_support_t * type,
    const std::string & topic, const rclrt_rcl::QoS & qos);
  void publish(View cdr);

private:
  rclrt_front_end::PiMutex mutex_;
  rclrt_rcl::SerializedMessage message_;
};

/// Units of work that the sink does not want yet. They stay in the middleware, and are announced again.
class Stall
{
public:
  /// In an entity's job: whether it is to take a message. `more` gets the units that are to be announced again.
  template <typename Wants>
  bool may_take(const Wants & wants, std::size_t * more)
  {
    if (wants()) {
      return true;
    }
    // Counted first and asked again, because what the sink waits for may come in between.
    left_.fetch_add(1);
    if (!wants()) {
      return false;
    }
    const uint32_t left = left_.exchange(0);
    *more = left > 0 ? left - 1 : 0;
    return true;
  }
  /// Units to be announced again.
  std::size_t resume() { return left_.exchange(0); }

private:
  // Added to by jobs, emptied by whoever resumes. seq_cst: either the job's second question sees what has changed, or
  // resume() sees the job. If resume() was first, one job more is announced than there are messages, and finds none.
  std::atomic<uint32_t> left_{0};
};

class RawSubscription : public rclrt_rcl::SubscriptionBase
{
public:
  RawSubscription(
    rclrt_rcl::EntitySetup setup, ContextPointer context, const NodePointer & node,
    const rosidl_message_type_support_t * type, const std::string & topic,
    const rclrt_rcl::QoS & qos, uint16_t object, std::weak_ptr<Sink> sink);
  void resume();

private:
  bool do_take_and_run(const rclrt_core::Job & job) override;
  uint64_t missing_before(const rclrt_rcl::MessageInfo & info);

  const uint16_t object_;
  const std::weak_ptr<Sink> sink_;
  Stall stall_;
  rclrt_rcl::SerializedMessage message_;
  std::map<std::array<uint8_t, 16>, uint64_t> numbers_;  // of the last message, by publisher
};

class RawClient : public rclrt_rcl::ClientBase
{
public:
  RawClient(
    rclrt_rcl::EntitySetup setup, ContextPointer context, const NodePointer & node,
    const rosidl_service_type_support_t * type, const std::string & name,
    const rclrt_rcl::QoS & qos, uint16_t object, std::weak_ptr<Sink> sink);
  bool request(uint16_t request, View cdr);
  void resume();

private:
  bool do_take_and_run(const rclrt_core::Job & job) override;

  const uint16_t object_;
  const std::weak_ptr<Sink> sink_;
  Stall stall_;
};

class RawService : public rclrt_rcl::ServiceBase
{
public:
  RawService(
    rclrt_rcl::EntitySetup setup, ContextPointer context, const NodePointer & node,
    const rosidl_service_type_support_t * type, const std::string & name,
    const rclrt_rcl::QoS & qos, uint16_t object, std::weak_ptr<Sink> sink);
  bool reply(const uint8_t * identity, View cdr);
  void resume();

private:
  bool do_take_and_run(const rclrt_core::Job & job) override;

  const uint16_t object_;
  const std::weak_ptr<Sink> sink_;
  Stall stall_;
};

}  // namespace rclrt_agent

#endif  // ROS_BACKEND_HPP_
