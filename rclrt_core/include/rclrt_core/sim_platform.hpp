// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A machine of virtual CPUs with a virtual clock, for testing scheduling decisions.
///
/// Virtual threads are scheduled preemptively by global fixed priority: at every instant the m most
/// urgent runnable threads (by more_urgent(Attributes), ties in order of becoming runnable; a
/// running thread keeps its CPU against an equal) occupy the m CPUs they are allowed on. Code takes
/// no virtual time; only work() does. So a run is a pure function of the program: the same trace
/// every time, and a minute of virtual time passes in milliseconds.
///
/// Each virtual thread is an OS thread, of which exactly one runs at a time (sanitizers and
/// debuggers see ordinary threads). A Mutex of this platform defers preemption until it is
/// released, which is what priority inheritance amounts to for critical sections that never sleep.
///
/// It is not a model of the cost of anything: no context-switch, wake-up or lock time.
#ifndef RCLRT_CORE__SIM_PLATFORM_HPP_
#define RCLRT_CORE__SIM_PLATFORM_HPP_

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
  /// return when every virtual thread has ended. Returns an error instead of hanging when all
  /// threads wait for ever (the text lists them) or virtual time passes `limit`; the sim is then
  /// poisoned: wait(), sleep_until() and work() unwind their threads.
  Status run(std::function<void()> main_body, Duration limit = std::chrono::hours(1));

  // What the programs under test do:

  /// Use the CPU for `duration` of virtual time; may be preempted on the way.
  void work(Duration duration);
  /// Give up the CPU until `time`.
  void sleep_until(TimePoint time);
  void sleep_for(Duration duration) { sleep_until(now() + duration); }

  // What tests may set and see:

  /// From now on apply() refuses these policies with EPERM.
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
  /// Which virtual thread ran on which CPU when: lines "0-2ms cpu0 main", merged, in time order.
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
  std::unique_ptr<Impl> impl_;
};

}  // namespace rclrt_core

#endif  // RCLRT_CORE__SIM_PLATFORM_HPP_
