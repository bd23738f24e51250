// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Where rclcpp's versions differ, the same names for all of them. See also base_class.cpp.
#pragma once

#include <memory>
#include <utility>

#include "rcl/wait.h"
#include "rclcpp/subscription_base.hpp"
#include "rclcpp/timer.hpp"
#include "rclcpp/version.h"
#include "rclcpp/waitable.hpp"
#include "tracetools/tracetools.h"

/// Humble's executors keep their groups in maps, its waitables take pointers, its timers return less.
#define RCLRT_RCLCPP_IS_HUMBLE (RCLCPP_VERSION_MAJOR < 28)

/// Humble's timers tell nobody that they were reset. (Defined from outside: tested where they do.)
#ifndef RCLRT_RCLCPP_POLLS_RESETS
#define RCLRT_RCLCPP_POLLS_RESETS RCLRT_RCLCPP_IS_HUMBLE
#endif

#if RCLRT_RCLCPP_IS_HUMBLE
#include "rclcpp/qos_event.hpp"
#ifndef TRACETOOLS_TRACEPOINT
#define TRACETOOLS_TRACEPOINT TRACEPOINT
#endif
#else
#include "rclcpp/event_handler.hpp"
#endif

namespace rclrt_rclcpp
{
namespace detail
{

#if RCLRT_RCLCPP_IS_HUMBLE

using EventHandlerBase = rclcpp::QOSEventHandlerBase;

inline bool is_message_or_bytes(const rclcpp::SubscriptionBase &) { return true; }

inline rcl_wait_set_t * parameter(rcl_wait_set_t & wait_set) { return &wait_set; }

inline void execute(rclcpp::Waitable & waitable, std::shared_ptr<void> data)
{
  waitable.execute(data);
}

#else

using EventHandlerBase = rclcpp::EventHandlerBase;

/// Whether it wants messages of a type known when it was compiled, or their bytes.
inline bool is_message_or_bytes(const rclcpp::SubscriptionBase & subscription)
{
  const auto kind = subscription.get_delivered_message_kind();
  return kind == rclcpp::DeliveredMessageKind::ROS_MESSAGE ||
         kind == rclcpp::DeliveredMessageKind::SERIALIZED_MESSAGE;
}

inline rcl_wait_set_t & parameter(rcl_wait_set_t & wait_set) { return wait_set; }

/// Jazzy has Humble's function, too, which data that are not const would call.
inline void execute(rclcpp::Waitable & waitable, const std::shared_ptr<void> & data)
{
  waitable.execute(data);
}

#endif

#if RCLRT_RCLCPP_POLLS_RESETS

template <typename Call>
void set_on_reset_callback(rclcpp::TimerBase &, Call)
{
}
inline void clear_on_reset_callback(rclcpp::TimerBase &) {}

#else

template <typename Call>
void set_on_reset_callback(rclcpp::TimerBase & timer, Call call)
{
  timer.set_on_reset_callback(std::move(call));
}
inline void clear_on_reset_callback(rclcpp::TimerBase & timer) { timer.clear_on_reset_callback(); }

#endif

}  // namespace detail
}  // namespace rclrt_rclcpp
