// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Time in messages, and back.
#ifndef RCLRT_RCL__TIME_MESSAGE_HPP_
#define RCLRT_RCL__TIME_MESSAGE_HPP_

#include <chrono>
#include <cstdint>

#include "builtin_interfaces/msg/time.hpp"

namespace rclrt_rcl
{

/// `time` since 1970, not negative and before 2106.
inline builtin_interfaces::msg::Time to_message(std::chrono::nanoseconds time)
{
  constexpr int64_t kNanosecondsPerSecond = 1000000000;
  builtin_interfaces::msg::Time message;
  message.sec = static_cast<int32_t>(time.count() / kNanosecondsPerSecond);
  message.nanosec = static_cast<uint32_t>(time.count() % kNanosecondsPerSecond);
  return message;
}

inline std::chrono::nanoseconds from_message(const builtin_interfaces::msg::Time & message)
{
  return std::chrono::seconds(message.sec) + std::chrono::nanoseconds(message.nanosec);
}

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__TIME_MESSAGE_HPP_
