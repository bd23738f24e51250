// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A machine of virtual CPUs with a virtual clock, for testing scheduling decisions.
///
/// Virtual threads are scheduled preemptively by global fixed priority: at every instant the m most
/// urgent runnable threads (by more_urgent(Attributes), ties in order of becoming runnable; a
/// running thread keeps its CPU against an equal, and goes on first after a preemption) occupy the m
/// CPUs, each one it is allowed on. As on Linux, a running thread is not moved to another CPU to
/// make room for a less urgent one. Nothing is time-sliced: SCHED_RR and SCHED_OTHER threads keep
/// their CPU too, the latter ordered by nice alone; SCHED_DEADLINE ones are ordered by relative
/// deadline and have no budget.
///
/// Code takes no virtual time; only work() does. So a run is a pure function of the program: the
/// same trace every time, and a minute of virtual time passes in milliseconds. Events at one
/// instant have this order: threads whose wait times out become runnable; then threads that have a
/// CPU execute code, the most urgent first, each until it works, blocks or is preempted (a thread
/// woken on another CPU starts when the one that woke it gets there); then threads that lost their
/// CPU just when their work() was done execute the code that follows it. So a job ends when its
/// work is done, also if something more urgent is released at that very instant.
/// Such a thread may even take its next job: then a less urgent job begins while a more urgent one of
/// another group waits for the CPU. This is of this platform, not of the engine. Where threads need
/// CPUs, as on Linux, it does not happen: see need_cpu().
///
/// Each virtual thread is an OS thread, of which exactly one runs at a time (sanitizers and
/// debuggers see ordinary threads).
///
/// Unless a test says otherwise, a thread that holds a Mutex of this platform is not preempted until
/// it releases the outermost one, and a call takes no time. So a test sees the order of decisions
/// and nothing else. set_locks() makes mutexes like those of Linux: the holder may be preempted,
/// and is as urgent as the most urgent thread that waits for it. set_costs() lets lock sections and
/// system calls take virtual time, and set_hook() lets the test act inside them.
///
/// It is not a model of the cost of a context switch. A loop that waits for another thread without
/// blocking makes no progress in it.
///
/// Outside run(), any one thread may call functions that do not block; a call that would block ends
/// the process with a message.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "rclrt_core/platform.hpp"

namespace rclrt_core
{

class SimPlatform : public Platform
{
public:
  explicit SimPlatform(int cpus = 1);
  ~SimPlatform() override;

  SimPlatform(const SimPlatform &) = delete;
  SimPlatform & operator=(const SimPlatform &) = delete;

  /// Run `main_body` as the first virtual thread ("main", most urgent of all: kFifo 99) and
  /// return when every virtual thread has ended; time goes on from the last run. An exception from
  /// `main_body` is thrown again at the end. Returns an error instead of hanging when all threads
  /// wait for ever, when the run lasts longer than `limit` of virtual time, or when a loop lets no
  /// virtual time pass; the text says what each thread waits for. The sim has stopped then: its
  /// threads are left where they stand for the rest of the process, objects on their stacks are not
  /// destroyed, and run() fails from then on.
  Status run(std::function<void()> main_body, Duration limit = std::chrono::hours(1));

  // For the programs under test:

  /// Use the CPU for `duration` of virtual time; may be preempted on the way, unless the caller
  /// holds a Mutex and Locks::preemptible is false.
  void work(Duration duration);
  /// Give up the CPU until `time`.
  void sleep_until(TimePoint time);
  void sleep_for(Duration duration) { sleep_until(now() + duration); }

  // For tests:

  /// From now on apply() refuses these policies with EPERM; the affinity is applied all the same.
  void refuse(std::set<SchedulingPolicy> policies);
  /// Step CLOCK_REALTIME (which otherwise runs with the virtual clock) to a value.
  void set_system_now_ns(int64_t now_ns);

  /// From now on no thread executes code without a CPU, also not at the instant at which its work() is done.
  void need_cpu();

  /// How a Mutex treats the thread that holds it.
  struct Locks
  {
    /// A more urgent thread may take the CPU from it. It may then hold the mutex for long.
    bool preemptible = false;
    /// Only if `preemptible`: it is as urgent as the most urgent thread that waits for the mutex,
    /// also through a chain of mutexes. False shows the inversion. It lends no CPU: the holder runs
    /// where its own affinity lets it. read_back() reports its own attributes, as on Linux.
    bool inheritance = true;
  };
  /// A mutex that is released goes to the thread that locks it next, which need not be the one that
  /// waited longest. May be called at any time.
  void set_locks(Locks locks);

  /// Virtual time for which calls use the CPU of the caller; none unless set. The caller may be
  /// preempted on the way as in work().
  struct Costs
  {
    Duration lock_section{0};  ///< from Mutex::lock() to unlock(): spent before the unlock
    Duration apply{0};         ///< before it has an effect; the same holds for the next two
    Duration wake_one{0};
    Duration wait{0};
  };
  void set_costs(const Costs & costs);

  /// A place in a call where a thread can lose its CPU.
  enum class Point : uint8_t
  {
    kLocked,  ///< lock() has the mutex
    kUnlock,  ///< unlock() still has it
    kApply,   ///< apply(), wake_one(), wait(): before it has an effect
    kWakeOne,
    kWait,
  };
  /// Called at each point by the thread that is there, with its name, before the time the call
  /// takes. It may do all that the thread may do: release something, work(), start a thread. Calls
  /// that the hook makes have no points and no costs. Must not throw. Empty: none.
  using Hook = std::function<void(Point point, const std::string & thread)>;
  void set_hook(Hook hook);

  /// Calls of apply(), wake_one(), start_thread() and Mutex::lock() so far.
  struct Counts
  {
    int64_t apply = 0;
    int64_t wake = 0;
    int64_t start_thread = 0;
    int64_t lock = 0;
    int64_t alarm = 0;  ///< Alarm::set()
  };
  Counts counts() const;
  /// Which virtual thread ran on which CPU when: lines "0-2ms cpu0 main", in time order, merged
  /// where a thread went on without time lost. Milliseconds as short as exact: "0.25-1ms".
  std::vector<std::string> schedule() const;

  // Platform
  TimePoint now() noexcept override;
  int64_t system_now_ns() noexcept override;
  std::unique_ptr<Mutex> make_mutex() override;
  Status start_thread(
    const ThreadOptions & options, std::function<void()> body,
    const std::function<void(const Finding &)> & on_finding,
    std::unique_ptr<Thread> * thread) override;
  void wait(
    const std::atomic<uint32_t> & word, uint32_t expected, TimePoint until) noexcept override;
  void wake_one(const std::atomic<uint32_t> & word) noexcept override;
  std::unique_ptr<Alarm> make_alarm() override;
  ThreadId current_thread() noexcept override;
  int current_cpu() noexcept override;
  CpuMeter start_meter(bool measures) noexcept override;
  CpuUse read_meter(const CpuMeter & meter) noexcept override;
  int64_t cpu_time_ns(ThreadId thread) noexcept override;
  int cpu_count() noexcept override;
  int apply(ThreadId thread, const Attributes & attributes) noexcept override;
  int read_back(ThreadId thread, Attributes * attributes) noexcept override;
  Finding explain(
    const std::string & subject, const Attributes & attributes, int error_number) override;
  std::vector<Finding> check_system(bool wants_realtime) override;
  std::vector<Finding> lock_memory() override;

private:
  class Impl;
  class SimMutex;
  class SimThread;
  class SimAlarm;
  std::shared_ptr<Impl> impl_;  // Shared with threads left behind by a run that failed.
};

}  // namespace rclrt_core
