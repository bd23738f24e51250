// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "receiver.hpp"

#include <algorithm>

#include "rcl/error_handling.h"

namespace dispatch
{

rclrt_core::Attributes fifo(int priority)
{
  rclrt_core::Attributes attributes;
  attributes.policy = rclrt_core::SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

bool Receiver::has_publisher() const
{
  return std::all_of(handles_.begin(), handles_.end(), [](const rcl_subscription_t * handle) {
    std::size_t count = 0;
    return rcl_subscription_get_publisher_count(handle, &count) == RCL_RET_OK && count > 0;
  });
}

void Receiver::drain()
{
  Message message;
  for (const rcl_subscription_t * handle : handles_) {
    while (rcl_take(handle, &message, nullptr, nullptr) == RCL_RET_OK) {
    }
    rcl_reset_error();
  }
}

}  // namespace dispatch
