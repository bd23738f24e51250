// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The message between nodes, and the origins it carries.
#ifndef MESSAGE_HPP_
#define MESSAGE_HPP_

#include <array>
#include <chrono>
#include <cstdint>

#include "rclrt_reference_interfaces/msg/message4kb.hpp"
#include "rclrt_reference_system/scenario.hpp"

namespace rclrt_reference_system
{

using Message = rclrt_reference_interfaces::msg::Message4kb;
using Origin = rclrt_reference_interfaces::msg::Origin;
using Origins = std::array<Origin, kMaxHotPathRoots>;

static_assert(sizeof(Message) == 4096, "the message of [ROSRT §V-B] has 4 KB");
static_assert(Message::ORIGINS == kMaxHotPathRoots, "one place for each root of a hot path");

/// CLOCK_MONOTONIC. Real-time safe.
inline int64_t monotonic_ns() noexcept
{
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

}  // namespace rclrt_reference_system

#endif  // MESSAGE_HPP_
