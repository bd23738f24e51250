// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A process's way to the EDF scheduler in the kernel: get a slot per thread once, then say deadlines
/// by plain stores.
///
///   std::string why;
///   auto client = rclrt_scx::Client::open(&why);       // nullptr: not loaded, not allowed, ...
///   auto slot = client->bind_this_thread(&why);        // in the thread itself, at its start
///   slot.set_deadline(release_ns + relative_ns);       // before the thread is woken, or by itself
///
/// Nothing here needs a privilege beyond the access mode of the pinned maps (`rclrt scx load
/// --group`), nor any library: bpf(2), mmap(2) and sched_setattr(2). Deadlines are absolute
/// CLOCK_MONOTONIC nanoseconds.
///
/// A thread that ends or is killed loses its slot by itself, once it is reaped. If the scheduler is
/// unloaded or ejected, in_force() turns false, stores go to memory nobody reads, and threads go on
/// under the fair class; a scheduler loaded later needs a new Client.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "rclrt_scx/slots.h"

namespace rclrt_scx
{

class Client;

/// The slot of one thread. Empty after default construction, after a move from it and after
/// release(). Must not outlive its Client. Other threads may use it only while the thread lives:
/// afterwards the kernel may have given the slot to another.
class Slot
{
public:
  Slot() = default;
  Slot(Slot && other) noexcept;
  Slot & operator=(Slot && other) noexcept;
  /// In the thread it belongs to: release(). Elsewhere nothing: the kernel takes the slot back when
  /// the thread ends.
  ~Slot();

  explicit operator bool() const noexcept { return word_ != nullptr; }
  uint32_t index() const noexcept { return index_; }
  pid_t tid() const noexcept { return tid_; }

  /// Store the deadline of the job that the thread runs next (or runs now; then let it call
  /// sched_yield() if the deadline became later, so that an earlier thread gets the CPU).
  ///
  /// A deadline in the past is most urgent, as it must be. Zero and negative ones are refused.
  /// Thread-safe: one writer at a time, by the caller's own order. Real-time safe: yes.
  /// Worst case: one store.
  bool set_deadline(int64_t deadline_ns) noexcept;
  /// From now on the thread has at most `runtime_ns` of CPU time in each period by its deadlines: a constant-bandwidth
  /// server. When that is used up, its deadline is postponed by a period (of what it states later, too), and it has as
  /// much again. The kernel sees that at its tick. What was used before this call is not charged, and nothing is owed from
  /// before. In the first period there is `left_ns`: so a thread can work for several servers in turn, and the
  /// caller keeps their accounts. 0 and 0: no budget. False, and nothing is changed, if the runtime is more than the period, one of
  /// them is 0, or the period is longer than RCLRT_SCX_LONGEST_PERIOD_NS. Any thread, by the caller's own order. Real-time
  /// safe. Worst case: four stores, and a reading of the clock.
  bool set_budget(uint64_t runtime_ns, uint64_t period_ns, uint64_t left_ns) noexcept;
  bool set_budget(uint64_t runtime_ns, uint64_t period_ns) noexcept
  {
    return set_budget(runtime_ns, period_ns, runtime_ns);
  }
  /// The job is over, and the kernel counts it. No deadline any more: background. Real-time safe.
  void clear_deadline() noexcept;
  /// What counts for the kernel now: the earlier of own and lent; RCLRT_SCX_NO_DEADLINE if none.
  int64_t deadline() const noexcept;

  /// Another thread waits for this one until `deadline_ns`: this one inherits it if it is earlier.
  /// Makes the kernel look again (one sched_setattr(2) on the thread) only if it was earlier.
  /// Thread-safe: any thread of the same user. Real-time safe: yes. Worst case: a compare-and-swap
  /// per thread that lends at the same time, and one system call.
  /// Returns 0 or the errno of the system call; the deadline is lent in any case.
  int lend(int64_t deadline_ns) noexcept;
  /// The owner gives back what was lent, and the CPU if somebody is now earlier (sched_yield(2),
  /// only if anything had been lent). Call from the owner. Real-time safe: yes.
  void settle() noexcept;

  /// Make the kernel look at the thread's deadline anew while it waits for a CPU or runs: after
  /// another thread changed it. A thread that sleeps needs no such call (is_asleep()). One
  /// sched_setattr(2), of which the errno is returned, or 0. Real-time safe: yes.
  int reconsider() const noexcept;
  /// Whether a deadline stored before this call is seen by the kernel in time without reconsider(): the
  /// thread is off the run queue and has not been woken since. One that is about to sleep, and may
  /// have lost its CPU on the way, is not. Any thread. Real-time safe: yes. Worst case: a fence, a load.
  bool is_asleep() const noexcept;

  /// Give the slot back. Call from the thread it belongs to. One system call.
  void release() noexcept;

private:
  friend class Client;
  friend struct SlotOfBenchmark;  // One over memory of its own.
  void leave() noexcept;
  const Client * client_ = nullptr;
  rclrt_scx_slot * word_ = nullptr;
  uint32_t index_ = 0;
  pid_t tid_ = 0;
};

/// The mapped tables of the loaded scheduler. Thread-safe: all member functions.
class Client
{
public:
  /// Open the scheduler pinned in `directory`. Returns nullptr and the reason with its remedy in
  /// `*why` (may be nullptr) if none is in force, access is denied, or loader and client are of
  /// different versions. Allocates; some system calls; not for real-time threads.
  static std::unique_ptr<Client> open(
    std::string * why, const char * directory = RCLRT_SCX_DIRECTORY);
  ~Client();
  Client(const Client &) = delete;
  Client & operator=(const Client &) = delete;

  /// Whether the scheduler still decides. One load; real-time safe.
  bool in_force() const noexcept;
  /// After in_force() turned false: why, in the kernel's words. Empty before.
  std::string exit_reason() const;
  rclrt_scx_mode mode() const noexcept;
  /// How many threads can have a slot.
  uint32_t capacity() const noexcept { return state_->slots; }

  /// Give the calling thread a slot, without a deadline yet, and put it under SCHED_EXT. An empty
  /// slot and `*why` if all slots are taken, the thread has one, or the scheduler is gone.
  /// What the thread makes from then on, threads and processes, inherits SCHED_EXT but no slot, so it is
  /// background: make it before, or give it SCHED_OTHER.
  /// Two system calls; bounded by capacity(); not for the middle of a job.
  Slot bind_this_thread(std::string * why);

private:
  friend class Slot;
  Client() = default;

  std::string directory_;
  int bind_fd_ = -1;
  const rclrt_scx_state * state_ = nullptr;  ///< mapped; nobody but the kernel can write it
  rclrt_scx_slot * slots_ = nullptr;
  std::size_t slots_bytes_ = 0;
};

}  // namespace rclrt_scx
