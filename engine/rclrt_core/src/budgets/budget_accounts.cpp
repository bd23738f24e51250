// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Which budgets there can be, and which account a new callback is charged to.

#include <utility>

#include "engine_impl.hpp"

namespace rclrt_core
{
namespace
{

std::string in_microseconds(Duration duration)
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

}  // namespace

Status validate(const Budget & budget, const std::string & subject, BudgetOwner owner)
{
  const auto wrong = [&](const std::string & text) { return Status::error(subject + ": " + text); };
  if (!budget.exists()) {
    return {};
  }
  if (budget.period < Budget::kMinPeriod) {
    return wrong(
      "the budget's period is " + in_microseconds(budget.period) + ", must be at least " +
      in_microseconds(Budget::kMinPeriod));
  }
  if (budget.runtime < Budget::kMinRuntime || budget.runtime > budget.period) {
    return wrong(
      "the budget's runtime is " + in_microseconds(budget.runtime) + ", must be " +
      in_microseconds(Budget::kMinRuntime) + " to the period, " + in_microseconds(budget.period));
  }
  const bool is_of_many = owner == BudgetOwner::kGroup || owner == BudgetOwner::kChain;
  if (budget.on_overrun == OnOverrun::kSkipNext && is_of_many) {
    return wrong(
      "on_overrun skip_next is for the budget of a callback: of a group or a chain, it would drop "
      "a release of whichever callback comes next. Use demote or notify");
  }
  if (budget.on_overrun == OnOverrun::kAbortChain && owner != BudgetOwner::kChain) {
    return wrong(
      "on_overrun abort_chain is for the budget of a chain. Use demote, or give the budget to the "
      "chain");
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
      "the budget's max_period is " + in_microseconds(budget.max_period) +
      ": it must be at least the period, " + in_microseconds(budget.period) +
      ", and goes with criticality: low");
  }
  return {};
}

Status Engine::Impl::find_budget(
  const CallbackOptions & of, GroupNode & group, std::shared_ptr<BudgetNode> * budget)
{
  const std::string subject = "callback '" + of.name + "'";
  if (const Status two = refuse_beside_group_budget(of, group); !two.ok()) {
    return two;
  }
  *budget = group.budget;
  const auto chain = chains.find(of.chain);
  if (!of.chain.empty() && chain != chains.end()) {
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
void Engine::Impl::join_budget(
  CallbackNode & callback, const Budget & own, const std::string & chain,
  std::shared_ptr<BudgetNode> budget)
{
  if (!budget) {
    budget = chain.empty() ? std::make_shared<BudgetNode>(callback, own)
                           : std::make_shared<BudgetNode>(chain, own);
    budget->is_gone = true;  // it comes now
  }
  if (!chain.empty()) {
    chains[chain] = budget;
  }
  BudgetNode & node = *budget;
  if (!node.background) {  // else others of its callbacks may run, and have it already
    node.background = &background();
  }
  if (node.is_gone || (node.group && callback.group->callbacks == 0)) {
    node.number = next_budget++;
  }
  Section section(*mutex);
  callback.budget = std::move(budget);
  if (!node.group) {
    if (node.is_gone) {
      budgets.recall(node, section.calls);
    }
    node.members.push_back(&callback);
  }
}

}  // namespace rclrt_core
