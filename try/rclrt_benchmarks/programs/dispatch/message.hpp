// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What is published: when, and as which message of its publisher to that topic.
#ifndef MESSAGE_HPP_
#define MESSAGE_HPP_

#include <chrono>
#include <cstdint>

#include "rcl_interfaces/msg/integer_range.hpp"

namespace dispatch
{

/// Three numbers of 64 bits. `from_value`: nanoseconds of the steady clock. `to_value`: the number of the message.
using Message = rcl_interfaces::msg::IntegerRange;

inline Message message_of(std::chrono::steady_clock::time_point published, int64_t number)
{
  Message message;
  message.from_value = std::chrono::nanoseconds(published.time_since_epoch()).count();
  message.to_value = number;
  return message;
}

}  // namespace dispatch

#endif  // MESSAGE_HPP_
