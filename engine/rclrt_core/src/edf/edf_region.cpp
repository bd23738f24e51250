// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "edf/edf_region.hpp"

#include <algorithm>

namespace rclrt_core
{
namespace
{

constexpr int kTries = 3;

}  // namespace

void publish(EdfRegion & region, const EdfPublished * jobs, uint32_t count) noexcept
{
  // Nobody else writes it.
  const uint64_t next = region.sequence.load(std::memory_order_relaxed) + 1;
  EdfRegion::Buffer & buffer = region.buffers[next % 2];
  for (uint32_t i = 0; i < count; ++i) {
    EdfRegion::Job & job = buffer.jobs[i];
    job.deadline_ns.store(jobs[i].deadline_ns, std::memory_order_release);
    job.arrival.store(jobs[i].arrival, std::memory_order_release);
    job.priority.store(jobs[i].priority, std::memory_order_release);
  }
  buffer.count.store(count, std::memory_order_release);
  region.sequence.store(next, std::memory_order_seq_cst);
}

bool read(const EdfRegion & region, int32_t highest_priority, EdfCopy * copy) noexcept
{
  for (int i = 0; i < kTries; ++i) {
    const uint64_t sequence = region.sequence.load(std::memory_order_seq_cst);
    const EdfRegion::Buffer & buffer = region.buffers[sequence % 2];
    // Loaded once: the value that is checked is the value that is used.
    const uint64_t count = buffer.count.load(std::memory_order_acquire);
    if (count > EdfCopy::kMaxJobs) {
      continue;
    }
    for (uint64_t n = 0; n < count; ++n) {
      const EdfRegion::Job & job = buffer.jobs[n];
      EdfPublished & to = copy->jobs[n];
      to.deadline_ns = job.deadline_ns.load(std::memory_order_acquire);
      to.arrival = job.arrival.load(std::memory_order_acquire);
      const int64_t priority = job.priority.load(std::memory_order_acquire);
      to.priority = static_cast<int32_t>(std::clamp<int64_t>(priority, 0, highest_priority));
    }
    if (region.sequence.load(std::memory_order_seq_cst) == sequence) {
      copy->sequence = sequence;
      copy->count = static_cast<uint32_t>(count);
      return true;
    }
  }
  return false;
}

}  // namespace rclrt_core
