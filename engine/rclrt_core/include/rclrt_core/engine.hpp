// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The engine: takes releases, decides which job runs next, and has threads run the jobs.
///
///   release (middleware thread, timer thread, publisher) -> queue -> idle thread -> callback
///
/// A *lane* is an ordered queue of groups with work and the threads that serve it. The execution
/// model is the choice of lanes: one with many threads (pool), one with one thread (events), or one
/// a group (isolated). Every rule is written once, for all of them.
///
/// Invariants, all under one mutex with priority inheritance. Under it run no callback and no other user code
/// but the clocks of add_clock() and Policy::rank(), no call of the middleware, no wake-up (but see
/// Section::wake()), no allocation, no change of a thread's attributes, and nothing that waits for another
/// process:
/// - a group is in its lane's queue if and only if it has a waiting job and room to run it;
/// - a job is bound to a thread only when that thread asks, so the most urgent goes first however
///   late it came;
/// - after every operation, as many threads are on their way as there are groups with work, or one
///   for each CPU, and as many of them as urgent as their work (but for those that a Publication still
///   holds); one that arrives sends for the next.
///
/// Thread-safe throughout. Memory is bounded: of the jobs of a callback that wait, those that were released together are
/// one entry, and there are 4 at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rclrt_core/callback.hpp"
#include "rclrt_core/deadline_scheduler.hpp"
#include "rclrt_core/engine_options.hpp"
#include "rclrt_core/group.hpp"
#include "rclrt_core/platform.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_core/time.hpp"
#include "rclrt_core/trace_file.hpp"
#include "rclrt_trace/record.h"

namespace rclrt_core
{

/// One thread as it is now.
struct ThreadReport
{
  std::string name;
  ThreadId id = 0;
  Attributes in_force;  ///< read back from the OS
  uint64_t jobs = 0;    ///< executed so far
};

/// A callback that has a job which waits.
struct WaitingReport
{
  struct Keeper
  {
    std::string callback;
    uint64_t job = 0;  ///< its number in the engine
  };

  std::string callback;
  CallbackKind kind = CallbackKind::kWaitable;
  uint64_t begun = 0;  ///< how many of its jobs have begun so far
  /// The jobs that it waits for: those of its group, if the group is busy; else those that keep all its threads busy.
  std::vector<Keeper> keepers;
  bool is_group_busy = false;
};

class Engine
{
public:
  class Impl;  // opaque

  /// `platform` must outlive the engine.
  Engine(Platform & platform, EngineOptions options);
  /// Stops and joins. Must not be called from a callback.
  ~Engine();

  Engine(const Engine &) = delete;
  Engine & operator=(const Engine &) = delete;

  const EngineOptions & options() const noexcept;
  Platform & platform() noexcept;

  // ---- Groups and callbacks. At any time, also while spinning. Allocates.

  Status add_group(GroupOptions options, std::shared_ptr<Group> * group);
  /// The group must have no callbacks left, else an error.
  Status remove_group(const std::shared_ptr<Group> & group);
  /// Adds a group that was removed, with the options it had. If a job of it still runs, that job
  /// counts, and excludes jobs of its new callbacks. Errors: the group is here, or belongs to
  /// another engine.
  Status add_group_again(const std::shared_ptr<Group> & group);

  /// Errors: no `run`, a name already taken, queue_priority outside 0-99, a negative relative deadline,
  /// depth 0, impossible attributes, a group of another engine; no room for its budget (EngineOptions::capacity).
  Status add_callback(
    CallbackOptions options, const std::shared_ptr<Group> & group,
    std::shared_ptr<Callback> * callback);
  /// Further errors: negative period, unknown clock.
  Status add_timer(
    CallbackOptions options, TimerOptions timer, const std::shared_ptr<Group> & group,
    std::shared_ptr<Callback> * callback);
  /// Forget the callback and its waiting jobs: on return no further run starts. Never blocks; a run
  /// in progress finishes. Idempotent. Returns how many jobs have waited.
  uint64_t remove(const std::shared_ptr<Callback> & callback);
  /// The callbacks that are here now, in no particular order.
  std::vector<std::shared_ptr<Callback>> callbacks() const;
  /// Change attributes of a callback from its next job on. Errors: impossible attributes, a callback of another engine
  /// or one that was removed. Not real-time safe.
  Status set_attributes(const std::shared_ptr<Callback> & callback, const Attributes & attributes);

  /// The attributes that the callback's thread is given while it runs: its own, or else its
  /// group's, raised by inheritance. None if it has none (its thread is then like the one that
  /// spins), or if the OS has refused them. The callback must be of this engine.
  Attributes attributes(const Callback & callback) const;

  /// Change EngineOptions::timer_thread: at once if the thread exists (with release-and-execute, which
  /// runs callbacks on it: from the next spin on). If the OS refuses something, that is a finding.
  /// Error: impossible attributes, or ext.
  Status set_timer_thread(const Attributes & attributes);

  /// Change EngineOptions::deadlines. Error: it spins, and there is one already.
  Status set_deadline_scheduler(std::shared_ptr<DeadlineScheduler> deadlines);
  std::shared_ptr<DeadlineScheduler> deadline_scheduler() const;

  // ---- Releases

  /// `count` units of work have arrived. Real-time safe: one lock, no allocation, at most one thread out of
  /// sleep (see Publication).
  void notify(Callback & callback, std::size_t count = 1) noexcept
  {
    static_cast<void>(notify(callback, count, nullptr));
  }
  /// By a thread of the middleware that brings work. `thread`: what the OS has in force on it; null: it runs no jobs.
  /// May bind one job of a callback with an `inline_bound` to the calling thread: docs/decisions/engine.md#13-inline says
  /// when. Inside a job or a Publication it binds none. Returns whether it has bound one. Then the thread has to leave all
  /// its locks and to call run_inline().
  [[nodiscard]] bool notify(
    Callback & callback, std::size_t count, const Attributes * thread) noexcept;
  /// Runs the job that notify() has bound to the calling thread. Until then spin() does not return.
  void run_inline() noexcept;

  // ---- Timers: errors when the callback is no timer of this engine

  /// Stop it and drop its waiting jobs.
  Status cancel_timer(const std::shared_ptr<Callback> & timer);
  /// (Re)start it: the next release is `first` from now (see TimerOptions; of a one-shot timer, too);
  /// waiting jobs are dropped.
  Status reset_timer(
    const std::shared_ptr<Callback> & timer, std::optional<Duration> first = std::nullopt);
  /// From the release after the next one on, or from reset_timer().
  Status set_timer_period(const std::shared_ptr<Callback> & timer, Duration period);
  /// Let another clock drive it: as by reset_timer(), unless it is cancelled, which it stays.
  Status set_timer_clock(const std::shared_ptr<Callback> & timer, ClockId clock);
  bool is_timer_cancelled(const std::shared_ptr<Callback> & timer) const;
  /// Until the next release on the timer's clock, negative when late; Duration::max() when
  /// cancelled.
  Duration time_until_release(const std::shared_ptr<Callback> & timer) const;

  /// Add a clock that the caller advances, e.g. ROS time; see clock_changed(). `now_ns` is called
  /// under the engine's lock: it must not block nor call the engine.
  ClockId add_clock(std::function<int64_t()> now_ns);
  /// On return `now_ns` is not called any more; the id may be given out again. Errors: a clock that
  /// add_clock() did not add, or one that still drives timers.
  Status remove_clock(ClockId clock);
  /// The clock has advanced or jumped: release the timers that are due. After a jump backwards each
  /// timer's next release is one period from the clock's new now.
  void clock_changed(ClockId clock) noexcept;

  // ---- Running

  /// Run until stop(). The priority_events model runs callbacks on the calling thread (whose attributes are
  /// restored afterwards), the others only on their own. Returns with all threads joined. Errors:
  /// already spinning; attributes refused under AttributesMode::kRequire; no more threads.
  /// Afterwards take_exception() tells whether a callback threw.
  Status spin();
  /// Ask spin() to return. From any thread, also from a callback; before spin() it makes the next
  /// one return at once unless `clear_stop()` comes first. Jobs that wait stay waiting.
  /// Real-time safe but for the wake-ups of all threads. Not at the same time as the destructor.
  void stop() noexcept;
  /// Forget a stop() that no spin() has heeded yet. While spin() runs it does nothing: a stop is not taken
  /// back from threads of which some have ended. Real-time safe: one lock.
  void clear_stop() noexcept;
  bool is_stopped() const noexcept;
  bool is_spinning() const noexcept;
  /// Whether the calling thread is inside a callback of this engine. Such a thread must not destroy it: the
  /// destructor waits until no callback runs. exit() in a callback runs the destructors of static objects.
  bool runs_here() const noexcept;

  /// Run at most one waiting job on the calling thread, most urgent first, waiting for one until
  /// `until`. Only jobs released before `before_sequence` (see next_sequence()) count. The thread
  /// keeps its own attributes. The caller must not call it while spin() runs, or from two threads
  /// at once. Returns whether a job ran that found work; jobs that find none do not count. Returns
  /// early on stop().
  bool run_one(TimePoint until, uint64_t before_sequence = UINT64_MAX);
  /// Sequence number the next released job will get. Due timers are released first.
  uint64_t next_sequence();

  /// The first exception that stopped the engine, and forget it.
  std::exception_ptr take_exception() noexcept;

  // ---- Observation

  CallbackStatistics statistics(const Callback & callback) const;
  std::vector<Finding> findings() const;
  /// Threads of the engine that exist now. Two system calls for each. Allocates.
  std::vector<ThreadReport> threads() const;
  /// Look whether threads have lost CPUs that the OS had granted to them: ask for these again, with a finding. Call it
  /// now and then: it looks at 64 threads, the next ones at the next call, and acts when it sees the same loss at two
  /// looks. Not real-time safe.
  void keep_cpus();
  /// Callbacks that wait at this moment, in no particular order. One lock for each of them.
  std::vector<WaitingReport> waiting() const;
  /// Hand out the records made since the last call, oldest first within a thread.
  void read_trace(const std::function<void(const rclrt_job_record &)> & visit);
  /// What the records refer to, and how many were overwritten before read_trace() read them. Of the callbacks those with
  /// this id or a later one.
  TraceSource trace_source(uint32_t from_callback = 0) const;

private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace rclrt_core
