// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Where a message came from, and when.
#ifndef RCLRT_RCL__MESSAGE_INFO_HPP_
#define RCLRT_RCL__MESSAGE_INFO_HPP_

#include <array>
#include <chrono>
#include <cstdint>

namespace rclrt_rcl
{

struct MessageInfo
{
  /// CLOCK_REALTIME of the publishing machine at publish(), since 1970; 0 if unknown.
  std::chrono::nanoseconds source_timestamp{0};
  /// CLOCK_REALTIME at arrival, since 1970; 0 if unknown.
  std::chrono::nanoseconds received_timestamp{0};
  /// Number of the message at its publisher; UINT64_MAX if unknown.
  uint64_t publication_sequence_number = UINT64_MAX;
  /// Number of the message at this subscription; UINT64_MAX if unknown.
  uint64_t reception_sequence_number = UINT64_MAX;
  /// Identifies the publisher; zeros if unknown.
  std::array<uint8_t, 16> publisher_gid{};
  /// Delivered by pointer, without the middleware.
  bool from_intra_process = false;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__MESSAGE_INFO_HPP_
