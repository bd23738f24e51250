// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What one process tells the others about its jobs: deadlines and priorities, and nothing else.
///
/// A region has one writer: the process that made it. The others map it for reading only. No thread
/// and no process is named in it, so the worst that a wrong value can do is a wrong order. There is no
/// lock, so a process that is stopped or killed at any point holds nobody up.
///
/// publish() writes the buffer that nobody is sent to, then raises `sequence` by one; its lowest bit
/// says which buffer is good. A reader copies that buffer and looks at `sequence` again: if it is still
/// the same, the writer has not begun to write into this buffer since. A reader tries kTries times.
#pragma once

#include <atomic>
#include <cstdint>

namespace rclrt_core
{

/// A job as others see it.
struct EdfPublished
{
  int64_t deadline_ns;
  uint64_t arrival;
  int32_t priority;  ///< of its thread, in force; 0: not known yet
};

/// The earliest jobs of a process.
struct EdfCopy
{
  static constexpr uint32_t kMaxJobs = 128;

  uint64_t sequence = 0;
  uint32_t count = 0;
  EdfPublished jobs[kMaxJobs];
};

/// Part of a layout that processes share: raise kVersion with every change.
struct EdfRegion
{
  static constexpr uint32_t kVersion = 4;

  struct Job
  {
    std::atomic<int64_t> deadline_ns;
    std::atomic<uint64_t> arrival;
    std::atomic<int64_t> priority;
  };
  struct Buffer
  {
    std::atomic<uint64_t> count;
    Job jobs[EdfCopy::kMaxJobs];
  };

  /// Written before anybody can find the region, and never again.
  std::atomic<uint32_t> runners;
  std::atomic<int32_t> run_priority;
  /// 1 from the end of the writer's last event on. Release, so that the empty buffer is seen with it.
  std::atomic<uint32_t> closed;
  /// Counts how often the writer has looked at all regions. It only tells others that it is alive: no
  /// memory is ordered by it (relaxed).
  std::atomic<uint32_t> answers;
  /// Sequentially consistent, in the writer and in the readers: of two processes that publish and then
  /// read each other's, at least one sees what the other has published (model/edf_bell.pml).
  std::atomic<uint64_t> sequence;
  /// Words are stored with release and loaded with acquire: a reader that sees a word of the next
  /// writing sees the sequence that preceded it, and throws its copy away (model/edf_region.pml).
  Buffer buffers[2];
};

/// What the others may write: they raise `rings` and wake the process that owns it. Any value is
/// harmless: the owner looks at all regions whenever it differs from what it was before.
struct EdfBell
{
  std::atomic<uint32_t> rings;   ///< raised after what the owner shall see was published (seq_cst)
  std::atomic<uint32_t> comers;  ///< raised before `rings` when a process has come or gone
};

static_assert(
  std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free,
  "processes share the words");

/// Tell `count` jobs, the earliest first. At most EdfCopy::kMaxJobs. By one thread at a time.
void publish(EdfRegion & region, const EdfPublished * jobs, uint32_t count) noexcept;

/// False: it was written all the time, or says what cannot be; then `copy` is half changed. What is
/// copied is possible: at most kMaxJobs jobs, with priorities of 0 to `highest_priority`.
bool read(const EdfRegion & region, int32_t highest_priority, EdfCopy * copy) noexcept;

}  // namespace rclrt_core
