// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/timer.hpp"

#include <utility>

#include "platform.hpp"
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
  EntitySetup setup, std::shared_ptr<Clock> clock, std::chrono::nanoseconds period, bool one_shot,
  bool autostart, Callback callback)
: Entity(std::move(setup), kDefaultDepth),
  clock_(std::move(clock)),
  one_shot_(one_shot),
  callback_(std::move(callback)),
  period_(period),
  cancelled_(!autostart),
  next_(clock_->now() + period)
{
  reject_negative(period, name());
}

Timer::~Timer() = default;

std::chrono::nanoseconds Timer::period() const
{
  std::lock_guard<std::mutex> lock(mutex_);
  return period_;
}

void Timer::cancel()
{
  std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = true;
  if (driver_) {
    driver_->cancel();
  }
}

void Timer::reset()
{
  std::lock_guard<std::mutex> lock(mutex_);
  cancelled_ = false;
  next_ = clock_->now() + period_;
  if (driver_) {
    driver_->reset();
  }
}

bool Timer::is_canceled() const
{
  std::lock_guard<std::mutex> lock(mutex_);
  return driver_ ? driver_->is_cancelled() : cancelled_;
}

void Timer::set_period(std::chrono::nanoseconds period)
{
  reject_negative(period, name());
  std::lock_guard<std::mutex> lock(mutex_);
  period_ = period;
  if (driver_) {
    driver_->set_period(period);
  }
}

std::chrono::nanoseconds Timer::time_until_trigger() const
{
  std::lock_guard<std::mutex> lock(mutex_);
  if (driver_) {
    return driver_->time_until_release();
  }
  return cancelled_ ? std::chrono::nanoseconds::max() : next_ - clock_->now();
}

void Timer::drive(const MakeDriver & make)
{
  std::lock_guard<std::mutex> lock(mutex_);
  release_driver_locked();
  if (is_closed()) {
    return;
  }
  State state;
  state.period = period_;
  state.cancelled = cancelled_;
  state.first = next_ - clock_->now();
  driver_ = make(state);
}

void Timer::release_driver()
{
  std::lock_guard<std::mutex> lock(mutex_);
  release_driver_locked();
}

void Timer::release_driver_locked()
{
  if (driver_) {
    cancelled_ = driver_->is_cancelled();
    if (!cancelled_) {
      next_ = clock_->now() + driver_->time_until_release();
    }
    driver_.reset();
  }
}

void Timer::on_close() { release_driver(); }

bool Timer::do_take_and_run(const rclrt_core::Job & job)
{
  callback_(*this, TimerInfo{job.release, detail::platform().now()});
  return true;
}

}  // namespace rclrt_rcl
