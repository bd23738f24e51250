// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The records of an engine's jobs: those in the rings of its threads, those that threads left behind which have ended, and
/// those of jobs that did not run.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "order/ready.hpp"
#include "rclrt_core/callback.hpp"
#include "rclrt_core/job.hpp"
#include "rclrt_core/time.hpp"
#include "rclrt_core/trace_file.hpp"
#include "rclrt_trace/record.h"
#include "threads/worker.hpp"

namespace rclrt_core
{

/// The trace record of a job, as far as its release tells.
inline rclrt_job_record record_of(const Job & job, const Callback & callback) noexcept
{
  rclrt_job_record record{};
  record.release_ns = nanoseconds_of(job.release);
  record.ready_ns = nanoseconds_of(job.ready);
  record.deadline_ns = nanoseconds_of(job.deadline);
  record.sequence = job.sequence;
  record.callback = callback.id();
  record.preemptions = RCLRT_TRACE_UNKNOWN;
  record.cause = job.cause;
  record.cpu_ns = RCLRT_TRACE_UNKNOWN;
  record.root_ns = nanoseconds_of(job.root);
  record.message = RCLRT_TRACE_NO_MESSAGE;
  record.by_sequence = job.by_sequence;
  record.by_callback = job.by_callback;
  record.by_executor = job.by_engine;
  record.waited_for = job.waited_for;
  record.jobs = 1;
  return record;
}

/// The record of the job that the worker has run. It began on this CPU.
rclrt_job_record record_of(const Worker & worker, int cpu) noexcept;

/// From any thread. Its lock is the last one taken; it makes one reader of every ring.
class TraceLog
{
public:
  using Workers = std::vector<std::shared_ptr<Worker>>;

  /// Keeps at most `most_left` records of threads that have ended, for a user who reads seldom or never.
  TraceLog(Platform & platform, const TraceRing & given_up, std::size_t most_left)
  : mutex_(platform.make_mutex()),
    given_up_(given_up),
    given_up_reader_(given_up),
    most_left_(most_left)
  {
  }

  /// Their threads have ended.
  void keep(const Workers & ended);
  /// All records since the last call. Visited without the lock.
  void read(const Workers & workers, const std::function<void(const rclrt_job_record &)> & visit);
  /// Records that were overwritten before anybody read them.
  uint64_t dropped(const Workers & workers) const;

private:
  const std::unique_ptr<Mutex> mutex_;
  const TraceRing & given_up_;
  TraceReader given_up_reader_;
  const std::size_t most_left_;
  std::deque<rclrt_job_record> left_;
  uint64_t left_dropped_ = 0;
};

/// What records of this callback refer to.
TracedCallback traced(const CallbackNode & callback);

}  // namespace rclrt_core
