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

  std::mutex mutex;  // of all below; taken after rclcpp's, before the engine's
  std::weak_ptr<rclrt_core::Callback> callback;
  rclrt_core::Duration period{0};  // as the engine knows it

  /// Calls `use` with the engine and the timer's callback in it, if both are there. An error of the
  /// engine then means that the timer is not its own any more.
  template <typename Use>
  void with_engine(Use use)
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto its_engine = engine.lock();
    const auto its_callback = callback.lock();
    if (its_engine && its_callback) {
      use(its_engine->engine(), its_callback);
    }
  }

  /// rcl's period may be exchanged, which nobody is told.
  void follow_period(rclcpp::TimerBase & its_timer)
  {
    with_engine([&](rclrt_core::Engine & its_engine, const auto & its_callback) {
      follow_period_locked(its_timer, its_engine, its_callback);
    });
  }

  void on_reset()
  {
    with_engine([&](rclrt_core::Engine & its_engine, const auto & its_callback) {
      if (const auto its_timer = timer.lock()) {
        follow_period_locked(*its_timer, its_engine, its_callback);
      }
      static_cast<void>(its_engine.reset_timer(its_callback));
    });
  }

  /// It was due and did not want to run: let the engine's timer rest, too, until the next reset.
  void rest(rclcpp::TimerBase & its_timer)
  {
    with_engine([&](rclrt_core::Engine & its_engine, const auto & its_callback) {
      if (!its_timer.is_canceled()) {
        return;
      }
      static_cast<void>(its_engine.cancel_timer(its_callback));
      if (!its_timer.is_canceled()) {  // its reset came in between, and was told already
        static_cast<void>(its_engine.reset_timer(its_callback));
      }
    });
  }

private:
  void follow_period_locked(
    rclcpp::TimerBase & its_timer, rclrt_core::Engine & its_engine,
    const std::shared_ptr<rclrt_core::Callback> & its_callback)
  {
    const rclrt_core::Duration now = detail::period_of(its_timer);
    if (now != period && its_engine.set_timer_period(its_callback, now).ok()) {
      period = now;
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
      to.deadline_rule = scheduling->deadline_rule;
      to.fan_in = scheduling->fan_in;
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
  member.unhook = [weak, set_hook]() -> std::shared_ptr<const void> {
    auto present = weak.lock();
    if (present) {
      set_hook(*present, nullptr);
    }
    return present;
  };
  const auto callback = member.callback;
  try {
    set_hook(*entity, [engine = engine_, callback](std::size_t count) {
      rclrt_config::MiddlewareThreads::instance().greet();
      engine->engine().notify(*callback, count);
    });
  } catch (...) {
    engine_->remove(callback);
    throw;
  }
  names_.insert(callback->name());
  members_[entity.get()] = std::move(member);
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
  member.unhook = [weak = link->timer]() -> std::shared_ptr<const void> {
    const auto present = weak.lock();
    if (present) {
      present->clear_on_reset_callback();
    }
    return present;
  };
  // Resets from now on wait for the mutex, and find the callback then.
  timer->set_on_reset_callback([link](std::size_t) { link->on_reset(); });
  rclrt_core::Status added;
  {
    const std::lock_guard<std::mutex> lock(link->mutex);
    timer_options.autostart = !timer->is_canceled();
    if (timer_options.autostart) {
      timer_options.first = timer->time_until_trigger();
    }
    added =
      engine_->add_timer(std::move(options), timer_options, group.in_engine, &member.callback);
    link->callback = member.callback;
  }
  if (!added.ok()) {
    member.unhook();
    detail::check(added);
  }
  if (clock) {
    clock->add(member.callback, timer_options.clock);
  }
  names_.insert(member.callback->name());
  members_[timer.get()] = std::move(member);
}

void EngineExecutor::Impl::add_waitable(
  const std::shared_ptr<rclcpp::Waitable> & waitable, const KnownGroup & group)
{
  CallbackKind kind = CallbackKind::kWaitable;
  std::string label = "custom";
  auto depth = static_cast<uint32_t>(kKeepAllDepth);
  if (
    const auto * buffer =
      dynamic_cast<const rclcpp::experimental::SubscriptionIntraProcessBase *>(waitable.get())) {
    kind = CallbackKind::kSubscription;
    label = std::string(buffer->get_topic_name()) + "/intra_process";
    depth = depth_of(buffer->get_actual_qos());
  } else if (dynamic_cast<const rclcpp::EventHandlerBase *>(waitable.get()) != nullptr) {
    label = "qos_event";
  }
  const auto events = std::make_shared<WaitableEvents>(depth);
  add(
    waitable, group, options_for(waitable.get(), group, kind, label, depth),
    [events, is_buffer = kind == CallbackKind::kSubscription](
      const std::shared_ptr<rclcpp::Waitable> & present) {
      int id = 0;
      if (!events->pop(&id)) {
        return false;
      }
      const auto data = present->take_data_by_entity_id(static_cast<std::size_t>(id));
      present->execute(data);
      return data || !is_buffer;  // other waitables may do without data
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
  const std::shared_ptr<rclcpp::CallbackGroup> & group, KnownGroup & known, Kept & kept)
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
  kept.insert(kept.end(), subscriptions.begin(), subscriptions.end());
  kept.insert(kept.end(), services.begin(), services.end());
  kept.insert(kept.end(), clients.begin(), clients.end());
  kept.insert(kept.end(), timers.begin(), timers.end());
  kept.insert(kept.end(), waitables.begin(), waitables.end());

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
          depth_of(entity->get_response_subscription_actual_qos())),
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
  const auto found = std::find_if(clocks_.begin(), clocks_.end(), [&](const auto & known) {
    return known.clock->clock() == clock;
  });
  if (found != clocks_.end()) {
    return found->clock;
  }
  WatchedClock watched;
  watched.clock = RosClock::watch(clock, engine_, &watched.handler);
  clocks_.push_back(watched);
  return watched.clock;
}

}  // namespace rclrt_rclcpp
