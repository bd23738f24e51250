// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Each kind of rclcpp's entities as a callback of the engine.

#include <algorithm>
#include <utility>

#include "engine_executor_impl.hpp"
#include "group_names.hpp"
#include "rclcpp/event_handler.hpp"
#include "rclcpp/experimental/subscription_intra_process_base.hpp"
#include "rclrt_config/middleware_threads.hpp"
#include "rclrt_config/names.hpp"
#include "tracetools/tracetools.h"
#include "waitable_events.hpp"

namespace rclrt_rclcpp
{

using rclrt_core::CallbackKind;
using rclrt_core::Job;

namespace
{

constexpr std::size_t kKeepAllDepth = 5000;  // what Fast DDS keeps when it keeps everything
constexpr std::size_t kServicesDepth = 10;   // rclcpp's default for services, used for clients

uint32_t depth_of(const rclcpp::QoS & qos)
{
  const bool keeps_all = qos.history() == rclcpp::HistoryPolicy::KeepAll;
  const std::size_t depth = keeps_all ? kKeepAllDepth : std::min(qos.depth(), kKeepAllDepth);
  return static_cast<uint32_t>(std::max<std::size_t>(depth, 1));
}

/// Before there was TimerBase::get_clock().
struct ClockOfTimer : rclcpp::TimerBase
{
  static std::shared_ptr<rclcpp::Clock> get(rclcpp::TimerBase & timer)
  {
    return timer.*(&ClockOfTimer::clock_);
  }
};

/// What a timer's job, its resets and the engine know of each other. Weak: the engine owns the job.
struct TimerLink
{
  std::weak_ptr<rclcpp::TimerBase> timer;
  std::weak_ptr<rclrt_config::ConfiguredEngine> engine;
  rclrt_core::Duration period{0};  // as the engine knows it; used by the timer's job only

  std::mutex mutex;  // taken after rclcpp's, before the engine's
  std::weak_ptr<rclrt_core::Callback> callback;

  void on_reset()
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto its_engine = engine.lock();
    const auto its_callback = callback.lock();
    if (its_engine && its_callback) {
      // An error means that it is not the engine's any more.
      static_cast<void>(its_engine->engine().reset_timer(its_callback));
    }
  }

  /// It was due and did not want to run: let the engine's timer rest, too, until the next reset.
  void rest(rclcpp::TimerBase & its_timer)
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto its_engine = engine.lock();
    const auto its_callback = callback.lock();
    if (!its_engine || !its_callback || !its_timer.is_canceled()) {
      return;
    }
    static_cast<void>(its_engine->engine().cancel_timer(its_callback));
    if (!its_timer
           .is_canceled()) {  // its reset came in between, and was told to the engine already
      static_cast<void>(its_engine->engine().reset_timer(its_callback));
    }
  }

  void follow_period(rclcpp::TimerBase & its_timer)
  {
    const rclrt_core::Duration now = detail::period_of(its_timer);
    if (now == period) {
      return;
    }
    period = now;
    const auto its_engine = engine.lock();
    const auto its_callback = callback.lock();
    if (its_engine && its_callback) {
      static_cast<void>(its_engine->set_timer_period(its_callback, period));
    }
  }
};

}  // namespace

std::string EngineExecutor::Impl::unique_name(
  const KnownGroup & group, CallbackKind kind, const std::string & label) const
{
  const std::string name = rclrt_config::callback_name(group.node, kind, label);
  std::string unique = name;
  for (int number = 2; names_.count(unique) > 0; ++number) {
    unique = name + "#" + std::to_string(number);
  }
  return unique;
}

rclrt_core::CallbackOptions EngineExecutor::Impl::options_for(
  const void * entity, const KnownGroup & group, CallbackKind kind, const std::string & label,
  uint32_t depth) const
{
  rclrt_core::CallbackOptions to;
  to.name = unique_name(group, kind, label);
  to.kind = kind;
  to.depth = depth;
  if (kind == CallbackKind::kTimer) {
    to.overrun_rule = rclrt_core::OverrunRule::kKeepLatest;
  }
  if (options_.scheduling) {
    if (const auto scheduling = options_.scheduling->find(entity, to.name)) {
      to.attributes = scheduling->attributes;
      to.priority = scheduling->priority;
      to.relative_deadline = scheduling->relative_deadline;
      to.inherit_priority = scheduling->inherit_priority;
      to.overrun_rule = scheduling->overrun_rule.value_or(to.overrun_rule);
    }
  }
  return to;
}

/// `execute(entity)` runs a job; `set_hook(entity, hook)` has the hook called when work arrives, and
/// with an empty hook nothing more.
template <typename EntityT, typename Execute, typename SetHook>
void EngineExecutor::Impl::add(
  const std::shared_ptr<EntityT> & entity, const KnownGroup & group,
  rclrt_core::CallbackOptions options, Execute execute, SetHook set_hook)
{
  const std::weak_ptr<EntityT> weak = entity;
  options.run = [this, weak, execute](const Job &) {
    const auto present = weak.lock();
    if (!present) {
      request_update();
      return false;
    }
    return execute(present);
  };
  Member member;
  member.entity = entity;
  member.group = group.group.lock().get();
  detail::check(engine_->add_callback(std::move(options), group.in_engine, &member.callback));
  member.unhook = [weak, set_hook] {
    if (const auto present = weak.lock()) {
      set_hook(*present, nullptr);
    }
  };
  names_.insert(member.callback->name());
  const auto callback = member.callback;
  members_[entity.get()] = std::move(member);
  set_hook(*entity, [engine = engine_, callback](std::size_t count) {
    rclrt_config::MiddlewareThreads::instance().greet();
    engine->engine().notify(*callback, count);
  });
}

void EngineExecutor::Impl::add_timer(
  const std::shared_ptr<rclcpp::TimerBase> & timer, const KnownGroup & group)
{
  auto link = std::make_shared<TimerLink>();
  link->timer = timer;
  link->engine = engine_;
  link->period = detail::period_of(*timer);
  auto options = options_for(
    timer.get(), group, CallbackKind::kTimer, rclrt_config::period_label(link->period), 1);
  options.run = [this, link](const Job &) {
    const auto present = link->timer.lock();
    if (!present) {
      request_update();
      return false;
    }
    const auto data = present->call();
    if (!data) {
      link->rest(*present);
      return false;
    }
    link->follow_period(*present);
    TRACETOOLS_TRACEPOINT(
      rclcpp_executor_execute, static_cast<const void *>(present->get_timer_handle().get()));
    execute_timer(present, data);
    return true;
  };

  rclrt_core::TimerOptions timer_options;
  timer_options.period = link->period;
  std::shared_ptr<RosClock> clock;
  if (!timer->is_steady()) {
    const auto of_timer = ClockOfTimer::get(*timer);
    timer_options.clock = rclrt_core::kSystemClock;
    if (of_timer->get_clock_type() == RCL_ROS_TIME) {
      clock = ros_clock(of_timer);
      timer_options.clock = clock->id();
    }
  }

  Member member;
  member.entity = timer;
  member.group = group.group.lock().get();
  member.unhook = [weak = link->timer] {
    if (const auto present = weak.lock()) {
      present->clear_on_reset_callback();
    }
  };
  // Resets from now on wait for the mutex, and find the callback then.
  timer->set_on_reset_callback([link](std::size_t) { link->on_reset(); });
  {
    const std::lock_guard<std::mutex> lock(link->mutex);
    timer_options.autostart = !timer->is_canceled();
    timer_options.first = timer_options.autostart
                            ? std::max(timer->time_until_trigger(), std::chrono::nanoseconds(0))
                            : link->period;
    const rclrt_core::Status added =
      engine_->add_timer(std::move(options), timer_options, group.in_engine, &member.callback);
    if (!added.ok()) {
      member.unhook();
      detail::check(added);
    }
    link->callback = member.callback;
  }
  if (clock) {
    clock->add(member.callback);
  }
  names_.insert(member.callback->name());
  members_[timer.get()] = std::move(member);
}

void EngineExecutor::Impl::add_waitable(
  const std::shared_ptr<rclcpp::Waitable> & waitable, const KnownGroup & group)
{
  CallbackKind kind = CallbackKind::kWaitable;
  std::string label = "custom";
  if (
    const auto * buffer =
      dynamic_cast<const rclcpp::experimental::SubscriptionIntraProcessBase *>(waitable.get())) {
    kind = CallbackKind::kSubscription;
    label = std::string(buffer->get_topic_name()) + "/intra_process";
  } else if (dynamic_cast<const rclcpp::EventHandlerBase *>(waitable.get()) != nullptr) {
    label = "qos_event";
  }
  const auto events = std::make_shared<WaitableEvents>();
  add(
    waitable, group,
    options_for(waitable.get(), group, kind, label, static_cast<uint32_t>(kKeepAllDepth)),
    [events](const std::shared_ptr<rclcpp::Waitable> & present) {
      int id = 0;
      if (!events->pop(&id)) {
        return false;
      }
      const auto data = present->take_data_by_entity_id(static_cast<std::size_t>(id));
      present->execute(data);
      return true;
    },
    [events](rclcpp::Waitable & present, const std::function<void(std::size_t)> & hook) {
      if (!hook) {
        present.clear_on_ready_callback();
        return;
      }
      present.set_on_ready_callback([events, hook](std::size_t count, int id) {
        events->push(count, id);
        hook(count);
      });
    });
}

void EngineExecutor::Impl::add_members(
  const std::shared_ptr<rclcpp::CallbackGroup> & group, KnownGroup & known)
{
  using Hook = std::function<void(std::size_t)>;
  // Collected first: what is called below must not run under the group's lock.
  std::vector<std::shared_ptr<rclcpp::SubscriptionBase>> subscriptions;
  std::vector<std::shared_ptr<rclcpp::ServiceBase>> services;
  std::vector<std::shared_ptr<rclcpp::ClientBase>> clients;
  std::vector<std::shared_ptr<rclcpp::TimerBase>> timers;
  std::vector<std::shared_ptr<rclcpp::Waitable>> waitables;
  group->collect_all_ptrs(
    [&](const auto & entity) { subscriptions.push_back(entity); },
    [&](const auto & entity) { services.push_back(entity); },
    [&](const auto & entity) { clients.push_back(entity); },
    [&](const auto & entity) { timers.push_back(entity); },
    [&](const auto & entity) { waitables.push_back(entity); });

  for (const auto & entity : subscriptions) {
    if (!is_known(entity.get())) {
      add(
        entity, known,
        options_for(
          entity.get(), known, CallbackKind::kSubscription, entity->get_topic_name(),
          depth_of(entity->get_actual_qos())),
        [](const std::shared_ptr<rclcpp::SubscriptionBase> & present) {
          TRACETOOLS_TRACEPOINT(
            rclcpp_executor_execute,
            static_cast<const void *>(present->get_subscription_handle().get()));
          execute_subscription(present);
          return true;
        },
        [](rclcpp::SubscriptionBase & present, const Hook & hook) {
          hook ? present.set_on_new_message_callback(hook)
               : present.clear_on_new_message_callback();
        });
    }
  }
  for (const auto & entity : services) {
    if (!is_known(entity.get())) {
      add(
        entity, known,
        options_for(
          entity.get(), known, CallbackKind::kService, entity->get_service_name(),
          depth_of(entity->get_request_subscription_actual_qos())),
        [](const std::shared_ptr<rclcpp::ServiceBase> & present) {
          execute_service(present);
          return true;
        },
        [](rclcpp::ServiceBase & present, const Hook & hook) {
          hook ? present.set_on_new_request_callback(hook)
               : present.clear_on_new_request_callback();
        });
    }
  }
  for (const auto & entity : clients) {
    if (!is_known(entity.get())) {
      add(
        entity, known,
        options_for(
          entity.get(), known, CallbackKind::kClient, entity->get_service_name(),
          static_cast<uint32_t>(kServicesDepth)),
        [](const std::shared_ptr<rclcpp::ClientBase> & present) {
          execute_client(present);
          return true;
        },
        [](rclcpp::ClientBase & present, const Hook & hook) {
          hook ? present.set_on_new_response_callback(hook)
               : present.clear_on_new_response_callback();
        });
    }
  }
  for (const auto & entity : timers) {
    if (!is_known(entity.get())) {
      add_timer(entity, known);
    }
  }
  for (const auto & entity : waitables) {
    if (!is_known(entity.get())) {
      add_waitable(entity, known);
    }
  }
}

std::shared_ptr<RosClock> EngineExecutor::Impl::ros_clock(
  const std::shared_ptr<rclcpp::Clock> & clock)
{
  const auto found = std::find_if(
    clocks_.begin(), clocks_.end(), [&](const auto & known) { return known->clock() == clock; });
  if (found != clocks_.end()) {
    return *found;
  }
  clocks_.push_back(RosClock::watch(clock, engine_));
  return clocks_.back();
}

}  // namespace rclrt_rclcpp
