// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/detail/trace_points.hpp"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <memory>

#ifdef RCLRT_RCL_HAS_TRACETOOLS
#include "tracetools/tracetools.h"
#else
template <typename... T>
void unused(const T &...)
{
}
#define TRACETOOLS_TRACEPOINT(name, ...) unused(__VA_ARGS__)
#define TRACETOOLS_DO_TRACEPOINT(name, ...) unused(__VA_ARGS__)
#define TRACETOOLS_TRACEPOINT_ENABLED(name) false
#endif

namespace rclrt_rcl
{
namespace detail
{
namespace
{

/// A function of rclrt_probe, if that is preloaded; else null.
using Released = void(const void * timer, int64_t release_ns);
auto * const released_in_probe =
  reinterpret_cast<Released *>(dlsym(RTLD_DEFAULT, "rclrt_probe_timer_released"));

void trace_symbol(const void * callback, const Symbol & symbol) noexcept
{
  if (!TRACETOOLS_TRACEPOINT_ENABLED(rclcpp_callback_register)) {
    return;
  }
  const char * mangled = symbol.type;
  Dl_info info{};
  if (mangled == nullptr && dladdr(symbol.function, &info) != 0) {
    mangled = info.dli_sname;
  }
  const std::unique_ptr<char, void (*)(void *)> plain(
    mangled != nullptr ? abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr) : nullptr,
    &std::free);
  const char * const text = plain ? plain.get() : mangled;  // a function of C has its plain name
  TRACETOOLS_DO_TRACEPOINT(rclcpp_callback_register, callback, text != nullptr ? text : "UNKNOWN");
}

}  // namespace

void trace_timer(
  const void * timer, std::chrono::nanoseconds period, const void * node, const void * callback,
  const Symbol & symbol) noexcept
{
  TRACETOOLS_TRACEPOINT(rcl_timer_init, timer, period.count());
  TRACETOOLS_TRACEPOINT(rclcpp_timer_callback_added, timer, callback);
  trace_symbol(callback, symbol);
  TRACETOOLS_TRACEPOINT(rclcpp_timer_link_node, timer, node);
}

void trace_subscription(
  const void * handle, const void * subscription, const void * callback,
  const Symbol & symbol) noexcept
{
  TRACETOOLS_TRACEPOINT(rclcpp_subscription_init, handle, subscription);
  TRACETOOLS_TRACEPOINT(rclcpp_subscription_callback_added, subscription, callback);
  trace_symbol(callback, symbol);
}

void trace_service(const void * handle, const void * callback, const Symbol & symbol) noexcept
{
  TRACETOOLS_TRACEPOINT(rclcpp_service_callback_added, handle, callback);
  trace_symbol(callback, symbol);
}

// rclcpp has a buffer of messages around a ring of pointers; an inbox is both.
void trace_inbox(const void * inbox, std::size_t capacity) noexcept
{
  TRACETOOLS_TRACEPOINT(rclcpp_construct_ring_buffer, inbox, capacity);
  TRACETOOLS_TRACEPOINT(rclcpp_buffer_to_ipb, inbox, inbox);
}

void trace_inbox_of(const void * inbox, const void * subscription) noexcept
{
  TRACETOOLS_TRACEPOINT(rclcpp_ipb_to_subscription, inbox, subscription);
}

void trace_execute(const void * handle) noexcept
{
  TRACETOOLS_TRACEPOINT(rclcpp_executor_execute, handle);
}

void trace_released(const void * timer, rclrt_core::TimePoint release) noexcept
{
  if (released_in_probe != nullptr) {
    released_in_probe(timer, release.time_since_epoch().count());
  }
}

Running::Running(const void * callback, bool is_intra_process) noexcept : callback_(callback)
{
  TRACETOOLS_TRACEPOINT(callback_start, callback_, is_intra_process);
}

Running::~Running() { TRACETOOLS_TRACEPOINT(callback_end, callback_); }

void trace_publish(const void * message) noexcept
{
  TRACETOOLS_TRACEPOINT(rclcpp_publish, nullptr, message);  // the point of rcl names the publisher
}

void trace_intra_publish(const void * handle, const void * message) noexcept
{
  TRACETOOLS_TRACEPOINT(rclcpp_intra_publish, handle, message);
}

void trace_take(const void * message) noexcept { TRACETOOLS_TRACEPOINT(rclcpp_take, message); }

void trace_put(
  const void * inbox, std::size_t place, std::size_t size, bool is_overwritten) noexcept
{
  TRACETOOLS_TRACEPOINT(rclcpp_ring_buffer_enqueue, inbox, place, size, is_overwritten);
}

void trace_got(const void * inbox, std::size_t place, std::size_t size) noexcept
{
  TRACETOOLS_TRACEPOINT(rclcpp_ring_buffer_dequeue, inbox, place, size);
}

}  // namespace detail
}  // namespace rclrt_rcl
