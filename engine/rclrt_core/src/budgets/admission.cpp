// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "budgets/admission.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "engine_impl.hpp"

namespace rclrt_core
{
namespace
{

// From the period to max_period.
constexpr int kSteps = 16;
// Of sums of fractions.
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

// ---- The engine's

namespace
{

std::string in_us(Duration duration)
{
  return std::to_string(duration / std::chrono::microseconds(1)) + " us";
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

}  // namespace

bool Engine::Impl::asks_for_room() const noexcept
{
  return options.capacity > 0 && options.attributes_mode != AttributesMode::kOff;
}

std::map<uint64_t, BudgetNode *> Engine::Impl::known_budgets() const
{
  std::map<uint64_t, BudgetNode *> found;  // in order of arrival
  for (const auto & entry : callbacks) {   // O(n): when one with a budget comes or goes
    if (BudgetNode * const node = entry.second->budget.get()) {
      found.emplace(node->number, node);
    }
  }
  return found;
}

Status Engine::Impl::check_room(const Budget & budget, const std::string & subject) const
{
  if (
    !asks_for_room() || options.attributes_mode != AttributesMode::kRequire ||
    budget.criticality == Criticality::kLow) {
    return {};
  }
  std::vector<Claim> claims;
  for (const auto & [arrival, node] : known_budgets()) {
    claims.push_back({node->budget});
  }
  claims.push_back({budget});
  admit(options.capacity, &claims);
  return claims.back().has_room
           ? Status()
           : Status::error(
               subject + ": its budget of " + in_us(budget.runtime) + " in " +
               in_us(budget.period) + " does not fit beside the others' into the capacity of " +
               in_percent(options.capacity) +
               ". Give it less, or give others criticality: low, or raise the capacity");
}

// Each budget in a section of its own: a chain may have many callbacks that wait.
void Engine::Impl::admit_budgets()
{
  if (!asks_for_room()) {
    return;
  }
  const auto known = known_budgets();
  std::vector<Claim> claims;
  for (const auto & [arrival, node] : known) {
    claims.push_back({node->budget});
  }
  admit(options.capacity, &claims);
  auto claim = claims.begin();
  for (const auto & [arrival, node] : known) {
    {
      Section section(*mutex);
      budgets.admit(*node, claim->has_room, claim->period, section.calls);
      if (node->callback && node->callback->timer) {
        follow_period(*node->callback->timer);
      }
    }
    tell_of_room(*node);
    ++claim;
  }
}

// Under `mutex`. From the release after the next one on.
void Engine::Impl::follow_period(TimerNode & timer) noexcept
{
  timer.period_ns = timer.asked_period_ns;
  const BudgetNode * const node = timer.callback->budget.get();
  if (node && node->callback) {
    timer.period_ns = in_ratio(timer.asked_period_ns, node->period, node->budget.period);
  }
}

void Engine::Impl::tell_of_room(BudgetNode & node)
{
  const std::string budget =
    "its budget of " + in_us(node.budget.runtime) + " in " + in_us(node.budget.period);
  const std::string room =
    "beside the others' into the capacity of " + in_percent(options.capacity);
  if (!node.has_room && !std::exchange(node.told_of_room, true)) {
    add_finding(
      {subject_of(node), budget + " does not fit " + room + ": it runs in the background", 0,
       "Give it less, or give others criticality: low, or raise the capacity. Statistics count its "
       "jobs (without_room)"});
  }
  const bool is_stretched = node.has_room && node.period != node.budget.period;
  if (is_stretched && !std::exchange(node.told_of_period, true)) {
    add_finding(
      {subject_of(node),
       budget + " does not fit " + room + ": its period is stretched, now to " + in_us(node.period),
       0, "Nothing, if that is what max_period is for", Severity::kNote});
  }
}

}  // namespace rclrt_core
