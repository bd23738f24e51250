// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "platform/linux/sched_attr.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace rclrt_core::linux_platform
{
namespace
{

// The first version of the kernel's struct sched_attr; later ones only add to its end, and the
// kernel takes the size from the first field. The name differs from the C library's on purpose.
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
static_assert(sizeof(KernelSchedAttr) == 48, "SCHED_ATTR_SIZE_VER0");

constexpr uint64_t kResetOnFork = 1;

SchedulingPolicy from_kernel(uint32_t policy)
{
  for (const PolicyFacts & known : kPolicies) {
    if (known.in_kernel == policy && known.scheduling_policy != SchedulingPolicy::kUnchanged) {
      return known.scheduling_policy;
    }
  }
  return SchedulingPolicy::kOther;
}

int errno_of(long result) { return result < 0 ? errno : 0; }

}  // namespace

int set_policy(ThreadId thread, const Attributes & attributes) noexcept
{
  KernelSchedAttr attr{};
  attr.size = sizeof(attr);
  attr.policy = facts(attributes.scheduling_policy).in_kernel;
  attr.flags = attributes.inherited_by_children ? 0 : kResetOnFork;
  attr.nice = attributes.nice;
  attr.priority = static_cast<uint32_t>(attributes.priority);
  attr.runtime_ns = static_cast<uint64_t>(attributes.runtime.count());
  attr.deadline_ns = static_cast<uint64_t>(attributes.deadline.count());
  attr.period_ns = static_cast<uint64_t>(attributes.period.count());
  return errno_of(syscall(SYS_sched_setattr, thread, &attr, 0u));
}

int get_policy(ThreadId thread, Attributes * attributes) noexcept
{
  KernelSchedAttr attr{};
  if (syscall(SYS_sched_getattr, thread, &attr, sizeof(attr), 0u) != 0) {
    return errno;
  }
  Attributes in_force;
  in_force.cpu_affinity = attributes->cpu_affinity;
  in_force.inherited_by_children = (attr.flags & kResetOnFork) == 0;
  in_force.scheduling_policy = from_kernel(attr.policy);
  // The kernel uses the fields of other policies for other things, e.g. runtime for a time slice.
  const PolicyFacts & has = facts(in_force.scheduling_policy);
  if (has.has_nice) {
    in_force.nice = attr.nice;
  }
  if (has.has_priority) {
    in_force.priority = static_cast<int>(attr.priority);
  }
  if (has.has_reservation) {
    in_force.runtime = Duration(static_cast<int64_t>(attr.runtime_ns));
    in_force.deadline = Duration(static_cast<int64_t>(attr.deadline_ns));
    in_force.period = Duration(static_cast<int64_t>(attr.period_ns));
  }
  *attributes = in_force;
  return 0;
}

// The kernel's set is an array of longs. Where a long has 64 bits, and in little endian order also
// where it has 32, that is the layout of CpuSet::Words.
static_assert(
  sizeof(long) == 8 || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
  "CpuSet::Words needs another layout here");

int set_affinity(ThreadId thread, const CpuSet & cpus) noexcept
{
  const CpuSet::Words & words = cpus.words();
  return errno_of(syscall(SYS_sched_setaffinity, thread, sizeof(words), words.data()));
}

int set_affinity_to_all(ThreadId thread) noexcept
{
  CpuSet::Words all;
  all.fill(~uint64_t{0});
  return set_affinity(thread, CpuSet::from_words(all));
}

int get_affinity(ThreadId thread, CpuSet * cpus) noexcept
{
  CpuSet::Words words{};
  const int error_number =
    errno_of(syscall(SYS_sched_getaffinity, thread, sizeof(words), words.data()));
  if (error_number == 0) {
    *cpus = CpuSet::from_words(words);
  }
  return error_number;
}

}  // namespace rclrt_core::linux_platform
