// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What is ready and what is next: a data structure without threads, locks or time.
///
///   callback: its waiting jobs        group: its callbacks          lane: its groups that have a waiting
///   (Backlog), the oldest first       that have a waiting job,      job and room to run one, the most
///                                     the most urgent first         urgent first (ReadyGroups)
///
/// A callback asks for what its oldest waiting job needs, with the earliest deadline of all its waiting jobs.
/// Among equals it has the place of the job with which it began to wait. In an overload it goes to the end of the
/// line when one of its jobs begins to run, and keeps that place: if jobs are left then, or some were lost
/// since the one before. So equals take turns. A group is as urgent as its most urgent waiting callback. All is protected by the engine's lock;
/// each function is O(log n) in the callbacks of the group and in the groups of the lane, and allocates nothing.
#pragma once

#include <algorithm>
#include <atomic>
#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "order/urgency.hpp"
#include "rclrt_core/callback.hpp"
#include "rclrt_core/group.hpp"
#include "rclrt_core/policy.hpp"
#include "rclrt_core/trace_ring.hpp"

namespace rclrt_core
{

namespace intrusive = boost::intrusive;

struct GroupNode;
struct GroupQueue;
struct Lane;
/// The colour of a node is in its pointers.
using SetHook = intrusive::set_member_hook<intrusive::optimize_size<true>>;

struct CallbackNode;
struct BudgetNode;  // see budgets.hpp
struct TimerNode;   // see timer_clocks.hpp
struct Worker;

/// The waiting jobs of one callback, the oldest first: a ring of at most 4 runs. The jobs of a run have one stamp, and
/// numbers one after the other.
///
/// Jobs that were released together are a run. If the ring is full, jobs get the stamp of a neighbour; stamps go forward
/// all the same, so that a deep backlog does not stay the oldest for ever.
class Backlog
{
public:
  /// More only ever wait in an overload.
  static constexpr uint32_t kMaxRuns = 4;

  explicit Backlog(uint32_t depth);

  bool empty() const noexcept { return size_ == 0; }
  uint32_t depth() const noexcept { return depth_; }
  uint32_t size() const noexcept { return size_; }

  /// The oldest job, but for its priority. Not empty.
  const Job & front() const noexcept { return runs_[first_]; }
  /// What the newest jobs have, but for their numbers. Not empty.
  const Job & newest() const noexcept { return run(used_ - 1); }
  /// The earliest deadline of all jobs that wait; not empty.
  TimePoint earliest_deadline() const noexcept
  {
    return used_ == 1 ? front().deadline : earliest_of_runs();
  }
  /// `count` jobs alike, but for their numbers: the first one's is in `stamp`. The oldest have to make room
  /// for them; returns how many did. Not more than the depth.
  uint32_t push(const Job & stamp, uint32_t count = 1) noexcept;
  /// Remove the oldest job. Not empty.
  void pop() noexcept { drop(1); }
  void clear() noexcept { size_ = used_ = 0; }

private:
  struct Run : Job  // the first of them
  {
    uint32_t count;
  };

  Run & run(uint32_t i) const noexcept
  {
    const uint32_t at = first_ + i;
    return runs_[at < capacity_ ? at : at - capacity_];
  }
  void leave_oldest() noexcept
  {
    first_ = first_ + 1 < capacity_ ? first_ + 1 : 0;
    --used_;
  }
  void drop(uint32_t count) noexcept;
  TimePoint earliest_of_runs() const noexcept;

  uint32_t depth_;
  uint32_t capacity_;
  uint32_t size_ = 0;   // jobs
  uint32_t first_ = 0;  // the oldest run
  uint32_t used_ = 0;   // runs
  std::unique_ptr<Run[]> runs_;
};

/// What makes a callback inline: the thread that brings its work may run it.
struct InlineNode
{
  Duration bound;
  uint32_t excess = 0;  ///< grows with each job over the bound, shrinks with the others
  bool told = false;    ///< of a job over the bound
  bool queues = false;  ///< there were too many of these: from now on it is queued
};

/// What a callback has whose deadlines count from stamps of messages.
struct StampNode
{
  Duration clock_error;
  bool told_of_future = false;
  bool told_of_past = false;
  std::optional<StampedDeadline> untold;  ///< to be told at the end of the job
};

/// A system may have thousands of these, mostly idle: `rclrt bench memory` bounds their size.
struct CallbackNode final : Callback, std::enable_shared_from_this<CallbackNode>
{
  CallbackNode(CallbackOptions options, uint32_t callback_id, const void * its_engine);
  ~CallbackNode() override;

  const std::function<bool(const Job &)> run;  // called without the lock
  const OverrunRule overrun_rule;
  const bool inherit_priority;
  const bool sets_clock;
  bool is_in_line = false;     // `urgency` has its place among equals, also while no job waits
  bool has_lost_jobs = false;  // since it last began one
  bool removed = false;
  bool told_of_cpus = false;  // that some of its CPUs are left out
  /// How many jobs more are measured: one has lost its CPU (see Platform::start_meter()).
  uint8_t measured_jobs = 0;
  uint8_t prompt_jobs = 0;  // that it ran since one took longer than kPrompt; it stays at 255
  static constexpr Duration kPrompt = std::chrono::microseconds(200);
  /// How long its jobs took of late, at most 1 ms: see is_short().
  static constexpr uint32_t kLongestUsual_ns = 1'000'000;
  uint32_t usual_ns = kLongestUsual_ns;
  const int own_priority;  // 0: that of the attributes
  int priority;            // in force: own, of the attributes, or inherited
  uint32_t running = 0;
  const void * const engine;
  std::shared_ptr<GroupNode> group;  // keeps `queue` alive
  GroupQueue * queue = nullptr;
  /// Where the job's urgency and CPUs come from. `attributes` is the entry of nothing once the OS has refused it.
  const AttributesEntry * attributes = nullptr;
  const AttributesEntry * cpus = nullptr;
  SetHook in_group;                          // of GroupQueue::callbacks, while jobs wait
  intrusive::list_member_hook<> in_waiting;  // of Ready::waiting_, then
  Urgency urgency;                           // while jobs wait
  Backlog backlog;
  Duration learned{-1};  // from release to the deadline of the last message; -1: it carried none
  TimePoint clock_waits_since = kNever;  // see ClockSetters
  TimePoint taken = kNever;  // deadline of what its jobs took last and nobody has handed on
  SetHook in_taken;          // of GroupNode::taken, then
  CallbackStatistics statistics;
  std::unique_ptr<TimerNode> timer;
  std::unique_ptr<InlineNode> inlining;
  std::unique_ptr<StampNode> stamps;  ///< never changes, as budget
  std::shared_ptr<BudgetNode>
    budget;  // or its group's, or its chain's; never changes once others know the callback

  bool is_demoted() const noexcept;
  /// With a budget: what its jobs get when they are demoted.
  const AttributesEntry & background() const noexcept;
  /// In the order of its group. Where the group has a budget, the callbacks are demoted together, and that order stays.
  const AttributesEntry & attributes_in_group() const noexcept;
  /// Beside callbacks of other groups. Only while jobs wait.
  Urgency urgency_now() const noexcept;
  /// What its waiting jobs ask for now.
  const AttributesEntry & attributes_now() const noexcept
  {
    return budget && is_demoted() ? background() : *attributes;
  }
  /// Where such a job would stand in line. A simulated clock stands still and jumps: what it makes due comes after what
  /// was there before the jump, however long ago the release is on that clock.
  TimePoint place(const Job & job) const noexcept;
  /// Only while jobs wait: whether one of them, or one that it has replaced, was released before that number.
  bool has_waited_since_before(uint64_t sequence) const noexcept
  {
    return std::min(urgency.sequence, backlog.front().sequence) < sequence;
  }
  /// Its jobs take less than it costs to wake a thread.
  bool is_short() const noexcept
  {
    constexpr uint32_t kShort_ns = 25'000;
    return usual_ns <= kShort_ns &&
           attributes->asked.scheduling_policy != SchedulingPolicy::kDeadline && !budget;
  }
  void keep_usual(Duration took) noexcept
  {
    prompt_jobs =
      took > kPrompt ? uint8_t{0} : static_cast<uint8_t>(std::min(prompt_jobs + 1, UINT8_MAX));
    const int64_t before_ns = usual_ns;
    // A job that has lost its CPU says little about the next ones.
    const int64_t most_ns = std::min<int64_t>(2 * before_ns + 1000, kLongestUsual_ns);
    const int64_t took_ns = std::clamp<int64_t>(took.count(), 0, most_ns);
    usual_ns = static_cast<uint32_t>(before_ns + (took_ns - before_ns) / 8);
  }
  void count_released(uint64_t count) noexcept
  {
    statistics.released += count;
    was_released_.store(true, std::memory_order_relaxed);
  }
  /// A job of a callback that sets a clock has ended.
  void clock_was_set() noexcept;
  bool inherits_deadlines() const noexcept
  {
    return stamps || relative_deadline() == Duration::zero();
  }
  /// What a job has that was released then, and by or with something that has this deadline.
  TimePoint deadline(TimePoint release, TimePoint inherited) const noexcept;
  /// What a thread needs that runs the job which is next. Only while jobs wait.
  Demand demand() const noexcept
  {
    const AttributesEntry & now = attributes_now();
    return {&now, cpus, now.is_ext() ? time_point_of(urgency.os_deadline_ns) : kNever};
  }
};

struct MoreUrgent
{
  bool operator()(const CallbackNode & a, const CallbackNode & b) const noexcept
  {
    return more_urgent(a.urgency, b.urgency);
  }
  bool operator()(const GroupQueue & a, const GroupQueue & b) const noexcept;
};

/// The callbacks of one group that have waiting jobs and are served by one lane.
struct GroupQueue
{
  GroupQueue(GroupNode * queue_group, Lane * queue_lane) : group(queue_group), lane(queue_lane) {}

  GroupNode * group;
  Lane * lane;
  SetHook in_lane;  // of Lane::ready, while callbacks is not empty and the group has room
  intrusive::multiset<
    CallbackNode, intrusive::member_hook<CallbackNode, SetHook, &CallbackNode::in_group>,
    intrusive::compare<MoreUrgent>>
    callbacks;

  /// There must be one.
  const CallbackNode & first() const noexcept { return *callbacks.begin(); }
  CallbackNode & first() noexcept { return *callbacks.begin(); }
};

using ReadyGroups = intrusive::multiset<
  GroupQueue, intrusive::member_hook<GroupQueue, SetHook, &GroupQueue::in_lane>,
  intrusive::compare<MoreUrgent>>;

struct GroupNode final : Group
{
  GroupNode(GroupOptions group_options, const void * its_engine)
  : Group(std::move(group_options)), engine(its_engine)
  {
  }

  struct EarlierTaken
  {
    bool operator()(const CallbackNode & a, const CallbackNode & b) const noexcept
    {
      return a.taken < b.taken;
    }
  };

  const void * const engine;
  uint32_t number = 0;     // within its engine; never changes
  bool known = false;      // to its engine; under the configuration lock
  uint32_t callbacks = 0;  // under the configuration lock
  uint32_t parallelism = 1;
  uint32_t running = 0;
  Worker * runner = nullptr;  // of an exclusive group: the thread that runs its job now
  /// Callbacks whose jobs took something with a deadline that no job of the group has handed on yet.
  intrusive::multiset<
    CallbackNode, intrusive::member_hook<CallbackNode, SetHook, &CallbackNode::in_taken>,
    intrusive::compare<EarlierTaken>>
    taken;
  std::unique_ptr<GroupQueue> queue;
  std::unique_ptr<GroupQueue> timer_queue;  // only where timers have a lane of their own
  std::shared_ptr<BudgetNode> budget;       // never changes

  bool has_room() const noexcept { return running < parallelism; }
};

class Ready
{
public:
  /// Remembers the last `trace_capacity` jobs that were given up.
  Ready(const Policy & policy, std::size_t trace_capacity, TraceMemory * memory = nullptr)
  : policy_(policy), given_up_(trace_capacity, memory)
  {
  }

  /// Number of the next job. Numbers are in order of release and break ties.
  uint64_t next_sequence() const noexcept { return next_sequence_; }

  /// `count` jobs released together; the overrun rule says what becomes of them. Returns whether any waits now
  /// that did not before. At most 40 steps, however many they are. Numbers `stamp`.
  bool release(CallbackNode & callback, Job & stamp, uint64_t count) noexcept;
  /// As many calls of release() with stamps `step` apart, up to the last one, of a callback that queues all. At
  /// most the depth of them are kept.
  void release_late(CallbackNode & callback, Job last, Duration step, uint64_t count) noexcept;
  /// Its waiting jobs are given up. `now` is for the trace.
  void withdraw(CallbackNode & callback, TimePoint now) noexcept;
  /// `count` jobs will not run: they count as dropped or as skipped, and are a record.
  void give_up(
    CallbackNode & callback, const Job & first, uint64_t count, rclrt_job_outcome why,
    TimePoint now) noexcept;
  /// The records of those that were given up. Written under the engine's lock, read without it.
  const TraceRing & given_up() const noexcept { return given_up_; }
  /// The oldest waiting job is `runner`'s. There is one, and the group has room.
  void take(CallbackNode & callback, Worker & runner) noexcept;
  /// A job of it has ended.
  void finish(CallbackNode & callback) noexcept;

  /// How many callbacks wait.
  std::size_t waiting() const noexcept { return waiting_.size(); }
  /// One of them, which is the last to be given again. Null: none waits.
  const CallbackNode * next_waiting() noexcept
  {
    if (waiting_.empty()) {
      return nullptr;
    }
    waiting_.splice(waiting_.end(), waiting_, waiting_.begin());
    return &waiting_.back();
  }

  /// What the urgency of the callback depends on changes by `how()`.
  template <typename How>
  void change(CallbackNode & callback, How && how) noexcept
  {
    unlink(callback);
    how();
    link(callback);
  }
  /// Changes all callbacks of a group, if their order within it stays: O(log n) in the groups.
  template <typename How>
  void change(GroupNode & group, How && how) noexcept
  {
    for (GroupQueue * queue : {group.queue.get(), group.timer_queue.get()}) {
      if (queue) {
        unlink(*queue);
      }
    }
    how();
    for (GroupQueue * queue : {group.queue.get(), group.timer_queue.get()}) {
      if (queue) {
        link(*queue);
      }
    }
  }

  /// Changes callbacks of several groups, all those of a chain: that many times O(log n).
  template <typename Callbacks, typename How>
  void change_all(const Callbacks & callbacks, How && how) noexcept
  {
    for (CallbackNode * callback : callbacks) {
      unlink(*callback);
    }
    how();
    for (CallbackNode * callback : callbacks) {
      unlink(*callback->queue);  // another one of the group may have linked it
      link(*callback);
    }
  }

private:
  void queue_all(CallbackNode & callback, Job & stamp, uint64_t count) noexcept;
  void unlink(CallbackNode & callback) noexcept;
  void link(CallbackNode & callback) noexcept;
  static void unlink(GroupQueue & queue) noexcept;
  static void link(GroupQueue & queue) noexcept;

  const Policy & policy_;
  TraceRing given_up_;
  intrusive::list<
    CallbackNode,
    intrusive::member_hook<CallbackNode, intrusive::list_member_hook<>, &CallbackNode::in_waiting>>
    waiting_;
  uint64_t next_sequence_ = 0;
  TimePoint latest_release_{};  // of all so far
};

/// Fan-in: the earliest deadline of what other callbacks of the group have taken and nobody has handed on; the
/// job of `callback` may bring it together with its own input. kNever if there is none.
TimePoint earliest_to_bring_together(const CallbackNode & callback) noexcept;
/// A job of `callback` has ended: it has handed on what the group had taken, or it has taken something itself that
/// has this deadline. O(n) in the callbacks of the group that have taken something, when it is handed on.
void hand_on(CallbackNode & callback) noexcept;
void keep_taken(CallbackNode & callback, TimePoint deadline) noexcept;
void forget_taken(CallbackNode & callback) noexcept;

}  // namespace rclrt_core
