// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The front end on rclcpp: rclcpp's executors and ours, under SCHED_OTHER as users have them, and both
// also with SCHED_FIFO workers below the middleware's threads.

#include <thread>
#include <utility>

#include "rclcpp/experimental/executors/events_executor/events_executor.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclrt_rclcpp/callback_isolated_executor.hpp"
#include "rclrt_rclcpp/preemptive_executor.hpp"
#include "rclrt_rclcpp/priority_events_executor.hpp"
#include "variants.hpp"

namespace dispatch
{
namespace
{

class RclcppReceiver : public Receiver
{
public:
  RclcppReceiver(const std::string & topic, std::size_t active, std::size_t idle)
  : node_(std::make_shared<rclcpp::Node>(
      "dispatch_rclcpp",
      rclcpp::NodeOptions().enable_rosout(false).start_parameter_services(false)))
  {
    for (std::size_t i = 0; i < active; ++i) {
      groups_.push_back(make_group());
      rclcpp::SubscriptionOptions options;
      options.callback_group = groups_.back();
      active_.push_back(node_->create_subscription<Message>(
        topic, 10, [this, i](const Message & message) { received(i, message); }, options));
      handles_.push_back(active_.back()->get_subscription_handle().get());
    }
    if (idle > 0) {
      groups_.push_back(make_group());  // the last one
    }
    for (std::size_t i = 0; i < idle; ++i) {
      rclcpp::SubscriptionOptions options;
      options.callback_group = groups_.back();
      idle_.push_back(node_->create_subscription<Message>(
        "dispatch_idle_" + std::to_string(i), 10, [](const Message &) {}, options));
    }
  }

  const rclcpp::Node::SharedPtr & node() const { return node_; }
  const std::vector<rclcpp::SubscriptionBase::SharedPtr> & active() const { return active_; }
  const std::vector<rclcpp::CallbackGroup::SharedPtr> & groups() const { return groups_; }

private:
  rclcpp::CallbackGroup::SharedPtr make_group()
  {
    return node_->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive, false);
  }

  const rclcpp::Node::SharedPtr node_;
  std::vector<rclcpp::CallbackGroup::SharedPtr> groups_;
  std::vector<rclcpp::SubscriptionBase::SharedPtr> active_;
  std::vector<rclcpp::SubscriptionBase::SharedPtr> idle_;
};

/// One executor for some groups, which spins on a thread of its own.
class Spinning
{
public:
  Spinning(
    std::unique_ptr<rclcpp::Executor> executor, const RclcppReceiver & receiver,
    const std::vector<rclcpp::CallbackGroup::SharedPtr> & groups, bool as_worker)
  : executor_(std::move(executor)), groups_(groups)
  {
    for (const auto & group : groups_) {
      executor_->add_callback_group(group, receiver.node()->get_node_base_interface());
    }
    thread_ = std::thread([this, as_worker] {
      if (as_worker) {
        become_worker();
      }
      executor_->spin();
    });
  }
  ~Spinning()
  {
    executor_->cancel();
    thread_.join();
    for (const auto & group : groups_) {
      executor_->remove_callback_group(group);
    }
  }
  Spinning(const Spinning &) = delete;
  Spinning & operator=(const Spinning &) = delete;

private:
  const std::unique_ptr<rclcpp::Executor> executor_;
  const std::vector<rclcpp::CallbackGroup::SharedPtr> groups_;
  std::thread thread_;
};

using Make = std::function<std::unique_ptr<rclcpp::Executor>(const RclcppReceiver &)>;

/// One for all subscriptions.
class Executors : public Dispatching
{
public:
  Executors(const RclcppReceiver & receiver, const Make & make, bool raised)
  : raised_(raised ? std::make_unique<RaisedMiddleware>() : nullptr),
    spinning_(make(receiver), receiver, receiver.groups(), raised)
  {
  }

private:
  std::unique_ptr<RaisedMiddleware> raised_;
  Spinning spinning_;
};

/// `raised`: the thread that spins and the middleware's get the priorities that ours would give them.
Variant variant(const std::string & name, const Make & make, bool raised = false)
{
  return {name, [=](Receiver & receiver) {
            return std::make_unique<Executors>(
              static_cast<RclcppReceiver &>(receiver), make, raised);
          }};
}

/// Ours, with SCHED_FIFO for the active subscriptions or without.
template <typename Executor, typename Options>
Make ours(
  bool realtime, rclrt_core::Waiting waiting = rclrt_core::Waiting::kBlock, bool is_inline = false)
{
  return [=](const RclcppReceiver & receiver) {
    Options options;
    options.waiting.kind = waiting;
    options.waiting.spin = std::chrono::milliseconds(3);
    if (realtime || is_inline) {
      const auto registry = std::make_shared<rclrt_rclcpp::SchedulingRegistry>();
      rclrt_rclcpp::Scheduling scheduling;
      if (realtime) {
        scheduling.attributes = fifo(kWorkerPriority);
      }
      if (is_inline) {
        scheduling.inline_bound = std::chrono::seconds(1);
      }
      for (const auto & subscription : receiver.active()) {
        registry->set(subscription, scheduling);
      }
      options.scheduling = registry;
    }
    return std::make_unique<Executor>(rclcpp::ExecutorOptions(), options);
  };
}

/// What rclcpp itself does for a message that has come.
struct Executes : rclcpp::Executor
{
  static void subscription(Receiver & receiver, std::size_t number)
  {
    execute_subscription(static_cast<RclcppReceiver &>(receiver).active()[number]);
  }
};

template <typename Executor>
std::unique_ptr<rclcpp::Executor> theirs(const RclcppReceiver &)
{
  return std::make_unique<Executor>();
}

}  // namespace

std::shared_ptr<void> start_up()
{
  rclcpp::init(0, nullptr);
  return {nullptr, [](void *) { rclcpp::shutdown(); }};
}

std::unique_ptr<Receiver> make_receiver(
  const std::string & topic, std::size_t active, std::size_t idle)
{
  return std::make_unique<RclcppReceiver>(topic, active, idle);
}

std::vector<Variant> executors()
{
  using rclcpp::executors::MultiThreadedExecutor;
  using rclcpp::executors::SingleThreadedExecutor;
  using rclcpp::experimental::executors::EventsExecutor;
  using rclrt_rclcpp::CallbackIsolatedExecutor;
  using rclrt_rclcpp::CallbackIsolatedExecutorOptions;
  using rclrt_rclcpp::PreemptiveExecutor;
  using rclrt_rclcpp::PreemptiveExecutorOptions;
  using rclrt_rclcpp::PriorityEventsExecutor;
  using rclrt_rclcpp::PriorityEventsExecutorOptions;
  const auto pool = [](const std::string & name, auto... how) {
    return variant(name, ours<PreemptiveExecutor, PreemptiveExecutorOptions>(how...));
  };
  using rclrt_core::Waiting;
  return {
    handover_floor("floor_handover_rclcpp", true, &Executes::subscription),
    handover_floor("floor_handover_rclcpp_default", false, &Executes::subscription),
    pool("preemptive", true),
    pool("preemptive_spin", true, Waiting::kSpin),
    pool("preemptive_adaptive", true, Waiting::kAdaptive),
    pool("preemptive_inline", true, Waiting::kBlock, true),
    variant("priority_events", ours<PriorityEventsExecutor, PriorityEventsExecutorOptions>(true)),
    variant("isolated", ours<CallbackIsolatedExecutor, CallbackIsolatedExecutorOptions>(true)),
    pool("preemptive_default", false),
    pool("preemptive_spin_default", false, Waiting::kSpin),
    pool("preemptive_adaptive_default", false, Waiting::kAdaptive),
    pool("preemptive_inline_default", false, Waiting::kBlock, true),
    variant(
      "priority_events_default",
      ours<PriorityEventsExecutor, PriorityEventsExecutorOptions>(false)),
    variant(
      "isolated_default", ours<CallbackIsolatedExecutor, CallbackIsolatedExecutorOptions>(false)),
    variant("rclcpp_single", theirs<SingleThreadedExecutor>),
    variant("rclcpp_multi", theirs<MultiThreadedExecutor>),
    variant("rclcpp_events", theirs<EventsExecutor>),
    variant("rclcpp_multi_fifo", theirs<MultiThreadedExecutor>, true),
    variant("rclcpp_events_fifo", theirs<EventsExecutor>, true)};
}

}  // namespace dispatch
