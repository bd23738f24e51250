// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// rclcpp with our executors, and with its own, in the words of the conformance suite
/// (rclrt_front_end/test/conformance). What both front ends call the same the suite uses as it is;
/// rclrt_rcl/test/front_end.hpp has the same functions.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "builtin_interfaces/msg/time.hpp"
#include "conformance/basis.hpp"
#include "rcl/time.h"
#include "rcl_interfaces/msg/floating_point_range.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rcl_interfaces/srv/list_parameters.hpp"
#include "rclcpp/detail/add_guard_condition_to_rcl_wait_set.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclrt_rclcpp/callback_isolated_executor.hpp"
#include "rclrt_rclcpp/preemptive_executor.hpp"
#include "rclrt_rclcpp/priority_events_executor.hpp"
#include "rcutils/logging.h"
#include "rosgraph_msgs/msg/clock.hpp"
#include "versions.hpp"

#if !RCLRT_RCLCPP_IS_HUMBLE
#include "rclcpp/experimental/executors/events_executor/events_executor.hpp"
#include "rclcpp/experimental/executors/events_executor/simple_events_queue.hpp"
#endif

namespace conformance
{

#if RCLRT_RCLCPP_IS_HUMBLE

// What services, clients and waitables take.
inline rmw_qos_profile_t qos_of_service(const rclcpp::QoS & qos)
{
  return qos.get_rmw_qos_profile();
}
using WaitSet = rcl_wait_set_t *;
using ReadyWaitSet = rcl_wait_set_t *;
using Data = std::shared_ptr<void> &;
inline rcl_wait_set_t & read(WaitSet wait_set) { return *wait_set; }

#else

inline const rclcpp::QoS & qos_of_service(const rclcpp::QoS & qos) { return qos; }
using WaitSet = rcl_wait_set_t &;
using ReadyWaitSet = const rcl_wait_set_t &;
using Data = const std::shared_ptr<void> &;
template <typename WaitSetT>
WaitSetT & read(WaitSetT & wait_set)
{
  return wait_set;
}

#endif

using Message = builtin_interfaces::msg::Time;
using Asking = rcl_interfaces::srv::ListParameters;
/// A message that begins with a stamp, and one without.
using Stamped = rcl_interfaces::msg::Log;
using Unstamped = rcl_interfaces::msg::FloatingPointRange;
using ClockMessage = rosgraph_msgs::msg::Clock;

using Client = rclcpp::Client<Asking>;
using Context = rclcpp::Context;
using Executor = rclcpp::Executor;
using Group = std::shared_ptr<rclcpp::CallbackGroup>;
using Node = rclcpp::Node;
using NodeOptions = rclcpp::NodeOptions;
using Publisher = rclcpp::Publisher<Message>;
using QoS = rclcpp::QoS;
using Service = rclcpp::Service<Asking>;
using Subscription = rclcpp::Subscription<Message>;
using Timer = rclcpp::TimerBase;

struct Options : rclrt_front_end::CommonOptions
{
  const rclrt_core::Policy * policy = &rclrt_core::fixed_priority_policy();
  std::shared_ptr<rclrt_rclcpp::SchedulingRegistry> scheduling;

  /// What matters about the callback of that name, said in code.
  void say(const std::string & callback, const rclrt_core::Scheduling & what)
  {
    scheduling = scheduling ? scheduling : std::make_shared<rclrt_rclcpp::SchedulingRegistry>();
    scheduling->set(callback, what);
  }
};

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
/// Callbacks of what another thread lets go that may run then.
constexpr int kMayStillRun = 1;
inline rcl_node_t * rcl_node_of(Node & node)
{
  return node.get_node_base_interface()->get_rcl_node_handle();
}
inline void log_line(const Node & node) { RCLCPP_INFO(node.get_logger(), "a line"); }
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
  const std::shared_ptr<Context> & context, const std::string & name,
  NodeOptions options = NodeOptions(), const std::string & name_space = "")
{
  return std::make_shared<Node>(name, name_space, options.context(context));
}
inline NodeOptions by_pointer(bool is_used = true)
{
  return NodeOptions().use_intra_process_comms(is_used);
}

/// A node's time comes from messages of that topic, which rclcpp may hear in a thread of its own. (It does by default.)
inline NodeOptions simulated(const std::string & clock, bool in_a_thread)
{
  NodeOptions options;
  options.use_clock_thread(in_a_thread);
  options.parameter_overrides({{"use_sim_time", true}});
  options.arguments({"--ros-args", "-r", "/clock:=" + clock});
  return options;
}
inline std::vector<bool> may_hear_clocks_in_a_thread() { return {true, false}; }
/// What is there while a node or somebody else needs it.
inline std::weak_ptr<void> handle_of(Node & node) { return node.get_node_base_interface(); }

inline std::unique_ptr<Executor> make_executor_in(
  const std::shared_ptr<Context> & context, Kind kind, const Options & common = {})
{
  rclcpp::ExecutorOptions in_context;
  in_context.context = context;
  const auto with = [&](auto options) {
    static_cast<rclrt_front_end::CommonOptions &>(options) = common;
    options.policy = common.policy;
    options.scheduling = common.scheduling;
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
    case Kind::kReleaseAndExecute: {
      auto options = with(rclrt_rclcpp::PriorityEventsExecutorOptions());
      options.release_and_execute = kind == Kind::kReleaseAndExecute;
      return std::make_unique<rclrt_rclcpp::PriorityEventsExecutor>(in_context, options);
    }
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
  using namespace rclcpp::experimental::executors;
  return std::make_unique<EventsExecutor>(std::make_unique<SimpleEventsQueue>(), false, in_context);
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
/// The budget is said in code.
inline Group make_group_with(const rclrt_core::Budget & budget, Node & node, Options & options)
{
  const auto group = make_group(node);
  options.scheduling = std::make_shared<rclrt_rclcpp::SchedulingRegistry>();
  options.scheduling->set(group, {}, budget);
  return group;
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
/// As rcl has it: rclcpp's timers tell nobody.
inline void exchange_period(Timer & timer, std::chrono::nanoseconds period)
{
  int64_t former = 0;
  ASSERT_EQ(
    rcl_timer_exchange_period(timer.get_timer_handle().get(), period.count(), &former), RCL_RET_OK);
}
/// Simulated time of the node, without messages.
inline void set_time(Node & node, std::chrono::nanoseconds now)
{
  rcl_clock_t * clock = node.get_clock()->get_clock_handle();
  const std::lock_guard<std::mutex> lock(node.get_clock()->get_clock_mutex());
  bool is_active = false;
  ASSERT_EQ(rcl_is_enabled_ros_time_override(clock, &is_active), RCL_RET_OK);
  if (!is_active) {
    ASSERT_EQ(rcl_enable_ros_time_override(clock), RCL_RET_OK);
  }
  ASSERT_EQ(rcl_set_ros_time_override(clock, now.count()), RCL_RET_OK);
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

template <typename M = Message, typename Callback>
auto make_subscription(
  Node & node, const std::string & topic, const QoS & qos, Callback callback, const Group & group)
{
  rclcpp::SubscriptionOptions options;
  options.callback_group = group;
  return node.create_subscription<M>(topic, qos, std::move(callback), options);
}
using Gid = std::array<uint8_t, 16>;
/// Is told the id of each message's publisher, and its source time stamp.
template <typename M, typename Callback>
auto make_told_subscription(Node & node, const std::string & topic, Callback callback)
{
  return node.create_subscription<M>(
    topic, 10, [callback](std::unique_ptr<M> message, const rclcpp::MessageInfo & info) {
      const rmw_message_info_t & of_message = info.get_rmw_message_info();
      Gid gid{};
      std::copy_n(std::begin(of_message.publisher_gid.data), gid.size(), gid.begin());
      callback(*message, gid, of_message.source_timestamp);
    });
}
template <typename PublisherT>
Gid gid_of(const PublisherT & publisher)
{
  Gid gid{};
  std::copy_n(std::begin(publisher.get_gid().data), gid.size(), gid.begin());
  return gid;
}
#define CONFORMANCE_TAKES_BYTES 1
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
    qos_of_service(rclcpp::ServicesQoS()), group);
}
inline std::shared_ptr<Client> make_client(
  Node & node, const std::string & name, const Group & group)
{
  return node.create_client<Asking>(name, qos_of_service(rclcpp::ServicesQoS()), group);
}
template <typename Service>
typename Service::Response answer_to(
  rclcpp::Client<Service> & client, const typename Service::Request & request)
{
  return *client.async_send_request(std::make_shared<typename Service::Request>(request)).get();
}
/// The answer's names. `told` is called with it.
inline std::future<std::vector<std::string>> ask(
  Client & client, const std::vector<std::string> & prefixes,
  const std::function<void()> & told = [] {})
{
  const auto request = std::make_shared<Asking::Request>();
  request->prefixes = prefixes;
  const auto promise = std::make_shared<std::promise<std::vector<std::string>>>();
  client.async_send_request(request, [promise, told](Client::SharedFuture response) {
    told();
    promise->set_value(response.get()->result.names);
  });
  return promise->get_future();
}

/// Has one unit of work for every trigger().
class Triggered : public rclcpp::Waitable
{
public:
  Triggered(const std::shared_ptr<rclcpp::Context> & context, std::function<void()> callback)
  : callback_(std::move(callback)), guard_condition_(context)
  {
  }

  void trigger()
  {
    ++waiting_;
    guard_condition_.trigger();
  }
  int executed() const { return executed_; }
  /// How often somebody has looked whether there is work.
  int asked() const { return asked_; }

  std::size_t get_number_of_ready_guard_conditions() override { return 1; }
  void add_to_wait_set(WaitSet wait_set) override
  {
    if (waiting_ > 0) {
      guard_condition_.trigger();
    }
    rclcpp::detail::add_guard_condition_to_rcl_wait_set(read(wait_set), guard_condition_);
  }
  bool is_ready(ReadyWaitSet wait_set) override
  {
    ++asked_;
    for (std::size_t i = 0; i < read(wait_set).size_of_guard_conditions; ++i) {
      if (read(wait_set).guard_conditions[i] == &guard_condition_.get_rcl_guard_condition()) {
        return waiting_ > 0;
      }
    }
    return false;
  }
  std::shared_ptr<void> take_data() override { return nullptr; }
  std::shared_ptr<void> take_data_by_entity_id(std::size_t) override { return nullptr; }
  void execute(Data) override
  {
    --waiting_;
    ++executed_;
    callback_();
  }
  void set_on_ready_callback(std::function<void(std::size_t, int)> callback) override
  {
    guard_condition_.set_on_trigger_callback([callback](std::size_t count) { callback(count, 0); });
  }
  void clear_on_ready_callback() override { guard_condition_.set_on_trigger_callback(nullptr); }

private:
  const std::function<void()> callback_;
  rclcpp::GuardCondition guard_condition_;
  std::atomic<int> waiting_{0};
  std::atomic<int> executed_{0};
  std::atomic<int> asked_{0};
};

inline std::shared_ptr<Triggered> make_waitable(
  Node & node, std::function<void()> callback, const Group & group = nullptr)
{
  const auto waitable =
    std::make_shared<Triggered>(node.get_node_base_interface()->get_context(), std::move(callback));
  node.get_node_waitables_interface()->add_waitable(waitable, group);
  return waitable;
}

}  // namespace conformance
