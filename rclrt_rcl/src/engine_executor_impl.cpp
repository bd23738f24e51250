// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "engine_executor_impl.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "engine_timer.hpp"
#include "middleware_threads.hpp"
#include "platform.hpp"
#include "rclrt_rcl/error.hpp"
#include "rclrt_rcl/logger.hpp"

namespace rclrt_rcl
{
namespace
{

constexpr int kHighestPriority = 99;

void check(const rclrt_core::Status & status)
{
  if (!status.ok()) {
    throw Error(status.message());
  }
}

rclrt_core::EngineOptions complete(const ExecutorOptions & from, rclrt_core::EngineOptions options)
{
  options.stack_size = from.stack_size;
  options.stack_prefault = from.stack_prefault;
  options.lock_memory = from.lock_memory;
  options.attributes_mode = from.attributes_mode;
  options.timer_thread = from.timer_thread;
  options.trace_capacity = from.trace_capacity;
  if (from.on_exception) {
    options.on_exception = [handler = from.on_exception](
                             const rclrt_core::Callback & callback, std::exception_ptr thrown) {
      return handler(callback.name(), std::move(thrown));
    };
  }
  return options;
}

// A job takes the oldest message of its queue: with fewer jobs than messages, the rest would lag behind
// for ever.
void check_overruns(const Entity & entity, const rclrt_core::CallbackOptions & options)
{
  if (
    entity.kind() == rclrt_core::CallbackKind::kTimer ||
    entity.kind() == rclrt_core::CallbackKind::kWaitable) {
    return;
  }
  if (options.overrun_rule != rclrt_core::OverrunRule::kQueueAll) {
    throw Error(
      "'" + options.name + "': overruns " + to_string(options.overrun_rule) +
      " is for timers; to keep the latest message only, give the QoS depth 1");
  }
}

bool is_realtime(const rclrt_core::Attributes & attributes)
{
  using rclrt_core::SchedulingPolicy;
  return attributes.policy == SchedulingPolicy::kFifo ||
         attributes.policy == SchedulingPolicy::kRoundRobin ||
         attributes.policy == SchedulingPolicy::kDeadline;
}

}  // namespace

EngineExecutor::Impl::Impl(
  std::shared_ptr<Context> context, const ExecutorOptions & options,
  rclrt_core::EngineOptions engine_options)
: context_(std::move(context)),
  configuration_(*context_, options),
  engine_(detail::platform(), configuration_.applied(complete(options, std::move(engine_options))))
{
  options_ = configuration_.applied(options, engine_.options());
}

EngineExecutor::Impl::~Impl()
{
  for (const WatchedClock & watched : clocks_) {
    watched.clock->remove_observer(watched.observer);
  }
}

void EngineExecutor::Impl::add_group(const CallbackGroup & group)
{
  rclrt_core::GroupOptions group_options;
  group_options.name = group.name();
  group_options.attributes = group.options().attributes;
  if (group.type() == CallbackGroupType::kReentrant) {
    group_options.parallelism = group.options().parallelism;
  }
  if (options_.configure_group) {
    options_.configure_group(group, group_options.attributes);
  }
  std::lock_guard<std::mutex> lock(mutex_);
  configuration_.apply(group, &group_options);
  std::shared_ptr<rclrt_core::Group> added;
  check(engine_.add_group(std::move(group_options), &added));
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
    check(engine_.remove_group(found->second));
    groups_.erase(found);
  }
}

rclrt_core::CallbackOptions EngineExecutor::Impl::options_for(
  const std::shared_ptr<Entity> & entity, Member * member)
{
  Scheduling scheduling = entity->scheduling();
  if (options_.configure) {
    options_.configure(*entity, scheduling);
  }
  rclrt_core::CallbackOptions to;
  to.name = entity->name();
  to.kind = entity->kind();
  to.attributes = scheduling.attributes;
  to.priority = scheduling.priority;
  to.relative_deadline = scheduling.relative_deadline;
  to.inherit_priority = scheduling.inherit_priority;
  to.overrun_rule = scheduling.overrun_rule.value_or(
    entity->kind() == rclrt_core::CallbackKind::kTimer ? rclrt_core::OverrunRule::kKeepLatest
                                                       : rclrt_core::OverrunRule::kQueueAll);
  to.depth = scheduling.depth != 0 ? scheduling.depth : entity->depth();
  to.run = [this, entity](const rclrt_core::Job & job) {
    try {
      return entity->take_and_run(job);
    } catch (const ShutdownError &) {
      if (context_->ok()) {
        throw;
      }
      return true;
    }
  };
  const auto & of_group = groups_.at(entity->group().get())->options().attributes;
  member->is_ranked = configuration_.apply(&to, of_group);
  check_overruns(*entity, to);
  return to;
}

void EngineExecutor::Impl::add_entity(const std::shared_ptr<Entity> & entity)
{
  std::unique_lock<std::mutex> lock(mutex_);
  Member member;
  member.entity = entity;
  rclrt_core::CallbackOptions callback_options = options_for(entity, &member);
  if (entity->kind() == rclrt_core::CallbackKind::kTimer) {
    member.timer = static_cast<Timer *>(entity.get());
    Member & added = members_[entity.get()] = std::move(member);
    try {
      drive(added, std::move(callback_options));
      if (!added.callback) {  // closed meanwhile
        members_.erase(entity.get());
        return;
      }
      rank_timers();
    } catch (...) {
      members_.erase(entity.get());
      throw;
    }
  } else {
    const auto & group = groups_.at(entity->group().get());
    check(engine_.add_callback(std::move(callback_options), group, &member.callback));
    const auto callback = member.callback;
    members_[entity.get()] = std::move(member);
    lock.unlock();
    entity->set_on_ready([this, callback](std::size_t count) {
      detail::MiddlewareThreads::instance().greet();
      engine_.notify(*callback, count);
    });
    lock.lock();
  }
  if (spinning_) {
    outrank_callbacks();
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
  former_names_[member.callback->id()] = entity->name();
  if (member.timer != nullptr) {
    member.timer->release_driver();
    return;
  }
  lock.unlock();
  entity->set_on_ready({});
  engine_.remove(member.callback);
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
    timer_options.first = std::max(state.first, std::chrono::nanoseconds(0));
    check(engine_.add_timer(std::move(callback_options), timer_options, group, &member.callback));
    return std::make_shared<detail::EngineTimer>(engine_, member.callback);
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
  auto found = std::find_if(clocks_.begin(), clocks_.end(), [&clock](const auto & watched) {
    return watched.clock == clock;
  });
  if (found == clocks_.end()) {
    WatchedClock watched;
    watched.clock = clock;
    watched.id = engine_.add_clock([clock] { return clock->now().count(); });
    watched.observer = clock->add_observer(
      [weak = weak_from_this(), raw = clock.get(), id = watched.id](ClockChange change) {
        if (const auto self = weak.lock()) {
          self->clock_changed(raw, id, change);
        }
      });
    found = clocks_.insert(clocks_.end(), watched);
  }
  return clock->is_simulated() ? found->id : rclrt_core::kSystemClock;
}

void EngineExecutor::Impl::clock_changed(
  const Clock * clock, rclrt_core::ClockId id, ClockChange change)
{
  if (change == ClockChange::kTimeSet) {
    engine_.clock_changed(id);
    return;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto & [key, member] : members_) {
    if (member.timer != nullptr && member.timer->clock().get() == clock) {
      // One that is being closed may have left the engine already: nothing is left to do then.
      (void)engine_.set_timer_clock(member.callback, clock_id(member.timer->clock()));
    }
  }
}

void EngineExecutor::Impl::rank_timers()
{
  std::vector<Member *> ranked;
  std::vector<rclrt_core::PriorityTask> tasks;
  for (auto & [entity, member] : members_) {
    if (member.is_ranked) {
      ranked.push_back(&member);
      rclrt_core::PriorityTask & task = tasks.emplace_back();
      task.name = entity->name();
      task.period = member.timer->period();
      task.relative_deadline = member.callback->relative_deadline();
    }
  }
  if (ranked.empty()) {
    return;
  }
  const std::vector<rclrt_core::Attributes> derived = configuration_.derive(std::move(tasks));
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const rclrt_core::Attributes present = engine_.attributes(*ranked[i]->callback);
    rclrt_core::Attributes wanted = derived[i];
    wanted.cpu_affinity = present.cpu_affinity;
    if (wanted != present) {
      check(engine_.set_attributes(ranked[i]->callback, wanted));
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
  check(engine_.set_attributes(found->second.callback, attributes));
  found->second.is_ranked = false;
  if (spinning_) {
    outrank_callbacks();
  }
}

void EngineExecutor::Impl::rethrow()
{
  if (const std::exception_ptr thrown = engine_.take_exception()) {
    std::rethrow_exception(thrown);
  }
}

void EngineExecutor::Impl::tell_configuration()
{
  std::unique_lock<std::mutex> lock(mutex_);
  const std::vector<rclrt_core::Finding> findings = configuration_.findings();
  const std::string problem = configuration_.problem(options_.attributes_mode);
  lock.unlock();
  for (const rclrt_core::Finding & finding : findings) {
    Logger("rclrt").warn(to_string(finding));
  }
  if (!problem.empty()) {
    throw Error(problem);
  }
}

EngineExecutor::Impl::Spin::Spin(Impl & impl) : impl_(impl)
{
  impl_.tell_configuration();
  std::lock_guard<std::mutex> lock(impl_.mutex_);
  impl_.outranked_ = {};
  try {
    impl_.outrank_callbacks();
  } catch (...) {
    detail::MiddlewareThreads::instance().release(&impl_);
    throw;
  }
  impl_.spinning_ = true;
}

EngineExecutor::Impl::Spin::~Spin()
{
  {
    std::lock_guard<std::mutex> lock(impl_.mutex_);
    impl_.spinning_ = false;
  }
  detail::MiddlewareThreads::instance().release(&impl_);
}

void EngineExecutor::Impl::outrank_callbacks()
{
  using rclrt_core::AttributesMode;
  using rclrt_core::SchedulingPolicy;
  rclrt_core::Attributes most_urgent;
  std::string whose;
  for (const auto & [entity, member] : members_) {
    const rclrt_core::Attributes attributes = engine_.attributes(*member.callback);
    if (is_realtime(attributes) && (whose.empty() || more_urgent(attributes, most_urgent))) {
      most_urgent = attributes;
      whose = entity->name();
    }
  }
  const MiddlewareThreads & wanted = options_.middleware_threads;
  const bool known = spinning_ && most_urgent == outranked_;
  outranked_ = most_urgent;
  if (
    known || options_.attributes_mode == AttributesMode::kOff ||
    (whose.empty() && !wanted.attributes)) {
    return;
  }
  rclrt_core::Attributes above;
  above.policy = SchedulingPolicy::kFifo;
  above.priority = most_urgent.policy == SchedulingPolicy::kDeadline
                     ? kHighestPriority
                     : std::min(most_urgent.priority + 1, kHighestPriority);
  if (!whose.empty() && options_.timer_thread.policy == SchedulingPolicy::kUnchanged) {
    above.cpu_affinity = options_.timer_thread.cpu_affinity;
    check(engine_.set_timer_thread(above));
    above.cpu_affinity = rclrt_core::CpuSet();
  }
  if (wanted.mode != AttributesMode::kOff) {
    detail::MiddlewareThreads::instance().require(
      this, wanted.attributes.value_or(above),
      [this](const rclrt_core::Finding & finding) { report(finding); });
  }
  if (!whose.empty()) {
    check_outranked(most_urgent, whose);
  }
}

void EngineExecutor::Impl::check_outranked(
  const rclrt_core::Attributes & most_urgent, const std::string & whose)
{
  std::string outranked;
  for (const auto & name : detail::MiddlewareThreads::instance().outranked_by(most_urgent)) {
    outranked += (outranked.empty() ? "" : ", ") + name;
  }
  if (outranked.empty()) {
    return;
  }
  rclrt_core::Finding finding;
  finding.subject = "middleware threads " + outranked;
  finding.what = "are not more urgent than '" + whose + "' (" +
                 rclrt_core::to_string(most_urgent.policy) +
                 (most_urgent.priority > 0 ? " " + std::to_string(most_urgent.priority) : "") +
                 "), which will preempt them while they hold its locks";
  finding.fix = "leave ExecutorOptions::middleware_threads at its default and priority 99 unused";
  report(finding);
  if (options_.middleware_threads.mode == rclrt_core::AttributesMode::kRequire) {
    throw Error(rclrt_core::to_string(finding));
  }
}

void EngineExecutor::Impl::report(const rclrt_core::Finding & finding)
{
  std::lock_guard<std::mutex> lock(findings_mutex_);
  const bool known = std::any_of(findings_.begin(), findings_.end(), [&](const auto & other) {
    return other.subject == finding.subject && other.what == finding.what;
  });
  if (!known) {
    findings_.push_back(finding);
  }
}

std::vector<rclrt_core::Finding> EngineExecutor::Impl::findings() const
{
  std::vector<rclrt_core::Finding> all = engine_.findings();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::vector<rclrt_core::Finding> of_file = configuration_.findings();
    all.insert(all.end(), of_file.begin(), of_file.end());
  }
  std::lock_guard<std::mutex> lock(findings_mutex_);
  all.insert(all.end(), findings_.begin(), findings_.end());
  return all;
}

std::map<std::string, rclrt_core::CallbackStatistics> EngineExecutor::Impl::statistics() const
{
  std::map<std::string, rclrt_core::CallbackStatistics> all;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto & [entity, member] : members_) {
    all[entity->name()] = engine_.statistics(*member.callback);
  }
  return all;
}

std::map<uint32_t, std::string> EngineExecutor::Impl::callback_names() const
{
  std::lock_guard<std::mutex> lock(mutex_);
  std::map<uint32_t, std::string> names = former_names_;
  for (const auto & [entity, member] : members_) {
    names[member.callback->id()] = entity->name();
  }
  return names;
}

}  // namespace rclrt_rcl
