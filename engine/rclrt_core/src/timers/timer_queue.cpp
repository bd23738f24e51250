// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "timers/timer_queue.hpp"

#include <utility>

namespace rclrt_core
{

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
