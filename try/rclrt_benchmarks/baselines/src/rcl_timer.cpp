// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rcl_timer.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "check.hpp"

namespace rclrt_baselines
{
namespace
{

// Making and destroying a timer changes its clock.
std::mutex & clocks_mutex()
{
  static std::mutex mutex;
  return mutex;
}

}  // namespace

RclTimer::RclTimer(
  const rclrt_rcl::Timer & timer, std::shared_ptr<rclrt_rcl::Context> context,
  const rclrt_rcl::Timer::State & state, std::function<void()> on_reset)
: context_(std::move(context)),
  clock_(timer.clock()),
  one_shot_(timer.is_one_shot()),
  on_reset_(std::move(on_reset))
{
  // The first release is one period after this; changing the period does not touch it.
  const int64_t first_ns = std::max<int64_t>(state.first.count(), 0);
  {
    std::lock_guard<std::mutex> lock(clocks_mutex());
    check(
      rcl_timer_init2(
        &handle_, clock_->handle(), context_->handle(), first_ns, nullptr,
        rcl_get_default_allocator(), !state.cancelled),
      "making a timer");
  }
  set_period(state.period);
}

RclTimer::~RclTimer()
{
  std::lock_guard<std::mutex> lock(clocks_mutex());
  ignore_failure(rcl_timer_fini(&handle_));
}

std::optional<rclrt_core::Job> RclTimer::call()
{
  rcl_timer_call_info_t info{};
  const rcl_ret_t result = rcl_timer_call_with_info(&handle_, &info);
  if (result == RCL_RET_TIMER_CANCELED) {
    ignore_failure(result);
    return {};
  }
  check(result, "calling a timer");
  if (one_shot_) {
    cancel();
  }
  rclrt_core::Job job;
  job.ready = std::chrono::steady_clock::now();
  job.release =
    job.ready - std::chrono::nanoseconds(info.actual_call_time - info.expected_call_time);
  return job;
}

bool RclTimer::is_ready() const
{
  bool ready = false;
  check(rcl_timer_is_ready(&handle_, &ready), "asking whether a timer is ready");
  return ready;
}

void RclTimer::cancel() { check(rcl_timer_cancel(&handle_), "cancelling a timer"); }

void RclTimer::reset()
{
  check(rcl_timer_reset(&handle_), "resetting a timer");
  if (on_reset_) {
    on_reset_();
  }
}

void RclTimer::set_period(std::chrono::nanoseconds period)
{
  int64_t old_period_ns = 0;
  check(
    rcl_timer_exchange_period(&handle_, period.count(), &old_period_ns),
    "changing a timer's period");
}

bool RclTimer::is_cancelled() const
{
  bool cancelled = false;
  check(rcl_timer_is_canceled(&handle_, &cancelled), "asking whether a timer is cancelled");
  return cancelled;
}

std::chrono::nanoseconds RclTimer::time_until_release() const
{
  int64_t left_ns = 0;
  const rcl_ret_t result = rcl_timer_get_time_until_next_call(&handle_, &left_ns);
  if (result == RCL_RET_TIMER_CANCELED) {
    ignore_failure(result);
    return std::chrono::nanoseconds::max();
  }
  check(result, "asking when a timer is due");
  return std::chrono::nanoseconds(left_ns);
}

TimersThread::TimersThread(
  std::function<void(const std::shared_ptr<Member> &, const rclrt_core::Job &)> on_release)
: on_release_(std::move(on_release))
{
}

TimersThread::~TimersThread() { stop(); }

void TimersThread::add(const std::shared_ptr<Member> & timer)
{
  {
    std::lock_guard<std::mutex> lock(mutex_);
    timers_.push_back(timer);
    has_changed_ = true;
  }
  changed_.notify_one();
}

void TimersThread::remove(const std::shared_ptr<Member> & timer)
{
  {
    std::lock_guard<std::mutex> lock(mutex_);
    timers_.erase(std::remove(timers_.begin(), timers_.end(), timer), timers_.end());
    has_changed_ = true;
  }
  changed_.notify_one();
}

void TimersThread::changed()
{
  {
    std::lock_guard<std::mutex> lock(mutex_);
    has_changed_ = true;
  }
  changed_.notify_one();
}

void TimersThread::start()
{
  stop_ = false;
  thread_ = std::thread([this] { run(); });
}

void TimersThread::stop()
{
  if (!thread_.joinable()) {
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::shared_ptr<Member> TimersThread::head() const
{
  const auto first =
    std::min_element(timers_.begin(), timers_.end(), [](const auto & a, const auto & b) {
      return a->timer->time_until_release() < b->timer->time_until_release();
    });
  return first == timers_.end() ? nullptr : *first;
}

void TimersThread::run()
{
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    const auto first = head();
    const auto left = first ? first->timer->time_until_release() : std::chrono::nanoseconds::max();
    const auto must_look = [this] { return has_changed_ || stop_; };
    if (left == std::chrono::nanoseconds::max()) {
      changed_.wait(lock, must_look);
    } else if (left.count() > 0) {
      changed_.wait_for(lock, left, must_look);
    }
    has_changed_ = false;
    if (!stop_) {
      release_due();
    }
  }
}

// As many as were due at first: those that are due again by then have to wait for the next round.
void TimersThread::release_due()
{
  std::size_t ready = std::count_if(
    timers_.begin(), timers_.end(), [](const auto & timer) { return timer->timer->is_ready(); });
  for (; ready > 0; --ready) {
    const auto first = head();
    if (!first->timer->is_ready()) {
      return;
    }
    if (const auto job = first->timer->call()) {
      on_release_(first, *job);
    }
  }
}

std::size_t TimersThread::ready_count()
{
  std::lock_guard<std::mutex> lock(mutex_);
  return std::count_if(
    timers_.begin(), timers_.end(), [](const auto & timer) { return timer->timer->is_ready(); });
}

rclrt_core::TimePoint TimersThread::next_release()
{
  std::lock_guard<std::mutex> lock(mutex_);
  const auto first = head();
  const auto left = first ? first->timer->time_until_release() : std::chrono::nanoseconds::max();
  return rclrt_core::add_saturating(
    std::chrono::steady_clock::now(), std::max(left, std::chrono::nanoseconds(0)));
}

bool TimersThread::take_due(std::shared_ptr<Member> * timer, rclrt_core::Job * job)
{
  std::lock_guard<std::mutex> lock(mutex_);
  const auto first = head();
  if (!first || !first->timer->is_ready()) {
    return false;
  }
  const auto called = first->timer->call();
  if (!called) {
    return false;
  }
  *timer = first;
  *job = *called;
  return true;
}

}  // namespace rclrt_baselines
