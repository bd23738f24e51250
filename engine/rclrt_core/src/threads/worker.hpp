// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A thread that runs jobs: what it sleeps on, what it runs, what it has.
#pragma once

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <memory>
#include <string>

#include "order/ready.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/platform.hpp"
#include "rclrt_core/trace_ring.hpp"
#include "threads/settle.hpp"

namespace rclrt_core
{

/// A thread that runs jobs. Protected by the engine's lock unless a member says otherwise.
struct Worker : std::enable_shared_from_this<Worker>
{
  // Values of `word`.
  static constexpr uint32_t kAsleep = 0;
  static constexpr uint32_t kAwake = 1;
  static constexpr uint32_t kAwakeAndHeld = 2;  ///< awake, but still on the list of a waker

  Worker(
    Engine::Impl & its_engine, Platform & worker_platform, Mutex & engine_mutex,
    const AttributesEntry & nothing, std::size_t trace_capacity, TraceMemory * memory)
  : engine(its_engine),
    platform(worker_platform),
    urgency(worker_platform, engine_mutex, nothing),
    ring(trace_capacity, memory)
  {
  }

  /// By its thread, at its begin, and `mutex` is the engine's lock: it has `above` from now on, unless somebody has decided
  /// something else already. What it is refused is not told: without the permission it begins as one without attributes.
  void begin(Mutex & mutex, const AttributesEntry & nothing, const AttributesEntry & above);
  /// When it goes to sleep for the first time, under the lock.
  void decide_first(const AttributesEntry & rest) noexcept;
  /// Then, without the lock. Returns 0, or the error that is to be told.
  int settle_first(const AttributesEntry & rest) noexcept;
  /// Until the word says that it is awake, or the time is up. By its thread, without the lock.
  void wait(TimePoint until) const noexcept;
  /// Under the lock: its job brings together what its group has taken.
  void fan_in() noexcept;
  /// Under the lock: what it needs for the job it runs: what that job asks for, or what the most urgent job asks for that
  /// waits for the end of it, because it is of the same exclusive group or because there is no other thread. A demoted
  /// job asks for nothing.
  Demand needs() const noexcept;

  Engine::Impl & engine;
  Platform & platform;
  std::string name;
  Lane * lane =
    nullptr;  // null: runs no jobs (a timer thread) or those of any lane (visitor, courier)
  bool is_courier = false;     // never changes once others know the worker
  Lane * place = nullptr;      // of a courier that runs a job: where it has the place of a thread
  bool drives_timers = false;  // releases due timers and sleeps no longer than to the next one
  bool is_left_alone = false;  // keeps what it has in force, come what may
  /// What it shall have when it goes to sleep for the first time. Set before its thread starts, and under the lock as
  /// long as it is not null. The thread sets it to null, with release, when that is in force. A thread that reads null
  /// with acquire sees what it told.
  std::atomic<const AttributesEntry *> first_rest{nullptr};
  bool cannot_lower = false;     // the OS has refused it once; of the worker's thread
  TimerNode * covers = nullptr;  // asleep until the release of this one
  bool ran_timer = true;         // its last job was one of a timer
  bool retired = false;          // its group is gone: end
  bool ended = false;            // its thread does not touch the engine any more
  bool sleeping = false;
  /// It looks for work while it is asleep. Set by the worker under the lock, cleared by it without: a thread that
  /// finds it set too late has chosen a worker that has just stopped looking. So relaxed is enough.
  std::atomic<bool> looks{false};
  intrusive::list_member_hook<> in_lane;  // of Lane::idle or Lane::coming
  Worker * next_to_wake = nullptr;  // on the list that holds it; the owner of that list touches it
  Urgency woken_for;                // on that list: the most urgent one is woken first
  const void * waker = nullptr;     // coming and not up yet: the thread that wakes it; else null
  ThreadUrgency urgency;            // has locks of its own
  bool asked_for_slot = false;      // of the deadline scheduler; once is enough
  bool has_slot = false;
  std::shared_ptr<CallbackNode> callback;  // whose job it runs
  Worker * outer = nullptr;  // whose job has called this one, by run_one(); of the worker's thread
  Job job;
  Demand job_demand;  // what that job asks for
  // What became of the job when it had run. The worker's thread alone touches these five.
  rclrt_job_outcome job_outcome = RCLRT_JOB_DONE;
  TimePoint job_start{};
  TimePoint job_end{};
  CpuUse job_use{};
  int64_t job_end_cpu_ns = -1;      // CPU time of the thread then; -1: the callback has no budget
  TimePoint own_deadline = kNever;  // of the job, apart from fan-in
  bool handed_on = false;  // the job has released or published something; of the worker's thread
  // The message that the job has taken. The worker's thread alone touches it, like the next one.
  uint64_t publisher = 0;
  uint64_t message = RCLRT_TRACE_NO_MESSAGE;
  bool is_measured = false;  // its CPU time, by system calls
  intrusive::list_member_hook<>
    in_charged;               // of Budgets::charged_, while it runs a job with a budget
  uint32_t round = 0;         // of Budgets: the last one in which it was looked at
  uint32_t budget_jobs = 0;   // with a budget, that have begun
  bool runs_demoted = false;  // its job is, and its thread was told
  /// CPU time of the thread up to which its job is charged; -1: the job has not begun. The thread stores it once, before
  /// the job begins and without the lock; from then on it changes under the lock. Relaxed: a thread that reads -1 too
  /// late takes the job for one that has used nothing, and looks again.
  std::atomic<int64_t> charged_to_ns{-1};
  std::atomic<uint64_t> jobs{0};       // written by the worker's thread
  std::atomic<ThreadId> thread_id{0};  // set by the thread itself before its first lock
  std::unique_ptr<Thread> thread;
  TraceRing ring;            // written by the worker without the lock
  TraceReader reader{ring};  // under the engine's `trace_mutex`

  /// Set to kAsleep by the worker under the lock before it can be found idle. Set to kAwake, with release, by the
  /// one thread whose list the worker is on, as the last access to it; or by the worker itself under the lock, when
  /// its time is up and nobody has taken it. From kAsleep to kAwakeAndHeld by anybody under the lock, with
  /// release. The worker waits for it with acquire: it sees what was done before the store. A worker that
  /// finds itself held goes to sleep as one that is coming, not as an idle one.
  std::atomic<uint32_t> word{kAsleep};
};

/// One that keeps what it has, come what may, is as good as it gets.
bool suffices(const Worker & worker, const Demand & needed) noexcept;
/// Whether it has that, no less and no more: with more it would keep others from the CPU.
bool has_exactly(const Worker & worker, const Demand & needed) noexcept;
/// By the worker: from running to asleep, or to coming if it is held.
void lie_down(Worker & worker) noexcept;
/// By the worker: from coming or asleep to running.
void wake_up(Worker & worker) noexcept;

}  // namespace rclrt_core
