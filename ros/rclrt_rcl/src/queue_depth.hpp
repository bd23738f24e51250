// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// How many jobs may wait for what comes with a quality of service.
#ifndef QUEUE_DEPTH_HPP_
#define QUEUE_DEPTH_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "rclrt_rcl/qos.hpp"

namespace rclrt_rcl
{
namespace detail
{

/// `qos`: the actual one, in which the middleware has put its own depth in place of the system's default.
inline uint32_t queue_depth(const QoS & qos)
{
  // No middleware keeps more in practice. A job that waits costs no memory.
  constexpr std::size_t kMost = 1U << 20;
  return static_cast<uint32_t>(
    qos.is_keep_all() ? kMost : std::clamp<std::size_t>(qos.depth(), 1, kMost));
}

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // QUEUE_DEPTH_HPP_
