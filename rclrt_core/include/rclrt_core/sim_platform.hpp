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
/// same trace every time, and a minute of virtual time passes in milliseconds. What happens at one
/// instant happens in this order: who times out becomes runnable; then threads that have a CPU
/// execute code, the most urgent first, each until it works, blocks or is preempted (a thread woken
/// on another CPU starts when the one that woke it gets there); then threads that lost their CPU
/// just when their work() was done execute the code that follows it. So a job ends when its work
/// is done, also if something more urgent is released at that very instant.
///
/// Each virtual thread is an OS thread, of which exactly one runs at a time (sanitizers and
/// debuggers see ordinary threads). A Mutex of this platform defers preemption until the outermost
/// one is released, which is what priority inheritance amounts to for critical sections that never
/// sleep.
///
/// It is not a model of the cost of anything: no context-switch, wake-up or lock time. A loop that
/// waits for another thread without blocking makes no progress in it.
///
/// Outside run(), what does not block may be called from any one thread; what would block ends the
/// process with a message.
#ifndef RCLRT_CORE__SIM_PLATFORM_HPP_
#define RCLRT_CORE__SIM_PLATFORM_HPP_

#include <chrono>
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

  // What the programs under test do:

  /// Use the CPU for `duration` of virtual time; may be preempted on the way, unless the caller
  /// holds a Mutex.
  void work(Duration duration);
  /// Give up the CPU until `time`.
  void sleep_until(TimePoint time);
  void sleep_for(Duration duration) { sleep_until(now() + duration); }

  // What tests may set and see:

  /// From now on apply() refuses these policies with EPERM; the affinity is applied all the same.
  void refuse(std::set<SchedulingPolicy> policies);
  /// Step CLOCK_REALTIME (which otherwise runs with the virtual clock) to a value.
  void set_system_now_ns(int64_t now_ns);
  /// Calls of apply(), wake_one() and start_thread() so far.
  struct Counts
  {
    int64_t apply = 0;
    int64_t wake = 0;
    int64_t start_thread = 0;
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
  ThreadId current_thread() noexcept override;
  int current_cpu() noexcept override;
  int64_t current_preemptions() noexcept override;
  int cpu_count() noexcept override;
  int apply(ThreadId thread, const Attributes & attributes) noexcept override;
  int read_back(ThreadId thread, Attributes * attributes) noexcept override;
  Finding explain(
    const std::string & subject, const Attributes & attributes, int error_number) override;
  std::vector<Finding> check_system(bool wants_realtime) override;
  std::vector<Finding> lock_memory() override;
  void prefault_stack(std::size_t bytes) noexcept override;

private:
  class Impl;
  class SimMutex;
  class SimThread;
  std::shared_ptr<Impl> impl_;  // Shared with threads left behind by a run that failed.
};

}  // namespace rclrt_core

#endif  // RCLRT_CORE__SIM_PLATFORM_HPP_
