// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The front end on rcl: our executors, and the baselines, all with SCHED_FIFO workers below the
// middleware's threads.

#include <thread>
#include <utility>

#include "rclrt_baselines/baselines.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"
#include "variants.hpp"

namespace dispatch
{
namespace
{

constexpr std::size_t kOneForEachOfTen = 10;

using MakeExecutor = std::function<std::unique_ptr<rclrt_rcl::Executor>()>;

/// One executor that spins on a thread of its own.
class Spinning
{
public:
  Spinning(
    std::unique_ptr<rclrt_rcl::Executor> executor,
    const std::vector<std::shared_ptr<rclrt_rcl::CallbackGroup>> & groups, bool is_baseline)
  : executor_(std::move(executor))
  {
    for (const auto & group : groups) {
      executor_->add_callback_group(group);
    }
    thread_ = std::thread([this, is_baseline] {
      if (is_baseline) {
        become_worker();  // ours do that themselves, as their subscriptions say
      }
      executor_->spin();
    });
  }
  ~Spinning()
  {
    executor_->cancel();
    thread_.join();
  }
  Spinning(const Spinning &) = delete;
  Spinning & operator=(const Spinning &) = delete;

private:
  std::unique_ptr<rclrt_rcl::Executor> executor_;
  std::thread thread_;
};

enum class Threads : uint8_t
{
  kOne,      ///< an executor for each subscription
  kSeveral,  ///< one for all
};

/// Subscriptions of our own front end.
class RclReceiver : public Receiver
{
public:
  RclReceiver(const std::string & topic, std::size_t active, std::size_t idle) : node_(make_node())
  {
    for (std::size_t i = 0; i < active; ++i) {
      groups_.push_back(make_group("active_" + std::to_string(i)));
      rclrt_rcl::SubscriptionOptions options;
      options.group = groups_.back();
      options.scheduling.attributes = fifo(kWorkerPriority);
      active_.push_back(node_->create_subscription<Message>(
        topic, 10, [this, i](const Message & message) { received(i, message); }, options));
      handles_.push_back(active_.back()->handle().get());
    }
    if (idle > 0) {
      idle_group_ = make_group("idle");
    }
    for (std::size_t i = 0; i < idle; ++i) {
      rclrt_rcl::SubscriptionOptions options;
      options.group = idle_group_;
      idle_.push_back(node_->create_subscription<Message>(
        "dispatch_idle_" + std::to_string(i), 10, [](const Message &) {}, options));
    }
  }

  const std::vector<std::shared_ptr<rclrt_rcl::CallbackGroup>> & groups() const { return groups_; }
  /// Null if there are no idle subscriptions.
  const std::shared_ptr<rclrt_rcl::CallbackGroup> & idle_group() const { return idle_group_; }

private:
  using Subscription = rclrt_rcl::Subscription<Message>;

  static std::shared_ptr<rclrt_rcl::Node> make_node()
  {
    rclrt_rcl::NodeOptions options;
    options.enable_rosout = false;
    return std::make_shared<rclrt_rcl::Node>("dispatch_latency", options);
  }
  std::shared_ptr<rclrt_rcl::CallbackGroup> make_group(const std::string & name)
  {
    rclrt_rcl::CallbackGroupOptions options;
    options.name = name;
    options.automatically_add_to_executor_with_node = false;
    return node_->create_callback_group(rclrt_rcl::CallbackGroupType::kMutuallyExclusive, options);
  }

  const std::shared_ptr<rclrt_rcl::Node> node_;
  std::vector<std::shared_ptr<rclrt_rcl::CallbackGroup>> groups_;
  std::shared_ptr<rclrt_rcl::CallbackGroup> idle_group_;
  std::vector<std::shared_ptr<Subscription>> active_;
  std::vector<std::shared_ptr<Subscription>> idle_;
};

class Executors : public Dispatching
{
public:
  Executors(
    const RclReceiver & receiver, const MakeExecutor & make, Threads threads, bool is_baseline)
  : raised_(is_baseline ? std::make_unique<RaisedMiddleware>() : nullptr)
  {
    auto groups = receiver.groups();
    if (threads == Threads::kOne) {
      while (groups.size() > 1) {
        executors_.push_back(
          std::make_unique<Spinning>(make(), std::vector{groups.back()}, is_baseline));
        groups.pop_back();
      }
    }
    if (receiver.idle_group()) {
      groups.push_back(receiver.idle_group());
    }
    executors_.push_back(std::make_unique<Spinning>(make(), groups, is_baseline));
  }

private:
  std::unique_ptr<RaisedMiddleware> raised_;
  std::vector<std::unique_ptr<Spinning>> executors_;
};

template <typename T>
Variant variant(const std::string & name, Threads threads, bool is_baseline, T make)
{
  return {name, [=](Receiver & receiver) {
            return std::make_unique<Executors>(
              static_cast<RclReceiver &>(receiver),
              [&]() -> std::unique_ptr<rclrt_rcl::Executor> { return make(); }, threads,
              is_baseline);
          }};
}

}  // namespace

std::shared_ptr<void> start_up()
{
  rclrt_rcl::ContextOptions options;
  options.configure_logging = false;
  rclrt_rcl::init(0, nullptr, options);
  return {nullptr, [](void *) { rclrt_rcl::shutdown(); }};
}

std::unique_ptr<Receiver> make_receiver(
  const std::string & topic, std::size_t active, std::size_t idle)
{
  return std::make_unique<RclReceiver>(topic, active, idle);
}

namespace
{

/// The pool with threads that look for work before they sleep. `is_default`: SCHED_OTHER everywhere.
Variant looking_pool(const std::string & name, rclrt_core::Waiting kind, bool is_default)
{
  return variant(name, Threads::kSeveral, false, [kind, is_default] {
    rclrt_rcl::PreemptiveExecutorOptions options;
    options.waiting.kind = kind;
    options.waiting.spin = std::chrono::milliseconds(3);
    if (is_default) {
      options.attributes_mode = rclrt_core::AttributesMode::kOff;
    }
    return std::make_unique<rclrt_rcl::PreemptiveExecutor>(options);
  });
}

/// The pool with callbacks that the middleware's thread runs itself. Nothing this short exceeds the bound, but for what the
/// machine does meanwhile.
Variant inline_pool(const std::string & name, bool is_default)
{
  return variant(name, Threads::kSeveral, false, [is_default] {
    rclrt_rcl::PreemptiveExecutorOptions options;
    options.configure = [](const rclrt_rcl::Entity &, rclrt_rcl::Scheduling & scheduling) {
      scheduling.inline_bound = std::chrono::seconds(1);
    };
    if (is_default) {
      options.attributes_mode = rclrt_core::AttributesMode::kOff;
    }
    return std::make_unique<rclrt_rcl::PreemptiveExecutor>(options);
  });
}

/// `executor`: its name, if the variant has another one.
Variant by_name(
  const std::string & name, Threads threads, bool is_baseline, const std::string & executor = "")
{
  return variant(name, threads, is_baseline, [known = executor.empty() ? name : executor] {
    return rclrt_baselines::executor_by_name(known);
  });
}

}  // namespace

std::vector<Variant> executors()
{
  using rclrt_core::Waiting;
  return {
    by_name("preemptive", Threads::kSeveral, false),
    // Orders by deadline instead of priority, on whatever kernel.
    variant(
      "preemptive_edf", Threads::kSeveral, false,
      [] {
        rclrt_rcl::PreemptiveExecutorOptions options;
        options.policy = &rclrt_core::edf_policy();
        options.deadline_scheduler = rclrt_config::DeadlineBackend::kFifoBands;
        options.configure = [](const rclrt_rcl::Entity &, rclrt_rcl::Scheduling & scheduling) {
          scheduling.attributes = {};
          scheduling.attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kExt;
          scheduling.relative_deadline = std::chrono::milliseconds(10);
        };
        return std::make_unique<rclrt_rcl::PreemptiveExecutor>(options);
      }),
    by_name("priority_events", Threads::kOne, false), by_name("isolated", Threads::kSeveral, false),
    by_name("wait_set_single", Threads::kOne, true),
    by_name("wait_set_multi", Threads::kSeveral, true),
    variant(
      "wait_set_multi_10", Threads::kSeveral, true,
      [] { return rclrt_baselines::executor_by_name("wait_set_multi", kOneForEachOfTen); }),
    // As rclcpp's users have it: SCHED_OTHER everywhere.
    variant(
      "preemptive_default", Threads::kSeveral, false,
      [] {
        rclrt_rcl::PreemptiveExecutorOptions options;
        options.attributes_mode = rclrt_core::AttributesMode::kOff;
        return std::make_unique<rclrt_rcl::PreemptiveExecutor>(options);
      }),
    inline_pool("preemptive_inline", false), inline_pool("preemptive_inline_default", true),
    looking_pool("preemptive_spin", Waiting::kSpin, false),
    looking_pool("preemptive_adaptive", Waiting::kAdaptive, false),
    looking_pool("preemptive_spin_default", Waiting::kSpin, true),
    looking_pool("preemptive_adaptive_default", Waiting::kAdaptive, true),
    by_name("wait_set_multi_default", Threads::kSeveral, false, "wait_set_multi"),
    by_name("static", Threads::kOne, true), by_name("events_fifo", Threads::kOne, true)};
}

}  // namespace dispatch
