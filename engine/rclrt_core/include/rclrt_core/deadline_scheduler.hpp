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
#ifndef RCLRT_CORE__DEADLINE_SCHEDULER_HPP_
#define RCLRT_CORE__DEADLINE_SCHEDULER_HPP_

#include <cstdint>
#include <vector>

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/finding.hpp"
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

  /// As reports name it: "fifo bands", "sched_ext".
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
  /// As stop(), and the caller is about to give the thread other attributes.
  virtual void forget(Slot slot) noexcept = 0;

  /// CPU time by deadlines: so much is left in the period under way, and so much there is in each.
  struct Limit
  {
    Duration left{0};
    Duration runtime{0};
    Duration period{0};
  };
  /// The job that the slot's thread runs has a budget; without a period: it has none. When that is used up, others with
  /// deadlines go first. The engine watches budgets itself. This is for when its watch comes too late, so a scheduler
  /// that cannot do it does nothing. Also while another function is called for the slot. Real-time safe; takes no lock, and does not
  /// call the OS.
  virtual void limit(Slot, const Limit &) noexcept {}

  /// Whether it orders anything. Once false, it stays so; then start() changes nothing, and another
  /// one is needed. Real-time safe.
  virtual bool in_force() const noexcept { return true; }
  /// Faults that were found and repaired so far. May allocate.
  virtual std::vector<Finding> findings() const = 0;
};

}  // namespace rclrt_core

#endif  // RCLRT_CORE__DEADLINE_SCHEDULER_HPP_
