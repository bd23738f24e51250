// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Groups, callbacks and timers come and go.

#include <algorithm>

#include "engine_impl.hpp"

namespace rclrt_core
{
namespace
{

// Threads, in the isolated model: more is a mistake.
constexpr uint32_t kMaxParallelism = 1024;
// Of a reentrant group, on however few CPUs: a callback may wait for what another of its group does.
constexpr std::size_t kMinReentrantParallelism = 2;

Status validate(const CallbackOptions & options, const TimerOptions * timer, int cpu_count)
{
  const std::string subject = "callback '" + options.name + "'";
  if (options.name.empty()) {
    return Status::error("callback without a name; give CallbackOptions::name");
  }
  if (!options.run) {
    return Status::error(subject + ": nothing to run; set CallbackOptions::run");
  }
  if (options.depth == 0) {
    return Status::error(subject + ": depth 0; at least 1 job must be able to wait");
  }
  if (options.priority < 0 || options.priority > 99) {
    return Status::error(
      subject + ": priority " + std::to_string(options.priority) + " is outside 1-99");
  }
  if (options.relative_deadline < Duration::zero()) {
    return Status::error(
      subject + ": relative deadline " + std::to_string(options.relative_deadline.count()) +
      " ns is negative; give 0 for none");
  }
  if (timer && timer->period < Duration::zero()) {
    return Status::error(
      subject + ": period " + std::to_string(timer->period.count()) +
      " ns is negative; give 0 or more");
  }
  return rclrt_core::validate(options.attributes, cpu_count, subject);
}

}  // namespace

Lane & Engine::Impl::new_lane(const std::string & name, const Attributes & lane_attributes)
{
  // That of a group that is gone, if its threads are gone too.
  for (Lane & lane : lanes) {
    if (&lane != shared_lane && lane.parallelism == 0 && lane.threads == 0) {
      lane.name = name;
      lane.attributes = lane_attributes;
      return lane;
    }
  }
  lanes.emplace_back(*options.policy);
  lanes.back().name = name;
  lanes.back().attributes = lane_attributes;
  return lanes.back();
}

// The execution model: which lane serves which group.
void Engine::Impl::place(GroupNode & group)
{
  Lane * lane = shared_lane;
  if (options.model == ExecutionModel::kIsolated) {
    lane = &new_lane(group.name(), group.options().attributes);
  }
  lane->parallelism += group.parallelism;
  if (group.queue) {  // it was here before, and a job that still runs leads to its queues
    group.queue->lane = lane;
    return;
  }
  group.queue = std::make_unique<GroupQueue>(&group, lane, *options.policy);
  if (timer_lane) {
    group.timer_queue = std::make_unique<GroupQueue>(&group, timer_lane, *options.policy);
  }
}

// Takes back what place() gave. The threads of a lane of its own end as soon as they are idle.
void Engine::Impl::displace(GroupNode & group, WakeList & wakes)
{
  Lane & lane = *group.queue->lane;
  lane.parallelism -= group.parallelism;
  if (options.model != ExecutionModel::kIsolated) {
    return;
  }
  for (const auto & worker : workers) {
    if (worker->lane == &lane) {
      worker->retired = true;
      if (worker->sleeping) {
        take_from_sleep(*worker, wakes);
      }
    }
  }
}

Status Engine::Impl::add_group(GroupOptions group_options, std::shared_ptr<Group> * group)
{
  const Status valid =
    validate(group_options.attributes, platform.cpu_count(), "group '" + group_options.name + "'");
  if (!valid.ok()) {
    return valid;
  }
  if (group_options.parallelism > kMaxParallelism) {
    return Status::error(
      "group '" + group_options.name + "': parallelism " +
      std::to_string(group_options.parallelism) + " is more than " +
      std::to_string(kMaxParallelism));
  }
  auto node = std::make_shared<GroupNode>(std::move(group_options));
  node->parallelism = node->options().parallelism != 0
                        ? node->options().parallelism
                        : static_cast<uint32_t>(std::max(cpus, kMinReentrantParallelism));
  Lock threads_lock(*threads_mutex);
  const Status accepted = accept(node);
  if (accepted.ok()) {
    *group = std::move(node);
  }
  return accepted;
}

Status Engine::Impl::add_group_again(const std::shared_ptr<Group> & group)
{
  Lock threads_lock(*threads_mutex);
  // Anything the engine has handed out is a GroupNode.
  const auto node = std::static_pointer_cast<GroupNode>(group);
  {
    Lock lock(*mutex);
    const bool is_ours =
      node && std::any_of(lanes.begin(), lanes.end(), [&node](const Lane & lane) {
        return &lane == node->queue->lane;
      });
    if (!is_ours || std::find(groups.begin(), groups.end(), node) != groups.end()) {
      return Status::error("add_group_again(): not a group that was removed from this engine");
    }
  }
  return accept(node);
}

Status Engine::Impl::accept(const std::shared_ptr<GroupNode> & node)
{
  reap();
  Lane * lane = nullptr;
  {
    Lock lock(*mutex);
    place(*node);
    attributes.intern(node->options().attributes);
    groups.push_back(node);
    lane = node->queue->lane;
  }
  const Status grown = accepts_threads ? grow(*lane) : Status{};
  if (grown.ok()) {
    return grown;
  }
  WakeList wakes;
  {
    Lock lock(*mutex);
    displace(*node, wakes);
    groups.erase(std::find(groups.begin(), groups.end(), node));
  }
  wakes.wake_or_defer();
  return grown;
}

Status Engine::Impl::remove_group(const std::shared_ptr<Group> & group)
{
  WakeList wakes;
  {
    Lock threads_lock(*threads_mutex);
    Lock lock(*mutex);
    const auto found = std::find(groups.begin(), groups.end(), group);
    if (found == groups.end()) {
      return Status::error("remove_group(): not a group of this engine");
    }
    GroupNode & node = **found;
    if (node.callbacks > 0) {
      return Status::error(
        "remove_group(): group '" + node.name() + "' still has " + std::to_string(node.callbacks) +
        " callbacks; remove them first");
    }
    displace(node, wakes);
    groups.erase(found);  // a run in progress keeps it alive
  }
  wakes.wake_or_defer();
  return {};
}

AttributesId Engine::Impl::attributes_of(const Attributes & own, const GroupNode & group)
{
  Attributes wanted = own;
  if (wanted.policy == SchedulingPolicy::kUnchanged) {
    wanted = group.options().attributes;
    if (!own.cpu_affinity.empty()) {
      wanted.cpu_affinity = own.cpu_affinity;
    }
  }
  return attributes.intern(wanted);
}

Status Engine::Impl::add_callback(
  CallbackOptions callback_options, const TimerOptions * timer,
  const std::shared_ptr<Group> & group, std::shared_ptr<Callback> * callback)
{
  const Status valid = validate(callback_options, timer, platform.cpu_count());
  if (!valid.ok()) {
    return valid;
  }
  if (timer && callback_options.overrun_rule != OverrunRule::kQueueAll) {
    callback_options.depth = 1;
  }
  WakeList wakes;
  {
    Lock lock(*mutex);
    const auto found = std::find(groups.begin(), groups.end(), group);
    if (found == groups.end()) {
      return Status::error(
        "callback '" + callback_options.name + "': its group is not one of this engine");
    }
    if (callbacks.count(callback_options.name) > 0) {
      return Status::error(
        "callback '" + callback_options.name +
        "': the name is taken; names must be unique within an engine");
    }
    if (timer && !has_clock(timer->clock)) {
      return Status::error(
        "callback '" + callback_options.name + "': unknown clock " + std::to_string(timer->clock));
    }
    GroupNode & group_node = **found;
    const AttributesId asked = attributes_of(callback_options.attributes, group_node);
    auto node = std::make_shared<CallbackNode>(std::move(callback_options), next_callback++);
    node->group = *found;
    node->attributes = asked;
    const bool on_timer_lane = group_node.timer_queue && node->kind() == CallbackKind::kTimer;
    node->queue = on_timer_lane ? group_node.timer_queue.get() : group_node.queue.get();
    if (node->priority == 0) {
      node->priority = attributes.asked(node->attributes).priority;
    }
    ++group_node.callbacks;
    callbacks.emplace(node->name(), node);
    if (timer) {
      node->timer = std::make_unique<TimerNode>();
      node->timer->callback = node.get();
      node->timer->period_ns = timer->period.count();
      node->timer->clock = timer->clock;
      node->timer->one_shot = timer->one_shot;
      if (timer->autostart) {
        arm(*node->timer, timer->first.value_or(timer->period).count(), wakes);
      }
    }
    *callback = node;
  }
  wakes.wake_or_defer();
  return {};
}

CallbackNode * Engine::Impl::known(const std::shared_ptr<Callback> & callback) const
{
  if (!callback) {
    return nullptr;
  }
  const auto found = callbacks.find(callback->name());
  return found != callbacks.end() && found->second == callback ? found->second.get() : nullptr;
}

CallbackNode * Engine::Impl::known_timer(const std::shared_ptr<Callback> & callback) const
{
  CallbackNode * node = known(callback);
  return node && node->timer ? node : nullptr;
}

void Engine::Impl::remove(const std::shared_ptr<Callback> & callback)
{
  std::shared_ptr<CallbackNode> last;  // destroyed without the lock
  Lock lock(*mutex);
  CallbackNode * node = known(callback);
  if (!node) {
    return;
  }
  last = node->shared_from_this();
  node->removed = true;
  if (node->timer) {
    clocks[node->timer->clock].queue.disarm(*node->timer);
    node->timer->cancelled = true;
  }
  drop_waiting(*node);
  GroupNode & group = *node->queue->group;
  if (node->in_bring.is_linked()) {
    group.bring_together.erase(group.bring_together.iterator_to(*node));
  }
  if (node->in_taken.is_linked()) {
    group.taken.erase(group.taken.iterator_to(*node));
    reorder(group);
  }
  --group.callbacks;
  callbacks.erase(node->name());
}

bool Engine::Impl::wait_until_idle(const std::shared_ptr<Callback> & callback)
{
  // Anything the engine has handed out is a CallbackNode.
  auto * node = static_cast<CallbackNode *>(callback.get());
  Lock lock(*mutex);
  if (!node || node->running == 0 || is_here()) {
    return !node || node->running == 0;
  }
  ++node->idle_waiters;
  while (node->running > 0) {
    // Relaxed: a finishing worker stores 1 after it has taken the lock that we hold now.
    node->idle_word.store(0, std::memory_order_relaxed);
    lock.unlock();
    platform.wait(node->idle_word, 0, kNever);
    lock.lock();
  }
  const bool others_wait = --node->idle_waiters > 0;
  lock.unlock();
  if (others_wait) {
    platform.wake_one(node->idle_word);
  }
  return true;
}

Status Engine::Impl::set_attributes(
  const std::shared_ptr<Callback> & callback, const Attributes & wanted)
{
  if (!callback) {
    return Status::error("set_attributes(): no callback given");
  }
  const Status valid =
    validate(wanted, platform.cpu_count(), "callback '" + callback->name() + "'");
  if (!valid.ok()) {
    return valid;
  }
  Lock lock(*mutex);
  CallbackNode * node = known(callback);
  if (!node) {
    return Status::error("callback '" + callback->name() + "' is not in this engine");
  }
  unlink(*node);
  node->attributes = attributes_of(wanted, *node->queue->group);
  if (node->own_priority == 0) {
    node->priority = attributes.asked(node->attributes).priority;
  }
  link(*node);
  return {};
}

Status Engine::Impl::set_timer_thread(const Attributes & wanted)
{
  const Status valid = validate(wanted, platform.cpu_count(), "the timer thread");
  if (!valid.ok()) {
    return valid;
  }
  if (wanted.policy == SchedulingPolicy::kExt) {
    return Status::error(kTimerThreadExt);
  }
  int error = 0;
  {
    Lock lock(*mutex);
    timer_thread = wanted;
    Worker * const driver = timer_driver;
    const bool exists = driver && driver != inline_worker.get() && !driver->lane &&
                        !driver->keeps_attributes && driver->begun && !driver->ended;
    if (exists) {
      const AttributesId id = attributes.intern(wanted);
      error = give(*driver, {id});
    }
  }
  if (error != 0) {
    add_finding(platform.explain("the timer thread", wanted, error));
  }
  return {};
}

}  // namespace rclrt_core
