// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/qos.hpp"

#include <utility>

#include "rclrt_rcl/error.hpp"
#include "rmw/qos_profiles.h"
#include "rmw/serialized_message.h"

namespace rclrt_rcl
{
QoS::QoS(std::size_t depth) : profile_(rmw_qos_profile_default) { keep_last(depth); }

QoS QoS::services() { return QoS(rmw_qos_profile_services_default); }
QoS QoS::clock() { return QoS(1).best_effort(); }

QoS & QoS::keep_last(std::size_t depth)
{
  profile_.history = RMW_QOS_POLICY_HISTORY_KEEP_LAST;
  profile_.depth = depth;
  return *this;
}
QoS & QoS::keep_all()
{
  profile_.history = RMW_QOS_POLICY_HISTORY_KEEP_ALL;
  profile_.depth = 0;
  return *this;
}
QoS & QoS::reliable()
{
  profile_.reliability = RMW_QOS_POLICY_RELIABILITY_RELIABLE;
  return *this;
}
QoS & QoS::best_effort()
{
  profile_.reliability = RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT;
  return *this;
}
QoS & QoS::transient_local()
{
  profile_.durability = RMW_QOS_POLICY_DURABILITY_TRANSIENT_LOCAL;
  return *this;
}
bool compatible(const QoS & publisher, const QoS & subscription, std::string * reason)
{
  rmw_qos_compatibility_type_t result = RMW_QOS_COMPATIBILITY_ERROR;
  char text[1024] = "";
  const rmw_ret_t checked = rmw_qos_profile_check_compatible(
    publisher.profile(), subscription.profile(), &result, text, sizeof(text));
  throw_unless_ok(checked, "comparing QoS");
  if (reason != nullptr) {
    *reason = text;
  }
  return result != RMW_QOS_COMPATIBILITY_ERROR;
}

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
