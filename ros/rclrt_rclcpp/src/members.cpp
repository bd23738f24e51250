// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Each kind of rclcpp's entities as a callback of the engine.

#include <algorithm>
#include <atomic>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "announce.hpp"
#include "group_names.hpp"
#include "rcl/client.h"
#include "rcl/service.h"
#include "rcl/subscription.h"
#include "rclcpp/experimental/subscription_intra_process_base.hpp"
#include "rclcpp/logging.hpp"
#include "rclcpp_action/client.hpp"
#include "rclrt_front_end/callback_name.hpp"
#include "rclrt_front_end/status_event_on_rcl.hpp"
#include "rclrt_front_end/take_on_rcl.hpp"
#include "spinner.hpp"
#include "status_source.hpp"
#include "take.hpp"
#include "unserved.hpp"
#include "versions.hpp"
#include "waitable_timers.hpp"

namespace rclrt_rclcpp
{

using rclrt_core::CallbackKind;
using rclrt_core::Job;

namespace
{

/// The depth of what keeps everything: the middleware's own limits hold. Jobs that wait are counted, not stored.
constexpr uint32_t kUnbounded = std::numeric_limits<uint32_t>::max();

/// A job takes the oldest message: with fewer jobs than messages, the rest would lag behind for ever.
uint32_t depth_of(const rclcpp::QoS & qos)
{
  return qos.history() == rclcpp::HistoryPolicy::KeepLast
           ? static_cast<uint32_t>(std::clamp<std::size_t>(qos.depth(), 1, kUnbounded))
           : kUnbounded;
}

/// rclcpp's own callbacks use other parts of the node, which they do not keep alive (rclcpp issue 2217 is
/// one consequence): of those, the node, if it is known. The job then keeps it.
Owner owner_for(const Owner & owner, const std::string & node, const std::string & name)
{
  // Nothing that is destroyed: while a program ends, executors may still look for what is new.
  static constexpr std::string_view services[] = {
    "describe_parameters",      "get_parameter_types", "get_parameters",
    "get_type_description",     "list_parameters",     "set_parameters",
    "set_parameters_atomically"};
  const std::string of_node = node + "/";
  const auto is_service = [&](std::string_view service) {
    return name == of_node + std::string(service);
  };
  const bool is_own = name == "/parameter_events" ||
                      std::any_of(std::begin(services), std::end(services), is_service);
  return is_own ? owner : std::nullopt;
}

}  // namespace

std::string Spinner::unique_name(
  const KnownGroup & group, CallbackKind kind, const std::string & label) const
{
  const std::string name = rclrt_front_end::callback_name(group.node, kind, label);
  std::string unique = name;
  for (int number = 2; names_.count(unique) > 0; ++number) {
    unique = name + "#" + std::to_string(number);
  }
  return unique;
}

rclrt_core::CallbackOptions Spinner::options_for(
  const void * entity, const KnownGroup & group, CallbackKind kind, const std::string & label,
  uint32_t depth) const
{
  rclrt_core::CallbackOptions to;
  to.name = unique_name(group, kind, label);
  to.kind = kind;
  to.depth = depth;
  if (group.clock) {
    static_cast<Scheduling &>(to) = rclrt_front_end::scheduling_of_clocks();
  }
  if (options_.scheduling) {
    if (const auto scheduling = options_.scheduling->find(entity, to.name)) {
      static_cast<Scheduling &>(to) = *scheduling;
    }
  }
  return to;
}

/// What a job does in the end with the entity that it has locked. If the job is the last that has it, and runs on a thread
/// of the middleware, another thread lets go of it: the middleware holds locks around the job that the end of the
/// entity needs. Not covered: somebody else lets go within the nanoseconds after the job has looked.
template <typename EntityT>
class Spinner::LetGo
{
public:
  LetGo(Spinner & spinner, std::shared_ptr<EntityT> & entity) : spinner_(spinner), entity_(entity)
  {
  }
  ~LetGo()
  {
    if (entity_.use_count() == 1 && rclrt_core::runs_inline()) {
      spinner_.leave(std::move(entity_));
    }
  }
  LetGo(const LetGo &) = delete;
  LetGo & operator=(const LetGo &) = delete;

private:
  Spinner & spinner_;
  std::shared_ptr<EntityT> & entity_;
};

void Spinner::leave(std::shared_ptr<const void> entity)
{
  {
    const std::lock_guard<rclrt_front_end::PiMutex> lock(left_mutex_);
    left_.push_back(std::move(entity));
  }
  request_update();
}

/// `execute(entity)` runs a job and returns whether there was work; `hook(entity, announce)` has `announce`
/// called when work arrives, and returns an Undo. `announce`: what it needs beside engine and callback.
template <typename EntityT, typename Execute, typename Hook>
void Spinner::add(
  const std::shared_ptr<EntityT> & entity, const KnownGroup & group,
  rclrt_core::CallbackOptions options, Execute execute, Hook hook, Announce announce)
{
  const std::weak_ptr<EntityT> weak = entity;
  options.run = [this, weak, execute](const Job &) {
    auto present = weak.lock();
    if (!present) {
      request_update();
      return false;
    }
    const LetGo let_go(*this, present);
    return execute(present);
  };
  Member member;
  member.entity = entity;
  member.events = announce.events;
  member.group = group.group.lock().get();
  detail::check(engine_->add_callback(
    std::move(options), group.in_engine, &member.callback, announce.publishers));
  announce.engine = &engine();
  announce.callback = member.callback;
  Undo undo;
  try {
    undo = hook(entity, announce);
    member.unhook = [weak, undo]() -> std::shared_ptr<const void> {
      const auto present = weak.lock();
      undo();
      return present;
    };
    for (const auto & [id, count] : Unserved::instance().take(entity.get())) {
      announce(count, id);
    }
    keep(entity.get(), std::move(member));
  } catch (...) {
    if (undo) {
      undo();
    }
    engine().remove(announce.callback);  // as if it had never been: its name is of no use
    throw;
  }
}

void Spinner::keep(const void * entity, Member member)
{
  const rclrt_core::Callback & callback = *member.callback;
  RCLCPP_DEBUG(
    rclcpp::get_logger("rclrt"), "callback '%s' in group '%s': %s", callback.name().c_str(),
    groups_.at(member.group).in_engine->name().c_str(),
    to_string(engine().attributes(callback)).c_str());
  names_.insert(callback.name());
  members_[entity] = std::move(member);
}

void Spinner::add_waitable(
  const std::shared_ptr<rclcpp::Waitable> & waitable, const KnownGroup & group)
{
  if (const auto event = std::dynamic_pointer_cast<detail::EventHandlerBase>(waitable)) {
    if (const auto status = StatusSource::of(event)) {
      add_status_event(event, status, group);
      return;
    }
  }
  CallbackKind kind = CallbackKind::kWaitable;
  Owner owner;
  std::string label = "custom";
  uint32_t depth = kUnbounded;
  bool needs_data = true;  // others may do without
  Announce announce;
  if (
    const auto * buffer =
      dynamic_cast<const rclcpp::experimental::SubscriptionIntraProcessBase *>(waitable.get())) {
    kind = CallbackKind::kSubscription;
    owner = owner_for(group.owner, group.node, buffer->get_topic_name());
    label = std::string(buffer->get_topic_name()) + "/intra_process";
    depth = depth_of(buffer->get_actual_qos());
    announce.is_intra_process = true;
  } else {
    needs_data = false;
    if (dynamic_cast<const rclcpp_action::ClientBase *>(waitable.get())) {
      kind = CallbackKind::kClient;  // a callback that waits for its responses is told
      label = "action";
    }
  }
  const auto timers = waitable->get_number_of_ready_timers() > 0
                        ? std::make_shared<WaitableTimers>(*waitable, context_)
                        : nullptr;
  const auto events = announce.events = std::make_shared<WaitableEvents>(depth);
  add(
    waitable, group, options_for(waitable.get(), group, kind, label, depth),
    [this, events, needs_data, owner,
     is_clock = group.clock != nullptr](const std::shared_ptr<rclcpp::Waitable> & present) {
      const auto kept_owner = lock(owner);
      int id = 0;
      if ((owner && !kept_owner) || !events->pop(&id)) {
        return false;
      }
      const auto take = [&] {
        const auto data = present->take_data_by_entity_id(static_cast<std::size_t>(id));
        if (!data && needs_data) {
          return false;  // somebody else has taken it, or newer data have replaced it
        }
        detail::execute(*present, data);
        return true;
      };
      return is_clock ? hear_clock(take) : take();
    },
    &register_waitable, std::move(announce));
  if (timers) {
    add_waitable_timers(waitable, timers, group);
  }
}

void Spinner::add_status_event(
  const std::shared_ptr<detail::EventHandlerBase> & event,
  const std::shared_ptr<StatusSource> & status, const KnownGroup & group)
{
  using Event = detail::EventHandlerBase;
  const bool is_looked_for = StatusSource::is_looked_for(*event);
  // For an event that is looked for: a job waits. Set by the timer that looks, before it announces the job; cleared by the
  // job before it takes. So what comes after the take is announced again.
  const auto is_announced = std::make_shared<std::atomic<bool>>(false);
  auto options = options_for(
    event.get(), group, CallbackKind::kWaitable, "qos_event", is_looked_for ? 1 : kUnbounded);
  add(
    event, group, std::move(options),
    [status, is_announced](const std::shared_ptr<Event> & present) {
      is_announced->store(false);
      const auto data = status->take(*present);
      if (data) {
        detail::execute(*present, data);
      }
      return data != nullptr;
    },
    [&](const std::shared_ptr<Event> & present, const Announce & announced) {
      if (!is_looked_for) {
        return status->listen(present, announced);
      }
      return look_for(
        [status, is_announced, weak = std::weak_ptr<Event>(present)] {
          const auto kept = weak.lock();
          return kept && !is_announced->load() && status->look(*kept) &&
                 !is_announced->exchange(true);
        },
        group, announced);
    });
}

/// A second callback, a timer that looks.
Undo Spinner::look_for(
  std::function<bool()> look, const KnownGroup & group, const Announce & announced)
{
  rclrt_core::CallbackOptions options;
  options.name = unique_name(group, CallbackKind::kWaitable, "qos_event_look");
  options.overrun_rule = rclrt_core::OverrunRule::kSkip;
  options.run = [look = std::move(look), announced](const Job &) {
    const bool found = look();
    if (found) {
      announced(1);
    }
    return found;
  };
  rclrt_core::TimerOptions timer;
  timer.period = rclrt_front_end::kLookForStatus;
  std::shared_ptr<rclrt_core::Callback> added;
  detail::check(engine().add_timer(std::move(options), timer, group.in_engine, &added));
  names_.insert(added->name());
  return [this, added] {
    names_.erase(added->name());
    engine().remove(added);
  };
}

/// A second callback of the waitable, a timer by which somebody looks at its timers.
void Spinner::add_waitable_timers(
  const std::shared_ptr<rclcpp::Waitable> & waitable,
  const std::shared_ptr<WaitableTimers> & timers, const KnownGroup & group)
{
  rclrt_core::CallbackOptions options;
  options.name = unique_name(group, CallbackKind::kWaitable, "due_timers");
  options.overrun_rule = rclrt_core::OverrunRule::kSkip;
  options.run = [timers, weak = std::weak_ptr<rclcpp::Waitable>(waitable)](const Job &) {
    const auto present = weak.lock();
    return present && timers->run(*present);
  };
  rclrt_core::TimerOptions timer_options;
  timer_options.period = kWaitableTimersPeriod;
  Member member;
  member.entity = waitable;
  member.group = group.group.lock().get();
  member.unhook = [] { return nullptr; };
  detail::check(
    engine().add_timer(std::move(options), timer_options, group.in_engine, &member.callback));
  keep(timers.get(), std::move(member));
}

std::vector<Spinner::LeftOut> Spinner::add_members(
  const std::shared_ptr<rclcpp::CallbackGroup> & group, KnownGroup & known, Kept & kept)
{
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

  std::vector<LeftOut> left_out;
  const auto attempt = [&](const std::string & what, const auto & it) {
    try {
      it();
    } catch (...) {
      left_out.push_back(
        {what + " of group '" + known.in_engine->name() + "'", std::current_exception()});
    }
  };
  for (const auto & entity : subscriptions) {
    if (is_known(entity.get())) {
      continue;
    }
    attempt(std::string("subscription ") + entity->get_topic_name(), [&] {
      const bool has_stamp =
        rclrt_front_end::begins_with_stamp(entity->get_message_type_support_handle());
      const bool is_clock = entity->get_topic_name() == known.clock_topic;
      const Owner its_owner =
        is_clock ? known.owner : owner_for(known.owner, known.node, entity->get_topic_name());
      Announce of_topic;
      of_topic.publishers = publishers_of(entity->get_topic_name());
      auto options = options_for(
        entity.get(), known, CallbackKind::kSubscription, entity->get_topic_name(),
        depth_of(entity->get_actual_qos()));
      options.sets_clock = is_clock;
      add(
        entity, known, std::move(options),
        [this, is_clock,
         owner = its_owner](const std::shared_ptr<rclcpp::SubscriptionBase> & present) {
          const auto kept_owner = lock(owner);
          if (owner && !kept_owner) {
            return false;  // what the callback uses is going
          }
          TRACETOOLS_TRACEPOINT(
            rclcpp_executor_execute,
            static_cast<const void *>(present->get_subscription_handle().get()));
          if (!detail::is_message_or_bytes(*present)) {
            BaseClass::execute_subscription(present);
            return true;  // nobody says whether there was a message
          }
          const auto take = [&] { return take_and_handle(*present); };
          return is_clock ? hear_clock(take) : take();
        },
        [](const std::shared_ptr<rclcpp::SubscriptionBase> & present, const auto & announce) {
          return register_with_rcl(
            &rcl_subscription_set_on_new_message_callback, present,
            [](auto & of) { return of.get_subscription_handle(); }, announce);
        },
        std::move(of_topic));
      const auto & added = members_.at(entity.get()).callback;
      if (added->deadline_from() == rclrt_core::DeadlineFrom::kHeaderStamp && !has_stamp) {
        engine_->report(rclrt_front_end::no_leading_stamp(added->name()));
      }
      if (known.clock) {
        known.clock->set_subscription(entity, its_owner, added);
      }
    });
  }
  for (const auto & entity : services) {
    if (is_known(entity.get())) {
      continue;
    }
    attempt(std::string("service ") + entity->get_service_name(), [&] {
      add(
        entity, known,
        options_for(
          entity.get(), known, CallbackKind::kService, entity->get_service_name(),
          depth_of(entity->get_request_subscription_actual_qos())),
        [owner = owner_for(known.owner, known.node, entity->get_service_name())](
          const std::shared_ptr<rclcpp::ServiceBase> & present) {
          const auto kept_owner = lock(owner);
          return (!owner || kept_owner) && take_and_handle(*present);
        },
        [](const std::shared_ptr<rclcpp::ServiceBase> & present, const auto & announce) {
          return register_service(present, announce);
        });
    });
  }
  for (const auto & entity : clients) {
    if (is_known(entity.get())) {
      continue;
    }
    attempt(std::string("client ") + entity->get_service_name(), [&] {
      add(
        entity, known,
        options_for(
          entity.get(), known, CallbackKind::kClient, entity->get_service_name(),
          depth_of(entity->get_response_subscription_actual_qos())),
        [](const std::shared_ptr<rclcpp::ClientBase> & present) {
          return take_and_handle(*present);
        },
        [](const std::shared_ptr<rclcpp::ClientBase> & present, const auto & announce) {
          return register_with_rcl(
            &rcl_client_set_on_new_response_callback, present,
            [](auto & of) { return of.get_client_handle(); }, announce);
        });
    });
  }
  for (const auto & entity : timers) {
    attempt("a timer", [&] {
      is_known(entity.get()) ? follow_period(*entity) : add_timer(entity, known);
    });
  }
  for (const auto & entity : waitables) {
    if (!is_known(entity.get())) {
      attempt("a waitable", [&] { add_waitable(entity, known); });
    }
  }
  return left_out;
}

}  // namespace rclrt_rclcpp
