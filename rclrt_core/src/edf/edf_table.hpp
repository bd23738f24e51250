// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The active jobs of a machine in the order of their deadlines, and which SCHED_FIFO priority each
/// thread has for it.
///
///   index      0 ... m-1          m ... count-1
///   priority   kRun               below it, falling with the index as far as there is room
///
/// With m CPUs the first m jobs have one each. When a job comes, goes or changes its deadline, the
/// first m change by at most one job, so at most two threads change their priority: its own and that
/// of the job which moves across the line. Those below the line
/// only run when one of the first m blocks; their order is exact while there are priorities between
/// two neighbours, else neighbours share one and the OS runs them in the order of their coming.
///
/// Plain memory: several processes may share it, any content is safe to work on once is_usable() has
/// said so, and every loop is bounded by kMaxJobs. Who calls holds the table's lock.
#ifndef EDF__EDF_TABLE_HPP_
#define EDF__EDF_TABLE_HPP_

#include <cstddef>
#include <cstdint>

namespace rclrt_core
{

/// Numbers of threads and processes are given out again: only with the time at which its process began
/// is a thread the same as before.
struct EdfThread
{
  int32_t process;
  int32_t thread;
  uint32_t born;

  bool is_of_the_process_of(const EdfThread & other) const noexcept
  {
    return process == other.process && born == other.born;
  }
  friend bool operator==(const EdfThread & a, const EdfThread & b) noexcept
  {
    return a.thread == b.thread && a.is_of_the_process_of(b);
  }
};

struct EdfJob
{
  int64_t deadline_ns;
  uint64_t arrival;  ///< among equal deadlines the later one goes first
  EdfThread who;
  int32_t priority;  ///< in force; 0: not known
};

struct EdfTable
{
  static constexpr uint32_t kMaxJobs = 1024;

  uint32_t runners;      ///< m
  int32_t run_priority;  ///< kRun; 1 to run_priority - 1 are for those that wait
  uint32_t count;
  uint32_t reserved;
  uint64_t arrivals;
  EdfJob jobs[kMaxJobs];  ///< the first `count`, ordered
};

/// What the table asks of the machine.
class EdfHost
{
public:
  virtual ~EdfHost() = default;
  /// SCHED_FIFO with this priority. 0 or errno; ESRCH: there is no such thread any more.
  virtual int set_priority(const EdfThread & who, int32_t priority) noexcept = 0;
  /// Of a thread of another process.
  virtual bool is_alive(const EdfThread & who) noexcept = 0;
};

/// Whether the functions below are safe on it. Cheap.
bool is_usable(const EdfTable & table) noexcept;
/// Whether, besides, the jobs are possible ones, in order, and one a thread. O(n^2).
bool is_sound(const EdfTable & table) noexcept;

/// Empty, for `runners` CPUs.
void clear(EdfTable & table, uint32_t runners, int32_t run_priority) noexcept;

/// `who` has a job with this deadline from now on, whether it had one or not. `priority` is what it
/// has, if it had none; on return what it has now. Returns 0, ENOSPC, or the errno with which the OS
/// refused the thread's priority; then it has no job.
int start(
  EdfTable & table, EdfHost & host, const EdfThread & who, int64_t deadline_ns,
  int32_t * priority) noexcept;

/// Its job is over, if it had one; then `priority` is what the thread was left with.
void stop(EdfTable & table, EdfHost & host, const EdfThread & who, int32_t * priority) noexcept;

/// Remove jobs of threads that are gone; of all processes but that of `us`.
void remove_dead(EdfTable & table, EdfHost & host, const EdfThread & us) noexcept;

}  // namespace rclrt_core

#endif  // EDF__EDF_TABLE_HPP_
