// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Work that has arrived behind a message of a clock: it is released when the timers are that this message makes due.
///
/// Two data structures without a thread or lock: the engine's lock protects them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "order/ready.hpp"

namespace rclrt_core
{

/// Arrivals in their order. Of the last kMost: then the oldest has to be released.
class Held
{
public:
  struct Arrival
  {
    CallbackNode * callback;  // null: it has gone
    std::size_t count;
    TimePoint time;
  };

  bool empty() const noexcept { return size_ == 0; }
  bool full() const noexcept { return size_ == kMost; }
  const Arrival & front() const noexcept { return arrivals_[first_]; }
  void push(const Arrival & arrival) noexcept
  {
    arrivals_[(first_ + size_) % kMost] = arrival;
    ++size_;
  }
  Arrival pop() noexcept
  {
    const Arrival arrival = front();
    first_ = (first_ + 1) % kMost;
    --size_;
    return arrival;
  }
  /// Returns how many it held of this callback. O(kMost).
  std::size_t forget(const CallbackNode & callback) noexcept
  {
    std::size_t forgotten = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      Arrival & arrival = arrivals_[(first_ + i) % kMost];
      if (arrival.callback == &callback) {
        forgotten += arrival.count;
        arrival.callback = nullptr;
      }
    }
    return forgotten;
  }

private:
  static constexpr std::size_t kMost = 64;

  std::array<Arrival, kMost> arrivals_{};
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

/// The callbacks that set clocks. O(n) in them, which are one a node.
struct ClockSetters
{
  std::vector<CallbackNode *> all;  // changed under both locks

  /// When the oldest message arrived that has not been seen to; kNever: there is none.
  TimePoint waiting_since() const noexcept
  {
    TimePoint since = kNever;
    for (const CallbackNode * callback : all) {
      since = std::min(since, callback->clock_waits_since);
    }
    return since;
  }
};

}  // namespace rclrt_core
