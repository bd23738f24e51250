// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "threads/beat.hpp"

#include <algorithm>
#include <string>

namespace rclrt_core
{

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
