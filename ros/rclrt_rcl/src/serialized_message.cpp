// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/qos.hpp"

#include <utility>

#include "rclrt_rcl/error.hpp"
#include "rmw/serialized_message.h"

namespace rclrt_rcl
{

SerializedMessage::SerializedMessage(std::size_t capacity)
: message_(rmw_get_zero_initialized_serialized_message())
{
  const rcutils_allocator_t allocator = rcutils_get_default_allocator();
  throw_unless_ok(
    rmw_serialized_message_init(&message_, capacity, &allocator), "making a serialized message");
}

SerializedMessage::~SerializedMessage()
{
  if (rmw_serialized_message_fini(&message_) != RMW_RET_OK) {
    take_rcl_error();
  }
}

SerializedMessage::SerializedMessage(SerializedMessage && other) noexcept : message_(other.message_)
{
  // An empty message needs no memory, so the other stays usable.
  const rcutils_allocator_t allocator = message_.allocator;
  other.message_ = rmw_get_zero_initialized_serialized_message();
  other.message_.allocator = allocator;
}

SerializedMessage & SerializedMessage::operator=(SerializedMessage && other) noexcept
{
  std::swap(message_, other.message_);
  return *this;
}

void SerializedMessage::resize(std::size_t size)
{
  if (size > message_.buffer_capacity) {
    throw_unless_ok(rmw_serialized_message_resize(&message_, size), "growing a serialized message");
  }
  message_.buffer_length = size;
}

}  // namespace rclrt_rcl
