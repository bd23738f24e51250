// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

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
#ifndef RCLRT_CORE__FIFO_BANDS_HPP_
#define RCLRT_CORE__FIFO_BANDS_HPP_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "rclrt_core/deadline_scheduler.hpp"

namespace rclrt_core
{

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

#endif  // RCLRT_CORE__FIFO_BANDS_HPP_
