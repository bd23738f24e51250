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

/// Where a line of the agent is.
struct Locator
{
  uint32_t host;
  uint16_t port;
};

/// The answer to GET_INFO about the agent. `in_session`: the client is known. `where`: clients that look for agents hear that.
inline Bytes agent_info(
  uint16_t request, uint16_t object, bool in_session, const Locator * where = nullptr)
{
  uint8_t info[64];
  rclrt_writer writer;
  rclrt_writer_init(&writer, info, sizeof(info));
  rclrt_write_bytes(&writer, "      ", 6);  // alignment counts from the begin of the payload
  rclrt_write_agent_info(&writer, 1);
  if (where != nullptr) {
    writer.at -= 4;  // there are none: there is one
    rclrt_write_u32(&writer, 1);
    rclrt_write_u8(&writer, 1);  // of IPv4
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
      rclrt_write_u8(&writer, static_cast<uint8_t>(where->host >> shift));
    }
    rclrt_write_u16(&writer, where->port);
  }
  rclrt_submessage answer{};
  answer.id = RCLRT_INFO;
  answer.request = request;
  answer.object = object;
  answer.of.result.implementation = in_session ? 1 : 0;
  answer.of.result.info = {info + 6, writer.at - 6};
  return write(answer);
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
