// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "timers_thread.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace rclrt_baselines
{

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
