// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The life of an engine and its threads: which of them spin, stop others, wait for others and join.
///
///   idle --begin()--> starting --let_run()--> running --stop()--> stopping --end()--> idle
///
/// - One thread spins at a time.
/// - Anybody may stop, at any time. A stop lasts until the spin that heeds it ends. Before a spin it can be taken
///   back, during it not: some threads may have ended already.
/// - No job runs before all threads sleep: a real-time job might keep the CPU from threads that are not yet as
///   urgent as their jobs will be.
/// - A thread ends when the engine stops, or when its group is gone and it is idle.
/// - A thread is on the list from before it starts. Whoever takes it off the list joins it: take_all() or
///   take_ended(), never both.
///
/// "Under `configuration`" and "under `mutex`": the locks of the engine, in this order.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "rclrt_core/platform.hpp"
#include "threads/dispatch.hpp"

namespace rclrt_core
{

class Life
{
public:
  using Lock = std::unique_lock<Mutex>;
  using Workers = std::vector<std::shared_ptr<Worker>>;

  Life(Platform & platform, Mutex & mutex) : platform_(platform), mutex_(mutex) {}

  // ---- The thread that spins

  /// False: another one spins.
  bool begin() noexcept { return !spinning_.exchange(true); }
  /// All threads are joined.
  void end() noexcept;
  bool is_spinning() const noexcept { return spinning_.load(); }
  void wait_until_stopped() const noexcept;
  /// Called by the thread that destroys the engine, after stop(): it uses the engine to the end of spin().
  void wait_until_nobody_spins() const noexcept;

  // ---- Stop

  /// Under `mutex`, where workers read it: all of them see it, or none. wake_who_spins() afterwards.
  void stop() noexcept { stop_word_.store(1, std::memory_order_release); }
  /// Under `mutex`.
  void take_stop_back() noexcept;
  /// The caller does not hold `mutex`.
  void wake_who_spins() const noexcept { platform_.wake_one(stop_word_); }
  bool is_stopped() const noexcept { return stop_word_.load(std::memory_order_acquire) != 0; }

  // ---- The list of threads: changed under both locks, read under either

  const Workers & workers() const noexcept { return workers_; }
  /// Whether spin() has started threads: then a group that comes now gets its own at once.
  bool has_threads() const noexcept { return !workers_.empty(); }
  /// Under `configuration`.
  void add(const std::shared_ptr<Worker> & worker);
  Status start(
    const std::shared_ptr<Worker> & worker, const ThreadOptions & options,
    std::function<void()> body, const std::function<void(const Finding &)> & on_finding);
  /// Under `configuration`. The caller joins them.
  Workers take_all();
  /// Under `configuration`: those of groups that are gone. The caller joins them.
  Workers take_ended();
  static void join(const Workers & ended);

  // ---- Threads begin and end

  /// Under `mutex`: whether jobs may run.
  bool runs() const noexcept { return runs_; }
  void let_run(bool run = true) noexcept { runs_ = run; }
  /// By a worker that begins to sleep before let_run(), or ends. Not under `mutex`.
  void arrive() noexcept;
  /// Until all have arrived, but `here`, the worker of the calling thread, if it is one.
  void wait_for_arrivals(const Worker * here);
  /// By a worker: after this it does not touch the engine any more, but for arrive().
  void retire(Worker & worker, Section & section) const noexcept;
  /// Nobody wakes this worker any more.
  void wait_until_let_go(const Worker & worker) const noexcept;

private:
  void set_workers(Workers next);

  Platform & platform_;
  Mutex & mutex_;
  Workers workers_;
  bool runs_ = false;
  /// Raised by every thread that arrives; wait_for_arrivals() sleeps on it.
  std::atomic<uint32_t> arrived_{0};
  /// 1 means stop. Written by stop(), take_stop_back() and end(); read by workers under `mutex`. The thread that
  /// spins sleeps on it, if it runs no jobs.
  std::atomic<uint32_t> stop_word_{0};
  std::atomic<bool> spinning_{false};
};

}  // namespace rclrt_core
