// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The client that asked, and the time. Needed to answer a request.
#ifndef RCLRT_RCL__REQUEST_HEADER_HPP_
#define RCLRT_RCL__REQUEST_HEADER_HPP_

#include <chrono>

#include "rmw/types.h"

namespace rclrt_rcl
{

struct RequestHeader
{
  /// The client (`writer_guid`) and the number of the request at it (`sequence_number`).
  rmw_request_id_t id{};
  /// CLOCK_REALTIME of the asking machine, since 1970; 0 if unknown.
  std::chrono::nanoseconds source_timestamp{0};
  /// CLOCK_REALTIME at arrival, since 1970; 0 if unknown.
  std::chrono::nanoseconds received_timestamp{0};
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__REQUEST_HEADER_HPP_
