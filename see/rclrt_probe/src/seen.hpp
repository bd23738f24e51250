// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Which parts of ROS 2 have called, to say in the end what could not be seen.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace rclrt_probe
{

enum class Point : uint8_t
{
  kNode,       ///< rcl_node_init
  kEntity,     ///< rcl_subscription_init, rcl_timer_init, ...
  kPublisher,  ///< rmw_publisher_init
  kCallback,   ///< rclcpp_..._callback_added
  kSymbol,     ///< rclcpp_callback_register
  kGroup,      ///< rclcpp::CallbackGroup::add_...
  kStart,      ///< callback_start
  kEnd,        ///< callback_end
  kAnnounced,  ///< a release of a callback of which callback_start should tell
  kBareTimer,  ///< callback_start of a timer that nobody was seen to call
  kBareMessage,  ///< callback_start of a subscription or a service for which nothing was seen to be taken
  kTimerCall,        ///< rcl_timer_call_with_info, rclrt_probe_timer_released
  kWait,             ///< rcl_wait
  kPublish,          ///< rmw_publish
  kTake,             ///< rmw_take_with_info
  kGuessed,          ///< a job whose begin and end were guessed
  kUnknownCallback,  ///< callback_start of a callback that nobody has announced
  kUnknownEntity,    ///< a take from an entity that nobody has announced
  kUnseenJob,  ///< a take outside of a thread that waits on a wait set, and no callback_start after it
  kNoRing,     ///< a record without a ring
  kCount
};

class Seen
{
public:
  /// Relaxed: counts by themselves. After the first time it costs a load.
  void note(Point point) noexcept
  {
    std::atomic<bool> & seen = seen_[static_cast<std::size_t>(point)];
    if (!seen.load(std::memory_order_relaxed)) {
      seen.store(true, std::memory_order_relaxed);
    }
  }
  bool has(Point point) const noexcept
  {
    return seen_[static_cast<std::size_t>(point)].load(std::memory_order_relaxed);
  }
  /// What is missing and why, one thing a line; empty: nothing.
  std::string missing(bool is_full) const;

private:
  std::array<std::atomic<bool>, static_cast<std::size_t>(Point::kCount)> seen_{};
};

}  // namespace rclrt_probe
