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
// Callbacks that are gone, for the trace.
constexpr std::size_t kMaxFormer = 1024;
// Threads of a reentrant group, on however few CPUs: a callback may wait for what another of its group does.
constexpr std::size_t kMinReentrantParallelism = 2;

template <typename Options>
std::string subject_of(const char * kind, const Options & options)
{
  return (options.place.empty() ? "" : options.place + ": ") + kind + " '" + options.name + "'";
}

Status validate_stamps(const CallbackOptions & options, const std::string & subject)
{
  const std::string from = subject + ": deadline_from " + to_string(options.deadline_from);
  if (options.deadline_from == DeadlineFrom::kRelease) {
    return options.clock_error < Duration::zero()
             ? Status()
             : Status::error(
                 from +
                 " needs no other clock; remove clock_error, or give source_stamp or "
                 "header_stamp");
  }
  if (options.kind != CallbackKind::kSubscription) {
    return Status::error(
      from +
      " is for subscriptions only; remove it here, or write names that match subscriptions "
      "only");
  }
  if (options.relative_deadline == Duration::zero()) {
    return Status::error(from + " says from where, but not how long; give relative_deadline");
  }
  if (options.clock_error < Duration::zero()) {
    return Status::error(
      from +
      ": how far may the clock that stamps and the one of this machine be apart? Give "
      "clock_error, e.g. 1ms");
  }
  return options.clock_error < options.relative_deadline
           ? Status()
           : Status::error(
               from + ": a clock_error of " + std::to_string(options.clock_error.count()) +
               " ns is no less than the relative deadline, " +
               std::to_string(options.relative_deadline.count()) +
               " ns: then stamps order nothing; synchronise the clocks, or use release");
}

Status validate(
  const CallbackOptions & options, const TimerOptions * timer, int cpu_count,
  const std::string & subject)
{
  if (options.name.empty()) {
    return Status::error("callback without a name; give CallbackOptions::name");
  }
  if (!options.run) {
    return Status::error(subject + ": nothing to run; set CallbackOptions::run");
  }
  if (options.depth == 0) {
    return Status::error(subject + ": depth 0; at least 1 job must be able to wait");
  }
  if (options.queue_priority < 0 || options.queue_priority > 99) {
    return Status::error(
      subject + ": queue_priority " + std::to_string(options.queue_priority) + " is outside 1-99");
  }
  if (options.relative_deadline < Duration::zero()) {
    return Status::error(
      subject + ": relative deadline " + std::to_string(options.relative_deadline.count()) +
      " ns is negative; give 0 for none");
  }
  const Status stamps = validate_stamps(options, subject);
  if (!stamps.ok()) {
    return stamps;
  }
  if (
    options.inline_bound < Duration::zero() || (timer && options.inline_bound > Duration::zero())) {
    return Status::error(
      subject + (timer ? ": nobody brings the work of a timer: it cannot be inline"
                       : ": its inline_bound is negative; give 0 for none"));
  }
  if (const Status budget = rclrt_core::validate(options.budget, subject); !budget.ok()) {
    return budget;
  }
  if (!options.chain.empty() && !options.budget.exists()) {
    return Status::error(
      subject + ": names the chain '" + options.chain + "' without its budget; give both or none");
  }
  if (options.budget.exists() && options.inline_bound > Duration::zero()) {
    return Status::error(
      subject +
      ": an inline callback runs on a thread of the middleware, which nobody may demote: "
      "it cannot have a budget");
  }
  if (timer && timer->period < Duration::zero()) {
    return Status::error(
      subject + ": period " + std::to_string(timer->period.count()) +
      " ns is negative; give 0 or more");
  }
  return rclrt_core::validate(options.attributes, cpu_count, subject);
}

const AttributesEntry & asked_by(
  AttributeTable & table, const Attributes & own, const GroupNode & group)
{
  Attributes wanted = own;
  if (wanted.scheduling_policy == SchedulingPolicy::kUnchanged) {
    wanted = group.options().attributes;
    if (!own.cpu_affinity.empty()) {
      wanted.cpu_affinity = own.cpu_affinity;
    }
  }
  return table.intern(wanted);
}

Status refuse_two_budgets(const AttributesEntry & asked, const std::string & subject)
{
  return asked.asked.scheduling_policy == SchedulingPolicy::kDeadline
           ? Status::error(
               subject +
               ": SCHED_DEADLINE has a budget already, its runtime and period; remove the "
               "other one")
           : Status();
}

}  // namespace

Status Engine::add_group(GroupOptions group_options, std::shared_ptr<Group> * group)
{
  const std::string subject = subject_of("group", group_options);
  const Status valid = validate(group_options.attributes, impl_->platform.cpu_count(), subject);
  if (!valid.ok()) {
    return valid;
  }
  const Status budget = rclrt_core::validate(group_options.budget, subject);
  if (!budget.ok()) {
    return budget;
  }
  if (group_options.parallelism > kMaxParallelism) {
    return Status::error(
      subject + ": parallelism " + std::to_string(group_options.parallelism) + " is more than " +
      std::to_string(kMaxParallelism));
  }
  group_options.place = {};
  auto node = std::make_shared<GroupNode>(std::move(group_options), impl_.get());
  node->parallelism =
    node->options().parallelism != 0
      ? node->options().parallelism
      : static_cast<uint32_t>(std::max(impl_->lanes.cpus(), kMinReentrantParallelism));
  if (node->options().budget.exists()) {
    node->budget = std::make_shared<BudgetNode>(*node, node->options().budget);
  }
  const Impl::Lock configuration_lock(*impl_->configuration);
  node->number = impl_->next_group++;
  const Status accepted = impl_->accept(node);
  if (accepted.ok()) {
    *group = std::move(node);
  }
  return accepted;
}

Status Engine::add_group_again(const std::shared_ptr<Group> & group)
{
  const Impl::Lock configuration_lock(*impl_->configuration);
  // Anything the engine has handed out is a GroupNode.
  const auto node = std::static_pointer_cast<GroupNode>(group);
  if (!node || node->engine != impl_.get() || node->known) {
    return Status::error("add_group_again(): not a group that was removed from this engine");
  }
  if (node->budget) {
    Section section(*impl_->mutex);
    impl_->budgets.recall(*node->budget, section);
  }
  return impl_->accept(node);
}

Status Engine::Impl::accept(const std::shared_ptr<GroupNode> & node)
{
  const Workers ended = life.take_ended();
  Life::join(ended);
  trace.keep(ended);
  lanes.place(*node);
  node->known = true;
  const Status grown = life.has_threads() ? grow(*node->queue->lane) : Status{};
  if (!grown.ok()) {
    node->known = false;
    lanes.displace(*node, life);
  }
  return grown;
}

Status Engine::remove_group(const std::shared_ptr<Group> & group)
{
  const Impl::Lock configuration_lock(*impl_->configuration);
  const auto node = std::static_pointer_cast<GroupNode>(group);
  if (!node || node->engine != impl_.get() || !node->known) {
    return Status::error("remove_group(): not a group of this engine");
  }
  if (node->callbacks > 0) {
    return Status::error(
      "remove_group(): group '" + node->name() + "' still has " + std::to_string(node->callbacks) +
      " callbacks; remove them first");
  }
  node->known = false;  // a run in progress keeps it alive
  if (node->budget) {
    const Impl::Lock lock(*impl_->mutex);
    impl_->budgets.forget(*node->budget);
  }
  impl_->lanes.displace(*node, impl_->life);
  return {};
}

Status Engine::Impl::add_callback(
  CallbackOptions callback_options, const TimerOptions * timer,
  const std::shared_ptr<Group> & group, std::shared_ptr<Callback> * callback)
{
  const std::string subject = subject_of("callback", callback_options);
  const Status valid = validate(callback_options, timer, platform.cpu_count(), subject);
  if (!valid.ok()) {
    return valid;
  }
  if (
    timer &&
    callback_options.overrun_rule.value_or(OverrunRule::kQueueAll) != OverrunRule::kQueueAll) {
    callback_options.depth = 1;
  }
  const auto group_node = std::static_pointer_cast<GroupNode>(group);
  const Lock configuration_lock(*configuration);
  if (!group_node || group_node->engine != this || !group_node->known) {
    return Status::error(subject + ": its group is not one of this engine");
  }
  if (callbacks.count(callback_options.name) > 0) {
    return Status::error(subject + ": the name is taken; names must be unique within an engine");
  }
  if (callback_options.inline_bound > Duration::zero() && group_node->parallelism != 1) {
    return Status::error(
      subject + ": inline_bound needs a group that is mutually exclusive, but '" +
      group_node->name() + "' is reentrant");
  }
  if (timer && !clocks.has(timer->clock)) {
    return Status::error(subject + ": unknown clock " + std::to_string(timer->clock));
  }
  const AttributesEntry & asked = asked_by(table, callback_options.attributes, *group_node);
  const Duration inline_bound = callback_options.inline_bound;
  const Duration clock_error = callback_options.clock_error;
  std::shared_ptr<BudgetNode> budget;
  const bool has_budget = callback_options.budget.exists() || group_node->budget;
  if (const Status two = refuse_two_budgets(asked, subject); has_budget && !two.ok()) {
    return two;
  }
  if (const Status found = accounts.find(callback_options, *group_node, &budget); !found.ok()) {
    return found;
  }
  const Budget own_budget = callback_options.budget;
  const std::string chain = callback_options.chain;
  auto node = std::make_shared<CallbackNode>(std::move(callback_options), next_callback++, this);
  node->group = group_node;
  node->attributes = node->cpus = &asked;
  const bool on_timer_lane = group_node->timer_queue && node->kind() == CallbackKind::kTimer;
  node->queue = on_timer_lane ? group_node->timer_queue.get() : group_node->queue.get();
  if (node->priority == 0) {
    node->priority = asked.asked.priority;
  }
  if (inline_bound > Duration::zero()) {
    node->inlining = std::make_unique<InlineNode>();
    node->inlining->bound = inline_bound;
  }
  if (inline_bound > Duration::zero() && !courier) {
    auto made = new_worker("rclrt courier", nullptr);
    made->is_left_alone = true;
    made->is_courier = true;
    const Lock lock(*mutex);
    courier = std::move(made);
  }
  if (node->deadline_from() != DeadlineFrom::kRelease) {
    node->stamps = std::make_unique<StampNode>();
    node->stamps->clock_error = clock_error;
  }
  if (node->sets_clock) {
    std::vector<CallbackNode *> more = clock_setters.all;
    more.push_back(node.get());
    const Lock lock(*mutex);
    clock_setters.all.swap(more);
  }
  if (has_budget) {
    accounts.join(*node, own_budget, chain, std::move(budget));
  }
  ++group_node->callbacks;
  callbacks.emplace(node->name(), node);
  *callback = node;
  if (timer) {
    node->timer = std::make_unique<TimerNode>();
    node->timer->callback = node.get();
    node->timer->period_ns = timer->period.count();
    node->timer->first_period_ns = timer->period.count();
    node->timer->clock = timer->clock;
    node->timer->one_shot = timer->one_shot;
  }
  if (options.trace_memory) {
    options.trace_memory->add(traced(*node));
  }
  if (life.has_threads() && (has_budget || budgets.is_enforced())) {
    const Status enforced = accounts.enforce();
    if (!enforced.ok()) {
      findings.add({subject, "its budget is not enforced: " + enforced.message(), 0, ""});
    }
  }
  if (timer && timer->autostart) {
    Section section(*mutex);
    arm(*node->timer, timer->first.value_or(timer->period).count(), section);
  }
  return {};
}

CallbackNode * Engine::Impl::known(const std::shared_ptr<Callback> & callback) const noexcept
{
  // Anything an engine has handed out is a CallbackNode.
  auto * const node = static_cast<CallbackNode *>(callback.get());
  return node && node->engine == this && !node->removed ? node : nullptr;
}

uint64_t Engine::remove(const std::shared_ptr<Callback> & callback)
{
  uint64_t waited = 0;
  std::shared_ptr<CallbackNode> last;  // destroyed without the locks
  const Impl::Lock configuration_lock(*impl_->configuration);
  {
    Section section(*impl_->mutex);
    CallbackNode * const node = impl_->known(callback);
    if (!node) {
      return 0;
    }
    last = node->shared_from_this();
    node->removed = true;
    if (node->timer) {
      impl_->clocks.disarm(*node->timer);
      node->timer->cancelled = true;
    }
    waited = node->backlog.size() + impl_->held.forget(*node);
    impl_->ready.withdraw(*node, impl_->platform.now());
    forget_taken(*node);
    if (node->sets_clock) {
      auto & setters = impl_->clock_setters.all;
      setters.erase(std::remove(setters.begin(), setters.end(), node), setters.end());
      while (impl_->release_held(section)) {
        section.leave();
        section.enter();
      }
    }
    if (node->budget && !node->budget->group) {
      auto & members = node->budget->members;
      members.erase(std::remove(members.begin(), members.end(), node), members.end());
      if (members.empty()) {
        impl_->budgets.forget(*node->budget);
      }
    }
  }
  --last->group->callbacks;
  impl_->former.push_back(traced(*last));
  if (impl_->former.size() > kMaxFormer) {
    impl_->former.pop_front();
  }
  impl_->callbacks.erase(last->name());
  return waited;
}

Status Engine::set_attributes(const std::shared_ptr<Callback> & callback, const Attributes & wanted)
{
  if (!callback) {
    return Status::error("set_attributes(): no callback given");
  }
  const Status valid =
    validate(wanted, impl_->platform.cpu_count(), "callback '" + callback->name() + "'");
  if (!valid.ok()) {
    return valid;
  }
  const Impl::Lock configuration_lock(*impl_->configuration);
  CallbackNode * const node = impl_->known(callback);
  if (!node) {
    return Status::error("callback '" + callback->name() + "' is not in this engine");
  }
  const AttributesEntry & entry = asked_by(impl_->table, wanted, *node->group);
  if (const Status two = refuse_two_budgets(entry, "callback '" + node->name() + "'");
      node->budget && !two.ok()) {
    return two;
  }
  {
    Section section(*impl_->mutex);
    impl_->ready.change(*node, [&] {
      node->attributes = node->cpus = &entry;
      node->told_of_cpus = false;
      if (node->own_priority == 0) {
        node->priority = entry.asked.priority;
      }
    });
    if (node->timer && node->timer->covered_by) {  // that thread has what it needed before
      impl_->clocks.uncover(*node->timer->covered_by);
    }
    if (node->timer) {
      impl_->clocks.look_again(section);
    }
  }
  return impl_->budgets.is_enforced() ? impl_->accounts.enforce() : Status();
}

Status Engine::set_timer_thread(const Attributes & wanted)
{
  const Status valid = validate(wanted, impl_->platform.cpu_count(), "the timer thread");
  if (!valid.ok()) {
    return valid;
  }
  if (wanted.scheduling_policy == SchedulingPolicy::kExt) {
    return Status::error(Impl::kTimerThreadExt);
  }
  std::shared_ptr<Worker> driver;
  {
    const Impl::Lock configuration_lock(*impl_->configuration);
    impl_->timer_thread = wanted;
    const AttributesEntry & entry = impl_->table.intern(wanted);
    const Impl::Lock lock(*impl_->mutex);
    const bool exists = impl_->timer_driver && impl_->timer_driver != impl_->visitor.get() &&
                        !impl_->timer_driver->lane && !impl_->timer_driver->is_left_alone;
    if (exists) {
      driver = impl_->timer_driver->shared_from_this();
      driver->urgency.decide({&entry, &entry});
      const AttributesEntry * first = driver->first_rest.load(std::memory_order_relaxed);
      if (first) {  // unless it has slept meanwhile
        driver->first_rest.compare_exchange_strong(first, &entry, std::memory_order_relaxed);
      }
    }
  }
  // Without the locks. If the thread is just starting or has ended, this does nothing.
  const int error = driver ? driver->urgency.settle().error : 0;
  if (error != 0) {
    impl_->findings.add(impl_->platform.explain("the timer thread", wanted, error));
  }
  return {};
}

}  // namespace rclrt_core
