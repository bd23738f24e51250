// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The active jobs that a process knows of, its own and those of others, in the order of their
/// deadlines, and which SCHED_FIFO priority each of its own threads has for it.
///
///   index      0 ... m-1          m ... count-1
///   priority   kRun               below it, falling with the index as far as there is room
///
/// With m CPUs the first m jobs have one each. When a job comes, goes or changes its deadline, the
/// first m change by at most one job, so at most two threads change their priority: its own and that
/// of the job which moves across the line. Those below the line only run when one of the first m
/// blocks; their order is exact while there are priorities between two neighbours, else neighbours
/// share one and the OS runs them in the order of their coming.
///
/// The table is private memory of its process. It changes its own threads only. A job of another process
/// is a row to compare with: if its thread should have another priority, that process is named to the
/// host, which rings its bell. Whatever another process claims, own jobs stay in the order of their deadlines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "edf/edf_region.hpp"

namespace rclrt_core
{

struct EdfJob
{
  int64_t deadline_ns;
  uint64_t arrival;  ///< among equal deadlines the later one goes first
  int32_t thread;    ///< 0: of another process
  uint32_t process;  ///< which other one: its number in the host; 0 for own jobs
  int32_t priority;  ///< in force; 0: not known
};

/// What the table asks of the machine.
class EdfHost
{
public:
  virtual ~EdfHost() = default;
  /// SCHED_FIFO with this priority, for a thread of this process. 0 or errno; ESRCH: there is no such
  /// thread any more.
  virtual int set_priority(int32_t thread, int32_t priority) noexcept = 0;
  /// A job of that process has a priority that it should not have.
  virtual void is_wrong(uint32_t process) noexcept = 0;
};

class EdfTable
{
public:
  /// Own jobs; as many again are kept of other processes.
  static constexpr uint32_t kMaxJobs = 1024;

  /// For `runners` CPUs; priorities 1 to run_priority - 1 are for jobs that wait.
  EdfTable(uint32_t runners, int32_t run_priority);

  // None of the rest allocates. O(n) in the active jobs.

  uint32_t runners() const noexcept { return runners_; }
  void set_runners(uint32_t runners) noexcept;

  /// `thread` has a job with this deadline from now on, whether it had one or not. `priority` is what
  /// the thread has, if it had no job; 0: not known. False: no room.
  bool put(int32_t thread, int64_t deadline_ns, uint64_t arrival, int32_t priority) noexcept;
  /// The job of `thread` is over, if it had one; then `priority` is what the thread is left with.
  void remove(int32_t thread, int32_t * priority) noexcept;

  /// The jobs of another process (a number from 1) are these from now on. Those that find no room are
  /// left out.
  void replace_others(uint32_t process, const EdfCopy & copy) noexcept;
  void remove_others(uint32_t process) noexcept;

  /// Give every own job whose place is on the other side of the line the priority of its place; that of
  /// `self` last (0: of nobody), so that a thread that lowers itself is not preempted on the way.
  /// Returns the errno with which the OS refused the priority of `self`; then `self` has no job any
  /// more. `priority` is what `self` has now.
  int settle(EdfHost & host, int32_t self, int32_t * priority) noexcept;

  /// The own jobs, the earliest first, at most EdfCopy::kMaxJobs. Returns how many.
  uint32_t own(EdfPublished * jobs) const noexcept;
  /// If the job of `thread` is below the line: one of those above it that is another process'. Each
  /// call for a later `turn` looks at the next one. 0: there is none.
  uint32_t process_in_the_way_of(int32_t thread, uint64_t turn) const noexcept;

  const std::vector<EdfJob> & jobs() const noexcept { return jobs_; }

private:
  uint32_t index_of(int32_t thread) const noexcept;
  void insert(const EdfJob & job) noexcept;
  void erase(uint32_t index) noexcept;
  int32_t waiting_priority(uint32_t index) const noexcept;
  bool settle_one(EdfHost & host, uint32_t index, int * error) noexcept;
  void settle_others(EdfHost & host, int32_t self) noexcept;

  uint32_t runners_;
  const int32_t run_priority_;
  uint32_t own_count_ = 0;
  int32_t unsettled_ =
    0;  ///< its priority is that of the place it had before: no neighbour to go by
  std::vector<EdfJob> jobs_;  ///< room for twice kMaxJobs from the start
};

}  // namespace rclrt_core
