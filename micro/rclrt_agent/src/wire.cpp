// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "wire.hpp"

namespace rclrt_agent
{

Bytes write(const rclrt_submessage & submessage)
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

Bytes write_message(const rclrt_message_header & header, View submessages)
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
