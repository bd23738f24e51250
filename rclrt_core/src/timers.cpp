// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Clocks and due timers.

#include <algorithm>

#include "engine_impl.hpp"

namespace rclrt_core
{
namespace
{

// A sleep is relative to CLOCK_MONOTONIC; this bounds how late a step of the system clock is seen.
constexpr Duration kSystemClockPoll = std::chrono::milliseconds(100);

}  // namespace

ClockId Engine::Impl::add_clock(std::function<int64_t()> now_ns)
{
  Lock lock(*mutex);
  ClockId clock = 0;
  while (has_clock(clock)) {
    ++clock;
  }
  if (clock == clocks.size()) {
    clocks.emplace_back();
  }
  clocks[clock].now_ns = std::move(now_ns);
  clocks[clock].last_now_ns = INT64_MIN;
  return clock;
}

Status Engine::Impl::remove_clock(ClockId clock)
{
  std::function<int64_t()> dropped;  // after the lock: it may hold anything
  Lock lock(*mutex);
  if (clock <= kSystemClock || !has_clock(clock)) {
    return Status::error(
      "remove_clock(): clock " + std::to_string(clock) + " was not added to this engine");
  }
  for (const auto & entry : callbacks) {
    if (entry.second->timer && entry.second->timer->clock == clock) {
      return Status::error(
        "remove_clock(): clock " + std::to_string(clock) + " still drives timer '" +
        entry.second->name() + "'; remove it, or give it another clock");
    }
  }
  std::swap(dropped, clocks[clock].now_ns);
  lock.unlock();
  return {};
}

void Engine::Impl::arm(TimerNode & timer, int64_t after_ns, WakeList & wakes)
{
  ClockState & clock = clocks[timer.clock];
  const int64_t now_ns = clock.now_ns();
  const int64_t next_ns = add_saturating_ns(now_ns, after_ns);
  clock.last_now_ns = std::max(clock.last_now_ns, now_ns);
  timer.cancelled = false;
  clock.queue.arm(timer, next_ns);
  if (clock.driven && clock.queue.next_ns() == next_ns) {
    wake_timer_driver(wakes);
  } else if (!clock.driven && next_ns <= now_ns) {
    release_due(clock, wakes);  // the clock may stand still for long
  }
}

void Engine::Impl::release_due(WakeList & wakes) noexcept
{
  for (ClockState & clock : clocks) {
    if (clock.driven && !clock.queue.empty()) {
      release_due(clock, wakes);
    }
  }
}

void Engine::Impl::release_due(ClockState & clock, WakeList & wakes) noexcept
{
  const TimePoint now = platform.now();
  const int64_t now_ns = &clock == &clocks[kSteadyClock] ? nanoseconds_of(now) : clock.now_ns();
  if (now_ns < clock.last_now_ns) {
    clock.queue.rebase(now_ns);
  }
  clock.last_now_ns = now_ns;
  int64_t nominal_ns = 0;
  uint64_t missed = 0;
  while (TimerNode * timer = clock.queue.take_due(now_ns, &nominal_ns, &missed)) {
    CallbackNode & callback = *timer->callback;
    if (timer->one_shot) {
      timer->cancelled = true;
    }
    // On every clock, a release is as long ago on CLOCK_MONOTONIC as it is on its own clock.
    const TimePoint latest = now - Duration(now_ns - nominal_ns);
    uint64_t earlier = missed;
    if (callback.overrun_rule == OverrunRule::kQueueAll) {
      earlier = std::min<uint64_t>(missed, callback.backlog.depth() - 1);
      callback.statistics.dropped += missed - earlier;
    } else {
      earlier = 0;
      callback.statistics.skipped += missed;
    }
    callback.statistics.released += missed - earlier;
    for (; earlier > 0; --earlier) {
      release(
        callback, latest - Duration(timer->period_ns) * static_cast<int64_t>(earlier), now, 1,
        nullptr, wakes);
    }
    release(callback, latest, now, 1, nullptr, wakes);
  }
}

TimePoint Engine::Impl::next_timer_release() noexcept
{
  TimePoint next = kNever;
  if (!clocks[kSteadyClock].queue.empty()) {
    next = time_point_of(clocks[kSteadyClock].queue.next_ns());
  }
  ClockState & system = clocks[kSystemClock];
  if (!system.queue.empty()) {
    const Duration wait(system.queue.next_ns() - system.now_ns());
    next = std::min(next, platform.now() + std::min(wait, kSystemClockPoll));
  }
  return next;
}

void Engine::Impl::clock_changed(ClockId clock) noexcept
{
  WakeList wakes;
  {
    Lock lock(*mutex);
    if (has_clock(clock)) {
      release_due(clocks[clock], wakes);
    }
  }
  wakes.wake_or_defer();
}

Status Engine::Impl::cancel_timer(const std::shared_ptr<Callback> & timer)
{
  Lock lock(*mutex);
  CallbackNode * callback = known_timer(timer);
  if (!callback) {
    return Status::error("cancel_timer(): not a timer of this engine");
  }
  callback->timer->cancelled = true;
  clocks[callback->timer->clock].queue.disarm(*callback->timer);
  drop_waiting(*callback);
  return {};
}

Status Engine::Impl::reset_timer(
  const std::shared_ptr<Callback> & timer, std::optional<Duration> first)
{
  WakeList wakes;
  {
    Lock lock(*mutex);
    CallbackNode * callback = known_timer(timer);
    if (!callback) {
      return Status::error("reset_timer(): not a timer of this engine");
    }
    drop_waiting(*callback);
    arm(*callback->timer, first ? first->count() : callback->timer->period_ns, wakes);
  }
  wakes.wake_or_defer();
  return {};
}

Status Engine::Impl::set_timer_period(const std::shared_ptr<Callback> & timer, Duration period)
{
  WakeList wakes;
  Lock lock(*mutex);
  CallbackNode * callback = known_timer(timer);
  if (!callback) {
    return Status::error("set_timer_period(): not a timer of this engine");
  }
  if (period < Duration::zero()) {
    return Status::error(
      "timer '" + callback->name() + "': period " + std::to_string(period.count()) +
      " ns is negative; give 0 or more");
  }
  const bool began_again = callback->timer->releases_when_done() && period > Duration::zero();
  callback->timer->period_ns = period.count();
  if (began_again) {
    arm(*callback->timer, period.count(), wakes);
  }
  lock.unlock();
  wakes.wake_or_defer();
  return {};
}

Status Engine::Impl::set_timer_clock(const std::shared_ptr<Callback> & timer, ClockId clock)
{
  WakeList wakes;
  Lock lock(*mutex);
  CallbackNode * callback = known_timer(timer);
  if (!callback) {
    return Status::error("set_timer_clock(): not a timer of this engine");
  }
  if (!has_clock(clock)) {
    return Status::error(
      "timer '" + callback->name() + "': unknown clock " + std::to_string(clock));
  }
  TimerNode & node = *callback->timer;
  clocks[node.clock].queue.disarm(node);
  drop_waiting(*callback);
  node.clock = clock;
  if (!node.cancelled) {
    arm(node, node.period_ns, wakes);
  }
  lock.unlock();
  wakes.wake_or_defer();
  return {};
}

bool Engine::Impl::is_timer_cancelled(const std::shared_ptr<Callback> & timer) const
{
  Lock lock(*mutex);
  const CallbackNode * callback = known_timer(timer);
  return !callback || callback->timer->cancelled;
}

Duration Engine::Impl::time_until_release(const std::shared_ptr<Callback> & timer) const
{
  Lock lock(*mutex);
  const CallbackNode * callback = known_timer(timer);
  if (!callback || callback->timer->cancelled) {
    return Duration::max();
  }
  return Duration(callback->timer->next_ns - clocks[callback->timer->clock].now_ns());
}

}  // namespace rclrt_core
