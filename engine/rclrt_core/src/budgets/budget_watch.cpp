// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What the engine does for its budgets: who watches them, with what urgency, and what is told.

#include <algorithm>

#include "engine_impl.hpp"

namespace rclrt_core
{
namespace
{

constexpr int kHighestPriority = 99;

bool is_watched(const CallbackNode & callback) { return callback.budget != nullptr; }

/// The priority that a thread may get from the OS for a job that asks for this; 0: none.
int priority_of(const Attributes & attributes, const DeadlineScheduler * deadlines)
{
  if (is_fixed_priority(attributes.policy)) {
    return attributes.priority;
  }
  const bool is_ordered = attributes.policy == SchedulingPolicy::kExt && deadlines;
  return is_ordered ? deadlines->above().priority - 1 : 0;
}

}  // namespace

bool Engine::Impl::any_budget() const noexcept
{
  return std::any_of(callbacks.begin(), callbacks.end(), [](const auto & entry) {
    return is_watched(*entry.second);
  });
}

// What nothing is asked for has, unless that is real-time. It can always be had, and what was had before can be had again.
const AttributesEntry & Engine::Impl::background()
{
  if (table.nothing().level < kFirstStrictLevel) {
    return table.nothing();
  }
  Attributes other;
  other.policy = SchedulingPolicy::kOther;
  return table.intern(other);
}

// Just above what it watches: an ordinary thread, if nothing of that is real-time. A callback that inherits may get the
// priority of any other.
Attributes Engine::Impl::budget_watch()
{
  int highest = 0;
  int highest_watched = 0;
  bool inherits = false;
  Lock lock(*mutex);  // O(n): while spinning when a callback comes or changes, if there is a budget
  for (const auto & entry : callbacks) {
    const CallbackNode & callback = *entry.second;
    const int priority = priority_of(callback.policy->complete, deadlines.get());
    highest = std::max(highest, priority);
    if (is_watched(callback)) {
      highest_watched = std::max(highest_watched, priority);
      inherits |= callback.inherit_priority;
    }
  }
  lock.unlock();
  const int watched = inherits ? highest : highest_watched;
  if (watched == kHighestPriority) {
    add_finding(
      {"the thread that watches budgets",
       "has priority 99, and cannot interrupt a job that has priority 99, too", 0,
       "Give callbacks that have a budget a priority below 99"});
  }
  if (watched == 0) {
    return table.nothing().complete;
  }
  Attributes attributes;
  attributes.policy = SchedulingPolicy::kFifo;
  attributes.priority = std::min(kHighestPriority, watched + 1);
  return attributes;
}

Status Engine::Impl::watch_budgets()
{
  if (options.attributes_mode == AttributesMode::kOff || !any_budget()) {
    return {};
  }
  return budgets.watch_with(
    budget_watch(), [this](const CallbackNode & callback) { tell_over_budget(callback); },
    [this](const Finding & finding) { add_finding(finding); });
}

std::string Engine::Impl::subject_of(const BudgetNode & node)
{
  if (node.callback) {
    return node.callback->name();
  }
  return node.group ? "group '" + node.group->name() + "'" : "chain '" + node.chain + "'";
}

void Engine::Impl::tell_over_budget(const CallbackNode & callback)
{
  const Budget & budget = callback.budget->budget;
  const auto us = [](Duration duration) {
    return std::to_string(duration / std::chrono::microseconds(1)) + " us";
  };
  Finding finding;
  const bool is_shared = !callback.budget->callback;
  finding.subject = subject_of(*callback.budget);
  finding.what = "needs more than its budget of " + us(budget.runtime) + " of CPU time in " +
                 us(budget.period) + " (on_overrun: " + to_string(budget.on_overrun) + ")" +
                 (is_shared ? ", seen in a job of " + callback.name() : "");
  finding.fix = std::string("Raise the budget's runtime, or find out why ") +
                (is_shared ? "its callbacks take" : "the callback takes") +
                " so long. Statistics count how often (over_budget)";
  add_finding(std::move(finding));
}

}  // namespace rclrt_core
