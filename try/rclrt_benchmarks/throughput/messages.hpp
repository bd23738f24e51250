// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What throughput.py sends: its sizes by name, and the type of each.

#ifndef MESSAGES_HPP_
#define MESSAGES_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <rcl_interfaces/msg/log.hpp>
#include <stdexcept>
#include <string>

#include "rclrt_reference_interfaces/msg/message1mb.hpp"
#include "rclrt_reference_interfaces/msg/message4kb.hpp"

namespace throughput
{

/// A type that grows is serialized. One of fixed size may lie in memory of the middleware.
enum class Type
{
  kText,
  kFixed4kB,
  kFixed1MB
};

struct Size
{
  const char * name;
  Type type;
  std::size_t bytes;
  bool is_loaned;
};

constexpr std::array<Size, 7> kSizes{{
  {"12B", Type::kText, 12, false},
  {"4kB", Type::kText, 4096, false},
  {"1MB", Type::kText, 1 << 20, false},
  {"4kB_fixed", Type::kFixed4kB, 4096, false},
  {"4kB_loaned", Type::kFixed4kB, 4096, true},
  {"1MB_fixed", Type::kFixed1MB, 1 << 20, false},
  {"1MB_loaned", Type::kFixed1MB, 1 << 20, true},
}};

inline Size size_by_name(const std::string & name)
{
  for (const Size & size : kSizes) {
    if (name == size.name) {
      return size;
    }
  }
  throw std::invalid_argument("'" + name + "' is no size");
}

/// Calls `then` with a null pointer to the type of `size`.
template <typename Then>
void with_type_of(const Size & size, Then then)
{
  switch (size.type) {
    case Type::kText:
      return then(static_cast<rcl_interfaces::msg::Log *>(nullptr));
    case Type::kFixed4kB:
      return then(static_cast<rclrt_reference_interfaces::msg::Message4kb *>(nullptr));
    case Type::kFixed1MB:
      return then(static_cast<rclrt_reference_interfaces::msg::Message1mb *>(nullptr));
  }
}

inline void fill(rcl_interfaces::msg::Log & message, std::size_t bytes)
{
  message.msg.assign(bytes, '.');
}

template <typename Message>
void fill(Message & message, std::size_t /*bytes*/)
{
  message.payload.fill('.');
}

inline void set_number(rcl_interfaces::msg::Log & message, uint32_t number)
{
  message.line = number;
}

template <typename Message>
void set_number(Message & message, uint32_t number)
{
  message.sequence = number;
}

}  // namespace throughput

#endif  // MESSAGES_HPP_
