// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// rclcpp with our executors, and with its own, in the words of the conformance suite
/// (rclrt_front_end/test/conformance). What both front ends call the same the suite uses as it is;
/// rclrt_rcl/test/front_end.hpp has the same functions.
#ifndef FRONT_END_HPP_
#define FRONT_END_HPP_

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "conformance/basis.hpp"
#include "rcl_interfaces/srv/list_parameters.hpp"
#include "rcutils/logging.h"
#include "typed_fixture.hpp"

namespace conformance
{

using Message = builtin_interfaces::msg::Time;
using Asking = rcl_interfaces::srv::ListParameters;

using Client = rclcpp::Client<Asking>;
using Context = rclcpp::Context;
using Executor = rclcpp::Executor;
using Group = std::shared_ptr<rclcpp::CallbackGroup>;
using Node = rclcpp::Node;
using Publisher = rclcpp::Publisher<Message>;
using QoS = rclcpp::QoS;
using Service = rclcpp::Service<Asking>;
using Subscription = rclcpp::Subscription<Message>;
using Timer = rclcpp::TimerBase;
using Options = rclrt_front_end::CommonOptions;

constexpr auto kSuccess = rclcpp::FutureReturnCode::SUCCESS;
constexpr auto kInterrupted = rclcpp::FutureReturnCode::INTERRUPTED;
constexpr auto kTimeout = rclcpp::FutureReturnCode::TIMEOUT;

inline std::vector<Kind> all_kinds()
{
  std::vector<Kind> kinds = our_kinds();
  // A sanitizer sees nothing of what rclcpp's library does, which is not built with one: when its executors let go of an
  // entity, that looks like a race. So they are left out there, instead of suppressed, which would hide the same mistake
  // of ours.
#if !defined(RCLRT_SANITIZE_address) && !defined(RCLRT_SANITIZE_thread)
  kinds.insert(kinds.end(), {Kind::kRclcppSingle, Kind::kRclcppMulti});
#if !RCLRT_RCLCPP_IS_HUMBLE
  kinds.push_back(Kind::kRclcppEvents);
#endif
#endif
  return kinds;
}
constexpr bool kLogsCallbacks = true;
/// Under Humble, rclcpp's own see a group that is made while they spin only when something else happens, and may use
/// what a dropped one had (rclcpp issue 2820).
inline bool follows_groups(Kind kind) { return RCLRT_RCLCPP_IS_HUMBLE == 0 || is_ours(kind); }

inline std::shared_ptr<Context> make_context()
{
  const auto context = std::make_shared<Context>();
  context->init(0, nullptr);
  return context;
}
/// The default one begins.
inline void init() { rclcpp::init(0, nullptr); }
inline std::shared_ptr<Context> default_context()
{
  return rclcpp::contexts::get_global_default_context();
}

inline std::shared_ptr<Node> make_node_in(
  const std::shared_ptr<Context> & context, const std::string & name, bool intra_process = false)
{
  return std::make_shared<Node>(
    name, rclcpp::NodeOptions().context(context).use_intra_process_comms(intra_process));
}

/// What is there while a node or somebody else needs it.
inline std::weak_ptr<void> handle_of(Node & node) { return node.get_node_base_interface(); }

inline std::unique_ptr<Executor> make_executor_in(
  const std::shared_ptr<Context> & context, Kind kind, const Options & common = {})
{
  rclcpp::ExecutorOptions in_context;
  in_context.context = context;
  const auto with = [&](auto options) {
    static_cast<Options &>(options) = common;
    return options;
  };
  switch (kind) {
    case Kind::kPreemptive:
      return std::make_unique<rclrt_rclcpp::PreemptiveExecutor>(
        in_context, with(rclrt_rclcpp::PreemptiveExecutorOptions()));
    case Kind::kIsolated:
      return std::make_unique<rclrt_rclcpp::CallbackIsolatedExecutor>(
        in_context, with(rclrt_rclcpp::CallbackIsolatedExecutorOptions()));
    case Kind::kEvents:
      return std::make_unique<rclrt_rclcpp::PriorityEventsExecutor>(
        in_context, with(rclrt_rclcpp::PriorityEventsExecutorOptions()));
    case Kind::kReleaseAndExecute:
      return std::make_unique<rclrt_rclcpp::PriorityEventsExecutor>(
        in_context, with(rclrt_rclcpp::ReleaseAndExecuteOptions()));
    case Kind::kRclcppSingle:
      return std::make_unique<rclcpp::executors::SingleThreadedExecutor>(in_context);
    case Kind::kRclcppMulti:
      return std::make_unique<rclcpp::executors::MultiThreadedExecutor>(in_context);
    case Kind::kRclcppEvents:
      break;
  }
#if RCLRT_RCLCPP_IS_HUMBLE
  return nullptr;
#else
  return std::make_unique<rclrt_rclcpp::RclcppEvents>(in_context);
#endif
}

/// What only executors of rclrt have.
inline rclrt_rclcpp::EngineExecutor & ours(Executor & executor)
{
  return dynamic_cast<rclrt_rclcpp::EngineExecutor &>(executor);
}

inline Group make_group(Node & node, bool reentrant = false, bool automatic = true)
{
  return node.create_callback_group(
    reentrant ? rclcpp::CallbackGroupType::Reentrant : rclcpp::CallbackGroupType::MutuallyExclusive,
    automatic);
}
inline void add_group(Executor & executor, const Group & group, Node & node)
{
  executor.add_callback_group(group, node.get_node_base_interface());
}
/// All, added by hand, added with their nodes.
inline std::vector<std::size_t> group_counts(Executor & executor)
{
  return {
    executor.get_all_callback_groups().size(), executor.get_manually_added_callback_groups().size(),
    executor.get_automatically_added_callback_groups_from_nodes().size()};
}

template <typename Callback>
std::shared_ptr<Timer> make_timer(
  Node & node, std::chrono::nanoseconds period, Callback callback, const Group & group)
{
  return node.create_wall_timer(period, std::move(callback), group);
}
/// In time of the node.
template <typename Callback>
std::shared_ptr<Timer> make_ros_timer(
  Node & node, std::chrono::nanoseconds period, Callback callback, const Group & group = nullptr)
{
  return rclcpp::create_timer(&node, node.get_clock(), period, std::move(callback), group);
}
#if !RCLRT_RCLCPP_IS_HUMBLE
#define CONFORMANCE_TELLS_TIMERS 1
/// Is told for when the call was due, and the time.
template <typename Callback>
std::shared_ptr<Timer> make_told_timer(
  Node & node, std::chrono::nanoseconds period, Callback callback, const Group & group)
{
  return make_timer(
    node, period,
    [callback](const rclcpp::TimerInfo & info) {
      callback(
        std::chrono::nanoseconds(info.expected_call_time.nanoseconds()),
        std::chrono::nanoseconds(info.actual_call_time.nanoseconds()));
    },
    group);
}
#endif
/// Waits for its first reset().
inline std::shared_ptr<Timer> make_resting_timer(
  Node & node, std::chrono::nanoseconds period, std::function<void()> callback)
{
#if RCLRT_RCLCPP_IS_HUMBLE
  const auto timer = node.create_wall_timer(period, std::move(callback));
  timer->cancel();
  return timer;
#else
  return node.create_wall_timer(period, std::move(callback), nullptr, false);
#endif
}
inline void exchange_period(Timer & timer, std::chrono::nanoseconds period)
{
  rclrt_rclcpp::exchange_period(timer, period);
}
/// Simulated time of the node, without messages.
inline void set_time(Node & node, std::chrono::nanoseconds now)
{
  rclrt_rclcpp::set_time(node, now);
}
/// Back to the system's time.
inline void clear_time(Node & node)
{
  const std::lock_guard<std::mutex> lock(node.get_clock()->get_clock_mutex());
  ASSERT_EQ(rcl_disable_ros_time_override(node.get_clock()->get_clock_handle()), RCL_RET_OK);
}
inline std::chrono::nanoseconds time_of(Node & node)
{
  return std::chrono::nanoseconds(node.now().nanoseconds());
}

template <typename Callback>
std::shared_ptr<Subscription> make_subscription(
  Node & node, const std::string & topic, const QoS & qos, Callback callback, const Group & group)
{
  rclcpp::SubscriptionOptions options;
  options.callback_group = group;
  return node.create_subscription<Message>(topic, qos, std::move(callback), options);
}
inline rcl_subscription_t * handle_of(Subscription & subscription)
{
  return subscription.get_subscription_handle().get();
}
template <typename PublisherT>
std::size_t readers_of(const PublisherT & publisher)
{
  return publisher.get_subscription_count();
}

/// Its answer has the names that the request has as prefixes.
inline std::shared_ptr<Service> make_service(
  Node & node, const std::string & name, const std::function<void()> & callback = [] {},
  const Group & group = nullptr)
{
  return node.create_service<Asking>(
    name,
    [callback](
      const std::shared_ptr<Asking::Request> & request,
      const std::shared_ptr<Asking::Response> & response) {
      response->result.names = request->prefixes;
      callback();
    },
    rclrt_rclcpp::qos_of_service(rclcpp::ServicesQoS()), group);
}
inline std::shared_ptr<Client> make_client(
  Node & node, const std::string & name, const Group & group)
{
  return node.create_client<Asking>(
    name, rclrt_rclcpp::qos_of_service(rclcpp::ServicesQoS()), group);
}
/// The answer's names.
inline std::future<std::vector<std::string>> ask(
  Client & client, const std::vector<std::string> & prefixes)
{
  const auto request = std::make_shared<Asking::Request>();
  request->prefixes = prefixes;
  const auto promise = std::make_shared<std::promise<std::vector<std::string>>>();
  client.async_send_request(request, [promise](Client::SharedFuture response) {
    promise->set_value(response.get()->result.names);
  });
  return promise->get_future();
}

using Triggered = rclrt_rclcpp::Triggered;
inline std::shared_ptr<Triggered> make_waitable(
  Node & node, std::function<void()> callback, const Group & group = nullptr)
{
  const auto waitable =
    std::make_shared<Triggered>(node.get_node_base_interface()->get_context(), std::move(callback));
  node.get_node_waitables_interface()->add_waitable(waitable, group);
  return waitable;
}

}  // namespace conformance

#endif  // FRONT_END_HPP_
