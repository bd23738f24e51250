// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The backend that is ROS: a node of rclrt_rcl for each participant.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

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

class RawPublisher : public rclrt_rcl::PublisherBase, public Writer
{
public:
  RawPublisher(
    ContextPointer context, const NodePointer & node, const rosidl_message_type_support_t * type,
    const std::string & topic, const rclrt_rcl::QoS & qos);
  bool write(View cdr) override;

private:
  rclrt_front_end::PiMutex mutex_;
  rclrt_rcl::SerializedMessage message_;
};

/// What the sink does not want yet stays in the middleware, and is announced again by resume().
template <typename Base, typename Interface>
class FromRos : public Base, public Interface
{
public:
  /// `more`: what Base needs besides.
  template <typename... More>
  FromRos(rclrt_rcl::EntitySetup setup, uint16_t object, std::weak_ptr<Sink> sink, More &&... more)
  : Base(std::move(setup), std::forward<More>(more)...), object_(object), sink_(std::move(sink))
  {
  }
  void resume() override { announce_again(left_.exchange(0)); }

protected:
  std::shared_ptr<Sink> sink() const { return sink_.lock(); }
  /// Takes one unit of work, if there is one, and hands it to the sink.
  virtual bool hand_on(Sink & sink) = 0;

  const uint16_t object_;

private:
  bool do_take_and_run(const rclrt_core::Job &) override
  {
    const auto to = sink();
    if (to == nullptr) {
      return false;
    }
    if (!to->wants(object_)) {
      // Counted first and asked again, because what the sink waits for may come in between.
      left_.fetch_add(1);
      if (!to->wants(object_)) {
        return false;
      }
      const uint32_t left = left_.exchange(0);
      announce_again(left > 0 ? left - 1 : 0);
    }
    return hand_on(*to);
  }
  void announce_again(uint32_t count)
  {
    if (count > 0) {
      this->announce(count);
    }
  }

  const std::weak_ptr<Sink> sink_;
  // Units that were left. Added to by jobs, emptied by whoever resumes. seq_cst: either the job's second question sees
  // what has changed, or resume() sees the job. If resume() was first, one job more is announced than there are
  // messages, and finds none.
  std::atomic<uint32_t> left_{0};
};

class RawSubscription : public FromRos<rclrt_rcl::SubscriptionBase, Source>
{
public:
  using FromRos::FromRos;

private:
  bool hand_on(Sink & sink) override;
  uint64_t missing_before(const rclrt_rcl::MessageInfo & info);

  rclrt_rcl::SerializedMessage message_;
  std::map<std::array<uint8_t, 16>, uint64_t> numbers_;  // of the last message, by publisher
};

class RawClient : public FromRos<rclrt_rcl::ClientBase, Requester>
{
public:
  static constexpr std::size_t kPendingRequests = 64;
  using FromRos::FromRos;
  bool request(uint16_t request, View cdr) override;

private:
  bool hand_on(Sink & sink) override;
};

class RawService : public FromRos<rclrt_rcl::ServiceBase, Replier>
{
public:
  using FromRos::FromRos;
  bool reply(const uint8_t * identity, View cdr) override;

private:
  bool hand_on(Sink & sink) override;
};

}  // namespace rclrt_agent
