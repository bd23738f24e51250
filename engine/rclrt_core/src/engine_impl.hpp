// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The engine: locks, asks the parts, unlocks, applies what they decided, wakes.
///
///   order/ready.hpp             what is ready and what is next
///   threads/crew.hpp            threads: who sleeps, who is coming, whom to wake
///   threads/dispatch.hpp        who may run next, and on which thread
///   threads/thread_urgency.hpp  what a thread has in force
///   threads/life.hpp            who spins, stops, waits and joins
///   timers/timer_queue.hpp      what is due
///   budgets/budgets.hpp         CPU time that callbacks may use
///
/// and this class, by file:
///   engine.cpp                  releases, and the jobs' deadlines
///   membership.cpp              groups and callbacks come and go
///   messages/message_stamp.cpp  deadlines from stamps of messages
///   messages/delivery.cpp       jobs on the thread that brings their work
///   timers/timers.cpp           clocks and timers
///   threads/prepare.cpp         what will be refused is known before anything runs
///   threads/spin.cpp            threads start and end
///   threads/worker.cpp          what a thread does
///   budgets/budget_watch.cpp    the thread that watches budgets
///   budgets/admission.cpp       which budgets fit
///   trace/report.cpp            findings, statistics, trace
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
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "budgets/budgets.hpp"
#include "order/ready.hpp"
#include "rclrt_core/engine.hpp"
#include "threads/beat.hpp"
#include "threads/crew.hpp"
#include "threads/dispatch.hpp"
#include "threads/life.hpp"
#include "timers/held.hpp"
#include "timers/timer_queue.hpp"

namespace rclrt_core
{

class Engine::Impl
{
public:
  Impl(Platform & platform, EngineOptions options);
  ~Impl();

  using Lock = Life::Lock;
  using Workers = Life::Workers;

  struct ClockState
  {
    std::function<int64_t()> now_ns;  // empty: removed, to be used again
    TimerQueue queue;
    int64_t last_now_ns = INT64_MIN;
    bool driven = false;  // by a worker's sleep; else by clock_changed()
  };

  // Callbacks on this thread, the innermost first: one that calls run_one() has others on top of it.
  struct Running
  {
    Impl * engine;
    Worker * worker;
    const Running * outer;
  };
  static thread_local const Running * running_here;
  bool is_here() const noexcept;

  /// A job that has been run.
  struct Ran
  {
    rclrt_job_outcome outcome;
    TimePoint start;
    TimePoint end;
    CpuUse use;
    int64_t thread_cpu_ns;  ///< of the thread at the end; -1: the callback has no budget
  };

  // membership.cpp; each takes `configuration`
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
  /// The account of a new callback; null: it has none. Under `configuration`.
  Status find_budget(
    const CallbackOptions & of, GroupNode & group, std::shared_ptr<BudgetNode> * budget);
  void join_budget(
    CallbackNode & callback, const Budget & own, const std::string & chain,
    std::shared_ptr<BudgetNode> budget);
  void place(GroupNode & group);
  void displace(GroupNode & group);
  Lane & new_lane(const std::string & name, const Attributes & attributes);
  const AttributesEntry & asked_by(const Attributes & own, const GroupNode & group);
  /// The node, if it is one of this engine and not removed. Under `mutex` or `configuration`.
  CallbackNode * known(const std::shared_ptr<Callback> & callback) const noexcept;
  CallbackNode * known_timer(const std::shared_ptr<Callback> & callback) const noexcept;

  // engine.cpp
  void notify(CallbackNode & callback, std::size_t count) noexcept;
  /// Under `mutex`. `running`: the job that publishes, or null. A callback without a deadline of its own inherits
  /// that of the job.
  void release(
    CallbackNode & callback, TimePoint release, TimePoint now, std::size_t count,
    const Running * running, Calls & calls) noexcept;
  /// The same of what may have to wait for a clock. Under `mutex`, as the next three.
  void arrive(
    CallbackNode & callback, TimePoint now, std::size_t count, const Running * running,
    Calls & calls) noexcept;
  /// A job of a callback that sets a clock has ended, or the callback goes.
  void clock_was_set(CallbackNode & callback) noexcept;
  /// Release what waits for no clock any more, at most a few. Returns whether there is more: leave the lock in between.
  bool release_held(Calls & calls) noexcept;
  void inherit_from_publisher(CallbackNode & callback) noexcept;
  void inherit_deadline(std::optional<TimePoint> carried, int64_t stamp_ns) noexcept;
  void fan_in(Worker & worker) noexcept;  // under `mutex`

  // message_stamp.cpp
  Clocks read_clocks() noexcept;
  static TimePoint count_from_stamp(
    CallbackNode & callback, const ReleaseStamp & job, int64_t stamp_ns,
    const Clocks & both) noexcept;  // under `mutex`
  void tell_stamp(const CallbackNode & callback, const StampedDeadline & found);

  // delivery.cpp
  void make_courier();  // under `configuration`
  /// Bind the job that this callback has just got to this thread, if a Delivery is open. Under `mutex`.
  bool deliver(CallbackNode & callback) noexcept;
  void run_delivered() noexcept;
  /// A job that took longer than its callback's bound, and is to be told.
  struct OverBound
  {
    Duration took;
    bool queues;  // from now on
  };
  static std::optional<OverBound> watch_bound(
    CallbackNode & callback, const Ran & ran) noexcept;  // under `mutex`

  // timers.cpp; those with a Status take the locks, the others are called under `mutex`
  void arm(TimerNode & timer, int64_t after_ns, Calls & calls) noexcept;
  /// Release at most a few timers that are due. Returns whether more are: leave the lock in between.
  bool release_due(ClockState & clock, Calls & calls) noexcept;
  /// Release all that are due on the clocks that a worker drives. Leaves the lock in between.
  void release_all_due(Section & section) noexcept;
  TimePoint next_timer_release() noexcept;
  void wake_timer_driver(Calls & calls) noexcept;
  bool has_simulated_timers() const noexcept;
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
  /// Lower the worker to the urgency of its next job, before it takes that. Under `mutex`; returns whether it has
  /// left it in between.
  bool gives_way(Worker & worker, const CallbackNode & next, Section & section) noexcept;
  /// Bind the most urgent job of any lane to the visitor. Under `mutex`.
  bool pick(Worker & worker, uint64_t before_sequence) noexcept;
  void bind(Worker & worker, CallbackNode & callback) noexcept;  // under `mutex`
  /// What is bound. Returns whether the job found work.
  bool execute(Worker & worker, Section & section) noexcept;
  /// The user's code and its record. Not under `mutex`.
  Ran run(Worker & worker) noexcept;
  /// What follows from it. Under `mutex`, which it may leave in between.
  void end(Worker & worker, const Ran & ran, Section & section) noexcept;
  /// By the worker's thread: make stand what was decided for its job. Not under `mutex`.
  void settle(Worker & worker) noexcept;
  bool decide_less(Worker & worker, const ThreadUrgency::Outcome & refused) noexcept;
  void tell_refusal(const Worker & worker, const Demand & asked, int error);
  void finish(Worker & worker, bool found_work, Calls & calls) noexcept;
  void sleep(Worker & worker, TimePoint until, Section & section) noexcept;
  /// Whether and when the worker looks for work before it sleeps. Under `mutex`.
  Look look_of(Worker & worker) noexcept;
  void look_for_work(
    Worker & worker, TimePoint idle_since, const Look & look, TimePoint until) noexcept;
  void wait(const Worker & worker, TimePoint until) noexcept;
  void handle_exception(const Callback & callback) noexcept;
  bool run_one(TimePoint until, uint64_t before_sequence);
  uint64_t next_sequence();

  // prepare.cpp
  static const char * const kTimerThreadExt;
  static const char * const kSlotFix;
  Status prepare();
  void prepare_waiting();
  Status probe();
  void tell_of_idle_threads();  // under `configuration`
  Status try_on(const AttributesEntry & entry, const std::string & subject);
  Status check_slots() const;

  // spin.cpp
  Status spin();
  Status start_threads();
  Status start_thread(const std::shared_ptr<Worker> & worker, const AttributesEntry & first);
  void begin(Worker & worker, const AttributesEntry & above);
  void decide_first(Worker & worker, const AttributesEntry & first) noexcept;
  void settle_first(Worker & worker, const AttributesEntry & first) noexcept;
  void enter_deadlines(Worker & worker);
  Status grow(Lane & lane);
  Status start_beat();
  void let_run();
  std::shared_ptr<Worker> join_in();
  void step_out(Worker & worker);
  void join_all();
  void join(const Workers & ended);
  void keep_trace(Worker & worker);
  void stop() noexcept;
  std::shared_ptr<Worker> new_worker(const std::string & name, Lane * lane);
  std::size_t threads_of(const Lane & lane) const noexcept;

  // budget_watch.cpp; all but the last are called under `configuration`
  bool any_budget() const noexcept;
  const AttributesEntry & background();
  Attributes budget_watch();
  Status watch_budgets();
  void tell_over_budget(const CallbackNode & callback);
  static std::string subject_of(const BudgetNode & node);

  // admission.cpp; all but follow_period() are called under `configuration`
  bool asks_for_room() const noexcept;
  std::map<uint64_t, BudgetNode *> known_budgets() const;
  /// Error: attributes are required, and a new budget would have no room.
  Status check_room(const Budget & budget, const std::string & subject) const;
  /// A budget has come or gone.
  void admit_budgets();
  void follow_period(TimerNode & timer) noexcept;
  void tell_of_room(BudgetNode & node);

  // report.cpp
  void add_finding(Finding finding);
  std::vector<ThreadReport> threads() const;
  void keep_cpus();
  std::vector<WaitingReport> waiting() const;
  void read_trace(const std::function<void(const rclrt_job_record &)> & visit);
  uint64_t trace_dropped() const;
  Workers traced_workers() const;
  TraceSource trace_source() const;
  static TracedCallback traced(const CallbackNode & callback);

  Platform & platform;
  const EngineOptions options;
  const uint16_t number;  // within the process, from 1

  // ---- Under `configuration`
  const std::unique_ptr<Mutex> configuration;
  AttributeTable table;  // of what is asked for
  /// By name; the key is that of the node.
  std::unordered_map<std::string_view, std::shared_ptr<CallbackNode>> callbacks;
  Attributes timer_thread;
  std::unique_ptr<Beat> beat;  // of the thread that spins
  uint32_t next_callback = 0;
  uint32_t next_group = 0;
  uint64_t next_budget = 0;
  std::map<std::string, std::weak_ptr<BudgetNode>> chains;  // their budgets, by name
  std::deque<TracedCallback> former;                        // that were removed

  // ---- Changed under both locks, read under either
  std::list<Lane> lanes;
  std::vector<std::unique_ptr<ClockState>> clocks;
  std::shared_ptr<DeadlineScheduler> deadlines;  // changed while not spinning, or if there is none

  // ---- Under `mutex`
  const std::unique_ptr<Mutex> mutex;
  Life life;  // its functions say under which lock
  Ready ready;
  Dispatch dispatch;
  ClockSetters clock_setters;
  Held held;
  Budgets budgets;                  // its functions say under which lock
  Lane * shared_lane = nullptr;     // events and pool; never changes
  Lane * timer_lane = nullptr;      // events with release-and-execute; never changes
  Worker * timer_driver = nullptr;  // who releases due timers now
  std::shared_ptr<Worker> visitor;
  /// Stands for the thread of the middleware that runs an inline job, one at a time. Null until there is an inline
  /// callback; changed under both locks. Its word is kAwakeAndHeld while it has a job: set under `mutex`, reset by that
  /// thread with release as its last access to the engine. Life::wait_until_let_go() waits for that.
  std::shared_ptr<Worker> courier;
  std::size_t looking = 0;  ///< workers that look for work, of `most_looking` at most
  std::size_t most_looking = 0;
  Duration pause{0};             ///< after the next loss of the CPU
  TimePoint no_look_before{};    ///< somebody else has needed the CPU
  bool told_of_visitor = false;  ///< that run_one() leaves attributes alone
  bool told_of_no_room = false;  ///< that `deadlines` has refused a job
  std::exception_ptr exception;

  // ---- What happened. Each lock is the last one taken.
  const std::unique_ptr<Mutex> findings_mutex;
  std::vector<Finding> findings;
  /// Makes one reader of every trace ring, and protects what threads left behind that have ended.
  const std::unique_ptr<Mutex> trace_mutex;
  std::deque<rclrt_job_record> leftover;
  uint64_t leftover_dropped = 0;
  TraceReader given_up{ready.given_up()};  // of Ready::given_up()
};

}  // namespace rclrt_core

#endif  // ENGINE_IMPL_HPP_
