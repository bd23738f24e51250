// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Which budgets there are and whose they are, which of them fit, and with what urgency they are watched.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "budgets/budgets.hpp"
#include "order/attribute_table.hpp"
#include "rclrt_core/budget.hpp"
#include "rclrt_core/engine.hpp"
#include "trace/findings.hpp"

namespace rclrt_core
{

/// Whose budgets fit: docs/how-to/budgets.md has the rules.
struct Claim
{
  Budget budget;
  // The outcome:
  bool has_room = true;
  Duration period{0};  ///< in force
};

/// `claims` in the order in which they came; `capacity` in CPUs. The budgets that have room use at most that together.
void admit(double capacity, std::vector<Claim> * claims) noexcept;

/// By name; the key is that of the node.
using Callbacks = std::unordered_map<std::string_view, std::shared_ptr<CallbackNode>>;

/// All under the engine's lock for configuration, but follow_period().
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
  /// A budget has come or gone: the accounts that have room are found anew.
  void admit_all();
  /// Under the engine's lock. From the release after the next one on.
  static void follow_period(TimerNode & timer) noexcept;

  bool any() const noexcept;
  /// Start the thread that watches, or give it the attributes that it needs now.
  Status watch();
  /// What that thread needs.
  Attributes watch_attributes();
  /// What jobs get that are demoted.
  const AttributesEntry & background();

private:
  bool asks_for_room() const noexcept;
  std::map<uint64_t, BudgetNode *> known() const;
  /// Error: attributes are required, and a new budget would have no room.
  Status check_room(const Budget & budget, const std::string & subject) const;
  void tell_of_room(BudgetNode & node);

  const Of engine_;
  uint64_t next_budget_ = 0;
  std::map<std::string, std::weak_ptr<BudgetNode>> chains_;  // their budgets, by name
};

/// A job of it has needed more than its budget.
Finding over_budget(const CallbackNode & callback);

}  // namespace rclrt_core
