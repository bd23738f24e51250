// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What a waitable has announced and nobody has taken yet: a count for each of its entity ids.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "rclrt_front_end/process_platform.hpp"

namespace rclrt_rclcpp
{

/// Entity id and how often.
using EventCounts = std::vector<std::pair<int, std::size_t>>;

/// Thread-safe; its lock inherits priorities. Allocates only when an id is seen for the first time.
class WaitableEvents
{
public:
  /// At most `max_count` events of one id are remembered.
  explicit WaitableEvents(std::size_t max_count) : max_count_(max_count) {}

  void push(std::size_t count, int id)
  {
    const std::lock_guard<rclrt_front_end::PiMutex> lock(mutex_);
    auto known = std::find_if(
      counts_.begin(), counts_.end(), [id](const auto & entry) { return entry.first == id; });
    if (known == counts_.end()) {
      known = counts_.insert(known, {id, 0});
    }
    known->second = std::min(known->second + count, max_count_);
  }

  /// The ids take turns. Returns false when there is none.
  bool pop(int * id)
  {
    const std::lock_guard<rclrt_front_end::PiMutex> lock(mutex_);
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      auto & entry = counts_[(next_ + i) % counts_.size()];
      if (entry.second > 0) {
        --entry.second;
        next_ = (next_ + i + 1) % counts_.size();
        *id = entry.first;
        return true;
      }
    }
    return false;
  }

  EventCounts counts() const
  {
    const std::lock_guard<rclrt_front_end::PiMutex> lock(mutex_);
    return counts_;
  }

private:
  const std::size_t max_count_;
  mutable rclrt_front_end::PiMutex mutex_;
  EventCounts counts_;
  std::size_t next_ = 0;
};

}  // namespace rclrt_rclcpp
