// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/serialized_message.hpp"

#include <string>
#include <utility>

#include "rclrt_rcl/error.hpp"
#include "rmw/rmw.h"
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

void SerializedMessage::serialize(const void * message, const rosidl_message_type_support_t * type)
{
  throw_unless_ok(rmw_serialize(message, type, &message_), "serializing a message");
}

void SerializedMessage::deserialize(
  void * message, const rosidl_message_type_support_t * type) const
{
  constexpr std::size_t kHeader = 4;  // of CDR; rmw_cyclonedds reads beyond what is shorter
  if (size() < kHeader) {
    throw Error(
      "deserializing a message: " + std::to_string(size()) + " bytes, but a message has at least " +
      std::to_string(kHeader));
  }
  throw_unless_ok(rmw_deserialize(&message_, type, message), "deserializing a message");
}

}  // namespace rclrt_rcl
