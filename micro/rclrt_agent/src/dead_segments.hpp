// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Shared memory of Fast DDS whose process was killed.
#ifndef DEAD_SEGMENTS_HPP_
#define DEAD_SEGMENTS_HPP_

#include <chrono>
#include <cstddef>
#include <string>

namespace rclrt_agent
{

/// Removes the segments that processes which are gone have left in `folder`, and returns how many. A process holds a
/// lock on a file beside its segment as long as it lives, so that it is gone can be seen. One that has begun within `age`
/// may not have taken it yet: its segment stays. What belongs to other users stays, too.
std::size_t remove_dead_segments(
  const std::string & folder = "/dev/shm", std::chrono::seconds age = std::chrono::seconds(10));

}  // namespace rclrt_agent

#endif  // DEAD_SEGMENTS_HPP_
