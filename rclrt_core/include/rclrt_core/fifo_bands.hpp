// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Global EDF in user space, on every kernel: the threads of the m earliest jobs have one SCHED_FIFO
/// priority, all others lower ones. m is the number of CPUs.
///
/// Exact for the jobs that run. Among those that wait, and only run when one of the former blocks, the
/// order is exact for about ten of them. Threads with a narrow affinity count as if they could run
/// everywhere: two of the m earliest that are confined to one CPU share it in the order of coming.
///
/// Cost of a start or stop: one lock, O(n) in the active jobs (below a microsecond for tens), and at
/// most two changes of a priority, of about a microsecond each; none as long as no more than m jobs are
/// active. It needs RLIMIT_RTPRIO of at least `run_priority`.
#ifndef RCLRT_CORE__FIFO_BANDS_HPP_
#define RCLRT_CORE__FIFO_BANDS_HPP_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "rclrt_core/deadline_scheduler.hpp"

namespace rclrt_core
{

class EdfMemory;

struct FifoBandsOptions
{
  /// Of the earliest jobs; 2 to 98. Those below it are for the others.
  int run_priority = 49;
  /// CPUs that the threads may use. 0: as many as the caller may. Processes that share a table and
  /// differ in this go by the smallest number of all that live, which is safe.
  int runners = 0;
  /// Processes that give the same name are ordered together, if they belong to the same user. Empty:
  /// this object alone. Linux only. Where systemd-logind removes the files of a user who logs out
  /// (RemoveIPC, for users that are no system users), processes that go on are not seen by those that
  /// start later: run them as a service or a system user, or set RemoveIPC=no.
  std::string shared_name;
};

class FifoBands final : public DeadlineScheduler
{
public:
  /// `platform` must outlive it. Errors: an impossible option; shared memory that cannot be had, is of
  /// another version, or may be opened by other users (the text names the file).
  static Status make(
    Platform & platform, const FifoBandsOptions & options, std::shared_ptr<FifoBands> * bands);
  ~FifoBands() override;

  const char * name() const noexcept override { return "fifo bands"; }
  Attributes above() const noexcept override;
  Status enter(Slot * slot) override;
  void leave(Slot slot) noexcept override;
  int start(Slot slot, TimePoint deadline) noexcept override;
  void stop(Slot slot) noexcept override;
  void forget(Slot slot) noexcept override;
  std::vector<Finding> findings() const override;

private:
  static constexpr std::size_t kMaxThreads = 4096;

  struct Seat
  {
    ThreadId thread = 0;   ///< 0: free
    int32_t priority = 0;  ///< in force while it has no job; 0: not known
  };

  FifoBands(Platform & platform, std::unique_ptr<EdfMemory> memory, int run_priority);

  Platform & platform_;
  const int run_priority_;
  const std::unique_ptr<Mutex> mutex_;  ///< protects all below; taken before the memory's lock
  const std::unique_ptr<EdfMemory> memory_;
  std::vector<Seat> seats_;  ///< room for kMaxThreads from the start
};

}  // namespace rclrt_core

#endif  // RCLRT_CORE__FIFO_BANDS_HPP_
