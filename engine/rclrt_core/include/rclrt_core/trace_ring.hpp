// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A ring of trace records: one thread writes and never waits; others read, also from another process.
///
/// The newest records are kept: a record overwrites the one that is `capacity` older, whether somebody has read that
/// or not. A reader keeps its own place (TraceReader), and counts what was overwritten before it came.
///
/// The memory of the ring may be a file that other processes read (TraceMemory). Shared words, and why their order is
/// enough:
/// - head: records written so far. Only the writer stores it, with release after the words of the record. A reader loads
///   it with acquire, so it sees every record below head complete. It is there twice: readers in this process take the
///   one that no other process can write.
/// - the words of the slots. Only the writer stores them, each with release; a reader loads them with acquire. So a
///   reader that sees a word of record n also sees a head of at least n: when it loads the head again after it has
///   copied a slot, it learns whether the slot was being overwritten meanwhile.
/// The reader never stores anything. model/trace_ring.pml checks the steps.
///
/// push() is real-time safe: no lock, no allocation, no system call, 19 stores.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "rclrt_core/trace_file.hpp"
#include "rclrt_trace/record.h"

namespace rclrt_core
{

class TraceRing
{
public:
  /// Keeps `capacity` records, rounded up to a power of two, but for the oldest; 0 records nothing. They are in `memory`
  /// if there is one, and it has room; then what is there stays, and counts as read.
  explicit TraceRing(std::size_t capacity, TraceMemory * memory = nullptr)
  {
    if (capacity == 0) {
      return;
    }
    std::size_t size = 2;
    while (size < capacity) {
      size *= 2;
    }
    mask_ = size - 1;
    memory_ = memory ? memory->ring(size) : nullptr;
    if (!memory_) {
      memory_ = TraceMemory::of_process(size);
    }
    static_assert(sizeof(Entry) == sizeof(rclrt_trace_ring), "the layout is that of the file");
    entry_ = static_cast<Entry *>(memory_.get());
    slots_ = reinterpret_cast<Slot *>(entry_ + 1);
    // Another process may have written anything there: still no counter that comes back to 0.
    head_.store(
      entry_->head.load(std::memory_order_relaxed) & (UINT64_MAX >> 1), std::memory_order_relaxed);
  }

  /// Whether it keeps anything.
  bool keeps() const noexcept { return slots_ != nullptr; }

  /// Writer only.
  void push(const rclrt_job_record & record) noexcept
  {
    if (!slots_) {
      return;
    }
    const uint64_t head = head_.load(std::memory_order_relaxed);  // own word
    uint64_t words[kWords];
    std::memcpy(words, &record, sizeof(record));
    Slot & slot = slots_[head & mask_];
    for (std::size_t i = 0; i < kWords; ++i) {
      slot.words[i].store(words[i], std::memory_order_release);
    }
    head_.store(head + 1, std::memory_order_release);
    entry_->head.store(head + 1, std::memory_order_release);
  }

private:
  friend class TraceReader;

  static constexpr std::size_t kWords = sizeof(rclrt_job_record) / sizeof(uint64_t);
  struct Slot
  {
    std::atomic<uint64_t> words[kWords];
  };
  /// rclrt_trace_ring
  struct Entry
  {
    std::atomic<uint64_t> head;
    uint32_t capacity;
    uint32_t reserved[11];
  };

  std::shared_ptr<void> memory_;
  Entry * entry_ = nullptr;
  Slot * slots_ = nullptr;
  uint64_t mask_ = 0;
  std::atomic<uint64_t> head_{0};
};

/// What somebody has read of one ring. Belongs to one thread at a time.
class TraceReader
{
public:
  /// Reads what is written from now on.
  explicit TraceReader(const TraceRing & ring) noexcept
  : next_(ring.head_.load(std::memory_order_acquire))
  {
  }
  /// Visit what has been written since the last time, oldest first.
  template <typename Visitor>
  void read(const TraceRing & ring, const Visitor & visit)
  {
    const uint64_t head = ring.head_.load(std::memory_order_acquire);
    skip_overwritten(ring, head);
    while (next_ < head) {
      uint64_t words[TraceRing::kWords];
      const TraceRing::Slot & slot = ring.slots_[next_ & ring.mask_];
      for (std::size_t i = 0; i < TraceRing::kWords; ++i) {
        words[i] = slot.words[i].load(std::memory_order_acquire);
      }
      if (!skip_overwritten(ring, ring.head_.load(std::memory_order_relaxed))) {
        rclrt_job_record record;
        std::memcpy(&record, words, sizeof(record));
        ++next_;
        visit(record);
      }
    }
  }

  /// Records that were overwritten before they were read, up to now.
  uint64_t missed(const TraceRing & ring) const noexcept
  {
    const uint64_t oldest = oldest_kept(ring, ring.head_.load(std::memory_order_acquire));
    return missed_ + (oldest > next_ ? oldest - next_ : 0);
  }

private:
  /// The slot of `head` may be half written: it holds the record that is as old as the ring is large.
  static uint64_t oldest_kept(const TraceRing & ring, uint64_t head) noexcept
  {
    return head > ring.mask_ ? head - ring.mask_ : 0;
  }
  /// Returns whether the next record was among them.
  bool skip_overwritten(const TraceRing & ring, uint64_t head) noexcept
  {
    const uint64_t oldest = oldest_kept(ring, head);
    if (next_ >= oldest) {
      return false;
    }
    missed_ += oldest - next_;
    next_ = oldest;
    return true;
  }

  uint64_t next_;
  uint64_t missed_ = 0;
};

}  // namespace rclrt_core
