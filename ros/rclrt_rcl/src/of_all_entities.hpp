// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What clients, services and subscriptions share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "rclrt_rcl/error.hpp"
#include "rclrt_rcl/qos.hpp"

namespace rclrt_rcl::detail
{

/// For lines of the log that each message or request could cause: a warning "<subject><what>". Within a second of the
/// last one with this subject it is only counted, and the next one says how many were left out. Thread-safe; as slow as
/// the log.
void warn_rarely(const Logger & logger, const std::string & subject, const std::string & what);

/// How many jobs may wait for what comes with a quality of service: the actual one, in which the middleware has put its
/// own depth in place of the system's default.
inline uint32_t queue_depth(const QoS & qos)
{
  // No middleware keeps more in practice. A job that waits costs no memory.
  constexpr std::size_t kMost = 1U << 20;
  return static_cast<uint32_t>(
    qos.is_keep_all() ? kMost : std::clamp<std::size_t>(qos.depth(), 1, kMost));
}

}  // namespace rclrt_rcl::detail
