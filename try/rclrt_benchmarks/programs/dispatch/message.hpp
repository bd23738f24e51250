// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What is published: when, as which message of its publisher to that topic, and bytes.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>

#include "rcl_interfaces/msg/parameter_value.hpp"

namespace dispatch
{

using Message = rcl_interfaces::msg::ParameterValue;

/// Nanoseconds of the steady clock.
inline int64_t time_of(const Message & message) { return message.integer_value; }
inline int64_t number_of(const Message & message) { return std::llround(message.double_value); }

/// Keeps its bytes.
inline void stamp(
  Message & message, std::chrono::steady_clock::time_point published, int64_t number)
{
  message.integer_value = std::chrono::nanoseconds(published.time_since_epoch()).count();
  message.double_value = static_cast<double>(number);
}

}  // namespace dispatch
