// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The engine's state, and its functions by file:
///   configuration.cpp  groups, callbacks, timers come and go
///   dispatch.cpp       release -> queue -> pick -> finish
///   waking.cpp         whom to wake, and with which urgency
///   timers.cpp         clocks and due timers
///   worker.cpp         what a thread does
///   spin.cpp           threads start and end
///   report.cpp         statistics, findings, trace
#ifndef ENGINE_IMPL_HPP_
#define ENGINE_IMPL_HPP_

#include <cerrno>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attribute_table.hpp"
#include "nodes.hpp"
#include "rclrt_core/engine.hpp"
#include "timer_queue.hpp"

namespace rclrt_core
{

/// Workers taken out of sleep under the lock, to be woken without it. Of one thread.
class WakeList
{
public:
  /// Tells whose list it is: one value a thread.
  static const void * owner() noexcept;

  void add(Worker & worker) noexcept
  {
    worker.next_to_wake = nullptr;
    *(last_ ? &last_->next_to_wake : &first_) = &worker;
    last_ = &worker;
  }
  /// One that another list holds, and that has got the word to go. It may be gone when it is woken: the
  /// word's address is only compared, never read through.
  void add_held(Worker & worker) noexcept { add(Again{&worker.platform, &worker.word}); }
  void append(WakeList & other) noexcept;
  /// Wake them now, or when the thread's WakeBatch ends. Not under the lock.
  void wake_or_defer() noexcept;
  /// Give every worker the word to go. Not under the lock.
  void wake_all() noexcept;

private:
  struct Again
  {
    Platform * platform;
    const std::atomic<uint32_t> * word;
  };
  /// One release adds those that others have taken and not woken yet: of a lane, at most one a CPU.
  static constexpr std::size_t kMaxAgain = 8;

  void add(const Again & again) noexcept
  {
    if (again_count_ == kMaxAgain) {
      again.platform->wake_one(*again.word);  // under the lock, rather than to lose one
    } else {
      again_[again_count_++] = again;
    }
  }

  void clear() noexcept
  {
    first_ = last_ = nullptr;
    again_count_ = 0;
  }

  Worker * first_ = nullptr;
  Worker * last_ = nullptr;
  Again again_[kMaxAgain];  // the first again_count_ of them
  std::size_t again_count_ = 0;
};

class Engine::Impl
{
public:
  Impl(Platform & platform, EngineOptions options);

  using Lock = std::unique_lock<Mutex>;

  struct ClockState
  {
    std::function<int64_t()> now_ns;  // empty: removed, to be used again
    TimerQueue queue;
    int64_t last_now_ns = INT64_MIN;
    bool driven = false;  // by a worker's sleep; else by clock_changed()
  };

  // configuration.cpp
  Status add_group(GroupOptions options, std::shared_ptr<Group> * group);
  Status remove_group(const std::shared_ptr<Group> & group);
  Status add_group_again(const std::shared_ptr<Group> & group);
  Status accept(const std::shared_ptr<GroupNode> & node);  // under threads_mutex
  Status add_callback(
    CallbackOptions options, const TimerOptions * timer, const std::shared_ptr<Group> & group,
    std::shared_ptr<Callback> * callback);
  void remove(const std::shared_ptr<Callback> & callback);
  bool wait_until_idle(const std::shared_ptr<Callback> & callback);
  Status set_attributes(const std::shared_ptr<Callback> & callback, const Attributes & attributes);
  Status set_timer_thread(const Attributes & attributes);
  CallbackNode * known(const std::shared_ptr<Callback> & callback) const;
  CallbackNode * known_timer(const std::shared_ptr<Callback> & callback) const;
  void place(GroupNode & group);
  void displace(GroupNode & group, WakeList & wakes);
  Lane & new_lane(const std::string & name, const Attributes & attributes);
  AttributesId attributes_of(const Attributes & own, const GroupNode & group);

  // dispatch.cpp; all under the lock
  /// A callback without a deadline of its own inherits that of `publisher`, if there is one.
  void release(
    CallbackNode & callback, TimePoint release, TimePoint now, std::size_t count,
    const Job * publisher, WakeList & wakes) noexcept;
  void drop_waiting(CallbackNode & callback) noexcept;
  bool pick(Worker & worker, uint64_t before_sequence) noexcept;
  CallbackNode * most_urgent_for(const Worker & worker) const noexcept;
  /// For a thread of the user, which serves all lanes.
  CallbackNode * most_urgent_before(uint64_t before_sequence) noexcept;
  Demand demand_of(const CallbackNode & waiting) const noexcept;
  /// Of whoever goes for the first of these: in an exclusive group the others wait for it, and lend it their
  /// urgency. O(n) in them.
  Demand demand_of(const GroupQueue & queue) const noexcept;
  bool suffices(const Demand & present, const Demand & needed) const noexcept;
  bool suffices(const Worker & worker, const Demand & needed) const noexcept;
  std::size_t on_their_way(const Lane & lane, const Demand & needed) const noexcept;
  /// Whether a thread on its way will take a job of this queue, which is ready.
  bool is_served(const GroupQueue & queue) const noexcept;
  TimePoint deadline_while_waiting(const CallbackNode & callback) const noexcept;
  TimePoint earliest_to_bring_together(const CallbackNode & callback) const noexcept;
  void fan_in(Worker & worker) noexcept;
  void keep_or_hand_on(const Worker & worker, bool found_work) noexcept;
  void inherit_deadline(std::optional<TimePoint> carried) noexcept;  // not under the lock
  bool inherit_deadline(Worker & worker, std::optional<TimePoint> carried) noexcept;
  TimePoint own_or_lent_deadline(const Worker & worker) const noexcept;
  void finish(Worker & worker, bool found_work, WakeList & wakes) noexcept;
  bool enough_are_woken(const Lane & lane, const Demand & wanted) const noexcept;
  void wake_for(Lane & lane, const Demand & wanted, WakeList & wakes) noexcept;
  bool wake_one_more(Lane & lane, const Demand & wanted, WakeList & wakes) noexcept;
  void lower_on_their_way(Lane & lane) noexcept;
  void raise_on_its_way(Lane & lane, const Demand & wanted) noexcept;
  /// Threads that suffice do not depend on who was to wake them.
  void hurry(Lane & lane, const Demand & wanted, WakeList & wakes) noexcept;
  static void wake_too(Worker & worker, WakeList & wakes) noexcept;
  /// Send for a thread for the first group that is not served.
  void wake_next(Lane & lane, WakeList & wakes) noexcept;
  void call(Worker & worker, WakeList & wakes) noexcept;
  void wake_timer_driver(WakeList & wakes) noexcept;
  void take_from_sleep(Worker & worker, WakeList & wakes) noexcept;
  void unlink(CallbackNode & callback) noexcept;
  void link(CallbackNode & callback) noexcept;
  void insert(CallbackNode & callback) noexcept;
  void reorder(GroupNode & group) noexcept;
  void unlink(GroupQueue & queue) noexcept;
  void link(GroupQueue & queue) noexcept;
  void inherit_from_waiting(const CallbackNode & waiting) noexcept;
  void inherit_from_group(Worker & worker) noexcept;
  void inherit_from_publisher(CallbackNode & callback) noexcept;
  void notify(CallbackNode & callback, std::size_t count) noexcept;

  // timers.cpp; all under the lock but the ones with a Status
  void arm(TimerNode & timer, int64_t after_ns, WakeList & wakes);
  void release_due(WakeList & wakes) noexcept;
  void release_due(ClockState & clock, WakeList & wakes) noexcept;
  TimePoint next_timer_release() noexcept;
  Status cancel_timer(const std::shared_ptr<Callback> & timer);
  Status reset_timer(const std::shared_ptr<Callback> & timer, std::optional<Duration> first);
  Status set_timer_period(const std::shared_ptr<Callback> & timer, Duration period);
  Status set_timer_clock(const std::shared_ptr<Callback> & timer, ClockId clock);
  bool is_timer_cancelled(const std::shared_ptr<Callback> & timer) const;
  Duration time_until_release(const std::shared_ptr<Callback> & timer) const;
  ClockId add_clock(std::function<int64_t()> now_ns);
  Status remove_clock(ClockId clock);
  bool has_clock(ClockId clock) const { return clock < clocks.size() && clocks[clock].now_ns; }
  void clock_changed(ClockId clock) noexcept;

  // worker.cpp
  void work(Worker & worker) noexcept;
  /// Returns whether the job found work.
  bool execute(Worker & worker, Lock & lock, WakeList & wakes) noexcept;
  /// Give the worker the attributes of its job. Returns 0, or the errno and what was `asked`. To finish,
  /// it has to apply `move_to` itself, without the lock, unless that is empty, and to give way if its
  /// deadline in force is later than before.
  int put_in_force(Worker & worker, Attributes * asked, CpuSet * move_to, bool * is_later) noexcept;
  void give_up_attributes(Worker & worker, AttributesId refused) noexcept;
  void go_without_attributes(Worker & worker) noexcept;
  /// Returns 0, or the errno of what the OS refused; kNoSlot: ext, but the thread got no slot when it
  /// asked, of which it has told.
  static int set(Worker & worker, const Attributes & change, const Demand & to) noexcept;
  int give(Worker & worker, const Demand & demand) noexcept;
  int give_or_leave(Worker & worker, const Demand & demand) noexcept;
  void sleep(Worker & worker, TimePoint until, Lock & lock, WakeList & wakes) noexcept;
  static void wake_up(Worker & worker) noexcept;
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
  Status start_thread(const std::shared_ptr<Worker> & worker, const Attributes & first_attributes);
  void begin(Worker & worker, const Attributes & first_attributes);
  void enter_deadlines(Worker & worker);
  void leave_deadlines(Worker & worker);
  Status grow(Lane & lane);
  static constexpr int kNoSlot = -1;
  static const char * const kTimerThreadExt;
  void join_all();
  void reap();
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
  const std::size_t cpus;

  /// Protects everything below that is not said to be otherwise. Never held while user code, the
  /// middleware or a start of a thread runs, nor for a wake-up (but see WakeList::add()).
  std::unique_ptr<Mutex> mutex;
  AttributeTable attributes;
  /// By name; the key is that of the node.
  std::unordered_map<std::string_view, std::shared_ptr<CallbackNode>> callbacks;
  std::vector<std::shared_ptr<GroupNode>> groups;
  std::deque<Lane> lanes;
  Lane * shared_lane = nullptr;  // events and pool
  Lane * timer_lane = nullptr;   // events with release-and-execute
  std::deque<ClockState> clocks;
  Attributes timer_thread;
  std::shared_ptr<DeadlineScheduler> deadlines;  // changed while not spinning, or if there is none
  Worker * timer_driver = nullptr;               // who releases due timers now
  std::shared_ptr<Worker> inline_worker;
  bool inline_active = false;
  bool told_of_inline = false;   ///< that run_one() leaves attributes alone
  bool told_of_no_room = false;  ///< that `deadlines` has refused a job
  bool open = false;             // workers run jobs; false until spin() has started all of them
  uint64_t next_job = 0;
  uint32_t next_callback = 0;
  std::exception_ptr exception;

  /// Serialises starting and ending threads; taken before `mutex`, never the other way round, and
  /// not held while joining (a callback that adds a group would wait for itself).
  std::unique_ptr<Mutex> threads_mutex;
  std::vector<std::shared_ptr<Worker>> workers;  // changed under both, read under either
  bool accepts_threads = false;                  // under threads_mutex

  std::unique_ptr<Mutex>
    report_mutex;  // makes one reader of every trace ring; protects findings and what ended threads left behind
  std::vector<Finding> findings;
  std::deque<rclrt_job_record> leftover;
  uint64_t leftover_dropped = 0;

  /// Raised by every thread that goes to sleep before `open`, or ends; let_workers_run() sleeps on it.
  std::atomic<uint32_t> arrived{0};
  /// Written by stop() and clear_stop(), read by workers under the lock: 1 means stop. spin() of
  /// the pool and isolated models sleeps on it.
  std::atomic<uint32_t> stop_word{0};
  std::atomic<bool> spinning{false};
};

}  // namespace rclrt_core

#endif  // ENGINE_IMPL_HPP_
