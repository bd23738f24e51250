// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/middleware.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

#include "rcl/error_handling.h"
#include "rclrt_core/linux_platform.hpp"
#include "rmw/rmw.h"
#include "variants.hpp"

namespace dispatch
{

namespace
{

bool is_middleware(const std::string & name)
{
  static const auto middleware =
    rclrt_front_end::Middleware::of(rmw_get_implementation_identifier());
  return middleware.owns_thread(name);
}

void apply(rclrt_core::ThreadId thread, const rclrt_core::Attributes & attributes)
{
  const int error = rclrt_core::LinuxPlatform().apply(thread, attributes);
  if (error != 0 && error != ESRCH) {
    throw std::runtime_error(rclrt_core::to_string(
      rclrt_core::LinuxPlatform().explain("thread " + std::to_string(thread), attributes, error)));
  }
}

void apply_to_middleware(const rclrt_core::Attributes & attributes)
{
  for (const auto & [thread, name] : rclrt_core::LinuxPlatform().threads()) {
    if (is_middleware(name)) {
      apply(thread, attributes);
    }
  }
}

}  // namespace

RaisedMiddleware::RaisedMiddleware() { apply_to_middleware(fifo(kMiddlewarePriority)); }

RaisedMiddleware::~RaisedMiddleware()
{
  rclrt_core::Attributes other;
  other.scheduling_policy = rclrt_core::SchedulingPolicy::kOther;
  apply_to_middleware(other);
}

void become_worker()
{
  // Not through the platform, which has the threads that this one starts begin as SCHED_OTHER.
  sched_param parameters{};
  parameters.sched_priority = kWorkerPriority;
  if (sched_setscheduler(0, SCHED_FIFO, &parameters) != 0) {
    throw std::system_error(errno, std::generic_category(), "becoming a SCHED_FIFO thread");
  }
}

rclrt_core::Attributes fifo(int priority)
{
  rclrt_core::Attributes attributes;
  attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kFifo;
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
