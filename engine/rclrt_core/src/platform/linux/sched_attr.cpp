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

// Values of the kernel's interface; <sched.h> hides some of them or lacks them.
constexpr uint32_t kSchedOther = 0;
constexpr uint32_t kSchedFifo = 1;
constexpr uint32_t kSchedRoundRobin = 2;
constexpr uint32_t kSchedBatch = 3;
constexpr uint32_t kSchedIdle = 5;
constexpr uint32_t kSchedDeadline = 6;
constexpr uint32_t kSchedExt = 7;
constexpr uint64_t kResetOnFork = 1;

uint32_t to_kernel(SchedulingPolicy policy)
{
  switch (policy) {
    case SchedulingPolicy::kBatch:
      return kSchedBatch;
    case SchedulingPolicy::kIdle:
      return kSchedIdle;
    case SchedulingPolicy::kFifo:
      return kSchedFifo;
    case SchedulingPolicy::kRoundRobin:
      return kSchedRoundRobin;
    case SchedulingPolicy::kDeadline:
      return kSchedDeadline;
    case SchedulingPolicy::kExt:
      return kSchedExt;
    case SchedulingPolicy::kUnchanged:
    case SchedulingPolicy::kOther:
      break;
  }
  return kSchedOther;
}

SchedulingPolicy from_kernel(uint32_t policy)
{
  switch (policy) {
    case kSchedBatch:
      return SchedulingPolicy::kBatch;
    case kSchedIdle:
      return SchedulingPolicy::kIdle;
    case kSchedFifo:
      return SchedulingPolicy::kFifo;
    case kSchedRoundRobin:
      return SchedulingPolicy::kRoundRobin;
    case kSchedDeadline:
      return SchedulingPolicy::kDeadline;
    case kSchedExt:
      return SchedulingPolicy::kExt;
    default:
      return SchedulingPolicy::kOther;
  }
}

int errno_of(long result) { return result < 0 ? errno : 0; }

}  // namespace

int set_policy(ThreadId thread, const Attributes & attributes) noexcept
{
  KernelSchedAttr attr{};
  attr.size = sizeof(attr);
  attr.policy = to_kernel(attributes.policy);
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
  in_force.policy = from_kernel(attr.policy);
  // The kernel uses the fields of other policies for other things, e.g. runtime for a time slice.
  switch (in_force.policy) {
    case SchedulingPolicy::kOther:
    case SchedulingPolicy::kBatch:
      in_force.nice = attr.nice;
      break;
    case SchedulingPolicy::kFifo:
    case SchedulingPolicy::kRoundRobin:
      in_force.priority = static_cast<int>(attr.priority);
      break;
    case SchedulingPolicy::kDeadline:
      in_force.runtime = Duration(static_cast<int64_t>(attr.runtime_ns));
      in_force.deadline = Duration(static_cast<int64_t>(attr.deadline_ns));
      in_force.period = Duration(static_cast<int64_t>(attr.period_ns));
      break;
    case SchedulingPolicy::kUnchanged:
    case SchedulingPolicy::kIdle:
    case SchedulingPolicy::kExt:
      break;
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
