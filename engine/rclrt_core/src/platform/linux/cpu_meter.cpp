// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/linux_platform.hpp"

#include <cstdint>
#include <ctime>

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

namespace rclrt_core::linux_platform
{
namespace
{

#ifdef RSEQ_SIG

/// A sequence at an address where no code is. The kernel looks for the signature before `abort_ip`.
struct alignas(32) NoCode
{
  rseq_cs sequence;
  uint32_t signature;
  uint32_t abort;
};

struct NeverRun : NoCode
{
  NeverRun() noexcept : NoCode{}
  {
    sequence.start_ip = reinterpret_cast<uintptr_t>(this);
    sequence.post_commit_offset = 1;
    sequence.abort_ip = reinterpret_cast<uintptr_t>(&abort);
    signature = RSEQ_SIG;
  }
};

const NeverRun never_run;

/// The word of the calling thread, or null if the kernel or glibc has none. Written by this thread, and by the kernel
/// on behalf of this thread: relaxed is enough.
uint64_t * word() noexcept
{
  if (__rseq_size == 0) {
    return nullptr;
  }
  char * const area = static_cast<char *>(__builtin_thread_pointer()) + __rseq_offset;
  return reinterpret_cast<uint64_t *>(&reinterpret_cast<struct rseq *>(area)->rseq_cs);
}

bool exchange_name(bool named) noexcept
{
  uint64_t * const here = word();
  if (!here) {
    return false;
  }
  const auto name = reinterpret_cast<uintptr_t>(&never_run);
  const bool was_named = __atomic_load_n(here, __ATOMIC_RELAXED) == name;
  if (named != was_named) {
    __atomic_store_n(here, named ? name : 0, __ATOMIC_RELAXED);
  }
  return was_named;
}

#else

bool exchange_name(bool) noexcept { return false; }

#endif

int64_t cpu_time_ns() noexcept
{
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

CpuMeter start_meter(bool measures) noexcept
{
  CpuMeter meter;
  meter.cpu_ns = measures ? cpu_time_ns() : -1;
  meter.outer_has_kept = exchange_name(true);
  return meter;
}

CpuUse read_meter(const CpuMeter & meter) noexcept
{
  CpuUse use;
  // Another job of this thread may be around this one: it has kept its CPU if it had until then and this one has.
  use.has_kept = exchange_name(false);
  if (use.has_kept && meter.outer_has_kept) {
    exchange_name(true);
  }
  if (use.has_kept) {
    use.preemptions = 0;
  } else if (meter.cpu_ns >= 0) {
    use.cpu_ns = cpu_time_ns() - meter.cpu_ns;
  }
  return use;
}

}  // namespace rclrt_core::linux_platform
