// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Messages of DDS-XRCE as bytes. The format itself is rclrt_micro's, which both ends share.
#ifndef WIRE_HPP_
#define WIRE_HPP_

#include <array>
#include <cstdint>
#include <vector>

#include "rclrt_core/time.hpp"
#include "rclrt_micro/xrce.h"

namespace rclrt_agent
{

using rclrt_core::Duration;
using rclrt_core::TimePoint;
using Bytes = std::vector<uint8_t>;
using View = rclrt_bytes;
using Key = std::array<uint8_t, 4>;

inline View view_of(const Bytes & bytes) { return {bytes.data(), bytes.size()}; }
inline Bytes bytes_of(View view) { return {view.data, view.data + view.size}; }

inline bool is_reliable(uint8_t stream) { return stream >= RCLRT_STREAM_RELIABLE; }

/// Urgency, 0 to 31, that the number of a stream stands for: its low seven bits divided by four. The
/// streams that every client shares, 01 and 80, have the lowest.
constexpr uint8_t kHighestUrgency = 31;
inline uint8_t urgency_of_stream(uint8_t stream) { return (stream & 0x7FU) >> 2U; }

/// One submessage, without a message header.
Bytes write(const rclrt_submessage & submessage);
/// A whole message: header, then submessages.
Bytes write_message(const rclrt_message_header & header, View submessages);

}  // namespace rclrt_agent

#endif  // WIRE_HPP_
