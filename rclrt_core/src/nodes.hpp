// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The engine's own view of callbacks, groups, lanes and workers. Everything here is protected by
/// the engine's lock unless a member says otherwise.
#ifndef NODES_HPP_
#define NODES_HPP_

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backlog.hpp"
#include "rclrt_core/callback.hpp"
#include "rclrt_core/deadline_scheduler.hpp"
#include "rclrt_core/group.hpp"
#include "rclrt_core/platform.hpp"
#include "rclrt_core/policy.hpp"
#include "trace_ring.hpp"

namespace rclrt_core
{

namespace intrusive = boost::intrusive;

struct GroupNode;
struct Lane;
struct TimerNode;
struct Worker;

/// Index of distinct attributes, see AttributeTable; 0 asks for nothing: as the thread that spins.
using AttributesId = uint32_t;
/// Of a thread for which the OS refused something halfway.
constexpr AttributesId kUnknownAttributes = UINT32_MAX;

/// What a job asks of the thread that runs it.
struct Demand
{
  AttributesId attributes = 0;
  /// Of the job, if the attributes say ext; else kNever.
  TimePoint deadline = kNever;

  friend bool operator==(const Demand & a, const Demand & b) noexcept
  {
    return a.attributes == b.attributes && a.deadline == b.deadline;
  }
};

/// A system may have thousands of these, mostly idle: `rclrt bench memory` bounds their size.
struct CallbackNode final : Callback, std::enable_shared_from_this<CallbackNode>
{
  CallbackNode(CallbackOptions options, uint32_t callback_id)
  : Callback(std::move(options.name), options.kind, callback_id, options.relative_deadline),
    run(std::move(options.run)),
    overrun_rule(options.overrun_rule),
    deadline_rule(options.deadline_rule),
    fan_in(options.fan_in),
    inherit_priority(options.inherit_priority),
    own_priority(options.priority),
    backlog(options.depth),
    priority(options.priority)
  {
  }

  const std::function<bool(const Job &)> run;  // called without the lock
  const OverrunRule overrun_rule;
  const DeadlineRule deadline_rule;
  const FanIn fan_in;
  const bool inherit_priority;
  const int own_priority;                 // 0: that of the attributes
  intrusive::set_member_hook<> in_group;  // of GroupQueue::callbacks, while jobs wait
  std::shared_ptr<GroupNode> group;       // keeps `queue` alive
  struct GroupQueue * queue = nullptr;
  Job head;  // as the callback is ordered: the oldest waiting job, with the earliest deadline
  bool keeps_place = false;  // ordered as the job that the waiting one has replaced
  Backlog backlog;
  int priority;                 // in force: own, of the attributes, or inherited
  AttributesId attributes = 0;  // back to 0 for good once the OS has refused them (ENOSPC passes)
  Duration learned{-1};  // from release to the deadline of the last message; -1: it carried none
  TimePoint taken = kNever;  // deadline of what its jobs took last and nobody has handed on
  intrusive::set_member_hook<> in_taken;   // of GroupNode::taken, then
  intrusive::list_member_hook<> in_bring;  // of GroupNode::bring_together
  bool removed = false;
  uint32_t running = 0;
  uint32_t idle_waiters = 0;
  std::atomic<uint32_t> idle_word{
    0};  // set by the last run, reset under the lock, waited on without it
  CallbackStatistics statistics;
  std::unique_ptr<TimerNode> timer;

  bool inherits_deadlines() const noexcept
  {
    return relative_deadline() == Duration::zero() || deadline_rule == DeadlineRule::kEarliest;
  }
  bool fans_in() const noexcept { return fan_in == FanIn::kEarliest && inherits_deadlines(); }
  /// What a job has that was released then, and by or with something that has this deadline.
  TimePoint deadline(TimePoint release, TimePoint inherited) const noexcept
  {
    if (relative_deadline() == Duration::zero()) {
      return inherited;
    }
    const TimePoint own = add_saturating(release, relative_deadline());
    return deadline_rule == DeadlineRule::kEarliest ? std::min(own, inherited) : own;
  }
};

struct TimerNode
{
  CallbackNode * callback = nullptr;
  intrusive::set_member_hook<> in_queue;  // of TimerQueue, while armed
  int64_t next_ns = 0;                    // nominal, on the timer's clock
  int64_t period_ns = 0;
  uint32_t clock = 0;
  bool one_shot = false;
  bool cancelled = true;

  /// Period 0: not in the queue, the end of a job is the next release.
  bool releases_when_done() const noexcept
  {
    return period_ns == 0 && !one_shot && !cancelled && !in_queue.is_linked();
  }
};

struct JobOrder
{
  const Policy * policy;
  bool operator()(const CallbackNode & a, const CallbackNode & b) const noexcept
  {
    return policy->more_urgent(a.head, b.head);
  }
  inline bool operator()(const GroupQueue & a, const GroupQueue & b) const noexcept;
};

/// The callbacks of one group that have waiting jobs and are served by one lane.
struct GroupQueue
{
  GroupQueue(GroupNode * queue_group, Lane * queue_lane, const Policy & policy)
  : group(queue_group), lane(queue_lane), callbacks(JobOrder{&policy})
  {
  }

  GroupNode * group;
  Lane * lane;
  intrusive::set_member_hook<> in_lane;  // of Lane::ready, while callbacks is not empty and the
                                         // group has room
  using Callbacks = intrusive::multiset<
    CallbackNode,
    intrusive::member_hook<CallbackNode, intrusive::set_member_hook<>, &CallbackNode::in_group>,
    intrusive::compare<JobOrder>>;
  Callbacks callbacks;
};

inline bool JobOrder::operator()(const GroupQueue & a, const GroupQueue & b) const noexcept
{
  return policy->more_urgent(a.callbacks.begin()->head, b.callbacks.begin()->head);
}

struct TakenOrder
{
  bool operator()(const CallbackNode & a, const CallbackNode & b) const noexcept
  {
    return a.taken < b.taken;
  }
};

struct GroupNode final : Group
{
  explicit GroupNode(GroupOptions group_options) : Group(std::move(group_options)) {}

  uint32_t parallelism = 1;
  uint32_t running = 0;
  uint32_t callbacks = 0;
  /// Callbacks whose jobs took something with a deadline that no job of the group has handed on yet, the
  /// earliest first.
  intrusive::multiset<
    CallbackNode,
    intrusive::member_hook<CallbackNode, intrusive::set_member_hook<>, &CallbackNode::in_taken>,
    intrusive::compare<TakenOrder>>
    taken;
  /// Those that fan in and of which a job has published or notified somebody: they will again.
  intrusive::list<
    CallbackNode,
    intrusive::member_hook<CallbackNode, intrusive::list_member_hook<>, &CallbackNode::in_bring>>
    bring_together;
  Worker * runner = nullptr;  // of an exclusive group: who runs its job now
  std::unique_ptr<GroupQueue> queue;
  std::unique_ptr<GroupQueue> timer_queue;  // only where timers have a lane of their own

  bool has_room() const noexcept { return running < parallelism; }
};

/// A thread that runs jobs.
///
/// Who takes it out of sleep under the lock (that clears `sleeping`) puts it on a list, and wakes it when
/// the lock is free. Until then that list holds it: it is on no other one and does not end. Whoever wants it
/// sooner, because the first one may have lost its CPU, wakes it too.
struct Worker
{
  // Values of `word`.
  static constexpr uint32_t kAsleep = 0;
  static constexpr uint32_t kAwake = 1;
  static constexpr uint32_t kAwakeAndHeld = 2;  ///< not by the one whose list it is on

  Worker(Platform & worker_platform, std::size_t trace_capacity)
  : platform(worker_platform), ring(trace_capacity)
  {
  }

  Platform & platform;
  std::string name;
  Lane * lane = nullptr;       // null: runs no jobs (a timer thread) or those of any lane (inline)
  bool drives_timers = false;  // releases due timers and sleeps no longer than to the next one
  bool keeps_attributes = false;  // a thread lent by the user: never touch its attributes
  bool retired = false;           // its group is gone: end
  bool ended = false;             // its thread does not touch the engine any more
  bool sleeping = false;
  intrusive::list_member_hook<> in_lane;  // of Lane::idle or Lane::woken
  Worker * next_to_wake = nullptr;  // on the list that holds it; whose that list is touches it
  const void * waker = nullptr;     // taken and not up yet: the thread that wakes it; else null
  bool begun = false;               // its thread has its first attributes: others may change them
  Demand in_force;                  // without `deadline_active` the deadline is kNever
  DeadlineScheduler * deadlines = nullptr;  // where it has a slot
  DeadlineScheduler::Slot slot = 0;
  bool asked_for_slot = false;             // once is enough
  bool deadline_class = false;             // the slot decides about the thread's urgency, and ...
  bool deadline_active = false;            // ... it has been started there
  std::shared_ptr<CallbackNode> callback;  // whose job it runs
  Job job;
  TimePoint own_deadline = kNever;  // of the job, apart from fan-in
  bool handed_on = false;  // the job has released or published something; of the worker's thread
  uint64_t jobs = 0;
  std::atomic<ThreadId> thread_id{0};  // set by the thread itself before its first lock
  std::unique_ptr<Thread> thread;
  TraceRing ring;  // written by the worker without the lock

  /// Set to kAsleep by the worker under the lock before it can be found idle. Set to kAwake, with release,
  /// by the one thread whose list it is on, as the last access to it; or by the worker itself under the lock,
  /// when its time is up and nobody has taken it. From kAsleep to kAwakeAndHeld by anybody under the lock,
  /// with release. The worker waits for it with acquire: it sees what was done before the store. A
  /// worker that finds itself held goes to sleep as one that is on its way, not as an idle one.
  std::atomic<uint32_t> word{kAsleep};
};

/// An ordered queue of groups with work, and the idle threads that serve it.
struct Lane
{
  explicit Lane(const Policy & policy) : ready(JobOrder{&policy}) {}

  std::string name;
  Attributes attributes;  // for its threads while they run nothing
  intrusive::multiset<
    GroupQueue,
    intrusive::member_hook<GroupQueue, intrusive::set_member_hook<>, &GroupQueue::in_lane>,
    intrusive::compare<JobOrder>>
    ready;
  using Workers = intrusive::list<
    Worker, intrusive::member_hook<Worker, intrusive::list_member_hook<>, &Worker::in_lane>>;
  /// Last in, first out: the thread that ran last has the warmest caches.
  Workers idle;
  Workers woken;                // taken from `idle` and not yet asking for work, or held
  std::size_t parallelism = 0;  // of all its groups together
  std::size_t threads = 0;
};

}  // namespace rclrt_core

#endif  // NODES_HPP_
