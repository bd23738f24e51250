// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The waiting jobs of one callback: a count, with release stamps for the oldest few.
///
/// Memory is fixed when it is made: min(depth, 16) stamps. A job that arrived while the stamps were
/// full is given the stamp of the job before it: its release and deadline are then too early, never
/// too late. Not thread-safe: the engine's lock protects it.
#ifndef BACKLOG_HPP_
#define BACKLOG_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rclrt_core/job.hpp"

namespace rclrt_core
{

class Backlog
{
public:
  /// Enough to stamp every job at the queue depths in use; more jobs than that only ever wait in an
  /// overload.
  static constexpr uint32_t kMaxStamps = 16;

  explicit Backlog(uint32_t depth)
  : depth_(depth), capacity_(std::min(depth, kMaxStamps)), stamps_(new Job[capacity_])
  {
  }

  bool empty() const noexcept { return count_ == 0; }
  bool full() const noexcept { return count_ == depth_; }
  uint32_t size() const noexcept { return count_; }

  /// The oldest job. Not empty.
  const Job & front() const noexcept { return stamped_ > 0 ? stamps_[first_] : last_popped_; }

  /// Not full.
  void push(const Job & job) noexcept
  {
    // Only an unbroken run of the oldest jobs is stamped.
    if (stamped_ == count_ && stamped_ < capacity_) {
      stamps_[(first_ + stamped_) % capacity_] = job;
      ++stamped_;
    }
    ++count_;
  }

  /// Remove the oldest job and return it. Not empty.
  Job pop() noexcept
  {
    if (stamped_ > 0) {
      last_popped_ = stamps_[first_];
      first_ = (first_ + 1) % capacity_;
      --stamped_;
    }
    --count_;
    return last_popped_;
  }

  void clear() noexcept { count_ = stamped_ = 0; }

private:
  uint32_t depth_;
  uint32_t capacity_;
  uint32_t count_ = 0;    // jobs waiting
  uint32_t stamped_ = 0;  // of which the oldest have stamps
  uint32_t first_ = 0;    // index of the oldest stamp
  Job last_popped_;
  std::unique_ptr<Job[]> stamps_;
};

}  // namespace rclrt_core

#endif  // BACKLOG_HPP_
