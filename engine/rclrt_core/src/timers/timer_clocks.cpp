// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "timers/timer_clocks.hpp"

#include <mutex>
#include <utility>

namespace rclrt_core
{
namespace
{

// A sleep is relative to CLOCK_MONOTONIC; this bounds how late a step of the system clock is seen.
constexpr Duration kSystemClockPoll = std::chrono::milliseconds(100);

}  // namespace

ClockId TimerClocks::add(std::function<int64_t()> now_ns, Mutex & mutex)
{
  ClockId clock = 0;
  while (has(clock)) {
    ++clock;
  }
  if (clock == all_.size()) {
    std::vector<std::unique_ptr<ClockState>> more(clock + 1);
    more[clock] = std::make_unique<ClockState>();
    const std::lock_guard<Mutex> lock(mutex);
    std::move(all_.begin(), all_.end(), more.begin());
    all_.swap(more);
  }
  const std::lock_guard<Mutex> lock(mutex);
  all_[clock]->now_ns.swap(now_ns);
  all_[clock]->last_now_ns = INT64_MIN;
  return clock;
}

bool TimerClocks::drive_simulated_timers() const noexcept
{
  return std::any_of(all_.begin(), all_.end(), [](const auto & clock) {
    return !clock->driven && !clock->queue.empty();
  });
}

TimePoint TimerClocks::next_release() const noexcept
{
  TimePoint next = kNever;
  if (!all_[kSteadyClock]->queue.empty()) {
    next = time_point_of(all_[kSteadyClock]->queue.next_ns());
  }
  const ClockState & system = *all_[kSystemClock];
  if (!system.queue.empty()) {
    const Duration wait(system.queue.next_ns() - system.now_ns());
    next = std::min(next, platform_.now() + std::min(wait, kSystemClockPoll));
  }
  return next;
}

void TimerQueue::arm(TimerNode & timer, int64_t next_ns) noexcept
{
  disarm(timer);
  timer.next_ns = next_ns;
  timers_.insert(timer);
}

void TimerQueue::disarm(TimerNode & timer) noexcept
{
  if (timer.in_queue.is_linked()) {
    timers_.erase(timers_.iterator_to(timer));
  }
}

TimerNode * TimerQueue::take_due(int64_t now_ns, int64_t * nominal_ns, uint64_t * missed) noexcept
{
  if (next_ns() > now_ns || timers_.empty()) {
    return nullptr;
  }
  TimerNode & timer = *timers_.begin();
  timers_.erase(timers_.begin());
  if (timer.one_shot || timer.period_ns == 0) {
    *nominal_ns = timer.next_ns;
    *missed = 0;
    return &timer;
  }
  const int64_t periods = (now_ns - timer.next_ns) / timer.period_ns;
  *nominal_ns = timer.next_ns + periods * timer.period_ns;
  *missed = static_cast<uint64_t>(periods);
  timer.next_ns = add_saturating_ns(*nominal_ns, timer.period_ns);
  timers_.insert(timer);
  return &timer;
}

void TimerQueue::rebase(int64_t now_ns) noexcept
{
  // All keys change: rebuild the tree from its own nodes.
  auto old = std::move(timers_);
  timers_.clear();
  while (!old.empty()) {
    TimerNode & timer = *old.begin();
    old.erase(old.begin());
    timer.next_ns = add_saturating_ns(now_ns, timer.period_ns);
    timers_.insert(timer);
  }
}

}  // namespace rclrt_core
