// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "threads/lookouts.hpp"

#include <algorithm>

namespace rclrt_core
{
namespace
{

// After another thread has needed the CPU, nobody looks for work for so long: twice as long each time, and a little less
// after each look without loss. On a busy machine a job that is looked for comes later than one that is woken.
constexpr Duration kShortestPause = std::chrono::milliseconds(100);
constexpr Duration kLongestPause = std::chrono::seconds(5);
constexpr int kForgets = 256;

}  // namespace

// At most one thread of a lane, and one less than there are CPUs: a thread that finds work needs a CPU as well as the
// one that brings it.
Look Lookouts::next_look(Worker & worker) noexcept
{
  Lane * const lane = worker.lane;
  if (options_.kind == Waiting::kBlock || !lane) {
    return {};
  }
  if (lane->lookout && lane->lookout->looks.load(std::memory_order_relaxed)) {
    return {};
  }
  lane->lookout = &worker;
  const Look look = lane->arrivals.look(options_);
  if (!look.any() || looking_ >= most_ || platform_.now() < no_look_before_) {
    return {};
  }
  ++looking_;
  worker.looks.store(true, std::memory_order_relaxed);
  return look;
}

void Lookouts::look(
  Worker & worker, TimePoint idle_since, const Look & when, TimePoint until) noexcept
{
  worker.wait(std::min(until, add_saturating(idle_since, when.from)));
  const TimePoint end = std::min(until, add_saturating(idle_since, when.to));
  const bool has_kept = platform_.spin(worker.word, Worker::kAsleep, end);
  worker.looks.store(false, std::memory_order_relaxed);
  const std::lock_guard<Mutex> lock(mutex_);
  --looking_;
  if (has_kept) {
    pause_ = std::max(kShortestPause, pause_ - pause_ / kForgets);
  } else {
    pause_ = std::max(kShortestPause, pause_);
    no_look_before_ = platform_.now() + pause_;
    pause_ = std::min(kLongestPause, 2 * pause_);
  }
}

}  // namespace rclrt_core
