// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Has the operating system run threads in the order of the absolute deadlines of their jobs:
/// preemptive global EDF. It is what `scheduling_policy: ext` stands for.
///
///              enter()          start()
///   (nobody)  -------->  idle  --------->  active: has a deadline, competes for a CPU
///                         ^  \  <--------    |  ^ start(): another deadline
///                         |   \   stop()     +--+
///                         |    forget(): somebody gives the thread other attributes
///
/// The engine has one slot for each of its threads. A thread that wakes another one starts it
/// first, so that the other has its urgency before it asks for a CPU. If a more urgent job waits
/// for the group of a running thread, that thread is started again with the deadline of the waiting
/// job.
///
/// Implementations: FifoBands, on every kernel; a scheduler loaded into the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/platform.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_core
{

class DeadlineScheduler
{
public:
  using Slot = uint32_t;

  virtual ~DeadlineScheduler() = default;

  /// Reports name it so: "fifo bands", "sched_ext".
  virtual const char * name() const noexcept = 0;
  /// The least urgent attributes that go before every thread it orders. For threads that release
  /// jobs.
  virtual Attributes above() const noexcept = 0;

  /// A slot for the calling thread. May allocate. Error: no room, or not available any more.
  virtual Status enter(Slot * slot) = 0;
  /// The thread is about to end. From any thread. The slot is free from here on.
  virtual void leave(Slot slot) noexcept = 0;

  // From any thread, but for one slot never two at once. Real-time safe.

  /// The thread runs, or is about to be woken for, a job with this deadline (which may be past, or
  /// kNever: after all others). The thread may also be on its way to sleep and wait for a CPU: then
  /// the OS is told, too. Returns 0, or the errno with which the OS refused the urgency; then the
  /// slot is idle. ENOSPC: there is no room now; it is asked again for the next job.
  virtual int start(Slot slot, TimePoint deadline) noexcept = 0;
  /// Called by the thread itself, without any lock, after a start() with a later deadline than
  /// before: another thread may be earlier now. Real-time safe.
  virtual void give_way() noexcept {}
  /// Its job is over and it is about to sleep. It keeps the scheduling class.
  virtual void stop(Slot slot) noexcept = 0;
  /// Does what stop() does; the caller is about to give the thread other attributes.
  virtual void forget(Slot slot) noexcept = 0;

  /// CPU time by deadlines: so much is left in the period under way, and so much there is in each.
  struct Limit
  {
    Duration left{0};
    Duration runtime{0};
    Duration period{0};
  };
  /// The job that the slot's thread runs has a budget; a limit without a period: it has none. When it is used up, other
  /// threads with deadlines go first. The engine enforces budgets itself; this is for when its enforcer comes too late. So a
  /// scheduler that cannot do it does nothing. May be called while another function is called for the slot. Real-time
  /// safe; takes no lock, and does not call the OS.
  virtual void limit(Slot, const Limit &) noexcept {}

  /// Whether it orders anything. Once false, it stays so; then start() changes nothing, and another
  /// one is needed. Real-time safe.
  virtual bool in_force() const noexcept { return true; }
  /// Faults that were found and repaired so far. May allocate.
  virtual std::vector<Finding> findings() const = 0;
};

/// Global EDF in user space, on every kernel: the threads of the m earliest jobs have one SCHED_FIFO
/// priority, all others lower ones. m is the number of CPUs.
///
/// The order is exact for the jobs that run. Other jobs run only when one of these blocks; the
/// order is exact for about ten of them. Threads with a narrow affinity count as if they could run
/// everywhere: if two of the m earliest are confined to one CPU, they share it in the order in
/// which they come.
///
/// Cost of a start or stop: one lock of this process, O(n) in the active jobs (below a microsecond for
/// tens), and at most two changes of a priority, of about a microsecond each; none as long as no more
/// than m jobs are active. It needs RLIMIT_RTPRIO of at least `run_priority`, and one more for processes
/// to give way to each other at once.
///
/// With a shared_name, each process publishes its deadlines and changes the priorities of its own threads
/// only. If a thread of another process has to give way, that process is told and does it itself,
/// some ten microseconds later. Nothing here ever waits for another process. A stopped process is
/// left out of the order until it goes on; findings() says so.
struct FifoBandsOptions
{
  /// Priority of the earliest jobs, 2 to 98. The priorities below it are for the other jobs.
  int run_priority = 49;
  /// CPUs that the threads may use. 0: as many as the caller may. Processes that share a table and
  /// differ in this go by the smallest number of all that live, which is safe.
  int runners = 0;
  /// Processes that give the same name are ordered together, if they belong to the same user and PID
  /// namespace, and all or none of them have CAP_SYS_NICE. Empty: this object alone. Linux only. It starts
  /// one thread, which sleeps until another process asks for something.
  std::string shared_name;
};

/// After fork() the child makes its own object: in the child, start() of the parent's object does
/// nothing and returns ESRCH.
class FifoBands final : public DeadlineScheduler
{
public:
  /// `platform` must outlive it. Errors: an impossible option; there is no directory that only this user
  /// can write, no /proc, or no memory or thread to be had (the text says which). May block.
  static Status make(
    Platform & platform, const FifoBandsOptions & options, std::shared_ptr<FifoBands> * bands);
  ~FifoBands() override;

  /// The order in force:
  /// - "fifo bands": with all processes that use the same shared_name; findings() names those that are
  ///   left out
  /// - "fifo bands (this process only)": without a shared_name
  /// - "fifo bands (refused)": the OS refused the last change of a priority, or all since the run
  ///   priority was granted last; jobs run without an order by deadlines
  /// Real-time safe.
  const char * name() const noexcept override;
  Attributes above() const noexcept override;
  Status enter(Slot * slot) override;
  void leave(Slot slot) noexcept override;
  int start(Slot slot, TimePoint deadline) noexcept override;
  void stop(Slot slot) noexcept override;
  void forget(Slot slot) noexcept override;
  std::vector<Finding> findings() const override;

private:
  static constexpr std::size_t kMaxThreads = 4096;

  class Impl;

  FifoBands(Platform & platform, std::unique_ptr<Impl> impl, int run_priority);

  Platform & platform_;
  const int run_priority_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rclrt_core
