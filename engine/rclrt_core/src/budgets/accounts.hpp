// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Which budgets there are and whose they are, and with what urgency they are enforced.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "budgets/budgets.hpp"
#include "order/attribute_table.hpp"
#include "rclrt_core/budget.hpp"
#include "rclrt_core/engine.hpp"
#include "trace/findings.hpp"

namespace rclrt_core
{

/// By name; the key is that of the node.
using Callbacks = std::unordered_map<std::string_view, std::shared_ptr<CallbackNode>>;

/// All under the engine's lock for configuration.
class Accounts
{
public:
  /// References to what the engine has.
  struct Of
  {
    const EngineOptions & options;
    Mutex & mutex;
    AttributeTable & table;
    const Callbacks & callbacks;
    const std::shared_ptr<DeadlineScheduler> & deadlines;
    Budgets & budgets;
    Findings & findings;
  };
  explicit Accounts(const Of & engine) : engine_(engine) {}

  /// The account of a new callback; null: it has none that it shares. Error: it cannot have its budget.
  Status find(const CallbackOptions & of, GroupNode & group, std::shared_ptr<BudgetNode> * budget);
  /// `budget`: the account of others that it shares, if there is one.
  void join(
    CallbackNode & callback, const Budget & own, const std::string & chain,
    std::shared_ptr<BudgetNode> budget);
  bool any() const noexcept;
  /// Start the thread that enforces them, or give it the attributes that it needs now.
  Status enforce();
  /// What that thread needs.
  Attributes enforcer_attributes();
  /// What jobs get that are demoted.
  const AttributesEntry & background();

private:
  const Of engine_;
  std::map<std::string, std::weak_ptr<BudgetNode>> chains_;  // their budgets, by name
};

/// A job of it has needed more than its budget.
Finding over_budget(const CallbackNode & callback);

}  // namespace rclrt_core
