// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What happened, kept without allocation: one log a callback, written by whoever runs it.
///
/// A log has one writer at a time (its callback's group is mutually exclusive) and is read after the
/// executor has stopped; so it needs no lock. Beyond its capacity it only counts.
#ifndef JOB_LOG_HPP_
#define JOB_LOG_HPP_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "message.hpp"

namespace rclrt_reference_system
{

/// One job of a callback. All times CLOCK_MONOTONIC.
struct JobSample
{
  int64_t release_ns = 0;     ///< a timer's nominal release, or arrival at the middleware
  int64_t start_ns = 0;       ///< the callback began
  int64_t end_ns = 0;         ///< it returned, all published
  int64_t sent_ns = 0;        ///< the sender published what it received; 0 for a timer
  uint64_t in_sequence = 0;   ///< number of what it received at its publisher; 0 for a timer
  uint64_t out_sequence = 0;  ///< number of what it published; 0 if nothing
  int64_t away_ns = 0;  ///< its thread did not run in the middle of its work, see BusyWork::run()
};

/// One time that data of a root of the hot path reached the start of the sink's work.
struct HotPathSample
{
  Origins origins;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

template <typename Sample>
class SampleLog
{
public:
  /// All memory is touched here.
  explicit SampleLog(std::size_t capacity = 0) : samples_(capacity) {}

  /// Real-time safe.
  void add(const Sample & sample) noexcept
  {
    if (size_ < samples_.size()) {
      samples_[size_++] = sample;
    } else {
      ++lost_;
    }
  }

  const Sample * begin() const noexcept { return samples_.data(); }
  const Sample * end() const noexcept { return samples_.data() + size_; }
  std::size_t size() const noexcept { return size_; }
  /// Samples for which there was no room.
  uint64_t lost() const noexcept { return lost_; }

private:
  std::vector<Sample> samples_;
  std::size_t size_ = 0;
  uint64_t lost_ = 0;
};

using JobLog = SampleLog<JobSample>;
using HotPathLog = SampleLog<HotPathSample>;

}  // namespace rclrt_reference_system

#endif  // JOB_LOG_HPP_
