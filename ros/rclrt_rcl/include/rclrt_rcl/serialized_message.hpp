// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A message as bytes (CDR, with its encapsulation header).
///
/// Owns its buffer, which grows as needed and is kept when the object is used again. Movable, not
/// copyable. Not thread-safe.
#ifndef RCLRT_RCL__SERIALIZED_MESSAGE_HPP_
#define RCLRT_RCL__SERIALIZED_MESSAGE_HPP_

#include <cstddef>
#include <cstdint>

#include "rcl/types.h"

namespace rclrt_rcl
{

class SerializedMessage
{
public:
  explicit SerializedMessage(std::size_t capacity = 0);
  ~SerializedMessage();
  SerializedMessage(SerializedMessage && other) noexcept;
  SerializedMessage & operator=(SerializedMessage && other) noexcept;

  const uint8_t * data() const noexcept { return message_.buffer; }
  uint8_t * data() noexcept { return message_.buffer; }
  std::size_t size() const noexcept { return message_.buffer_length; }
  std::size_t capacity() const noexcept { return message_.buffer_capacity; }
  /// Set the size, growing the capacity if needed. Content up to the smaller size is kept.
  void resize(std::size_t size);

  const rcl_serialized_message_t & handle() const noexcept { return message_; }
  rcl_serialized_message_t & handle() noexcept { return message_; }

private:
  rcl_serialized_message_t message_;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__SERIALIZED_MESSAGE_HPP_
