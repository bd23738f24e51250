// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "timers/timer_clocks.hpp"

#include <mutex>
#include <utility>

#include "threads/dispatch.hpp"

namespace rclrt_core
{
namespace
{

// A sleep is relative to CLOCK_MONOTONIC; this bounds how late a step of the system clock is seen.
constexpr Duration kSystemClockPoll = std::chrono::milliseconds(100);
// A thread looks at no more timers than this, to find one to cover, or one that is due.
constexpr std::size_t kMaxLook = 64;
constexpr std::size_t kMaxDue = 8;
// A thread that covers a timer comes so much after its release, or it has not got a CPU.
constexpr Duration kToWake = std::chrono::microseconds(100);
constexpr Duration kLongestGrace = std::chrono::milliseconds(100);

// Before a thread that wakes for a timer has come to a job, so much time has passed.
constexpr Duration kToCome = std::chrono::microseconds(20);

// Whether the worker may release this timer, which is one of its lane.
bool is_for(const TimerNode & timer, const Worker & worker) noexcept
{
  const CallbackNode & callback = *timer.callback;
  return callback.queue->lane == worker.lane && !callback.attributes->is_ext() &&
         suffices(worker, {callback.attributes, callback.cpus});
}

// From then on the timer thread does not wait for the thread that covers the timer.
TimePoint latest_release(const TimerNode & timer) noexcept
{
  const int64_t longest_ns = kLongestGrace.count();
  const int64_t grace_ns = timer.one_shot ? longest_ns : std::min(timer.period_ns, longest_ns);
  return time_point_of(add_saturating_ns(timer.next_ns, grace_ns));
}

// Whether the thread that covers one of them will release this one with that, or the timer thread in its place.
bool comes_with_another(const TimerNode & timer, TimerQueue & queue) noexcept
{
  const auto brings_it = [&timer](const TimerNode & covered) {
    return timer.next_ns - covered.next_ns <= kToCome.count() &&
           latest_release(covered) <= latest_release(timer) && is_for(timer, *covered.covered_by);
  };
  return queue.find_covered(timer.next_ns, kMaxDue, brings_it) != nullptr;
}

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
  TimePoint next = look_;
  TimerQueue & queue = all_[kSteadyClock]->queue;
  const auto any = [](const TimerNode &) { return true; };
  std::size_t looked_at = 0;
  const auto comes_alone = [&](const TimerNode & timer) {
    return ++looked_at == kMaxLook || !comes_with_another(timer, queue);
  };
  if (const TimerNode * const timer = queue.find(INT64_MAX, kMaxLook, comes_alone)) {
    next = std::min(next, time_point_of(timer->next_ns));
  }
  if (const TimerNode * const covered = queue.find_covered(INT64_MAX, 1, any)) {
    next = std::min(next, latest_release(*covered));
  }
  const ClockState & system = *all_[kSystemClock];
  if (!system.queue.empty()) {
    const Duration wait(system.queue.next_ns() - system.now_ns());
    next = std::min(next, platform_.now() + std::min(wait, kSystemClockPoll));
  }
  return next;
}

void TimerClocks::look_again(Section & section) noexcept
{
  alarm.no_later_than(next_release());
  section.set(alarm);
}

void TimerClocks::look_by(TimePoint time, Section & section) noexcept
{
  if (time < look_) {
    look_ = time;
    alarm.no_later_than(time);
    section.set(alarm);
  }
}

bool TimerClocks::ends_look() noexcept
{
  const bool is_due = look_ <= platform_.now();
  look_ = is_due ? kNever : look_;
  return is_due;
}

TimerNode * TimerClocks::to_cover(
  const Worker & worker, std::size_t cpus, bool may_change) const noexcept
{
  const Lane * const lane = worker.lane;
  const bool is_new = worker.first_rest.load(std::memory_order_relaxed) != nullptr;
  if (!lane || !alarm.is_used() || lane->covering >= cpus || is_new) {
    return nullptr;
  }
  TimerQueue & queue = all_[kSteadyClock]->queue;
  return queue.find(INT64_MAX, kMaxLook, [&](const TimerNode & timer) {
    const CallbackNode & callback = *timer.callback;
    // A thread does not reserve CPU time before it needs it.
    const bool can_change =
      may_change && callback.attributes->asked.scheduling_policy != SchedulingPolicy::kDeadline;
    return callback.queue->lane == lane && !callback.attributes->is_ext() &&
           (can_change || has_exactly(worker, {callback.attributes, callback.cpus})) &&
           !(callback.is_short() && comes_with_another(timer, queue));
  });
}

void TimerClocks::cover(Worker & worker, TimerNode & timer, Section & section) noexcept
{
  worker.covers = &timer;
  all_[kSteadyClock]->queue.set_covered(timer, &worker);
  ++worker.lane->covering;
  // Between messages it will be taken from its sleep again, and the alarm is needed before the release.
  if (worker.ran_timer && nanoseconds_of(alarm.decided()) <= timer.next_ns) {
    const TimePoint next = next_release();
    if (next != alarm.decided()) {  // not only for a look
      alarm.decide(next);
      section.set(alarm);
    }
  }
}

void TimerClocks::uncover(Worker & worker) noexcept
{
  all_[kSteadyClock]->queue.set_covered(*worker.covers, nullptr);
}

// As wake_up() does by the worker itself.
void TimerClocks::expect(Lane & lane) const noexcept
{
  const int64_t now_ns = nanoseconds_of(platform_.now());
  for (auto next = lane.idle.begin(); next != lane.idle.end();) {
    Worker & worker = *next++;
    if (worker.covers && worker.covers->next_ns <= now_ns) {
      worker.sleeping = false;
      worker.waker = nullptr;
      worker.word.store(Worker::kAwake, std::memory_order_relaxed);  // under the lock
      lane.idle.erase(lane.idle.iterator_to(worker));
      lane.coming.push_back(worker);
    }
  }
}

TimerNode * TimerClocks::due(ClockState & clock, int64_t now_ns, const Worker * worker) noexcept
{
  if (!worker) {
    const auto any = [](const TimerNode &) { return true; };
    TimerNode * const timer = clock.queue.find(now_ns, 1, any);
    return timer ? timer : clock.queue.find_covered(now_ns, 1, [now_ns](const TimerNode & covered) {
      return nanoseconds_of(latest_release(covered)) <= now_ns;
    });
  }
  if (worker->covers && worker->covers->next_ns <= now_ns) {
    return worker->covers;
  }
  const auto is_its = [worker](const TimerNode & timer) { return is_for(timer, *worker); };
  TimerNode * const timer = clock.queue.find(now_ns, kMaxDue, is_its);
  return timer ? timer : clock.queue.find_covered(now_ns - kToWake.count(), kMaxDue, is_its);
}

void TimerQueue::set_covered(TimerNode & timer, Worker * worker) noexcept
{
  if (!worker) {
    disarm(timer);
    timers_.insert(timer);
  } else {
    timers_.erase(timers_.iterator_to(timer));
    timer.covered_by = worker;
    covered_.insert(timer);
  }
}

void TimerQueue::arm(TimerNode & timer, int64_t next_ns) noexcept
{
  disarm(timer);
  timer.next_ns = next_ns;
  timers_.insert(timer);
}

void TimerQueue::disarm(TimerNode & timer) noexcept
{
  if (Worker * const worker = std::exchange(timer.covered_by, nullptr)) {
    worker->covers = nullptr;
    --worker->lane->covering;
    covered_.erase(covered_.iterator_to(timer));
  } else if (timer.in_queue.is_linked()) {
    timers_.erase(timers_.iterator_to(timer));
  }
}

void TimerQueue::take(
  TimerNode & timer, int64_t now_ns, int64_t * nominal_ns, uint64_t * missed) noexcept
{
  disarm(timer);
  if (timer.one_shot || timer.period_ns == 0) {
    *nominal_ns = timer.next_ns;
    *missed = 0;
    return;
  }
  const int64_t periods = (now_ns - timer.next_ns) / timer.period_ns;
  *nominal_ns = timer.next_ns + periods * timer.period_ns;
  *missed = static_cast<uint64_t>(periods);
  timer.next_ns = add_saturating_ns(*nominal_ns, timer.period_ns);
  timers_.insert(timer);
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
