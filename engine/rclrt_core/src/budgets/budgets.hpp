// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Budgets of callbacks, groups and chains: charges the CPU time of their jobs, and demotes what has used up its budget.
///
///   begin() ----> job runs ----------------> end()       by the thread of the job: charges, and begins periods
///                   |   ^
///            spent  |   | next period
///                   v   |
///                 job runs demoted                       by the enforcer: a thread that reads the CPU clocks of others
///
/// The enforcer sleeps until the first moment at which a budget can be used up or a period ends. So it is woken by a job
/// that begins, if that could be earlier. If a thread was preempted meanwhile, the enforcer finds some of the budget left
/// and sleeps again, for at least 1/32 of the budget and 50 us: so a job may have that much more. If the enforcer gets no
/// CPU in time, the scheduler in the kernel postpones the deadline of a job that has used up more than this.
///
/// State is under the engine's lock. Clocks are read without it. In one section of the lock the enforcer looks at four
/// jobs, or at four callbacks or groups that are demoted and whose period is over.
///
/// To demote a group moves the group in its lane, however many of its callbacks have waiting jobs: in the group they stay
/// in the order in which they were. To demote a chain moves each of its callbacks, at most 16.
#pragma once

#include <atomic>
#include <boost/container/static_vector.hpp>
#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "threads/dispatch.hpp"

namespace rclrt_core
{

/// What a callback, a group or a chain has used of its budget.
struct BudgetNode
{
  /// The callbacks of a chain: each of them moves in its queue when it is demoted.
  static constexpr std::size_t kMaxMembers = 16;
  using Members = boost::container::static_vector<CallbackNode *, kMaxMembers>;

  BudgetNode(CallbackNode & its_callback, const Budget & its_budget)
  : callback(&its_callback), budget(its_budget)
  {
  }
  BudgetNode(GroupNode & its_group, const Budget & its_budget)
  : group(&its_group), budget(its_budget)
  {
  }
  BudgetNode(std::string its_chain, const Budget & its_budget)
  : chain(std::move(its_chain)), budget(its_budget)
  {
  }

  // Whose it is: one of the three. For the first and the last, `members` are those that are here.
  CallbackNode * const callback = nullptr;
  GroupNode * const group = nullptr;
  const std::string chain;
  Members members;  // changed under both locks of the engine
  const Budget budget;
  const AttributesEntry * background = nullptr;  // what jobs get that are demoted
  TimePoint end{};                               // of the period
  Duration used{0};                              // in the period
  uint32_t running = 0;                          // jobs that use it
  bool is_spent = false;                         // the period's budget is used up
  bool is_over = false;                          // and it was not enough
  bool is_demoted = false;
  bool told = false;
  bool is_gone = false;  // whose it is, from the engine
  SetHook in_demoted;    // of Budgets::demoted_, by `end`

  bool demotes() const noexcept { return budget.on_overrun == OnOverrun::kDemote; }
};

class Budgets
{
public:
  Budgets(Platform & platform, Mutex & mutex, Ready & ready)
  : platform_(platform), mutex_(mutex), ready_(ready)
  {
  }

  // ---- The enforcer, under the lock for configuration

  /// Start it, or give a running one these attributes. Told: a budget was used up for the first time. Calls of `tell`
  /// come from the enforcer, without a lock.
  using Tell = std::function<void(const CallbackNode & callback)>;
  Status enforce_with(
    const Attributes & attributes, Tell tell,
    const std::function<void(const Finding &)> & on_finding);
  bool is_enforced() const noexcept { return thread_ != nullptr; }
  /// No job of the engine runs any more.
  void stop_enforcing();

  // ---- Under the engine's lock

  /// The worker has taken a job of a callback with a budget, and is about to begin.
  void begin(Worker & worker, Section & section) noexcept;
  /// It has ended, when its thread had used so much CPU time. Returns whether that is to be told.
  bool end(Worker & worker, int64_t cpu_ns) noexcept;
  /// The callback or group, or the last callback of the chain, is about to be removed.
  void forget(BudgetNode & node) noexcept;
  /// The group or chain is back.
  void recall(BudgetNode & node, Section & section) noexcept;

private:
  struct EarlierEnd
  {
    bool operator()(const BudgetNode & a, const BudgetNode & b) const noexcept
    {
      return a.end < b.end;
    }
  };

  void enforce() noexcept;
  bool begin_round() noexcept;
  bool look_at_some() noexcept;
  bool renew_some() noexcept;
  bool look(Worker & worker, int64_t cpu_ns, TimePoint now, Section & section) noexcept;

  static TimePoint end_after(const BudgetNode & node, TimePoint now) noexcept;
  bool charge(Worker & worker, int64_t cpu_ns) noexcept;
  void spend(BudgetNode & node) noexcept;
  void set_demoted(BudgetNode & node, bool is_demoted) noexcept;
  void take_from_demoted(BudgetNode & node) noexcept;
  static bool count(CallbackNode & callback) noexcept;
  void renew(BudgetNode & node, TimePoint end, Section & section) noexcept;
  void follow(Worker & worker, Section & section) noexcept;
  static Duration left_for_one(const BudgetNode & node) noexcept;
  void limit(Worker & worker) noexcept;
  TimePoint next_look(const BudgetNode & node, TimePoint now) const noexcept;
  void look_by(TimePoint time, Section & section) noexcept;

  static constexpr uint32_t kSleeps = 0;  // values of word_
  static constexpr uint32_t kLooks = 1;
  static constexpr uint32_t kEnds = 2;

  Platform & platform_;
  Mutex & mutex_;
  Ready & ready_;

  // Under the lock for configuration.
  std::unique_ptr<Thread> thread_;
  Attributes attributes_;
  Tell tell_;  // set before the thread starts
  std::atomic<uint32_t> thread_id_{
    0};  // set by the thread when it begins; its starter waits for that

  // Under the engine's lock.
  bool enforces_ = false;  ///< there is an enforcer
  intrusive::list<
    Worker, intrusive::member_hook<Worker, intrusive::list_member_hook<>, &Worker::in_charged>>
    charged_;
  intrusive::multiset<
    BudgetNode, intrusive::member_hook<BudgetNode, SetHook, &BudgetNode::in_demoted>,
    intrusive::compare<EarlierEnd>>
    demoted_;
  TimePoint next_look_ = kNever;
  uint32_t round_ = 0;
  /// The enforcer sleeps on it. Written under the engine's lock only; read by the enforcer, which looks at everything under
  /// that lock afterwards: relaxed is enough.
  std::atomic<uint32_t> word_{kSleeps};
};

}  // namespace rclrt_core
