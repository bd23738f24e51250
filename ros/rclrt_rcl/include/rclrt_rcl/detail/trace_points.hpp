// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Calls the points of tracetools as rclcpp does: what reads traces of rclcpp (tracetools_analysis, CARET, Trace Compass,
/// rclrt_probe) sees our callbacks and messages as well. Does nothing if this library was built without tracetools.
///
/// Real-time safe as far as the tracer is, but for what is called when an entity is made.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <typeinfo>

#include "rclrt_core/job.hpp"

namespace rclrt_rcl::detail
{

/// What a user has given as callback: a function, or an object of a type.
struct Symbol
{
  const void * function = nullptr;
  const char * type = nullptr;  ///< mangled
};

template <typename F>
Symbol symbol_of(const F &)
{
  return {nullptr, typeid(F).name()};
}

template <typename R, typename... Arguments>
Symbol symbol_of(R (*function)(Arguments...))
{
  return {reinterpret_cast<const void *>(function), nullptr};
}

template <typename R, typename... Arguments>
Symbol symbol_of(const std::function<R(Arguments...)> & function)
{
  auto * const pointer = function.template target<R (*)(Arguments...)>();
  return pointer != nullptr ? symbol_of(*pointer) : Symbol{nullptr, function.target_type().name()};
}

// ---- An entity has been made. `callback` is what Running names.

void trace_timer(
  const void * timer, std::chrono::nanoseconds period, const void * node, const void * callback,
  const Symbol & symbol) noexcept;
void trace_subscription(
  const void * handle, const void * subscription, const void * callback,
  const Symbol & symbol) noexcept;
void trace_service(const void * handle, const void * callback, const Symbol & symbol) noexcept;
/// The queue of messages that come by pointer; and whose it is.
void trace_inbox(const void * inbox, std::size_t capacity) noexcept;
void trace_inbox_of(const void * inbox, const void * subscription) noexcept;

// ---- A job

/// `handle`: of rcl, or the timer.
void trace_execute(const void * handle) noexcept;
/// Our timers are none of rcl, so no point of rcl says when one should have been released. Only rclrt_probe hears this.
void trace_released(const void * timer, rclrt_core::TimePoint release) noexcept;

/// Around the user's callback.
class Running
{
public:
  explicit Running(const void * callback, bool is_intra_process = false) noexcept;
  ~Running();
  Running(const Running &) = delete;
  Running & operator=(const Running &) = delete;

private:
  const void * const callback_;
};

// ---- A message

void trace_publish(const void * message) noexcept;
void trace_intra_publish(const void * handle, const void * message) noexcept;
void trace_take(const void * message) noexcept;
/// Under the lock of the inbox. `size`: afterwards.
void trace_put(
  const void * inbox, std::size_t place, std::size_t size, bool is_overwritten) noexcept;
void trace_got(const void * inbox, std::size_t place, std::size_t size) noexcept;

}  // namespace rclrt_rcl::detail
