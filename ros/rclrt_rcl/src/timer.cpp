// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/timer.hpp"

#include <utility>

#include "rclrt_front_end/process_platform.hpp"
#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{
namespace
{

constexpr uint32_t kDefaultDepth = 16;

void reject_negative(std::chrono::nanoseconds period, const std::string & name)
{
  if (period.count() < 0) {
    throw Error(
      "timer '" + name + "': period " + std::to_string(period.count()) +
      " ns is negative; give 0 or more");
  }
}

}  // namespace

Timer::Timer(
  const EntitySetup & setup, std::shared_ptr<Clock> clock, std::chrono::nanoseconds period,
  bool one_shot, bool autostart, Callback callback, const detail::Symbol & symbol)
: Entity(setup, kDefaultDepth),
  clock_(std::move(clock)),
  one_shot_(one_shot),
  callback_(std::move(callback)),
  mutex_(rclrt_front_end::process_platform().make_mutex()),
  period_(period),
  cancelled_(!autostart)
{
  reject_negative(period, name());
  set_next(clock_->now(), period);
  detail::trace_timer(this, period, setup.node, &callback_, symbol);
}

Timer::~Timer() = default;

std::chrono::nanoseconds Timer::period() const
{
  std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  return period_;
}

void Timer::cancel()
{
  std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  cancelled_ = true;
  if (driver_) {
    driver_->cancel();
  }
}

void Timer::reset()
{
  std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  cancelled_ = false;
  fired_ = false;
  set_next(clock_->now(), period_);
  if (driver_) {
    driver_->reset();
  }
}

bool Timer::is_canceled() const
{
  std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  return driver_ ? driver_->is_cancelled() : cancelled_ || fired_;
}

void Timer::set_period(std::chrono::nanoseconds period)
{
  reject_negative(period, name());
  std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  period_ = period;
  if (driver_) {
    driver_->set_period(period);
  }
}

std::chrono::nanoseconds Timer::time_until_trigger() const
{
  std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  if (driver_) {
    return driver_->time_until_release();
  }
  return cancelled_ || fired_ ? std::chrono::nanoseconds::max() : next_ - clock_->now();
}

void Timer::drive(const MakeDriver & make)
{
  std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  release_driver_locked();
  if (is_closed()) {
    return;
  }
  State state;
  state.period = period_;
  state.cancelled = cancelled_ || fired_;
  const std::chrono::nanoseconds now = clock_->now();
  if (now < next_set_at_) {  // the clock has gone back while nobody looked: a period starts anew
    set_next(now, period_);
  }
  state.first = next_ - now;
  driver_ = make(state);
}

void Timer::release_driver()
{
  std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
  release_driver_locked();
}

void Timer::set_next(std::chrono::nanoseconds now, std::chrono::nanoseconds after)
{
  next_ =
    after > std::chrono::nanoseconds::max() - now ? std::chrono::nanoseconds::max() : now + after;
  next_set_at_ = now;
}

void Timer::release_driver_locked()
{
  if (driver_) {
    // The driver of a one-shot timer is done when it has released the job, which may not have run.
    if (!one_shot_) {
      cancelled_ = driver_->is_cancelled();
    }
    if (!driver_->is_cancelled()) {
      set_next(clock_->now(), driver_->time_until_release());
    }
    driver_.reset();
  }
}

void Timer::on_close() { release_driver(); }

bool Timer::do_take_and_run(const rclrt_core::Job & job)
{
  detail::trace_execute(this);
  detail::trace_released(this, job.release);
  if (one_shot_) {
    std::lock_guard<rclrt_core::Mutex> lock(*mutex_);
    fired_ = !driver_ || driver_->is_cancelled();  // else it was reset after this release
  }
  const detail::Running running(&callback_);
  callback_(*this, TimerInfo{job.release, rclrt_front_end::process_platform().now()});
  return true;
}

}  // namespace rclrt_rcl
