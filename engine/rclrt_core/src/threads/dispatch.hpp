// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Which job may run next, and on which thread: a lane brings together what is ready (ready.hpp) and the threads that
/// serve it. Everything here is called under the engine's lock and makes no system call: what threads are to have is
/// decided, and settled by the caller when it has left the lock.
///
/// Rules, kept by every function:
/// - as many threads are coming as there are groups with work, or one for each CPU; for short jobs one that suffices is
///   enough: it sends for the next when it takes a job, and has often run several before that one arrives;
/// - short jobs that ask for nothing and together take up to 50 us wait for a thread that runs such a job, if none of the
///   last 255 jobs of its callback took more than 200 us. If the running job does, the next release sends for another
///   thread. If no release comes, the timer thread does so, 10 ms after the last one (look());
/// - for each of the most urgent of these groups a thread comes that suffices for it;
/// - a job is bound to a thread only when that thread asks (next_for()), so the most urgent goes first however
///   late it came;
/// - the thread that takes a job sends for the next one (taken()).
///
/// Cost, with t threads in the lane and c of them coming (c is about the number of CPUs): released() O(t), the
/// others O(t + c * c); at most 64 ready groups are looked at, however many there are.
///
/// Which threads of a lane sleep, and which are on their way:
///
///            take_from_sleep()              wake_up()               rest in sleep()
///   asleep -------------------> coming --------------------> running --------------> asleep
///   (Lane::idle)                (Lane::coming)                (on no list)
///
/// The thread that takes a worker from sleep does so under the engine's lock, and wakes it when it has left
/// that lock. Until then the worker is on its list, and *held*: it is on no other list and its thread does not
/// end. A thread that needs the worker sooner, because the first waker may have lost its CPU, wakes it too
/// (wake_too()). model/hand_over.pml checks these steps in every interleaving.
#pragma once

#include <algorithm>
#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <string>

#include "rclrt_core/engine.hpp"
#include "threads/arrivals.hpp"
#include "threads/worker.hpp"

namespace rclrt_core
{

class TimerClocks;

/// An ordered queue of groups with work, and the threads that serve it.
struct Lane
{
  using Workers = intrusive::list<
    Worker, intrusive::member_hook<Worker, intrusive::list_member_hook<>, &Worker::in_lane>>;

  std::string name;
  const AttributesEntry * first_rest = nullptr;  // until its threads have run something
  ReadyGroups ready;
  Workers idle;    // last in, first out: the thread that ran last has the warmest caches
  Workers coming;  // taken from sleep and not yet asking for work, or held
  Worker * spinner = nullptr;   // the one thread of the priority_events model, while it spins
  std::size_t parallelism = 0;  // of all its groups together
  Worker * soon_back =
    nullptr;  // runs a short job that asks for nothing: the last one to take such a job
  std::size_t running = 0;   // threads that run a job of it, the courier included
  bool has_courier = false;  // the courier is one of them: it takes the place of a thread
  Arrivals arrivals;
  /// The sleeper that looks for work, or else the last one to lie down. Its gaps count.
  Worker * lookout = nullptr;
  std::size_t covering = 0;   // threads of it that cover a timer
  bool has_releaser = false;  // one of them, which has nothing to do yet, releases timers
  Worker * visitor =
    nullptr;             // a thread of the user that runs jobs of any lane while it sleeps here
  std::size_t cpus = 0;  // of the engine; never changes, nor does the next one
  TimerClocks * clocks = nullptr;
  /// Written under both locks of the engine, or by a thread that ends; read under `configuration`: a thread
  /// that has ended and is not counted out yet only costs a new lane.
  std::atomic<std::size_t> threads{0};

  /// The courier has taken the last place: a thread that comes takes no job.
  bool is_full() const noexcept { return has_courier && running >= places(); }
  /// The one thread of the priority_events model is not counted.
  std::size_t places() const noexcept { return std::max<std::size_t>(1, threads); }
  /// How many of those that come can do the work of one with `needed`. O(n) in them.
  std::size_t coming_for(const Demand & needed) const noexcept;
  /// The sleeper for a job that asks for this. There is one. O(n) in the sleepers.
  Worker & choose(const Demand & wanted) noexcept;

  /// What a job of this callback, which is of this lane, would have to wait for.
  rclrt_job_wait what_is_busy(const CallbackNode & callback) const noexcept;
  /// A job of this callback has been released, or its group is ready again.
  void released(const CallbackNode & callback, Section & section) noexcept;
  /// Threads begin to take jobs: send for those that wait already. O(n) in them.
  void begin(Section & section) noexcept;
  /// The callback whose job the worker, which is of this lane, runs next; null: none.
  CallbackNode * next_for(const Worker & worker) noexcept;
  /// A worker of this lane has taken a job.
  void taken(Worker & taker, Section & section) noexcept;
  /// By the timer thread: a thread on which jobs depend may have been held up by the job that it runs.
  void look(Section & section) noexcept;
  /// The courier has taken one: it has the place of a thread of the lane until that job has ended.
  void taken_by(Worker & courier) noexcept;
  /// A worker of any lane, or the courier, has ended its job.
  static void ended(Worker & worker, Section & section) noexcept;
};

/// From asleep to coming; on the list of the caller's thread from here on.
void take_from_sleep(Worker & worker, const Urgency & urgency, Section & section) noexcept;
/// It comes already, but whoever was to wake it may have lost its CPU: the caller wakes it too.
void wake_too(Worker & worker, Section & section) noexcept;
/// A worker that is not one of several comes, whether it sleeps or is on its way.
void make_come(Worker & worker, Section & section) noexcept;

}  // namespace rclrt_core
