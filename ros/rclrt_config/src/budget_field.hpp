// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The field `budget` of callbacks, groups and chains.
#ifndef BUDGET_FIELD_HPP_
#define BUDGET_FIELD_HPP_

#include <optional>

#include "rclrt_core/budget.hpp"
#include "yaml_map.hpp"

namespace rclrt_config
{

/// Empty if the field is not there. Of a callback that may be a timer, `owner` is kTimer.
std::optional<rclrt_core::Budget> read_budget(const YamlMap & of, rclrt_core::BudgetOwner owner);

}  // namespace rclrt_config

#endif  // BUDGET_FIELD_HPP_
