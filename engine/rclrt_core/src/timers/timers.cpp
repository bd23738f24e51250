// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Clocks and due timers.

#include <algorithm>

#include "engine_impl.hpp"

namespace rclrt_core
{
namespace
{

// In one section of the lock: it is left between them, however many timers are due.
constexpr int kMaxReleases = 8;

CallbackNode * timer_of(CallbackNode * callback) noexcept
{
  return callback && callback->timer ? callback : nullptr;
}

// Before something changes that its release depends on: the thread that covers it may not have got a CPU.
template <typename Impl>
void release_if_due(Impl & impl, const TimerNode & timer, Section & section) noexcept
{
  if (Worker * const worker = timer.covered_by) {
    impl.release_due(impl.clocks[kSteadyClock], section, worker);
    impl.clocks.look_again(section);
  }
}

}  // namespace

ClockId Engine::add_clock(std::function<int64_t()> now_ns)
{
  const Impl::Lock configuration_lock(*impl_->configuration);
  return impl_->clocks.add(std::move(now_ns), *impl_->mutex);
}

Status Engine::remove_clock(ClockId clock)
{
  std::function<int64_t()> dropped;  // after the locks: it may hold anything
  const Impl::Lock configuration_lock(*impl_->configuration);
  if (clock <= kSystemClock || !impl_->clocks.has(clock)) {
    return Status::error(
      "remove_clock(): clock " + std::to_string(clock) + " was not added to this engine");
  }
  for (const auto & entry : impl_->callbacks) {
    if (entry.second->timer && entry.second->timer->clock == clock) {
      return Status::error(
        "remove_clock(): clock " + std::to_string(clock) + " still drives timer '" +
        entry.second->name() + "'; remove it, or give it another clock");
    }
  }
  const Impl::Lock lock(*impl_->mutex);
  std::swap(dropped, impl_->clocks[clock].now_ns);
  return {};
}

void Engine::Impl::arm(TimerNode & timer, int64_t after_ns, Section & section) noexcept
{
  ClockState & clock = clocks[timer.clock];
  const int64_t now_ns = clock.now_ns();
  const int64_t next_ns = add_saturating_ns(now_ns, after_ns);
  clock.last_now_ns = std::max(clock.last_now_ns, now_ns);
  timer.cancelled = false;
  clock.queue.arm(timer, next_ns);
  if (clock.driven && clocks.alarm.is_used()) {
    clocks.alarm.no_later_than(
      timer.clock == kSteadyClock ? time_point_of(next_ns) : clocks.next_release());
    section.set(clocks.alarm);
  } else if (clock.driven && clock.queue.next_ns() == next_ns) {
    if (timer_driver) {
      make_come(*timer_driver, section);
    }
  } else if (!clock.driven && next_ns <= now_ns) {
    release_due(clock, section);  // the clock may stand still for long
  }
}

void Engine::Impl::release_all_due(Section & section) noexcept
{
  for (const ClockId clock : {kSteadyClock, kSystemClock}) {
    while (!clocks[clock].queue.empty() && release_due(clocks[clock], section)) {
      section.leave();
      section.enter();
    }
  }
}

void Engine::Impl::release_covered(Worker & worker, Section & section) noexcept
{
  // On its way to a job: no other thread is sent for what it releases.
  worker.lane->coming.push_back(worker);
  clocks.expect(*worker.lane);
  for (bool more = true; more;) {
    worker.lane->has_releaser = true;
    more = release_due(clocks[kSteadyClock], section, &worker);
    worker.lane->has_releaser = false;
    if (more) {
      section.leave();
      section.enter();
    }
  }
  worker.lane->coming.erase(worker.lane->coming.iterator_to(worker));
  if (worker.covers) {  // it has come early
    clocks.uncover(worker);
  }
  clocks.look_again(section);
}

bool Engine::Impl::release_due(ClockState & clock, Section & section, Worker * worker) noexcept
{
  // What a message has told of a clock was so when the message came.
  const bool is_told = !clock.driven && running_here && running_here->callback->sets_clock;
  const TimePoint now = is_told ? running_here->job.release : platform.now();
  const int64_t now_ns = &clock == &clocks[kSteadyClock] ? nanoseconds_of(now) : clock.now_ns();
  if (now_ns < clock.last_now_ns) {
    clock.queue.rebase(now_ns);  // O(n log n) in the timers of the clock
  }
  clock.last_now_ns = now_ns;
  for (int released = 0; released < kMaxReleases && section.has_room(); ++released) {
    int64_t nominal_ns = 0;
    uint64_t missed = 0;
    TimerNode * const timer = TimerClocks::due(clock, now_ns, worker);
    if (!timer) {
      return false;
    }
    const bool was_covered = timer->covered_by != nullptr;
    clock.queue.take(*timer, now_ns, &nominal_ns, &missed);
    CallbackNode & callback = *timer->callback;
    timer->cancelled |= timer->one_shot;
    // On every clock, a release is as long ago on CLOCK_MONOTONIC as it is on its own clock.
    const TimePoint latest = now - Duration(now_ns - nominal_ns);
    if (missed > 0 && callback.overrun_rule == OverrunRule::kQueueAll) {
      Job last;
      last.release = latest;
      last.ready = now;
      last.cause = RCLRT_CAUSE_TIMER;
      last.found_busy(callback.queue->lane->what_is_busy(callback));
      ready.release_late(callback, last, Duration(timer->period_ns), missed + 1);
      callback.queue->lane->released(callback, section);
    } else {
      Job first;
      first.release = latest - Duration(timer->period_ns) * static_cast<int64_t>(missed);
      first.ready = now;
      first.root = first.release;
      first.cause = RCLRT_CAUSE_TIMER;
      if (missed > 0 && callback.overrun_rule == OverrunRule::kKeepLatest) {
        // It would stand in line since then, had anybody looked: the newest one comes in its place.
        first.deadline = callback.deadline(first.release, kNever);
        ready.release(callback, first, 1);
        first.release += Duration(timer->period_ns);
        --missed;
      }
      const bool skips = was_covered && missed > 0 && callback.overrun_rule == OverrunRule::kSkip;
      if (skips) {  // its thread had no CPU, and the first one would wait
        release(callback, first.release, now, 1, nullptr, section);
        first.release += Duration(timer->period_ns);
      }
      callback.statistics.released += missed;
      first.sequence = ready.next_sequence();
      ready.give_up(callback, first, missed, RCLRT_JOB_SKIPPED, now);
      if (!skips) {
        release(callback, latest, now, 1, nullptr, section);
      }
    }
  }
  return TimerClocks::due(clock, now_ns, worker) != nullptr;
}

void Engine::clock_changed(ClockId clock) noexcept
{
  for (bool more = true; more;) {
    Section section(*impl_->mutex);
    more = impl_->clocks.has(clock) && impl_->release_due(impl_->clocks[clock], section);
  }
}

Status Engine::cancel_timer(const std::shared_ptr<Callback> & timer)
{
  Section section(*impl_->mutex);
  CallbackNode * const callback = timer_of(impl_->known(timer));
  if (!callback) {
    return Status::error("cancel_timer(): not a timer of this engine");
  }
  release_if_due(*impl_, *callback->timer, section);
  callback->timer->cancelled = true;
  impl_->clocks.disarm(*callback->timer);
  impl_->ready.withdraw(*callback, impl_->platform.now());
  return {};
}

Status Engine::reset_timer(const std::shared_ptr<Callback> & timer, std::optional<Duration> first)
{
  Section section(*impl_->mutex);
  CallbackNode * const callback = timer_of(impl_->known(timer));
  if (!callback) {
    return Status::error("reset_timer(): not a timer of this engine");
  }
  release_if_due(*impl_, *callback->timer, section);
  impl_->ready.withdraw(*callback, impl_->platform.now());
  impl_->arm(*callback->timer, first ? first->count() : callback->timer->period_ns, section);
  return {};
}

Status Engine::set_timer_period(const std::shared_ptr<Callback> & timer, Duration period)
{
  Section section(*impl_->mutex);
  CallbackNode * const callback = timer_of(impl_->known(timer));
  if (!callback) {
    return Status::error("set_timer_period(): not a timer of this engine");
  }
  if (period < Duration::zero()) {
    return Status::error(
      "timer '" + callback->name() + "': period " + std::to_string(period.count()) +
      " ns is negative; give 0 or more");
  }
  release_if_due(*impl_, *callback->timer, section);
  const bool began_again = callback->timer->releases_when_done() && period > Duration::zero();
  callback->timer->period_ns = period.count();
  if (began_again) {
    impl_->arm(*callback->timer, period.count(), section);
  }
  return {};
}

Status Engine::set_timer_clock(const std::shared_ptr<Callback> & timer, ClockId clock)
{
  const Impl::Lock configuration_lock(*impl_->configuration);
  Section section(*impl_->mutex);
  CallbackNode * const callback = timer_of(impl_->known(timer));
  if (!callback) {
    return Status::error("set_timer_clock(): not a timer of this engine");
  }
  if (!impl_->clocks.has(clock)) {
    return Status::error(
      "timer '" + callback->name() + "': unknown clock " + std::to_string(clock));
  }
  TimerNode & node = *callback->timer;
  release_if_due(*impl_, node, section);
  impl_->clocks.disarm(node);
  impl_->ready.withdraw(*callback, impl_->platform.now());
  node.clock = clock;
  if (!node.cancelled) {
    impl_->arm(node, node.period_ns, section);
  }
  return {};
}

bool Engine::is_timer_cancelled(const std::shared_ptr<Callback> & timer) const
{
  Impl::Lock lock(*impl_->mutex);
  const CallbackNode * callback = timer_of(impl_->known(timer));
  return !callback || callback->timer->cancelled;
}

Duration Engine::time_until_release(const std::shared_ptr<Callback> & timer) const
{
  Impl::Lock lock(*impl_->mutex);
  const CallbackNode * callback = timer_of(impl_->known(timer));
  if (!callback || callback->timer->cancelled) {
    return Duration::max();
  }
  return Duration(callback->timer->next_ns - impl_->clocks[callback->timer->clock].now_ns());
}

}  // namespace rclrt_core
