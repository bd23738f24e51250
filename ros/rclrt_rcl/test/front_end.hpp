// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// rclrt_rcl in the words of the conformance suite (rclrt_front_end/test/conformance). What both front ends call the same
/// the suite uses as it is; rclrt_rclcpp/test/front_end.hpp has the same functions.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "builtin_interfaces/msg/time.hpp"
#include "conformance/basis.hpp"
#include "rcl_interfaces/msg/floating_point_range.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rcl_interfaces/srv/list_parameters.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"
#include "rcutils/logging.h"
#include "rosgraph_msgs/msg/clock.hpp"

namespace conformance
{

using Message = builtin_interfaces::msg::Time;
using Asking = rcl_interfaces::srv::ListParameters;
/// A message that begins with a stamp, and one without.
using Stamped = rcl_interfaces::msg::Log;
using Unstamped = rcl_interfaces::msg::FloatingPointRange;
using ClockMessage = rosgraph_msgs::msg::Clock;

using Client = rclrt_rcl::Client<Asking>;
using Context = rclrt_rcl::Context;
using Executor = rclrt_rcl::EngineExecutor;
using Group = std::shared_ptr<rclrt_rcl::CallbackGroup>;
using Node = rclrt_rcl::Node;
using NodeOptions = rclrt_rcl::NodeOptions;
using Publisher = rclrt_rcl::Publisher<Message>;
using QoS = rclrt_rcl::QoS;
using Service = rclrt_rcl::Service<Asking>;
using Subscription = rclrt_rcl::Subscription<Message>;
using Timer = rclrt_rcl::Timer;

struct Options : rclrt_front_end::CommonOptions
{
  const rclrt_core::Policy * policy = &rclrt_core::fixed_priority_policy();
  std::map<std::string, rclrt_core::Scheduling> callbacks;

  /// What matters about the callback of that name, said in code.
  void say(const std::string & callback, const rclrt_core::Scheduling & what)
  {
    callbacks[callback] = what;
  }
};

constexpr auto kSuccess = rclrt_rcl::FutureReturnCode::kSuccess;
constexpr auto kInterrupted = rclrt_rcl::FutureReturnCode::kInterrupted;
constexpr auto kTimeout = rclrt_rcl::FutureReturnCode::kTimeout;

inline std::vector<Kind> all_kinds() { return our_kinds(); }
constexpr bool kLogsCallbacks = false;
/// Callbacks of what another thread lets go that may run then.
constexpr int kMayStillRun = 0;
inline rcl_node_t * rcl_node_of(const Node & node) { return node.handle().get(); }
inline void log_line(const Node & node) { node.logger().info("a line"); }
/// Whether it serves groups that come and go while it spins.
inline bool follows_groups(Kind) { return true; }

inline std::shared_ptr<Context> make_context() { return Context::make(); }
/// The default one begins.
inline void init() { rclrt_rcl::init(0, nullptr); }
inline std::shared_ptr<Context> default_context() { return nullptr; }

inline std::shared_ptr<Node> make_node_in(
  const std::shared_ptr<Context> & context, const std::string & name,
  NodeOptions options = NodeOptions(), const std::string & name_space = "")
{
  options.context = context;
  return std::make_shared<Node>(name, name_space, options);
}
inline NodeOptions by_pointer(bool is_used = true)
{
  NodeOptions options;
  options.use_intra_process = is_used;
  return options;
}

/// A node's time comes from messages of that topic.
inline NodeOptions simulated(const std::string & clock, bool /*in_a_thread*/)
{
  NodeOptions options;
  options.arguments = {"--ros-args", "-p", "use_sim_time:=true", "-r", "/clock:=" + clock};
  return options;
}
inline std::vector<bool> may_hear_clocks_in_a_thread() { return {false}; }
/// What is there while a node or somebody else needs it.
inline std::weak_ptr<void> handle_of(const Node & node) { return node.handle(); }

inline std::unique_ptr<Executor> make_executor_in(
  const std::shared_ptr<Context> & context, Kind kind, const Options & common = {})
{
  const auto with = [&](auto options) {
    static_cast<rclrt_front_end::CommonOptions &>(options) = common;
    options.context = context;
    options.policy = common.policy;
    options.configure = [callbacks = common.callbacks](
                          const rclrt_rcl::Entity & entity, rclrt_core::Scheduling & scheduling) {
      if (const auto said = callbacks.find(entity.name()); said != callbacks.end()) {
        scheduling = said->second;
      }
    };
    return options;
  };
  if (kind == Kind::kPreemptive) {
    return std::make_unique<rclrt_rcl::PreemptiveExecutor>(
      with(rclrt_rcl::PreemptiveExecutorOptions()));
  }
  if (kind == Kind::kIsolated) {
    return std::make_unique<rclrt_rcl::CallbackIsolatedExecutor>(
      with(rclrt_rcl::CallbackIsolatedExecutorOptions()));
  }
  auto options = with(rclrt_rcl::PriorityEventsExecutorOptions());
  options.release_and_execute = kind == Kind::kReleaseAndExecute;
  return std::make_unique<rclrt_rcl::PriorityEventsExecutor>(options);
}

/// What only executors of rclrt have.
inline Executor & ours(Executor & executor) { return executor; }

inline Group make_group(Node & node, bool reentrant = false, bool automatic = true)
{
  rclrt_rcl::CallbackGroupOptions options;
  options.automatically_add_to_executor_with_node = automatic;
  return node.create_callback_group(
    reentrant ? rclrt_rcl::CallbackGroupType::kReentrant
              : rclrt_rcl::CallbackGroupType::kMutuallyExclusive,
    options);
}
/// The budget is said in code.
inline Group make_group_with(const rclrt_core::Budget & budget, Node & node, Options &)
{
  rclrt_rcl::CallbackGroupOptions options;
  options.budget = budget;
  return node.create_callback_group(rclrt_rcl::CallbackGroupType::kMutuallyExclusive, options);
}
inline void add_group(Executor & executor, const Group & group, Node &)
{
  executor.add_callback_group(group);
}
/// All, added by hand, added with their nodes.
inline std::vector<std::size_t> group_counts(const Executor & executor)
{
  return {
    executor.callback_groups().size(), executor.manually_added_callback_groups().size(),
    executor.automatically_added_callback_groups().size()};
}

template <typename Callback>
std::shared_ptr<Timer> make_timer(
  Node & node, std::chrono::nanoseconds period, Callback callback, const Group & group)
{
  rclrt_rcl::TimerOptions options;
  options.group = group;
  return node.create_wall_timer(period, std::move(callback), options);
}
/// In time of the node.
template <typename Callback>
std::shared_ptr<Timer> make_ros_timer(
  Node & node, std::chrono::nanoseconds period, Callback callback, const Group & group = nullptr)
{
  rclrt_rcl::TimerOptions options;
  options.group = group;
  return node.create_timer(period, std::move(callback), options);
}
#define CONFORMANCE_TELLS_TIMERS 1
/// Is told for when the call was due, and the time.
template <typename Callback>
std::shared_ptr<Timer> make_told_timer(
  Node & node, std::chrono::nanoseconds period, Callback callback, const Group & group)
{
  return make_timer(
    node, period,
    [callback](Timer &, const rclrt_rcl::TimerInfo & info) {
      callback(info.release.time_since_epoch(), info.now.time_since_epoch());
    },
    group);
}
/// Waits for its first reset().
inline std::shared_ptr<Timer> make_resting_timer(
  Node & node, std::chrono::nanoseconds period, std::function<void()> callback)
{
  rclrt_rcl::TimerOptions options;
  options.autostart = false;
  return node.create_wall_timer(period, std::move(callback), options);
}
inline void exchange_period(Timer & timer, std::chrono::nanoseconds period)
{
  timer.set_period(period);
}
/// Simulated time of the node, without messages.
inline void set_time(Node & node, std::chrono::nanoseconds now)
{
  node.clock()->set_simulated_time(now);
}
/// Back to the system's time.
inline void clear_time(Node & node) { node.clock()->clear_simulated_time(); }
inline std::chrono::nanoseconds time_of(Node & node) { return node.now(); }

template <typename M = Message, typename Callback>
auto make_subscription(
  Node & node, const std::string & topic, const QoS & qos, Callback callback, const Group & group)
{
  rclrt_rcl::SubscriptionOptions options;
  options.group = group;
  return node.create_subscription<M>(topic, qos, std::move(callback), options);
}
/// Is told the id of each message's publisher, and its source time stamp.
template <typename M, typename Callback>
auto make_told_subscription(Node & node, const std::string & topic, Callback callback)
{
  return node.create_subscription<M>(
    topic, 10, [callback](const M & message, const rclrt_rcl::MessageInfo & info) {
      callback(message, info.publisher_gid, info.source_timestamp.count());
    });
}
template <typename PublisherT>
auto gid_of(const PublisherT & publisher)
{
  return publisher.gid();
}
inline rcl_subscription_t * handle_of(Subscription & subscription)
{
  return subscription.handle().get();
}
template <typename PublisherT>
std::size_t readers_of(const PublisherT & publisher)
{
  return publisher.subscription_count();
}

/// Its answer has the names that the request has as prefixes.
inline std::shared_ptr<Service> make_service(
  Node & node, const std::string & name, const std::function<void()> & callback = [] {},
  const Group & group = nullptr)
{
  rclrt_rcl::ServiceOptions options;
  options.group = group;
  return node.create_service<Asking>(
    name,
    [callback](const Asking::Request & request, Asking::Response & response) {
      response.result.names = request.prefixes;
      callback();
    },
    QoS::services(), options);
}
inline std::shared_ptr<Client> make_client(
  Node & node, const std::string & name, const Group & group)
{
  rclrt_rcl::ClientOptions options;
  options.group = group;
  return node.create_client<Asking>(name, QoS::services(), options);
}
template <typename Service>
typename Service::Response answer_to(
  rclrt_rcl::Client<Service> & client, const typename Service::Request & request)
{
  return client.async_send_request(request).get();
}
/// The answer's names. `told` is called with it.
inline std::future<std::vector<std::string>> ask(
  Client & client, const std::vector<std::string> & prefixes,
  const std::function<void()> & told = [] {})
{
  Asking::Request request;
  request.prefixes = prefixes;
  const auto promise = std::make_shared<std::promise<std::vector<std::string>>>();
  client.async_send_request(request, [promise, told](const Asking::Response & response) {
    told();
    promise->set_value(response.result.names);
  });
  return promise->get_future();
}

/// Has one unit of work for every trigger().
class Triggered
{
public:
  // The waitable keeps what it runs, so that this may go in its own callback.
  Triggered(Node & node, std::function<void()> callback, const Group & group)
  {
    static std::atomic<int> made{0};
    rclrt_rcl::Scheduling scheduling;
    scheduling.name = "waitable" + std::to_string(++made);
    waitable_ = node.create_waitable(
      scheduling,
      [executed = executed_, callback = std::move(callback)] {
        ++*executed;
        callback();
      },
      group);
  }
  void trigger() { waitable_->trigger(); }
  int executed() const { return *executed_; }

private:
  const std::shared_ptr<std::atomic<int>> executed_ = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<rclrt_rcl::Waitable> waitable_;
};
inline std::shared_ptr<Triggered> make_waitable(
  Node & node, std::function<void()> callback, const Group & group = nullptr)
{
  return std::make_shared<Triggered>(node, std::move(callback), group);
}

}  // namespace conformance
