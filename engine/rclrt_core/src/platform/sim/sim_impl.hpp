// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The baton of the simulated platform: which of the OS threads runs.
///
/// Every virtual thread is an OS thread that runs only while `baton_` names it; it passes the baton
/// on in each call that blocks, works or lets somebody more urgent run. All state is under one
/// mutex, so passing the baton orders everything the old holder did before everything the new does.
///
/// When nothing can happen any more, or virtual time or patience runs out, the sim stops: the baton
/// goes to nobody, run() returns the error, and the threads stay where they stand for the rest of
/// the process (they cannot be unwound: wait() is noexcept and its callers rely on being woken).
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "platform/sim/machine.hpp"
#include "rclrt_core/sim_platform.hpp"

namespace rclrt_core
{

class SimPlatform::Impl : public std::enable_shared_from_this<SimPlatform::Impl>
{
public:
  using Lock = std::unique_lock<std::mutex>;

  explicit Impl(int cpus) : machine(cpus) {}

  Lock lock() { return Lock(mutex_); }
  /// The calling virtual thread; nullptr when the caller is not one of this sim.
  sim::VirtualThread * self() const;
  /// self(), which ends the process with a message if the caller is not a thread of this sim.
  sim::VirtualThread & self_or_abort(const char * call) const;

  Status run(std::function<void()> main_body, Duration limit);
  Status start(
    const ThreadOptions & options, std::function<void()> body,
    std::function<void(const Finding &)> on_finding, std::shared_ptr<sim::VirtualThread> * thread);
  /// Wait for `thread` in virtual time, then give its OS thread back.
  void join(sim::VirtualThread & thread);

  static Finding explain(
    const std::string & subject, const Attributes & attributes, int error_number);
  int apply(sim::VirtualThread * thread, const Attributes & attributes);
  /// Block the caller until make_ready() or `until`.
  void block(
    Lock & lock, sim::VirtualThread & self, sim::Reason reason, const void * key,
    const std::string & key_name, TimePoint until);
  /// Let a thread that is more urgent than the caller run; not while it holds a mutex that forbids that.
  void preemption_point(Lock & lock);
  /// Let the caller, or whoever is next, run.
  void dispatch(Lock & lock, sim::VirtualThread & self);
  /// The caller is at `point` of a call: what the test wants there, then the time the call takes.
  void pass_point(Lock & lock, Point point);
  /// Count a call that takes no virtual time, to notice a program that makes no progress.
  void count_step(Lock & lock);

  // All under lock():
  sim::Machine machine;
  std::set<SchedulingPolicy> refused;
  int64_t system_offset_ns = 1'000'000'000'000'000'000;  ///< 2001-09-09; no need of the real one
  Counts counts;
  Costs costs;
  std::shared_ptr<const Hook> hook;

private:
  void os_thread_main(sim::VirtualThread & self, std::function<void()> body);
  void pass_baton();
  void wait_for_baton(Lock & lock, sim::VirtualThread & self);
  void stop(const std::string & why);

  std::mutex mutex_;
  sim::VirtualThread * baton_ = nullptr;
  bool running_ = false;
  bool stopped_ = false;  ///< by stop(); for ever
  Status status_;
  std::condition_variable run_over_;
  std::vector<std::shared_ptr<sim::VirtualThread>> started_;  ///< OS threads not yet given back
  Duration limit_{0};
  TimePoint limit_time_ = kNever;
  int64_t steps_now_ = 0;
};

}  // namespace rclrt_core
