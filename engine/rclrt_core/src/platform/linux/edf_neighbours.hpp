// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The other processes whose jobs are ordered together with ours.
///
/// Each process publishes its jobs in a region that only it can write, reads those of the others, and
/// changes the priorities of its own threads only. When one sees that a thread of another should have
/// another priority, it rings the bell of that process. There a thread of ours, the attendant, looks at
/// all regions again and does it. The attendant is more urgent than every job, and asleep in between.
///
///   this process                            the other one
///   publish the job                         attendant sleeps on the bell
///   read the others; settle own threads
///   ring the bell          ---------->      publish nothing new; read the others; settle own threads
///
/// Nobody waits for anybody: not for a lock (there is none), and not for the answer to a bell. A
/// process that has not answered for kPatience is taken for stopped. Its jobs do not count until it
/// answers again; threads of a stopped process compete for no CPU.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "edf/edf_table.hpp"
#include "platform/linux/other_process.hpp"
#include "platform/linux/roll.hpp"
#include "platform/linux/sealed_memory.hpp"
#include "rclrt_core/platform.hpp"
#include "rclrt_core/status.hpp"

namespace rclrt_core::linux_platform
{

class EdfNeighbours
{
public:
  static constexpr uint32_t kMaxNeighbours = 64;
  /// The attendant is above all jobs and answers within some ten microseconds, as long as nothing more
  /// urgent has its CPU. The order among our own jobs does not depend on this time, and nobody waits
  /// for it; it is long so that a burst of interrupts or of a driver's thread is not taken for a stop.
  static constexpr Duration kPatience = std::chrono::milliseconds(50);

  struct Options
  {
    std::string name;
    uint32_t runners;
    int32_t run_priority;
    std::vector<OwnDirectory::Place> places = OwnDirectory::places();
  };

  /// `mutex` is the lock of whoever owns it; it must outlive it, as must `platform`. Errors: no
  /// directory of ours, no sealed memory, no /proc, no thread. May block.
  static Status make(
    Platform & platform, Mutex & mutex, const Options & options,
    std::unique_ptr<EdfNeighbours> * neighbours);
  ~EdfNeighbours();
  EdfNeighbours(const EdfNeighbours &) = delete;
  EdfNeighbours & operator=(const EdfNeighbours &) = delete;

  /// Begin. `look` is called by the attendant when a bell was rung, under no lock. `table`: the one that
  /// is given to the functions below.
  Status start(EdfTable & table, std::function<void()> look);
  /// End. After that nobody finds us. Not under the lock.
  void stop() noexcept;

  /// Have the attendant look for processes that have come, and mend what others may have removed.
  /// Never waits.
  void look_around() noexcept;

  // Under the lock. They never wait, allocate nothing, and ask the OS for nothing but to wake.

  /// Tell the own jobs of `table`.
  void publish(const EdfTable & table) noexcept;
  bool has_any() const noexcept { return count_ != 0; }
  /// Put into `table` what the others tell.
  void look(EdfTable & table) noexcept;
  /// Whether they have told something since look().
  bool have_told_more() const noexcept;
  /// Have the attendant look at once.
  void look_again() noexcept;
  /// We have looked and settled: whoever has rung is answered.
  void answer() noexcept;
  /// Ask `process` to look. Once for each pair of what it and we have told: to look at the same again
  /// would change nothing.
  void ring(uint32_t process) noexcept;
  /// True: `process` is gone, and its jobs are out of the table.
  bool drop_if_gone(uint32_t process, EdfTable & table) noexcept;

  // The caller does not hold the lock.

  std::vector<Finding> findings() const;

private:
  /// What is known of another process. Its number is the index + 1.
  struct Neighbour
  {
    std::string file;
    OtherProcess process;
    SealedMemory region_memory;
    SealedMemory bell_memory;
    const EdfRegion * region = nullptr;
    EdfBell * bell = nullptr;
    uint32_t runners = 0;
    bool is_gone = false;
    bool is_read = false;  ///< the table has what it told with the number `sequence`
    uint64_t sequence = 0;
    bool is_rung = false;   ///< and has not answered since
    bool is_away = false;   ///< not for kPatience
    bool was_away = false;  ///< at some time
    uint32_t answers = 0;   ///< when it was rung
    TimePoint rung_at{};
    uint64_t rung_for_theirs = UINT64_MAX;
    uint64_t rung_for_ours = UINT64_MAX;
  };

  EdfNeighbours(Platform & platform, Mutex & mutex, Options options)
  : platform_(platform), mutex_(mutex), options_(std::move(options))
  {
  }
  Status open();
  void attend(const std::function<void()> & look);
  void be_urgent();
  void scan();
  bool is_known(const RollEntry & entry) const;
  std::string attach(const RollEntry & entry, std::unique_ptr<Neighbour> * neighbour);
  void tell_all() noexcept;
  void drop_ended();

  Platform & platform_;
  Mutex & mutex_;
  const Options options_;
  Roll roll_;  ///< the attendant's, once it runs
  ProcessFacts self_;
  SealedMemory region_memory_;
  SealedMemory bell_memory_;
  EdfRegion * region_ = nullptr;
  EdfBell * bell_ = nullptr;
  std::array<std::unique_ptr<Neighbour>, kMaxNeighbours> neighbours_;
  uint32_t count_ = 0;
  EdfCopy scratch_;
  EdfPublished own_[EdfCopy::kMaxJobs];
  EdfTable * table_ = nullptr;
  mutable std::mutex telling_;      ///< protects the next two; never taken by an event
  std::vector<Finding> found_;      ///< by the last scan
  std::vector<Finding> attendant_;  ///< about its priority
  std::unique_ptr<Thread> thread_;
  /// Set by anybody, taken by the attendant; the bell that follows orders them (seq_cst).
  std::atomic<bool> is_to_scan_{false};
  std::atomic<bool> is_over_{false};
  std::atomic<bool> has_ended_{false};  ///< by the attendant
};

}  // namespace rclrt_core::linux_platform
