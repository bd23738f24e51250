// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Stand-ins for functions of rcl that executors call.

#include "carry.hpp"
#include "layouts.hpp"
#include "stand_in.hpp"

using rclrt_probe::Callback;
using rclrt_probe::kOk;
using rclrt_probe::Point;
using rclrt_probe::Probe;
using rclrt_probe::thread;
using rclrt_probe::TimerCallInfo;
using rclrt_probe::WaitSet;

#define RCLRT_EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

constexpr int kError = 1;  // RCL_RET_ERROR
/// A timer's clock whose time is that close to CLOCK_MONOTONIC is that clock.
constexpr int64_t kSameClock = 1'000'000'000;

rclrt_probe::Next<int(WaitSet *, int64_t)> next_wait("rcl_wait");
rclrt_probe::Next<int(WaitSet *)> next_fini("rcl_wait_set_fini");
rclrt_probe::Next<int(void *)> next_trigger("rcl_trigger_guard_condition");
rclrt_probe::Next<int(const void *, int64_t, int64_t *)> next_exchange("rcl_timer_exchange_period");
rclrt_probe::Next<int(void *, TimerCallInfo *)> next_call("rcl_timer_call_with_info");

void are_ready(Probe & probe, const WaitSet::Places & places, uint16_t executor) noexcept
{
  for (std::size_t i = 0; places.first && i < places.count; ++i) {
    Callback * const callback =
      places.first[i] ? probe.inventory.find_handle(places.first[i]) : nullptr;
    if (callback && callback->executor.load(std::memory_order_relaxed) == 0) {
      callback->executor.store(executor, std::memory_order_relaxed);
    }
  }
}

/// Adds a timer that nobody has announced, because rcl was built without tracepoints.
Callback * add_timer(Probe & probe, const void * timer, const void * caller) noexcept
{
  static rclrt_probe::Next<int(const void *, int64_t *)> get_period("rcl_timer_get_period");
  int64_t period = 0;
  auto * const ask = get_period.get(caller);
  if (!ask || ask(timer, &period) != kOk) {
    return nullptr;
  }
  return probe.inventory.add(rclrt_core::CallbackKind::kTimer, timer, nullptr, nullptr, "", period);
}

void called(
  Probe & probe, const void * timer, const TimerCallInfo & info, const void * caller) noexcept
{
  rclrt_probe::Release release;
  release.callback = probe.inventory.find_handle(timer);
  if (!release.callback) {
    release.callback = add_timer(probe, timer, caller);
  }
  if (!release.callback) {
    probe.seen.note(Point::kUnknownEntity);
    return;
  }
  release.cause = RCLRT_CAUSE_TIMER;
  const int64_t now = rclrt_probe::now_ns();
  const int64_t apart = now - info.actual_call_time;
  const bool is_same = apart > -kSameClock && apart < kSameClock;
  release.at_ns =
    is_same ? info.expected_call_time : now - (info.actual_call_time - info.expected_call_time);
  thread().released(probe, release);
}

}  // namespace

RCLRT_EXPORT int rcl_wait(WaitSet * set, int64_t timeout)
{
  rclrt_probe::carry_nothing();
  auto * const call = next_wait.get(__builtin_return_address(0));
  if (!call) {
    return kError;
  }
  Probe * const here = rclrt_probe::probe();
  if (!here) {
    return call(set, timeout);
  }
  here->seen.note(Point::kWait);
  thread().waits(*here, set);
  const int result = call(set, timeout);
  thread().woken();
  if (result == kOk && set && thread().executor()) {
    const uint16_t executor = thread().executor()->number;
    are_ready(*here, set->subscriptions, executor);
    are_ready(*here, set->timers, executor);
    are_ready(*here, set->clients, executor);
    are_ready(*here, set->services, executor);
  }
  return result;
}

RCLRT_EXPORT int rcl_wait_set_fini(WaitSet * set)
{
  if (Probe * const here = rclrt_probe::probe()) {
    here->inventory.forget_wait_set(set);
  }
  auto * const call = next_fini.get(__builtin_return_address(0));
  return call ? call(set) : kError;
}

RCLRT_EXPORT int rcl_trigger_guard_condition(void * guard_condition)
{
  if (rclrt_probe::probe()) {
    thread().triggered(guard_condition);
  }
  auto * const call = next_trigger.get(__builtin_return_address(0));
  return call ? call(guard_condition) : kError;
}

RCLRT_EXPORT int rcl_timer_call_with_info(void * timer, TimerCallInfo * info)
{
  rclrt_probe::carry_nothing();
  const void * const caller = __builtin_return_address(0);
  auto * const call = next_call.get(caller);
  if (!call) {
    return kError;
  }
  Probe * const here = rclrt_probe::probe();
  if (here) {
    here->seen.note(Point::kTimerCall);
    thread().goes_on(*here);
  }
  const int result = call(timer, info);
  if (here && result == kOk && info) {
    called(*here, timer, *info, caller);
  }
  return result;
}

RCLRT_EXPORT int rcl_timer_exchange_period(const void * timer, int64_t period, int64_t * before)
{
  if (Probe * const here = rclrt_probe::probe()) {
    here->inventory.set_period(timer, period);
  }
  auto * const call = next_exchange.get(__builtin_return_address(0));
  return call ? call(timer, period, before) : kError;
}
