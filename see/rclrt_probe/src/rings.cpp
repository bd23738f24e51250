// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rings.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "rclrt_core/attributes.hpp"

namespace rclrt_probe
{
namespace
{

/// The first version of the kernel's struct sched_attr, to which later ones only add.
struct KernelSchedAttr
{
  uint32_t size;
  uint32_t policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime_ns;
  uint64_t deadline_ns;
  uint64_t period_ns;
};

const rclrt_core::PolicyFacts & facts_of(uint32_t in_kernel) noexcept
{
  for (const rclrt_core::PolicyFacts & known : rclrt_core::kPolicies) {
    if (
      known.in_kernel == in_kernel &&
      known.scheduling_policy != rclrt_core::SchedulingPolicy::kUnchanged) {
      return known;
    }
  }
  return rclrt_core::kPolicies[RCLRT_POLICY_UNKNOWN];
}

}  // namespace

void InForce::refresh(int thread) noexcept
{
  const int kept = errno;
  KernelSchedAttr attr{};
  if (syscall(SYS_sched_getattr, thread, &attr, sizeof(attr), 0) == 0) {
    const rclrt_core::PolicyFacts & facts = facts_of(attr.policy);
    const int priority = facts.has_priority ? static_cast<int>(attr.priority)
                         : facts.has_nice   ? attr.nice
                                            : 0;
    const auto upper = static_cast<uint32_t>(static_cast<uint16_t>(priority)) << 16;
    policy_.store(
      upper | static_cast<uint32_t>(facts.scheduling_policy), std::memory_order_relaxed);
  }
  uint64_t words[16] = {};
  const long bytes = syscall(SYS_sched_getaffinity, thread, sizeof(words), words);
  if (bytes > 0) {
    uint64_t cpus = words[0];
    for (std::size_t i = 1; i < sizeof(words) / sizeof(words[0]); ++i) {
      cpus |= words[i] != 0 ? RCLRT_TRACE_MORE_CPUS : 0;
    }
    cpus_.store(cpus, std::memory_order_relaxed);
  }
  errno = kept;
}

void InForce::put_into(rclrt_job_record * record) const noexcept
{
  const uint32_t policy = policy_.load(std::memory_order_relaxed);
  record->policy = static_cast<uint8_t>(policy & 0xFF);
  record->priority = static_cast<int16_t>(policy >> 16);
  record->cpus = cpus_.load(std::memory_order_relaxed);
}

Ring * Rings::take_old(int state, int thread) noexcept
{
  Ring * mine = nullptr;
  for_each([&](Ring & ring) {
    int expected = state;
    if (!mine && ring.thread.compare_exchange_strong(expected, thread, std::memory_order_acquire)) {
      mine = &ring;
    }
  });
  return mine;
}

Ring * Rings::take(int thread) noexcept
{
  Ring * mine = take_old(Ring::kFree, thread);
  if (!mine && count_.load(std::memory_order_relaxed) < kMost) {
    try {
      auto made = std::make_unique<Ring>();
      made->thread.store(thread, std::memory_order_relaxed);
      const std::size_t place = count_.fetch_add(1, std::memory_order_acq_rel);
      if (place < kMost) {
        mine = made.release();
        rings_[place].store(mine, std::memory_order_release);
      }
    } catch (const std::bad_alloc &) {
      return nullptr;
    }
  }
  if (!mine) {
    mine =
      take_old(Ring::kUnread, thread);  // Better to lose what is in there than all of this thread.
  }
  if (mine) {
    mine->in_force.refresh(0);
  }
  return mine;
}

}  // namespace rclrt_probe
