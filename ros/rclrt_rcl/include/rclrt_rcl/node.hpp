// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A node: a name, and the place where publishers, subscriptions, timers, services and clients are
/// made. To be derived from or used as it is.
///
/// It does nothing until an executor has it. On destruction everything made by it stops: no
/// callback of it runs any more when the destructor has returned (unless called from inside a
/// callback).
///
/// Thread-safe. Functions that make something allocate, talk to the middleware and throw Error.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rcl/node.h"
#include "rclrt_front_end/callback_name.hpp"
#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/client.hpp"
#include "rclrt_rcl/clock.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/detail/trace_points.hpp"
#include "rclrt_rcl/error.hpp"
#include "rclrt_rcl/parameters.hpp"
#include "rclrt_rcl/publisher.hpp"
#include "rclrt_rcl/service.hpp"
#include "rclrt_rcl/subscription.hpp"
#include "rclrt_rcl/timer.hpp"
#include "rclrt_rcl/waitable.hpp"

namespace rclrt_rcl
{

struct NodeOptions
{
  /// Null: the default context (init()).
  std::shared_ptr<Context> context;
  /// As on a command line, e.g. {"--ros-args", "-r", "chatter:=talk"}; they go before the context's.
  std::vector<std::string> arguments;
  /// Also obey the arguments of the context.
  bool use_global_arguments = true;
  /// Publish the node's log lines on /rosout.
  bool enable_rosout = true;
  /// Deliver by pointer between publishers and subscriptions of this context that both want it.
  bool use_intra_process = false;
};

namespace detail
{
struct NodeState;
}

class Node
{
public:
  /// Errors: an invalid name or namespace, invalid arguments, a context that was shut down.
  explicit Node(const std::string & name, const NodeOptions & options = {});
  Node(const std::string & name, const std::string & name_space, const NodeOptions & options = {});
  virtual ~Node();
  Node(const Node &) = delete;
  Node & operator=(const Node &) = delete;

  std::string name() const;
  std::string name_space() const;
  /// E.g. "/robot/planner".
  const std::string & fully_qualified_name() const noexcept;
  const std::shared_ptr<Context> & context() const noexcept;
  /// What the command line and its files give, as far as it is for this node. `use_sim_time: true` lets
  /// clock() follow /clock.
  const Parameters & parameters() const noexcept;
  const Logger & logger() const noexcept;
  /// ROS time: the system clock, or /clock while the parameter `use_sim_time` is true. /clock is taken
  /// by a callback "/<node>/subscription/clock" in a group of its own, "/<node>/group/clock", which
  /// comes first in the order of every executor; it may be configured like any other.
  const std::shared_ptr<Clock> & clock() const noexcept;
  /// ROS time since 1970; to_message() of clock.hpp makes a message of it.
  std::chrono::nanoseconds now() const noexcept { return clock()->now(); }

  // ---- What runs

  template <typename M>
  std::shared_ptr<Publisher<M>> create_publisher(
    const std::string & topic, const QoS & qos, const PublisherOptions & options = {})
  {
    auto lock = lock_creation();
    auto publisher = std::make_shared<Publisher<M>>(
      context(), handle(), topic, qos, options.use_intra_process.value_or(uses_intra_process()));
    return publisher;
  }

  /// See subscription.hpp for the forms of `callback`.
  template <typename M, typename F>
  std::shared_ptr<Subscription<M>> create_subscription(
    const std::string & topic, const QoS & qos, F && callback,
    const SubscriptionOptions & options = {})
  {
    auto subscription = make_entity<Subscription<M>>(
      rclrt_core::CallbackKind::kSubscription, resolve_topic_name(topic), options.scheduling,
      options.group, context(), handle(), topic, qos,
      SubscriptionCallback<M>(std::forward<F>(callback)),
      options.use_intra_process.value_or(uses_intra_process()));
    return subscription;
  }

  /// See service.hpp for the forms of `callback`.
  template <typename S, typename F>
  std::shared_ptr<Service<S>> create_service(
    const std::string & name, F && callback, const QoS & qos = QoS::services(),
    const ServiceOptions & options = {})
  {
    return make_entity<Service<S>>(
      rclrt_core::CallbackKind::kService, resolve_service_name(name), options.scheduling,
      options.group, context(), handle(), name, qos, std::forward<F>(callback));
  }

  template <typename S>
  std::shared_ptr<Client<S>> create_client(
    const std::string & name, const QoS & qos = QoS::services(), const ClientOptions & options = {})
  {
    return make_entity<Client<S>>(
      rclrt_core::CallbackKind::kClient, resolve_service_name(name), options.scheduling,
      options.group, context(), handle(), name, qos, options.max_pending_requests);
  }

  /// On ROS time. `callback`: (), (Timer &) or (Timer &, const TimerInfo &).
  template <typename F>
  std::shared_ptr<Timer> create_timer(
    std::chrono::nanoseconds period, F && callback, const TimerOptions & options = {})
  {
    return create_timer(clock(), period, std::forward<F>(callback), options);
  }

  /// On the steady clock.
  template <typename F>
  std::shared_ptr<Timer> create_wall_timer(
    std::chrono::nanoseconds period, F && callback, const TimerOptions & options = {})
  {
    return create_timer(steady_clock(), period, std::forward<F>(callback), options);
  }

  template <typename F>
  std::shared_ptr<Timer> create_timer(
    const std::shared_ptr<Clock> & clock, std::chrono::nanoseconds period, F && callback,
    const TimerOptions & options = {})
  {
    const detail::Symbol symbol = detail::symbol_of(callback);
    return make_entity<Timer>(
      rclrt_core::CallbackKind::kTimer, rclrt_front_end::period_label(period), options.scheduling,
      options.group, clock, period, options.one_shot, options.autostart,
      timer_callback(std::forward<F>(callback)), symbol);
  }

  /// `scheduling.name` is required.
  std::shared_ptr<Waitable> create_waitable(
    const Scheduling & scheduling, std::function<void()> callback,
    const std::shared_ptr<CallbackGroup> & group = nullptr);

  std::shared_ptr<CallbackGroup> create_callback_group(
    CallbackGroupType type, const CallbackGroupOptions & options = {});
  const std::shared_ptr<CallbackGroup> & default_callback_group() const noexcept;
  /// The groups that exist now.
  std::vector<std::shared_ptr<CallbackGroup>> callback_groups() const;

  /// Publishers of a topic, as far as they are known here now.
  std::size_t count_publishers(const std::string & topic) const;

  std::string resolve_topic_name(const std::string & name) const;
  std::string resolve_service_name(const std::string & name) const;

  // ---- For code that adds kinds of entities

  const std::shared_ptr<rcl_node_t> & handle() const noexcept;

  /// Make an entity of type T(EntitySetup, arguments...), put it into its group (null: the default
  /// one) and so into the node's executor. `label` is the last part of its name unless the
  /// scheduling has one. Returns an owner pointer, see Entity.
  template <typename T, typename... Arguments>
  std::shared_ptr<T> make_entity(
    rclrt_core::CallbackKind kind, const std::string & label, const Scheduling & scheduling,
    const std::shared_ptr<CallbackGroup> & group, Arguments &&... arguments)
  {
    auto lock = lock_creation();
    auto entity = std::make_shared<T>(
      prepare(kind, label, scheduling, group), std::forward<Arguments>(arguments)...);
    adopt(entity);
    T * raw = entity.get();
    return std::shared_ptr<T>(raw, [entity](T *) mutable {
      entity->close();
      entity.reset();  // weak copies of the owner pointer may keep this function alive
    });
  }

private:
  friend class Executor;

  /// rcl wants one creation at a time per node, and names must not be given out twice.
  std::unique_lock<std::recursive_mutex> lock_creation() const;
  EntitySetup prepare(
    rclrt_core::CallbackKind kind, const std::string & label, const Scheduling & scheduling,
    const std::shared_ptr<CallbackGroup> & group) const;
  void adopt(const std::shared_ptr<Entity> & entity);
  bool uses_intra_process() const noexcept;
  const std::shared_ptr<Clock> & steady_clock() const noexcept;

  template <typename F>
  static Timer::Callback timer_callback(F && function)
  {
    if constexpr (std::is_invocable_v<F &, Timer &, const TimerInfo &>) {
      return std::forward<F>(function);
    } else if constexpr (std::is_invocable_v<F &, Timer &>) {
      return [function = std::forward<F>(function)](Timer & timer, const TimerInfo &) mutable {
        function(timer);
      };
    } else {
      static_assert(
        std::is_invocable_v<F &>,
        "a timer's callback takes nothing, Timer &, or Timer & and const TimerInfo &");
      return
        [function = std::forward<F>(function)](Timer &, const TimerInfo &) mutable { function(); };
    }
  }

  std::shared_ptr<detail::NodeState> state_;
};

}  // namespace rclrt_rcl
