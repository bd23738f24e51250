// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The execution model: which lane serves which group; and which threads of a lane sleep, which are on their way:
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
#include <list>
#include <string>

#include "order/attribute_table.hpp"
#include "rclrt_core/engine.hpp"
#include "threads/arrivals.hpp"
#include "threads/worker.hpp"

namespace rclrt_core
{

class Life;
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
  std::size_t running = 0;      // threads that run a job of it, the courier included
  bool has_courier = false;     // the courier is one of them: it takes the place of a thread
  Arrivals arrivals;
  /// The sleeper that looks for work, or else the last one to lie down. Its gaps count.
  Worker * lookout = nullptr;
  std::size_t covering = 0;        // threads of it that cover a timer
  TimerClocks * clocks = nullptr;  // never changes
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
};

/// From asleep to coming; on the list of the caller's thread from here on.
void take_from_sleep(Worker & worker, const Urgency & urgency, Section & section) noexcept;
/// It comes already, but whoever was to wake it may have lost its CPU: the caller wakes it too.
void wake_too(Worker & worker, Section & section) noexcept;
/// A worker that is not one of several comes, whether it sleeps or is on its way.
void make_come(Worker & worker, Section & section) noexcept;

/// All under the engine's lock for configuration; the list changes under both locks, and is read under either.
class Lanes
{
public:
  Lanes(const EngineOptions & options, AttributeTable & table, Mutex & mutex, TimerClocks & clocks);

  std::list<Lane> & all() noexcept { return all_; }
  const std::list<Lane> & all() const noexcept { return all_; }
  /// The lane of the thread that spins, in the priority_events model.
  Lane & shared() const noexcept { return *shared_; }
  /// Events with release-and-execute; else null.
  Lane * of_timers() const noexcept { return of_timers_; }

  void place(GroupNode & group);
  /// Takes back what place() gave. The threads of a lane of its own end as soon as they are idle.
  void displace(GroupNode & group, const Life & life);

private:
  Lane & make(const std::string & name, const Attributes & attributes);

  const EngineOptions & options_;
  AttributeTable & table_;
  Mutex & mutex_;
  TimerClocks & clocks_;
  std::list<Lane> all_;
  Lane * shared_ = nullptr;     // events and pool; never changes
  Lane * of_timers_ = nullptr;  // never changes
};

}  // namespace rclrt_core
