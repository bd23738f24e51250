// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "budget_field.hpp"

#include <string>
#include <utility>

namespace rclrt_config
{

using rclrt_core::Budget;
using rclrt_core::BudgetOwner;
using rclrt_core::Criticality;
using rclrt_core::Duration;
using rclrt_core::OnOverrun;

std::optional<Budget> read_budget(const YamlMap & of, BudgetOwner owner)
{
  const auto value = of.node("budget");
  if (!value) {
    return std::nullopt;
  }
  const YamlMap map(
    *value, "budget", {"runtime", "period", "on_overrun", "criticality", "max_period"});
  Budget budget;
  for (const auto & [field, part] :
       {std::pair("runtime", &budget.runtime), {"period", &budget.period}}) {
    const auto duration = map.duration(field);
    if (!duration) {
      map.fail(std::string(field) + " is missing");
    }
    *part = *duration;
  }
  budget.on_overrun =
    map
      .word<OnOverrun>(
        "on_overrun", {{"demote", OnOverrun::kDemote}, {"notify", OnOverrun::kNotify}})
      .value_or(OnOverrun::kDemote);
  budget.criticality =
    map.word<Criticality>("criticality", {{"high", Criticality::kHigh}, {"low", Criticality::kLow}})
      .value_or(Criticality::kHigh);
  budget.max_period = map.duration("max_period").value_or(Duration{0});
  const rclrt_core::Status valid = rclrt_core::validate(budget, of.subject(), owner);
  if (!valid.ok()) {
    of.fail("budget", valid.message());
  }
  return budget;
}

}  // namespace rclrt_config
