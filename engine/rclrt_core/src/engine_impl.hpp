// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The engine: locks, asks the parts, unlocks, applies what they decided, wakes.
///
///   order/ready.hpp             what is ready and what is next
///   threads/worker.hpp          a thread that runs jobs
///   threads/dispatch.hpp        a lane: which job runs next, and where; which threads sleep, which are coming
///   threads/lanes.hpp           which lane serves which group
///   threads/settle.hpp          what a thread has in force; changes and wakes threads after the lock
///   threads/lookouts.hpp        which thread looks for work before it sleeps
///   threads/life.hpp            which threads spin, stop, wait and join
///   timers/timer_clocks.hpp     what is due, on which clock
///   budgets/budgets.hpp         CPU time that callbacks may use
///   budgets/accounts.hpp        whose budgets these are, and which of them fit
///   trace/trace_log.hpp         what has run
///   trace/findings.hpp          what is to be told
///
/// and this class, by file:
///   engine.cpp             releases, and the jobs' deadlines
///   order/membership.cpp   groups and callbacks come and go
///   messages/inline.cpp    jobs on the thread that brings their work
///   timers/timers.cpp      timers are armed and released
///   threads/refusals.cpp   what the operating system refuses, before anything runs and when a job begins
///   threads/spin.cpp       threads start and end
///   threads/worker.cpp     what a thread does
///   trace/report.cpp       threads, what waits, trace
///
/// A public function of the engine is in the file that it belongs to; there is no second one behind it.
///
/// Two locks, both with priority inheritance, taken in this order:
/// - `configuration`: what exists (names, groups, threads, attributes). Held by calls that add, remove or change
///   something, for allocations and the start of threads. Never on the way from a release to user code.
/// - `mutex`, the dispatch lock: which jobs wait and run, which threads sleep. Under it: no allocation, no system call (but the
///   time of a clock), no wait, no loop over all callbacks. Comments name what is not O(log n).
/// The lock of a ThreadUrgency lies between the two.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "budgets/accounts.hpp"
#include "order/attribute_table.hpp"
#include "order/ready.hpp"
#include "rclrt_core/engine.hpp"
#include "threads/lanes.hpp"
#include "threads/life.hpp"
#include "threads/lookouts.hpp"
#include "timers/held.hpp"
#include "timers/timer_clocks.hpp"
#include "trace/findings.hpp"
#include "trace/trace_log.hpp"

namespace rclrt_core
{

class Engine::Impl
{
public:
  Impl(Platform & platform, EngineOptions options);
  ~Impl();

  using Lock = Life::Lock;
  using Workers = Life::Workers;

  /// Whose job runs on this thread: the innermost, as a job that calls run_one() has others on top of it.
  static thread_local Worker * running_here;

  // order/membership.cpp
  Status add_callback(
    CallbackOptions options, const TimerOptions * timer, const std::shared_ptr<Group> & group,
    std::shared_ptr<Callback> * callback);
  Status accept(const std::shared_ptr<GroupNode> & node);  // under `configuration`
  /// The node, if it is one of this engine and not removed. Under `mutex` or `configuration`.
  CallbackNode * known(const std::shared_ptr<Callback> & callback) const noexcept;

  // engine.cpp
  /// Under `mutex`. `running`: whose job publishes, or null. A callback without a deadline of its own inherits
  /// that of the job. `thread`: see notify(). Returns whether the job is bound to it.
  bool release(
    CallbackNode & callback, TimePoint release, TimePoint now, std::size_t count, Worker * running,
    Section & section, const Attributes * thread = nullptr) noexcept;
  /// Releases what has arrived, or keeps it if it has to wait for a clock. Under `mutex`, as the next three.
  bool arrive(
    CallbackNode & callback, TimePoint now, std::size_t count, Worker * running, Section & section,
    const Attributes * thread) noexcept;
  /// Release what waits for no clock any more, at most a few. Returns whether there is more: leave the lock in between.
  bool release_held(Section & section) noexcept;
  void inherit_from_publisher(CallbackNode & callback) noexcept;
  void inherit_deadline(std::optional<TimePoint> carried, int64_t stamp_ns) noexcept;

  // inline.cpp
  /// Bind the job that this callback has just got to this thread, if that may run it. Under `mutex`.
  bool bind_inline(CallbackNode & callback, const Attributes & thread) noexcept;

  // timers.cpp; under `mutex`
  void arm(TimerNode & timer, int64_t after_ns, Section & section) noexcept;
  /// Release at most a few timers that are due: those that are this worker's business, or else the timer thread's. Returns
  /// whether more are: leave the lock in between.
  bool release_due(ClockState & clock, Section & section, Worker * worker = nullptr) noexcept;
  /// Release all that are due on the clocks that a worker drives. Leaves the lock in between.
  void release_all_due(Section & section) noexcept;
  /// By a worker that covered a timer and comes, or has ended a job: releases what is due of its lane and no more urgent.
  void release_covered(Worker & worker, Section & section) noexcept;

  // worker.cpp
  void work(Worker & worker) noexcept;
  /// By the worker, which has nothing to do: from now on it has this. Under `mutex`, which it leaves in between. Returns
  /// the error if it is refused.
  int become(Worker & worker, const Demand & wanted, Section & section) noexcept;
  void bind(Worker & worker, CallbackNode & callback) noexcept;  // under `mutex`
  /// What is bound. Returns whether the job found work.
  bool execute(Worker & worker, Section & section) noexcept;
  /// The user's code and its record. Not under `mutex`.
  void run(Worker & worker) noexcept;
  /// What follows from it. Under `mutex`, which it may leave in between.
  void end(Worker & worker, Section & section) noexcept;
  void finish(Worker & worker, bool found_work, Section & section) noexcept;
  /// `timer`: that it covers meanwhile, or null.
  void sleep(Worker & worker, TimePoint until, TimerNode * timer, Section & section) noexcept;
  void handle_exception(const Callback & callback) noexcept;

  // refusals.cpp
  static const char * const kTimerThreadExt;
  static const char * const kSlotFix;
  Status prepare();
  Status check_slots() const;
  /// By the worker's thread: make stand what was decided for its job. Not under `mutex`.
  void settle(Worker & worker) noexcept;
  bool decide_less(Worker & worker, const ThreadUrgency::Outcome & refused) noexcept;

  // spin.cpp
  Status start_threads();
  Status start_thread(const std::shared_ptr<Worker> & worker, const AttributesEntry & first_rest);
  void enter_deadlines(Worker & worker);
  Status grow(Lane & lane);
  std::shared_ptr<Worker> join_in();
  void step_out(Worker & worker);
  void join_all();
  void stop() noexcept;
  std::shared_ptr<Worker> new_worker(const std::string & name, Lane * lane);

  // report.cpp
  Workers traced_workers() const;
  TraceSource trace_source(uint32_t from_callback) const;

  Platform & platform;
  const EngineOptions options;
  const uint16_t number;  // within the process, from 1

  const std::unique_ptr<Mutex> configuration;
  const std::unique_ptr<Mutex> mutex;

  // ---- Under `configuration`
  AttributeTable table;  // of what is asked for
  Callbacks callbacks;
  Attributes timer_thread;
  uint32_t next_callback = 0;
  uint32_t next_group = 0;
  std::deque<TracedCallback> former;  // that were removed
  std::size_t next_look = 0;          // of keep_cpus()

  // ---- Changed under both locks, read under either
  TimerClocks clocks;
  Lanes lanes;
  std::shared_ptr<DeadlineScheduler> deadlines;  // changed while not spinning, or if there is none

  // ---- Their functions say under which lock
  Life life;
  Lookouts lookouts;
  Budgets budgets;

  // ---- Under `mutex`
  Ready ready;
  ClockSetters clock_setters;
  Held held;
  Worker * timer_driver = nullptr;  // the thread that releases due timers now
  std::shared_ptr<Worker> visitor;
  /// Stands for the thread of the middleware that runs an inline job, one at a time. Null until there is an inline
  /// callback; changed under both locks. Its word is kAwakeAndHeld while it has a job: set under `mutex`, reset by that
  /// thread with release as its last access to the engine. Life::wait_until_let_go() waits for that.
  std::shared_ptr<Worker> courier;
  bool told_of_visitor = false;  ///< that run_one() leaves attributes alone
  bool told_of_no_room = false;  ///< that `deadlines` has refused a job
  std::exception_ptr exception;

  // ---- What happened. Each lock is the last one taken.
  Findings findings;
  TraceLog trace;

  // ---- Under `configuration`
  Accounts accounts{{options, *mutex, table, callbacks, deadlines, budgets, findings}};
};

}  // namespace rclrt_core
