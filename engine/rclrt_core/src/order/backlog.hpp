// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The waiting jobs of one callback: a count, with release stamps for up to 4 of them.
///
///   oldest [ stamped ... ][ unstamped, all with the stamp of the first of them ] newest
///   or     [ unstamped    ][ stamped ... ]       once the older stamped ones have gone
///
/// Memory is fixed when it is made: min(depth, 4) stamps, and one more if the depth is above that. A
/// job beyond that is given the stamp of a neighbour; stamps go forward all the same, so that a deep
/// backlog does not stay the oldest for ever. Not thread-safe: the engine's lock protects it.
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
  using Stamp = ReleaseStamp;

  /// More jobs than that only ever wait in an overload.
  static constexpr uint32_t kMaxStamps = 4;

  explicit Backlog(uint32_t depth)
  : depth_(depth),
    capacity_(std::min(depth, kMaxStamps)),
    stamps_(new Stamp[capacity_ + (depth > capacity_ ? 1 : 0)])
  {
  }

  bool empty() const noexcept { return count_ == 0; }
  uint32_t depth() const noexcept { return depth_; }
  uint32_t size() const noexcept { return count_; }

  /// The oldest job, but for its priority. Not empty.
  const Stamp & front() const noexcept
  {
    return unstamped_first_ ? unstamped_stamp() : stamps_[first_];
  }

  /// The earliest deadline of all jobs that wait; not empty. At most 5 steps.
  TimePoint earliest_deadline() const noexcept
  {
    TimePoint earliest = unstamped_ > 0 ? unstamped_stamp().deadline : kNever;
    for (uint32_t i = 0; i < stamped_; ++i) {
      earliest = std::min(earliest, stamps_[(first_ + i) % capacity_].deadline);
    }
    return earliest;
  }

  /// `count` jobs alike, but for their numbers: the first one's is in `stamp`. The oldest have to make room
  /// for them; returns how many did. Not more than the depth. At most 20 steps, however many they are.
  uint32_t push(Stamp stamp, uint32_t count) noexcept
  {
    const uint32_t dropped = count > depth_ - count_ ? count - (depth_ - count_) : 0;
    drop(dropped);
    while (count > 0) {
      const bool newest_are_unstamped = unstamped_ > 0 && !unstamped_first_;
      const bool rest_is_older = unstamped_first_ && stamped_ == capacity_ && count > capacity_;
      const uint32_t only_counted = newest_are_unstamped ? count
                                    : rest_is_older      ? count - capacity_
                                                         : 0;
      unstamped_ += only_counted;
      count_ += only_counted;
      stamp.sequence += only_counted;
      count -= only_counted;
      if (count > 0) {
        push(stamp);
        ++stamp.sequence;
        --count;
      }
    }
    return dropped;
  }

  /// Not full.
  void push(const Stamp & stamp) noexcept
  {
    ++count_;
    if (unstamped_ > 0 && !unstamped_first_) {
      ++unstamped_;
      return;
    }
    if (stamped_ == capacity_) {
      // No room. The unstamped run takes the oldest stamp over, or begins with this job.
      ++unstamped_;
      if (!unstamped_first_) {
        unstamped_stamp() = stamp;
        return;
      }
      unstamped_stamp() = take_stamp();
    }
    stamps_[(first_ + stamped_) % capacity_] = stamp;
    ++stamped_;
  }

  /// Remove the oldest job and return it. Not empty.
  Stamp pop() noexcept
  {
    --count_;
    if (unstamped_first_) {
      unstamped_first_ = --unstamped_ > 0;
      return unstamped_stamp();
    }
    const Stamp stamp = take_stamp();
    unstamped_first_ = stamped_ == 0 && unstamped_ > 0;
    return stamp;
  }

  void clear() noexcept
  {
    count_ = stamped_ = unstamped_ = 0;
    unstamped_first_ = false;
  }

private:
  /// The oldest `count`.
  void drop(uint32_t count) noexcept
  {
    while (count > 0) {
      if (unstamped_first_) {
        const uint32_t at_once = std::min(count, unstamped_);
        unstamped_ -= at_once;
        count_ -= at_once;
        count -= at_once;
        unstamped_first_ = unstamped_ > 0;
      } else {
        pop();
        --count;
      }
    }
  }

  Stamp take_stamp() noexcept
  {
    const Stamp stamp = stamps_[first_];
    first_ = (first_ + 1) % capacity_;
    --stamped_;
    return stamp;
  }

  /// The stamp of all jobs that have none of their own. Only a depth above the capacity ever has such jobs.
  Stamp & unstamped_stamp() noexcept { return stamps_[capacity_]; }
  const Stamp & unstamped_stamp() const noexcept { return stamps_[capacity_]; }

  uint32_t depth_;
  uint32_t capacity_;
  uint32_t count_ = 0;            // jobs waiting
  uint32_t stamped_ = 0;          // of them with a stamp of their own
  uint32_t first_ = 0;            // index of the oldest stamp
  uint32_t unstamped_ = 0;        // of them without
  bool unstamped_first_ = false;  // these are older than the stamped ones
  std::unique_ptr<Stamp[]> stamps_;
};

}  // namespace rclrt_core

#endif  // BACKLOG_HPP_
