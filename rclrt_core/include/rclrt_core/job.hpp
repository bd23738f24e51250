// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A job: one released instance of a callback.
#ifndef RCLRT_CORE__JOB_HPP_
#define RCLRT_CORE__JOB_HPP_

#include <cstdint>
#include <optional>

#include "rclrt_core/time.hpp"

namespace rclrt_core
{

/// The values that are fixed when a job is released.
struct ReleaseStamp
{
  /// Nominal release: the timer's phase grid (lateness never shifts it), or arrival of the message.
  TimePoint release{};
  /// When the engine learned of the release.
  TimePoint ready{};
  /// Absolute deadline; kNever when none is in force.
  TimePoint deadline = kNever;
  /// The deadline is a guess after the callback's last message, until this one is taken.
  bool is_expected = false;
  /// Number within the engine, in order of release; breaks ties.
  uint64_t sequence = 0;
};

struct Job : ReleaseStamp
{
  /// Priority of the callback; larger is more urgent.
  int priority = 0;
};

/// The job the calling thread executes now, or nullptr outside of callbacks. Messages that a
/// callback publishes inherit this job's deadline.
const Job * current_job() noexcept;

/// The deadline of that job, for a message it is about to publish; kNever if there is none. For fan-in
/// (see Scheduling::relative_deadline), the job has handed its inputs on.
TimePoint deadline_to_publish() noexcept;

/// That job has taken a message which carries this deadline: from here on it counts for the job (as
/// the callback's options say), for the thread's urgency, and for the messages that it publishes.
/// kNever: the message carries none. Empty: not known; then an expected deadline is forgotten, but
/// a deadline from the job that published the message in this process stays. Real-time safe: one
/// lock, and what DeadlineScheduler::start() costs.
void inherit_deadline(std::optional<TimePoint> carried) noexcept;

}  // namespace rclrt_core

#endif  // RCLRT_CORE__JOB_HPP_
