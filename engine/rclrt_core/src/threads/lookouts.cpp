// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "threads/lookouts.hpp"

#include <algorithm>
#include <string>

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

void Beat::end()
{
  ends_.store(1);
  for (std::size_t i = 0; i < threads_.size(); ++i) {  // a period may be long
    platform_.wake_one(ends_);
  }
  for (const auto & thread : threads_) {
    thread->join();
  }
  threads_.clear();
}

Status Beat::start(
  Duration period, const Attributes & attributes,
  const std::function<void(const Finding &)> & on_finding)
{
  const CpuSet usable = platform_.usable_cpu_set();
  const CpuSet & wanted = attributes.cpu_affinity.empty() ? usable : attributes.cpu_affinity;
  for (const int cpu : wanted.cpus()) {
    ThreadOptions options;
    options.name = "rclrt beat " + std::to_string(cpu);
    options.attributes = attributes;
    options.attributes.cpu_affinity = CpuSet({cpu});
    std::unique_ptr<Thread> thread;
    const Status started =
      platform_.start_thread(options, [this, period] { beat(period); }, on_finding, &thread);
    if (!started.ok()) {
      return started;
    }
    threads_.push_back(std::move(thread));
  }
  return {};
}

// A beat that is late is not made up for.
void Beat::beat(Duration period) noexcept
{
  TimePoint next = platform_.now();
  while (ends_.load() == 0) {
    next = add_saturating(std::max(next, platform_.now() - period), period);
    platform_.wait(ends_, 0, next);
  }
}

}  // namespace rclrt_core
