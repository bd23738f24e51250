// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Stand-ins for the tracepoints that rclcpp calls.

#include <atomic>

#include "stand_in.hpp"

using rclrt_probe::Buffer;
using rclrt_probe::Callback;
using rclrt_probe::Point;
using rclrt_probe::Release;
using rclrt_probe::thread;

RCLRT_POINT(
  rclcpp_subscription_init, (const void * handle, const void * subscription),
  (handle, subscription))
{
  probe.inventory.add_subscription_object(subscription, handle);
}

RCLRT_POINT(
  rclcpp_ipb_to_subscription, (const void * buffer, const void * subscription),
  (buffer, subscription))
{
  static_cast<void>(buffer);
  probe.inventory.set_intra_process(subscription);
}

RCLRT_POINT(
  rclcpp_subscription_callback_added, (const void * subscription, const void * callback),
  (subscription, callback))
{
  probe.seen.note(Point::kCallback);
  probe.inventory.add_callback(subscription, callback);
}

RCLRT_POINT(
  rclcpp_service_callback_added, (const void * handle, const void * callback), (handle, callback))
{
  probe.seen.note(Point::kCallback);
  probe.inventory.add_callback(handle, callback);
}

RCLRT_POINT(
  rclcpp_timer_callback_added, (const void * handle, const void * callback), (handle, callback))
{
  probe.seen.note(Point::kCallback);
  probe.inventory.add_callback(handle, callback);
}

RCLRT_POINT(rclcpp_timer_link_node, (const void * handle, const void * node), (handle, node))
{
  probe.inventory.set_node(handle, node);
}

RCLRT_POINT(
  rclcpp_callback_register, (const void * callback, const char * symbol), (callback, symbol))
{
  probe.seen.note(Point::kSymbol);
  probe.inventory.set_symbol(callback, symbol);
}
RCLRT_POINT_IN_STEPS(
  rclcpp_callback_register, (const void * callback, const char * symbol), (callback, symbol))

RCLRT_POINT(
  callback_start, (const void * callback, bool is_intra_process), (callback, is_intra_process))
{
  static_cast<void>(is_intra_process);
  probe.seen.note(Point::kStart);
  if (Callback * const found = probe.inventory.find_callback(callback)) {
    thread().begin(probe, *found, callback);
  } else {
    probe.seen.note(Point::kUnknownCallback);
  }
}

RCLRT_POINT(callback_end, (const void * callback), (callback))
{
  probe.seen.note(Point::kEnd);
  thread().end(probe, callback);
}

RCLRT_POINT(rclcpp_executor_execute, (const void * handle), (handle))
{
  static_cast<void>(handle);
  thread().executes(probe);
}

RCLRT_POINT(rclcpp_executor_wait_for_work, (int64_t timeout), (timeout))
{
  static_cast<void>(timeout);
  thread().goes_on(probe);
}

RCLRT_POINT(
  rclcpp_construct_ring_buffer, (const void * buffer, uint64_t capacity), (buffer, capacity))
{
  static_cast<void>(capacity);
  probe.inventory.add_buffer(buffer);
}

// rclcpp holds the lock of the buffer while it calls these two.
RCLRT_POINT(
  rclcpp_ring_buffer_enqueue,
  (const void * buffer, uint64_t index, uint64_t size, bool overwritten),
  (buffer, index, size, overwritten))
{
  static_cast<void>(index);
  static_cast<void>(size);
  static_cast<void>(overwritten);
  if (Buffer * const found = probe.inventory.find_buffer(buffer)) {
    const uint64_t number = found->count.load(std::memory_order_relaxed) + 1;
    const int64_t now = rclrt_probe::now_ns();
    found->times[number % Buffer::kTimes].store(now, std::memory_order_relaxed);
    found->count.store(number, std::memory_order_relaxed);
    thread().published(probe, found->hash, number, now);
  }
}

RCLRT_POINT(
  rclcpp_ring_buffer_dequeue, (const void * buffer, uint64_t index, uint64_t size),
  (buffer, index, size))
{
  static_cast<void>(index);
  const Buffer * const found = probe.inventory.find_buffer(buffer);
  const uint64_t count = found ? found->count.load(std::memory_order_relaxed) : 0;
  if (found && size < count) {
    const uint64_t number = count - size;  // the oldest of those that were in it
    Release release;
    release.cause = RCLRT_CAUSE_MESSAGE;
    release.publisher = found->hash;
    release.message = number;
    if (size < Buffer::kTimes) {
      release.at_ns = found->times[number % Buffer::kTimes].load(std::memory_order_relaxed);
    }
    thread().dequeued(release);
  }
}

// Without arguments, so without the macro.
namespace
{
rclrt_probe::Next<void()> next_get_next_ready("ros_trace_rclcpp_executor_get_next_ready");
}

extern "C" __attribute__((visibility("default"))) void ros_trace_rclcpp_executor_get_next_ready()
{
  if (rclrt_probe::Probe * const here = rclrt_probe::probe()) {
    thread().goes_on(*here);
  }
  if (auto * const next = next_get_next_ready.get(__builtin_return_address(0))) {
    next();
  }
}

/// Not of tracetools: rclrt_rcl says when a job of its timer should have been released. Its timers are none of rcl.
extern "C" __attribute__((visibility("default"))) void rclrt_probe_timer_released(
  const void * timer, int64_t release_ns)
{
  rclrt_probe::Probe * const here = rclrt_probe::probe();
  Callback * const callback = here ? here->inventory.find_handle(timer) : nullptr;
  if (callback) {
    here->seen.note(Point::kTimerCall);
    Release release;
    release.callback = callback;
    release.cause = RCLRT_CAUSE_TIMER;
    release.at_ns = release_ns;
    thread().released(*here, release);
  }
}
