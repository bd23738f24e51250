// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Messages of DDS-XRCE as bytes. The format itself is rclrt_micro's, which both ends share.
#pragma once

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
inline Bytes write(const rclrt_submessage & submessage)
{
  // Head, identifiers and whatever else is not bytes of the caller: less than 64.
  size_t size = 64;
  if (submessage.id == RCLRT_INFO) {
    size += submessage.of.result.info.size;
  } else if (
    submessage.id == RCLRT_DATA || submessage.id == RCLRT_WRITE_DATA ||
    submessage.id == RCLRT_FRAGMENT) {
    size += submessage.of.data.size;
  }
  Bytes bytes(size);
  rclrt_writer writer;
  rclrt_writer_init(&writer, bytes.data(), bytes.size());
  rclrt_write_submessage(&writer, &submessage);
  bytes.resize(writer.failed ? 0 : writer.at);
  return bytes;
}

/// A whole message: header, then submessages.
inline Bytes write_message(const rclrt_message_header & header, View submessages)
{
  Bytes bytes(RCLRT_MESSAGE_HEADER_MAX + submessages.size);
  rclrt_writer writer;
  rclrt_writer_init(&writer, bytes.data(), bytes.size());
  rclrt_write_message_header(&writer, &header);
  rclrt_write_bytes(&writer, submessages.data, submessages.size);
  bytes.resize(writer.at);
  return bytes;
}

}  // namespace rclrt_agent
