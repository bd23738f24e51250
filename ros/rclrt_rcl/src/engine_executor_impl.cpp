// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "engine_executor_impl.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "rclrt_config/cie_group_id.hpp"
#include "rclrt_front_end/configured_engine.hpp"
#include "rclrt_front_end/diagnostics_on_rcl.hpp"
#include "rclrt_front_end/on_rcl.hpp"
#include "rclrt_front_end/process_platform.hpp"
#include "rclrt_front_end/take_on_rcl.hpp"
#include "rclrt_rcl/client.hpp"
#include "rclrt_rcl/error.hpp"
#include "rclrt_rcl/service.hpp"
#include "rclrt_rcl/subscription.hpp"
#include "rclrt_rcl/timer.hpp"

namespace rclrt_rcl
{
namespace
{

void check(const rclrt_core::Status & status)
{
  if (!status.ok()) {
    throw Error(status.message());
  }
}

void log(rclrt_core::Severity severity, const std::string & line)
{
  const Logger logger(rclrt_front_end::kLoggerName);
  severity == rclrt_core::Severity::kNote ? logger.info(line) : logger.warn(line);
}

std::unique_ptr<rclrt_front_end::ConfiguredEngine> make_engine(
  const std::shared_ptr<Context> & context, const ExecutorOptions & from,
  rclrt_core::EngineOptions engine_options, rclrt_front_end::Teller & teller)
{
  engine_options.on_finding = [&teller] { teller.request(); };
  std::unique_ptr<rclrt_front_end::ConfiguredEngine> engine;
  check(rclrt_front_end::make_engine(
    rclrt_front_end::process_platform(), *context->handle(), from, std::move(engine_options),
    rclrt_front_end::publish_diagnostics({context, context->handle()}), &engine));
  return engine;
}

/// As CallbackIsolatedExecutor would call the group.
std::string cie_id(const CallbackGroup & group)
{
  std::vector<rclrt_config::CieMember> members;
  for (const auto & entity : group.entities()) {
    rclrt_config::CieMember member;
    member.kind = entity->kind();
    if (const auto * subscription = dynamic_cast<const SubscriptionBase *>(entity.get())) {
      member.resolved_name = subscription->topic_name();
    } else if (const auto * service = dynamic_cast<const ServiceBase *>(entity.get())) {
      member.resolved_name = service->service_name();
    } else if (const auto * client = dynamic_cast<const ClientBase *>(entity.get())) {
      member.resolved_name = client->service_name();
    } else if (const auto * timer = dynamic_cast<const Timer *>(entity.get())) {
      member.period = timer->period();
    }
    members.push_back(std::move(member));
  }
  const std::string node = group.name().substr(0, group.name().rfind("/group/"));
  return rclrt_config::cie_group_id(node, members);
}

/// Drives a timer by the engine's timer queue. Exists while the engine has the timer. The engine must outlive it.
class EngineTimer : public TimerDriver
{
public:
  EngineTimer(
    rclrt_front_end::ConfiguredEngine & engine, std::shared_ptr<rclrt_core::Callback> callback)
  : engine_(engine), callback_(std::move(callback))
  {
  }
  ~EngineTimer() override { engine_.remove(callback_); }
  EngineTimer(const EngineTimer &) = delete;
  EngineTimer & operator=(const EngineTimer &) = delete;

  void cancel() override { check(engine_.engine().cancel_timer(callback_)); }
  void reset() override { check(engine_.engine().reset_timer(callback_)); }
  void set_period(std::chrono::nanoseconds period) override
  {
    check(engine_.set_timer_period(callback_, period));
  }
  bool is_cancelled() const override { return engine_.engine().is_timer_cancelled(callback_); }
  std::chrono::nanoseconds time_until_release() const override
  {
    return engine_.engine().time_until_release(callback_);
  }

private:
  rclrt_front_end::ConfiguredEngine & engine_;
  const std::shared_ptr<rclrt_core::Callback> callback_;
};

}  // namespace

EngineExecutor::Impl::Impl(
  std::shared_ptr<Context> context, const ExecutorOptions & options,
  rclrt_core::EngineOptions engine_options)
: context_(std::move(context)),
  options_(options),
  teller_(rclrt_front_end::process_platform(), log),
  engine_(make_engine(context_, options, std::move(engine_options), teller_))
{
}

EngineExecutor::Impl::~Impl()
{
  for (const ObservedClock & observed : clocks_) {
    observed.clock->remove_observer(observed.observer);
  }
}

void EngineExecutor::Impl::add_group(const CallbackGroup & group)
{
  rclrt_core::GroupOptions group_options;
  group_options.name = group.name();
  group_options.attributes = group.options().attributes;
  group_options.budget = group.options().budget;
  if (group.type() == CallbackGroupType::kReentrant) {
    group_options.parallelism = group.options().parallelism;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<rclrt_core::Group> added;
  check(
    engine_->add_group(std::move(group_options), cie_id(group), &added, group.shared_from_this()));
  groups_[&group] = std::move(added);
}

void EngineExecutor::Impl::remove_group(const CallbackGroup * group)
{
  // Entities that are being closed have left the group and may not have told us yet.
  std::vector<std::shared_ptr<Entity>> left;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto & [entity, member] : members_) {
      if (entity->group().get() == group) {
        left.push_back(member.entity);
      }
    }
  }
  for (const auto & entity : left) {
    remove_entity(entity);
  }
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = groups_.find(group);
  if (found != groups_.end()) {
    check(engine_->remove_group(found->second));
    groups_.erase(found);
  }
}

rclrt_core::CallbackOptions EngineExecutor::Impl::options_for(
  const std::shared_ptr<Entity> & entity)
{
  Scheduling scheduling = entity->scheduling();
  if (options_.configure) {
    options_.configure(*entity, scheduling);
    entity->check_depth(scheduling.depth);
  }
  rclrt_core::CallbackOptions to;
  static_cast<rclrt_core::Scheduling &>(to) = scheduling;
  to.name = entity->name();
  to.kind = entity->kind();
  to.depth = scheduling.depth != 0 ? scheduling.depth : entity->depth();
  to.run = entity->job(context_);
  return to;
}

void EngineExecutor::Impl::add_entity(const std::shared_ptr<Entity> & entity)
{
  std::unique_lock<std::mutex> lock(mutex_);
  rclrt_core::CallbackOptions callback_options = options_for(entity);
  Member member;
  member.entity = entity;
  if (entity->kind() == rclrt_core::CallbackKind::kTimer) {
    member.timer = static_cast<Timer *>(entity.get());
    add_timer(std::move(member), std::move(callback_options), lock);
    return;
  }
  const auto & group = groups_.at(entity->group().get());
  const rclrt_core::Status added = engine_->add_callback(
    std::move(callback_options), group, &member.callback, entity->local_publishers());
  check(added);
  const auto callback = member.callback;
  members_[entity.get()] = std::move(member);
  if (
    callback->deadline_from() == rclrt_core::DeadlineFrom::kHeaderStamp &&
    !entity->begins_with_stamp()) {
    engine_->report(rclrt_front_end::no_leading_stamp(callback->name()));
  }
  lock.unlock();
  teller_.request();  // there may be a scheduler of deadlines now
  entity->notify(engine(), callback);
}

void EngineExecutor::Impl::add_timer(
  Member member, rclrt_core::CallbackOptions callback_options, std::unique_lock<std::mutex> & lock)
{
  Timer & timer = *member.timer;
  Member & added = members_[&timer] = std::move(member);
  std::exception_ptr failure;
  try {
    drive(added, std::move(callback_options));
  } catch (...) {
    failure = std::current_exception();
  }
  if (!added.callback) {  // that, or it was closed meanwhile
    const std::shared_ptr<Entity> dropped = std::move(added.entity);
    members_.erase(&timer);
    let_go_of(timer.clock(), lock);
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

void EngineExecutor::Impl::remove_entity(const std::shared_ptr<Entity> & entity)
{
  std::unique_lock<std::mutex> lock(mutex_);
  const auto found = members_.find(entity.get());
  if (found == members_.end()) {
    return;
  }
  const Member member = std::move(found->second);
  members_.erase(found);
  if (member.timer != nullptr) {
    member.timer->release_driver();
    let_go_of(member.timer->clock(), lock);
    return;
  }
  lock.unlock();
  entity->stop_notifying();
  entity->give_back(engine_->remove(member.callback));
}

void EngineExecutor::Impl::drive(Member & member, rclrt_core::CallbackOptions callback_options)
{
  Timer & timer = *member.timer;
  const auto & group = groups_.at(timer.group().get());
  const rclrt_core::ClockId clock = clock_id(timer.clock());
  timer.drive([&](const Timer::State & state) {
    rclrt_core::TimerOptions timer_options;
    timer_options.clock = clock;
    timer_options.one_shot = timer.is_one_shot();
    timer_options.autostart = !state.cancelled;
    timer_options.period = state.period;
    timer_options.first = state.first;
    check(engine_->add_timer(std::move(callback_options), timer_options, group, &member.callback));
    return std::make_shared<EngineTimer>(*engine_, member.callback);
  });
}

rclrt_core::ClockId EngineExecutor::Impl::clock_id(const std::shared_ptr<Clock> & clock)
{
  if (clock->kind() == ClockKind::kSteady) {
    return rclrt_core::kSteadyClock;
  }
  if (clock->kind() == ClockKind::kSystem) {
    return rclrt_core::kSystemClock;
  }
  auto found = std::find_if(clocks_.begin(), clocks_.end(), [&clock](const auto & observed) {
    return observed.clock == clock;
  });
  if (found == clocks_.end()) {
    ObservedClock observed;
    observed.clock = clock;
    observed.id = engine().add_clock([clock] { return clock->now().count(); });
    observed.observer = clock->add_observer(
      [weak = weak_from_this(), raw = clock.get(), id = observed.id](ClockChange change) {
        if (const auto self = weak.lock()) {
          self->clock_changed(raw, id, change);
        }
      });
    found = clocks_.insert(clocks_.end(), observed);
  }
  return clock->is_simulated() ? found->id : rclrt_core::kSystemClock;
}

void EngineExecutor::Impl::let_go_of(
  const std::shared_ptr<Clock> & clock, std::unique_lock<std::mutex> & lock)
{
  const auto found = std::find_if(clocks_.begin(), clocks_.end(), [&clock](const auto & observed) {
    return observed.clock == clock;
  });
  const bool is_needed =
    std::any_of(members_.begin(), members_.end(), [&clock](const auto & member) {
      return member.second.timer != nullptr && member.second.timer->clock() == clock;
    });
  if (found == clocks_.end() || is_needed) {
    return;
  }
  const ObservedClock unused = std::move(*found);
  clocks_.erase(found);
  lock.unlock();
  unused.clock->remove_observer(unused.observer);
  check(engine().remove_clock(unused.id));
}

void EngineExecutor::Impl::clock_changed(
  const Clock * clock, rclrt_core::ClockId id, ClockChange change)
{
  if (change == ClockChange::kTimeSet) {
    engine().clock_changed(id);
    return;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto & [key, member] : members_) {
    if (member.timer != nullptr && member.timer->clock().get() == clock) {
      // One that is being closed may have left the engine already: nothing is left to do then.
      (void)engine().set_timer_clock(member.callback, clock_id(member.timer->clock()));
    }
  }
}

void EngineExecutor::Impl::set_attributes(
  const Entity & entity, const rclrt_core::Attributes & attributes)
{
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = members_.find(&entity);
  if (found == members_.end()) {
    throw Error("set_attributes(): '" + entity.name() + "' is not in this executor");
  }
  check(engine_->set_attributes(found->second.callback, attributes));
  teller_.request();  // there may be a scheduler of deadlines now
}

void EngineExecutor::Impl::check_may_run_inline() const { check(engine_->may_run_inline()); }

void EngineExecutor::Impl::rethrow()
{
  if (const std::exception_ptr thrown = engine().take_exception()) {
    std::rethrow_exception(thrown);
  }
}

EngineExecutor::Impl::Spin::Spin(Impl & impl) : impl_(impl)
{
  const rclrt_core::Status begun = impl_.engine_->begin_spin(
    [&impl](const rclrt_core::Finding & finding) { impl.teller_.tell(finding); });
  impl_.tell_findings();  // also of one that could not begin
  check(begun);
  // The thread that spins may be a real-time thread; the one that writes to the log must not disturb any.
  rclrt_front_end::Teller::Work work;
  work.attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kOther;
  teller_thread_.emplace(impl_.teller_, *impl_.engine_, std::move(work));
}

EngineExecutor::Impl::Spin::~Spin()
{
  impl_.engine_->end_spin();
  teller_thread_.reset();
}

}  // namespace rclrt_rcl

// Drives a timer by the engine's timer queue.
namespace rclrt_rcl
{

}  // namespace rclrt_rcl
