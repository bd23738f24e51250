// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The trace record of a job, as far as its release tells.
#ifndef RECORD_HPP_
#define RECORD_HPP_

#include <cstdint>

#include "rclrt_core/callback.hpp"
#include "rclrt_core/job.hpp"
#include "rclrt_core/time.hpp"
#include "rclrt_trace/record.h"

namespace rclrt_core
{

inline rclrt_job_record record_of(const ReleaseStamp & job, const Callback & callback) noexcept
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

}  // namespace rclrt_core

#endif  // RECORD_HPP_
