// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "budgets/accounts.hpp"

#include <algorithm>
#include <utility>

namespace rclrt_core
{
namespace
{

std::string in_us(Duration duration)
{
  return std::to_string(duration / std::chrono::microseconds(1)) + " us";
}

// A callback whose group has one. Each job is charged to one account.
Status refuse_beside_group_budget(const CallbackOptions & options, const GroupNode & group)
{
  const std::string subject = "callback '" + options.name + "'";
  if (!group.budget) {
    return {};
  }
  if (options.inline_bound > Duration::zero()) {
    return Status::error(
      subject +
      ": an inline callback runs on a thread of the middleware, which nobody may demote: its group "
      "'" +
      group.name() + "' cannot have a budget");
  }
  return options.budget.exists()
           ? Status::error(
               subject + ": its group '" + group.name() +
               "' has a budget, which all of its callbacks share; remove one of the two")
           : Status();
}

constexpr int kHighestPriority = 99;

bool has_budget(const CallbackNode & callback) { return callback.budget != nullptr; }

/// The priority that a thread may get from the OS for a job that asks for this; 0: none.
int priority_of(const Attributes & attributes, const DeadlineScheduler * deadlines)
{
  if (is_fixed_priority(attributes.scheduling_policy)) {
    return attributes.priority;
  }
  const bool is_ordered = attributes.scheduling_policy == SchedulingPolicy::kExt && deadlines;
  return is_ordered ? deadlines->above().priority - 1 : 0;
}

std::string subject_of(const BudgetNode & node)
{
  if (node.callback) {
    return node.callback->name();
  }
  return node.group ? "group '" + node.group->name() + "'" : "chain '" + node.chain + "'";
}

}  // namespace

// ---- Which budgets there can be, and which account a new callback is charged to

Status validate(const Budget & budget, const std::string & subject)
{
  const auto wrong = [&](const std::string & text) { return Status::error(subject + ": " + text); };
  if (!budget.exists()) {
    return {};
  }
  if (budget.period < Budget::kMinPeriod) {
    return wrong(
      "the budget's period is " + in_us(budget.period) + ", must be at least " +
      in_us(Budget::kMinPeriod));
  }
  if (budget.runtime < Budget::kMinRuntime || budget.runtime > budget.period) {
    return wrong(
      "the budget's runtime is " + in_us(budget.runtime) + ", must be " +
      in_us(Budget::kMinRuntime) + " to the period, " + in_us(budget.period));
  }
  return {};
}

Status Accounts::find(
  const CallbackOptions & of, GroupNode & group, std::shared_ptr<BudgetNode> * budget)
{
  const std::string subject = "callback '" + of.name + "'";
  if (const Status two = refuse_beside_group_budget(of, group); !two.ok()) {
    return two;
  }
  *budget = group.budget;
  const auto chain = chains_.find(of.chain);
  if (!of.chain.empty() && chain != chains_.end()) {
    *budget = chain->second.lock();
  }
  const std::string its_chain = subject + ": the chain '" + of.chain + "'";
  if (*budget && !of.chain.empty() && !((*budget)->budget == of.budget)) {
    return Status::error(
      its_chain + " has another budget already; give all its callbacks the same");
  }
  if (*budget && (*budget)->members.size() == BudgetNode::kMaxMembers) {
    return Status::error(
      its_chain + " has " + std::to_string(BudgetNode::kMaxMembers) +
      " callbacks here already, and no more can share its budget. Make two chains of it");
  }
  return {};
}

// `budget`: the account of others that it shares, if there is one.
void Accounts::join(
  CallbackNode & callback, const Budget & own, const std::string & chain,
  std::shared_ptr<BudgetNode> budget)
{
  if (!budget) {
    budget = chain.empty() ? std::make_shared<BudgetNode>(callback, own)
                           : std::make_shared<BudgetNode>(chain, own);
    budget->is_gone = true;  // it comes now
  }
  if (!chain.empty()) {
    chains_[chain] = budget;
  }
  BudgetNode & node = *budget;
  if (!node.background) {  // else others of its callbacks may run, and have it already
    node.background = &background();
  }
  Section section(engine_.mutex);
  callback.budget = std::move(budget);
  if (!node.group) {
    if (node.is_gone) {
      engine_.budgets.recall(node, section);
    }
    node.members.push_back(&callback);
  }
}

// ---- The thread that enforces them

bool Accounts::any() const noexcept
{
  return std::any_of(engine_.callbacks.begin(), engine_.callbacks.end(), [](const auto & entry) {
    return has_budget(*entry.second);
  });
}

// What nothing is asked for has, unless that is real-time. It can always be had, and what was had before can be had again.
const AttributesEntry & Accounts::background()
{
  if (engine_.table.nothing().level < kFirstStrictLevel) {
    return engine_.table.nothing();
  }
  Attributes other;
  other.scheduling_policy = SchedulingPolicy::kOther;
  return engine_.table.intern(other);
}

// Just above what it enforces: an ordinary thread, if nothing of that is real-time. A callback that inherits may get the
// priority of any other.
Attributes Accounts::enforcer_attributes()
{
  int highest = 0;
  int highest_enforced = 0;
  bool inherits = false;
  // O(n): while spinning when a callback comes or changes, if there is a budget
  std::unique_lock<Mutex> lock(engine_.mutex);
  for (const auto & entry : engine_.callbacks) {
    const CallbackNode & callback = *entry.second;
    const int priority = priority_of(callback.attributes->complete, engine_.deadlines.get());
    highest = std::max(highest, priority);
    if (has_budget(callback)) {
      highest_enforced = std::max(highest_enforced, priority);
      inherits |= callback.inherit_priority;
    }
  }
  lock.unlock();
  const int enforced = inherits ? highest : highest_enforced;
  if (enforced == kHighestPriority) {
    engine_.findings.add(
      {"the thread that enforces budgets",
       "has priority 99, and cannot interrupt a job that has priority 99, too", 0,
       "Give callbacks that have a budget a priority below 99"});
  }
  if (enforced == 0) {
    return engine_.table.nothing().complete;
  }
  Attributes attributes;
  attributes.scheduling_policy = SchedulingPolicy::kFifo;
  attributes.priority = std::min(kHighestPriority, enforced + 1);
  return attributes;
}

Status Accounts::enforce()
{
  if (engine_.options.attributes_mode == AttributesMode::kOff || !any()) {
    return {};
  }
  return engine_.budgets.enforce_with(
    enforcer_attributes(),
    [this](const CallbackNode & callback) { engine_.findings.add(over_budget(callback)); },
    [this](const Finding & finding) { engine_.findings.add(finding); });
}

Finding over_budget(const CallbackNode & callback)
{
  const Budget & budget = callback.budget->budget;
  Finding finding;
  const bool is_shared = !callback.budget->callback;
  finding.subject = subject_of(*callback.budget);
  finding.what = "needs more than its budget of " + in_us(budget.runtime) + " of CPU time in " +
                 in_us(budget.period) + " (on_overrun: " + to_string(budget.on_overrun) + ")" +
                 (is_shared ? ", seen in a job of " + callback.name() : "");
  finding.fix = std::string("Raise the budget's runtime, or find out why ") +
                (is_shared ? "its callbacks take" : "the callback takes") +
                " so long. Statistics count how often (over_budget)";
  return finding;
}

}  // namespace rclrt_core
