// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A job: one released instance of a callback.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "rclrt_core/message_stamp.hpp"
#include "rclrt_core/time.hpp"
#include "rclrt_trace/record.h"

namespace rclrt_core
{

/// Its values are fixed when it is released, but for the deadline (see inherit_deadline()), `is_expected` and `priority`.
struct Job
{
  /// Nominal release: the timer's phase grid (lateness never shifts it), or arrival of the message.
  TimePoint release{};
  /// When the engine learned of the release.
  TimePoint ready{};
  /// Absolute deadline; kNever when none is in force.
  TimePoint deadline = kNever;
  /// Number within the engine, in order of release; breaks ties.
  uint64_t sequence = 0;
  /// Release of the first job in the line of jobs that led to this one, within the process.
  TimePoint root{};
  /// The job that has published what released this one, if `cause` is RCLRT_CAUSE_JOB: its number, its
  /// callback, and the number of its engine within the process.
  uint64_t by_sequence = 0;
  uint32_t by_callback = RCLRT_TRACE_NO_CALLBACK;
  uint16_t by_engine = 0;
  uint8_t cause = RCLRT_CAUSE_UNKNOWN;  ///< rclrt_job_cause
  /// rclrt_job_wait: what it found busy at its release.
  uint8_t waited_for : 2;
  /// The deadline is a guess after the callback's last message, until this one is taken.
  bool is_expected : 1;
  /// Priority of the callback when the job is taken; larger is more urgent.
  int priority = 0;

  Job() noexcept : waited_for(RCLRT_WAITED_FOR_NOTHING), is_expected(false) {}
  void found_busy(rclrt_job_wait what) noexcept { waited_for = what & 3; }
};

/// The job the calling thread executes now, or nullptr outside of callbacks. Messages that a
/// callback publishes inherit this job's deadline.
const Job * current_job() noexcept;

/// Whether the calling thread is the middleware's and runs a job all the same (see Engine::run_inline()).
bool runs_inline() noexcept;

/// The deadline of that job, for a message it is about to publish; kNever if there is none. For fan-in
/// (see Scheduling::relative_deadline), the job has handed its inputs on.
TimePoint deadline_to_publish() noexcept;

/// That job has taken a message which carries this deadline: from here on it counts for the job (as
/// the callback's options say), for the thread's urgency, and for the messages that it publishes.
/// kNever: the message carries none. Empty: not known; then an expected deadline is forgotten, but
/// a deadline from the job that published the message in this process stays. `stamp_ns`: the message's
/// stamp of the kind that deadline_counts_from() says, for a message whose deadline nobody here knows.
/// Real-time safe: one lock, and what DeadlineScheduler::start() costs.
void inherit_deadline(std::optional<TimePoint> carried, int64_t stamp_ns = kNoStamp) noexcept;

/// For the trace: that job has taken this message. `publisher` is that of publisher_in_trace(), `message` tells the
/// messages of a publisher apart: the source time stamp. Real-time safe, no lock. Does nothing outside of callbacks.
void note_taken(uint64_t publisher, uint64_t message) noexcept;

/// For the trace: that job has published this message. As note_taken().
void note_published(uint64_t publisher, uint64_t message) noexcept;

/// The `publisher` of trace records: FNV-1a of the 16 bytes of a GID. Never 0.
uint64_t publisher_in_trace(const std::array<uint8_t, 16> & gid) noexcept;

/// Stands in traces for the service that replies to the client with this GID: as the client, its last byte inverted.
uint64_t replier_in_trace(const std::array<uint8_t, 16> & client) noexcept;

/// A publication: a call of the calling thread that may release jobs while it holds locks of the middleware.
///
/// Put one around such a call. While it is open,
/// - a job that the thread releases is queued at once, but the thread that will run it is woken at the end;
/// - the publishing thread is at least as urgent as the most urgent job that it has released. So no job that
///   is less urgent than those holds the publication up.
/// At the end the most urgent of them is woken first, and the publishing thread gets back what it had. This
/// holds for every thread, also one that is not the engine's. It does not hold for callbacks that ask for
/// SCHED_DEADLINE: the publishing thread is given SCHED_FIFO 99 at the most.
///
/// Nests: only the outermost counts. Real-time safe: no allocation; at most one change of attributes each
/// time it releases something more urgent than before, and one at the end; on a thread that is not the
/// engine's two system calls more to read what it has. While it is open do not wait on this thread for an
/// engine to stop or end, and keep the engines' platforms.
class Publication
{
public:
  Publication() noexcept;
  ~Publication();
  Publication(const Publication &) = delete;
  Publication & operator=(const Publication &) = delete;
};

}  // namespace rclrt_core
