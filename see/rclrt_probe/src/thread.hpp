// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What the calling thread does: which job it is in, what it has taken and not begun yet.
///
/// A job begins and ends where the program says so (begin(), end()). Of a callback of which the program says nothing, it
/// is guessed: it begins when its message is taken or its timer called, and ends when the thread takes the next one or
/// waits. All is the thread's own, but for what it calls.
#pragma once

#include <cstdint>

#include "probe.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace rclrt_probe
{

/// What releases a job.
struct Release
{
  Callback * callback = nullptr;
  int64_t at_ns = 0;
  uint64_t publisher = 0;
  uint64_t message = RCLRT_TRACE_NO_MESSAGE;
  uint8_t cause = RCLRT_CAUSE_UNKNOWN;
};

/// Constant until its first use, so that it needs no constructor; see thread().
class Thread
{
public:
  /// The program says that a callback begins, or has ended.
  void begin(Probe & probe, Callback & callback, const void * key) noexcept;
  void end(Probe & probe, const void * key) noexcept;

  /// A message was taken, or a timer called.
  void released(Probe & probe, const Release & release) noexcept;
  /// As released(), by a queue of which nobody says whose it is: that of the callback that begins next.
  void dequeued(const Release & release) noexcept;
  /// It takes the next one, or waits: what was guessed to run has ended.
  /// An executor begins with what it has chosen.
  void executes(Probe & probe) noexcept;
  void goes_on(Probe & probe) noexcept;
  /// A guard condition was triggered. rclpy does so when a callback has ended.
  void triggered(const void * guard_condition) noexcept;
  /// Before and after waiting.
  void waits(Probe & probe, const void * wait_set) noexcept;
  void woken() noexcept;
  void published(Probe & probe, uint64_t publisher, uint64_t message, int64_t at_ns) noexcept;

  /// The callback of the job that it is in; null: none.
  Callback * callback() const noexcept
  {
    return depth_ > 0 ? jobs_[depth_ - 1].release.callback : nullptr;
  }
  Executor * executor() const noexcept { return executor_; }
  /// It ends, or another process goes on with a copy of it.
  void finish(Probe & probe) noexcept;
  void start_anew() noexcept;

  /// What the middleware says of the publication under way.
  int64_t source_timestamp = 0;

private:
  static constexpr unsigned kDepth = 6;  ///< jobs inside of jobs

  struct Job
  {
    Release release;
    const void * key = nullptr;  ///< null: guessed
    int64_t ready_ns = 0;
    int64_t start_ns = 0;
    uint64_t sequence = 0;
    rclrt_core::CpuMeter meter;
    bool is_measured = false;
    uint16_t cpu = 0;
    uint16_t executor = 0;
    // Guessed: the guard condition triggered first, how often, and when last.
    const void * guard_condition = nullptr;
    unsigned triggers = 0;
    int64_t triggered_ns = 0;
  };

  void push_job(Probe & probe, const Release & release, const void * key) noexcept;
  void pop_job(Probe & probe) noexcept;
  void write(Probe & probe, rclrt_job_record * record, uint16_t executor) noexcept;
  bool is_guessing() const noexcept { return depth_ > 0 && jobs_[depth_ - 1].key == nullptr; }

  Ring * ring_ = nullptr;
  int id_ = 0;
  Executor * executor_ = nullptr;
  Release taken_;
  unsigned depth_ = 0;
  Job jobs_[kDepth];
};

Thread & thread() noexcept;
int64_t now_ns() noexcept;

}  // namespace rclrt_probe
