// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The engine: locks, asks the parts, unlocks, applies what they decided, wakes.
///
///   ready.hpp           what is ready and what is next
///   crew.hpp            threads: who sleeps, who is coming, whom to wake
///   dispatch.hpp        who may run next, and on which thread
///   thread_urgency.hpp  what a thread has in force
///   timer_queue.hpp     what is due
///
/// and this class, by file:
///   engine.cpp          releases, and the jobs' deadlines
///   worker.cpp          what a thread does
///   timers.cpp          clocks and timers
///   configuration.cpp   groups and callbacks come and go
///   spin.cpp            threads start and end
///   report.cpp          findings, statistics, trace
///
/// Two locks, both with priority inheritance, taken in this order:
/// - `configuration`: what exists (names, groups, threads, attributes). Held by calls that add, remove or change
///   something, for allocations and the start of threads. Never on the way from a release to user code.
/// - `mutex`, the dispatch lock: who waits, who runs, who sleeps. Under it: no allocation, no system call (but the
///   time of a clock), no wait, no loop over all callbacks. Comments name what is not O(log n).
/// The lock of a ThreadUrgency lies between the two.
#ifndef ENGINE_IMPL_HPP_
#define ENGINE_IMPL_HPP_

#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "crew.hpp"
#include "dispatch.hpp"
#include "rclrt_core/engine.hpp"
#include "ready.hpp"
#include "timer_queue.hpp"

namespace rclrt_core
{

class Engine::Impl
{
public:
  Impl(Platform & platform, EngineOptions options);
  ~Impl();

  using Lock = std::unique_lock<Mutex>;
  using Workers = std::vector<std::shared_ptr<Worker>>;

  struct ClockState
  {
    std::function<int64_t()> now_ns;  // empty: removed, to be used again
    TimerQueue queue;
    int64_t last_now_ns = INT64_MIN;
    bool driven = false;  // by a worker's sleep; else by clock_changed()
  };

  // configuration.cpp; each takes `configuration`
  Status add_group(GroupOptions options, std::shared_ptr<Group> * group);
  Status remove_group(const std::shared_ptr<Group> & group);
  Status add_group_again(const std::shared_ptr<Group> & group);
  Status add_callback(
    CallbackOptions options, const TimerOptions * timer, const std::shared_ptr<Group> & group,
    std::shared_ptr<Callback> * callback);
  void remove(const std::shared_ptr<Callback> & callback);
  bool wait_until_idle(const std::shared_ptr<Callback> & callback);
  Status set_attributes(const std::shared_ptr<Callback> & callback, const Attributes & attributes);
  Status set_timer_thread(const Attributes & attributes);
  Status accept(const std::shared_ptr<GroupNode> & node);  // under `configuration`
  void place(GroupNode & group);
  void displace(GroupNode & group, Calls & calls);
  Lane & new_lane(const std::string & name, const Attributes & attributes);
  const AttributesEntry & attributes_of(const Attributes & own, const GroupNode & group);
  void set_policy(CallbackNode & callback, const AttributesEntry & entry) noexcept;  // under both
  /// The node, if it is one of this engine and not removed. Under `mutex` or `configuration`.
  CallbackNode * known(const std::shared_ptr<Callback> & callback) const noexcept;
  CallbackNode * known_timer(const std::shared_ptr<Callback> & callback) const noexcept;

  // engine.cpp
  void notify(CallbackNode & callback, std::size_t count) noexcept;
  /// Under `mutex`. A callback without a deadline of its own inherits that of `publisher`, if there is one.
  void release(
    CallbackNode & callback, TimePoint release, TimePoint now, std::size_t count,
    const Job * publisher, Calls & calls) noexcept;
  void inherit_from_publisher(CallbackNode & callback) noexcept;  // under `mutex`
  void inherit_deadline(std::optional<TimePoint> carried) noexcept;
  void fan_in(Worker & worker) noexcept;  // under `mutex`

  // timers.cpp; those with a Status take the locks, the others are called under `mutex`
  void arm(TimerNode & timer, int64_t after_ns, Calls & calls) noexcept;
  /// Release at most a few timers that are due. Returns whether more are: leave the lock in between.
  bool release_due(Calls & calls) noexcept;
  bool release_due(ClockState & clock, Calls & calls) noexcept;
  /// The same for all that are due; leaves the lock in between.
  void release_all_due(Lock & lock, Calls & calls) noexcept;
  TimePoint next_timer_release() noexcept;
  void wake_timer_driver(Calls & calls) noexcept;
  Status cancel_timer(const std::shared_ptr<Callback> & timer);
  Status reset_timer(const std::shared_ptr<Callback> & timer, std::optional<Duration> first);
  Status set_timer_period(const std::shared_ptr<Callback> & timer, Duration period);
  Status set_timer_clock(const std::shared_ptr<Callback> & timer, ClockId clock);
  bool is_timer_cancelled(const std::shared_ptr<Callback> & timer) const;
  Duration time_until_release(const std::shared_ptr<Callback> & timer) const;
  ClockId add_clock(std::function<int64_t()> now_ns);
  Status remove_clock(ClockId clock);
  bool has_clock(ClockId clock) const { return clock < clocks.size() && clocks[clock]->now_ns; }
  void clock_changed(ClockId clock) noexcept;

  // worker.cpp
  void work(Worker & worker) noexcept;
  /// Bind the most urgent job to the worker. Under `mutex`.
  bool pick(Worker & worker, uint64_t before_sequence) noexcept;
  /// Returns whether the job found work.
  bool execute(Worker & worker, Lock & lock, Calls & calls) noexcept;
  /// Give the worker's thread what its job needs. Not under `mutex`.
  void put_in_force(Worker & worker) noexcept;
  int go_on_without(Worker & worker, int error) noexcept;
  void tell_refusal(const Worker & worker, const Demand & asked, int error);
  void finish(Worker & worker, bool found_work, Calls & calls) noexcept;
  void sleep(Worker & worker, TimePoint until, Lock & lock, Calls & calls) noexcept;
  void handle_exception(const Callback & callback) noexcept;
  bool run_one(TimePoint until, uint64_t before_sequence);
  uint64_t next_sequence();

  // spin.cpp
  Status spin();
  Status prepare();
  Status start_threads();
  Status let_workers_run(const Worker * here);
  std::shared_ptr<Worker> join_in();
  void step_out(Worker & worker);
  Status check_slots() const;
  Status probe();
  Status try_on(const AttributesEntry & entry, const std::string & subject);
  Status start_thread(const std::shared_ptr<Worker> & worker, const AttributesEntry & first);
  void begin(Worker & worker, const AttributesEntry & first);
  void enter_deadlines(Worker & worker);
  Status grow(Lane & lane);
  static const char * const kTimerThreadExt;
  void join_all();
  void join_retired();
  void set_workers(Workers next);
  void keep_trace(Worker & worker);
  void stop() noexcept;
  void clear_stop() noexcept;
  std::shared_ptr<Worker> new_worker(const std::string & name, Lane * lane);
  std::size_t threads_of(const Lane & lane) const noexcept;

  // report.cpp
  void add_finding(Finding finding);
  std::vector<ThreadReport> threads() const;
  void read_trace(const std::function<void(const rclrt_job_record &)> & visit);
  uint64_t trace_dropped() const;

  // Callbacks on this thread, the innermost first: one that calls run_one() has others on top of it.
  struct Running
  {
    Impl * engine;
    Worker * worker;
    const Running * outer;
  };
  static thread_local const Running * running_here;
  bool is_here() const noexcept;

  Platform & platform;
  const EngineOptions options;

  // ---- Under `configuration`
  const std::unique_ptr<Mutex> configuration;
  AttributeTable attributes;
  /// By name; the key is that of the node.
  std::unordered_map<std::string_view, std::shared_ptr<CallbackNode>> callbacks;
  Attributes timer_thread;
  bool accepts_threads = false;
  uint32_t next_callback = 0;

  // ---- Changed under both locks, read under either
  Workers workers;
  std::list<Lane> lanes;
  std::vector<std::unique_ptr<ClockState>> clocks;
  std::shared_ptr<DeadlineScheduler> deadlines;  // changed while not spinning, or if there is none

  // ---- Under `mutex`
  const std::unique_ptr<Mutex> mutex;
  Ready ready;
  Dispatch dispatch;
  Lane * shared_lane = nullptr;     // events and pool; never changes
  Lane * timer_lane = nullptr;      // events with release-and-execute; never changes
  Worker * timer_driver = nullptr;  // who releases due timers now
  std::shared_ptr<Worker> inline_worker;
  bool told_of_inline = false;   ///< that run_one() leaves attributes alone
  bool told_of_no_room = false;  ///< that `deadlines` has refused a job
  bool open = false;             // workers run jobs; false until spin() has started all of them
  std::exception_ptr exception;

  // ---- What happened. Each lock is the last one taken.
  const std::unique_ptr<Mutex> findings_mutex;
  std::vector<Finding> findings;
  /// Makes one reader of every trace ring, and protects what threads left behind that have ended.
  const std::unique_ptr<Mutex> trace_mutex;
  std::deque<rclrt_job_record> leftover;
  uint64_t leftover_dropped = 0;

  /// Raised by every thread that goes to sleep before `open`, or ends; let_workers_run() sleeps on it.
  std::atomic<uint32_t> arrived{0};
  /// Written by stop() and clear_stop(), read by workers under `mutex`: 1 means stop. spin() of
  /// the pool and isolated models sleeps on it.
  std::atomic<uint32_t> stop_word{0};
  std::atomic<bool> spinning{false};
};

}  // namespace rclrt_core

#endif  // ENGINE_IMPL_HPP_
