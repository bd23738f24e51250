// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "budgets/accounts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "timers/timer_clocks.hpp"

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

std::string in_percent(double cpus)
{
  return std::to_string(std::llround(cpus * 100)) + " % of a CPU";
}

int64_t in_ratio(int64_t asked_ns, Duration period, Duration asked)
{
  return static_cast<int64_t>(
    static_cast<double>(asked_ns) * static_cast<double>(period.count()) /
    static_cast<double>(asked.count()));
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

Status validate(const Budget & budget, const std::string & subject, BudgetOwner owner)
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
  if (budget.max_period == Duration::zero()) {
    return {};
  }
  if (owner != BudgetOwner::kTimer) {
    return wrong(
      "max_period is for the budget of a timer, whose releases can be made rarer. Remove it");
  }
  if (budget.criticality != Criticality::kLow || budget.max_period < budget.period) {
    return wrong(
      "the budget's max_period is " + in_us(budget.max_period) +
      ": it must be at least the period, " + in_us(budget.period) +
      ", and goes with criticality: low");
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
  const bool comes_now = !*budget || (*budget)->is_gone || (group.budget && group.callbacks == 0);
  const Budget & wanted = *budget ? (*budget)->budget : of.budget;
  return comes_now && wanted.exists() ? check_room(wanted, subject) : Status();
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
  if (node.is_gone || (node.group && callback.group->callbacks == 0)) {
    node.number = next_budget_++;
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

// ---- Which fit

bool Accounts::asks_for_room() const noexcept
{
  return engine_.options.capacity > 0 && engine_.options.attributes_mode != AttributesMode::kOff;
}

std::map<uint64_t, BudgetNode *> Accounts::known() const
{
  std::map<uint64_t, BudgetNode *> found;         // in order of arrival
  for (const auto & entry : engine_.callbacks) {  // O(n): when one with a budget comes or goes
    if (BudgetNode * const node = entry.second->budget.get()) {
      found.emplace(node->number, node);
    }
  }
  return found;
}

Status Accounts::check_room(const Budget & budget, const std::string & subject) const
{
  if (
    !asks_for_room() || engine_.options.attributes_mode != AttributesMode::kRequire ||
    budget.criticality == Criticality::kLow) {
    return {};
  }
  std::vector<Claim> claims;
  for (const auto & [arrival, node] : known()) {
    claims.push_back({node->budget});
  }
  claims.push_back({budget});
  admit(engine_.options.capacity, &claims);
  return claims.back().has_room
           ? Status()
           : Status::error(
               subject + ": its budget of " + in_us(budget.runtime) + " in " +
               in_us(budget.period) + " does not fit beside the others' into the capacity of " +
               in_percent(engine_.options.capacity) +
               ". Give it less, or give others criticality: low, or raise the capacity");
}

// Each budget in a section of its own: a chain may have many callbacks that wait.
void Accounts::admit_all()
{
  if (!asks_for_room()) {
    return;
  }
  const auto budgets = known();
  std::vector<Claim> claims;
  for (const auto & [arrival, node] : budgets) {
    claims.push_back({node->budget});
  }
  admit(engine_.options.capacity, &claims);
  auto claim = claims.begin();
  for (const auto & [arrival, node] : budgets) {
    {
      Section section(engine_.mutex);
      engine_.budgets.admit(*node, claim->has_room, claim->period, section);
      if (node->callback && node->callback->timer) {
        follow_period(*node->callback->timer);
      }
    }
    tell_of_room(*node);
    ++claim;
  }
}

// Under `mutex`. From the release after the next one on.
void Accounts::follow_period(TimerNode & timer) noexcept
{
  timer.period_ns = timer.asked_period_ns;
  const BudgetNode * const node = timer.callback->budget.get();
  if (node && node->callback) {
    timer.period_ns = in_ratio(timer.asked_period_ns, node->period, node->budget.period);
  }
}

void Accounts::tell_of_room(BudgetNode & node)
{
  const std::string budget =
    "its budget of " + in_us(node.budget.runtime) + " in " + in_us(node.budget.period);
  const std::string room =
    "beside the others' into the capacity of " + in_percent(engine_.options.capacity);
  if (!node.has_room && !std::exchange(node.told_of_room, true)) {
    engine_.findings.add(
      {subject_of(node), budget + " does not fit " + room + ": it runs in the background", 0,
       "Give it less, or give others criticality: low, or raise the capacity. Statistics count its "
       "jobs (without_room)"});
  }
  const bool is_stretched = node.has_room && node.period != node.budget.period;
  if (is_stretched && !std::exchange(node.told_of_period, true)) {
    engine_.findings.add(
      {subject_of(node),
       budget + " does not fit " + room + ": its period is stretched, now to " + in_us(node.period),
       0, "Nothing, if that is what max_period is for", Severity::kNote});
  }
}

// ---- The thread that watches them

bool Accounts::any() const noexcept
{
  return std::any_of(engine_.callbacks.begin(), engine_.callbacks.end(), [](const auto & entry) {
    return is_watched(*entry.second);
  });
}

// What nothing is asked for has, unless that is real-time. It can always be had, and what was had before can be had again.
const AttributesEntry & Accounts::background()
{
  if (engine_.table.nothing().level < kFirstStrictLevel) {
    return engine_.table.nothing();
  }
  Attributes other;
  other.policy = SchedulingPolicy::kOther;
  return engine_.table.intern(other);
}

// Just above what it watches: an ordinary thread, if nothing of that is real-time. A callback that inherits may get the
// priority of any other.
Attributes Accounts::watch_attributes()
{
  int highest = 0;
  int highest_watched = 0;
  bool inherits = false;
  // O(n): while spinning when a callback comes or changes, if there is a budget
  std::unique_lock<Mutex> lock(engine_.mutex);
  for (const auto & entry : engine_.callbacks) {
    const CallbackNode & callback = *entry.second;
    const int priority = priority_of(callback.policy->complete, engine_.deadlines.get());
    highest = std::max(highest, priority);
    if (is_watched(callback)) {
      highest_watched = std::max(highest_watched, priority);
      inherits |= callback.inherit_priority;
    }
  }
  lock.unlock();
  const int watched = inherits ? highest : highest_watched;
  if (watched == kHighestPriority) {
    engine_.findings.add(
      {"the thread that watches budgets",
       "has priority 99, and cannot interrupt a job that has priority 99, too", 0,
       "Give callbacks that have a budget a priority below 99"});
  }
  if (watched == 0) {
    return engine_.table.nothing().complete;
  }
  Attributes attributes;
  attributes.policy = SchedulingPolicy::kFifo;
  attributes.priority = std::min(kHighestPriority, watched + 1);
  return attributes;
}

Status Accounts::watch()
{
  if (engine_.options.attributes_mode == AttributesMode::kOff || !any()) {
    return {};
  }
  return engine_.budgets.watch_with(
    watch_attributes(),
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

namespace
{

// From the period to max_period.
constexpr int kSteps = 16;
// By how much sums of fractions may be wrong.
constexpr double kRounding = 1e-9;

bool is_low(const Claim & claim) { return claim.budget.criticality == Criticality::kLow; }

double share_of(const Claim & claim)
{
  return static_cast<double>(claim.budget.runtime.count()) /
         static_cast<double>(claim.period.count());
}

void stretch(Claim * claim, int step) noexcept
{
  const Budget & budget = claim->budget;
  const bool is_elastic = budget.max_period != Duration::zero();
  const Duration more = is_elastic ? budget.max_period - budget.period : Duration::zero();
  claim->period = budget.period + more / kSteps * step;
}

}  // namespace

void admit(double capacity, std::vector<Claim> * claims) noexcept
{
  double left = capacity + kRounding;
  const auto take_what_fits = [&](bool low) {
    for (Claim & claim : *claims) {
      if (is_low(claim) == low) {
        claim.has_room = share_of(claim) <= left;
        left -= claim.has_room ? share_of(claim) : 0;
      }
    }
  };
  for (Claim & claim : *claims) {
    stretch(&claim, 0);
  }
  take_what_fits(false);
  double wanted = left + 1;
  for (int step = 0; step <= kSteps && wanted > left; ++step) {
    wanted = 0;
    for (Claim & claim : *claims) {
      if (is_low(claim)) {
        stretch(&claim, step);
        wanted += share_of(claim);
      }
    }
  }
  take_what_fits(true);
}

}  // namespace rclrt_core
