// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Which job may run next, and on which thread: a lane brings together what is ready (ready.hpp) and the threads that
/// serve it (lanes.hpp). Everything here is called under the engine's lock and makes no system call: what threads are to
/// have is decided, and settled by the caller when it has left the lock.
///
/// Rules, kept by every function:
/// - as many threads are coming as there are groups with work, or one for each CPU; for short jobs that ask for nothing one
///   is enough: it sends for the next when it takes a job, and has often run several before that one arrives;
/// - for each of the most urgent of these groups a thread comes that suffices for it;
/// - a job is bound to a thread only when that thread asks (next_for()), so the most urgent goes first however
///   late it came;
/// - the thread that takes a job sends for the next one (taken()).
///
/// Cost, with t threads in the lane and c of them coming (c is about the number of CPUs): released() O(t), the
/// others O(t + c * c); at most kMaxLook ready groups are looked at, however many there are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>
#include <vector>

#include "threads/lanes.hpp"

namespace rclrt_core
{

class Dispatch
{
public:
  explicit Dispatch(std::size_t cpus) : cpus_(cpus) {}

  std::size_t cpus() const noexcept { return cpus_; }
  /// A thread of the user, the visitor, that runs jobs of any lane while it sleeps here; null: none.
  void set_visitor(Worker * visitor) noexcept { visitor_ = visitor; }
  /// This worker, which has nothing to do yet, releases timers; null: nobody does.
  void set_releaser(const Worker * releaser) noexcept { releaser_ = releaser; }

  /// What a job of this callback would have to wait for, as rclrt_job_wait.
  rclrt_job_wait what_is_busy(const CallbackNode & callback) const noexcept;
  /// A job of this callback has been released, or its group is ready again.
  void released(const CallbackNode & callback, Section & section) noexcept;
  /// The group is ready again: finds a thread for its first callback.
  void ready_again(GroupQueue & queue, Section & section) noexcept;
  /// Threads begin to take jobs: send for those that wait already. O(n) in them.
  void begin(Lane & lane, Section & section) noexcept;
  /// The callback whose job the worker runs next; null: none.
  CallbackNode * next_for(const Worker & worker) const noexcept;
  /// What the visitor is to take: the most urgent of all lanes, among jobs released before this number. O(n) in the
  /// waiting callbacks.
  static CallbackNode * next_before(std::list<Lane> & lanes, uint64_t before_sequence) noexcept;
  /// The worker has taken a job.
  void taken(Worker & worker, Section & section) noexcept;
  /// The worker has ended it.
  void ended(Worker & worker, Section & section) noexcept;

  /// Whether the thread that has brought a job of this callback, with attributes of this level, may run it at once: the
  /// job is first of all that could run now, nothing that the OS prefers runs, and a thread of the lane has nothing
  /// to do. O(n) in threads and lanes.
  bool may_be_inline(
    const CallbackNode & callback, uint32_t level, const std::list<Lane> & lanes,
    const std::vector<std::shared_ptr<Worker>> & workers) const noexcept;
  /// It has taken the job: it has the place of a thread of the lane until the job has ended.
  static void taken_by(Worker & courier, const CallbackNode & callback) noexcept;

  /// What the worker needs for the job it runs: what that job asks for, or what the most urgent job asks for that
  /// waits for the end of it, because it is of the same exclusive group or because there is no other thread. A demoted
  /// job asks for nothing.
  static Demand needs(const Worker & worker) noexcept;

private:
  static constexpr std::size_t kMaxLook = 64;

  void send_for(Lane & lane, const CallbackNode & callback, Section & section) noexcept;
  bool wake_one(Lane & lane, const CallbackNode & callback, Section & section) noexcept;
  bool enough_are_coming(const Lane & lane, const CallbackNode & callback) const noexcept;
  static void lend_to_coming(Lane & lane, const Demand & wanted, Section & section) noexcept;
  static bool is_served(const Lane & lane, const GroupQueue & queue) noexcept;
  template <typename Predicate>
  static GroupQueue * find(Lane & lane, const Predicate & is_it) noexcept;
  static void add(const GroupQueue & waits, const Worker & to, Demand * needed) noexcept;
  /// To the thread that runs a job, if it needs more by now.
  static void lend(Worker & runner, Section & section) noexcept;
  static void give_back_by_coming(Lane & lane, Section & section) noexcept;

  const std::size_t cpus_;
  Worker * visitor_ = nullptr;
  const Worker * releaser_ = nullptr;
};

}  // namespace rclrt_core
