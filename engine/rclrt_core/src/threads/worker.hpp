// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The crew of a lane: its threads, which of them sleep, which are on their way, and which must be woken.
///
///            take_from_sleep()              wake_up()               rest in sleep()
///   asleep -------------------> coming --------------------> running --------------> asleep
///   (Crew::idle)                (Crew::coming)                (on no list)
///
/// The thread that takes a worker from sleep does so under the engine's lock, and wakes it when it has left
/// that lock. Until then the worker is on its list, and *held*: it is on no other list and its thread does not
/// end. A thread that needs the worker sooner, because the first waker may have lost its CPU, wakes it too
/// (wake_too()). model/hand_over.pml checks these steps in every interleaving.
#ifndef WORKER_HPP_
#define WORKER_HPP_

#include <algorithm>
#include <atomic>
#include <boost/container/static_vector.hpp>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "order/ready.hpp"
#include "rclrt_core/platform.hpp"
#include "rclrt_core/trace_ring.hpp"
#include "threads/arrivals.hpp"
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
    Platform & worker_platform, Mutex & engine_mutex, const AttributesEntry & nothing,
    std::size_t trace_capacity, TraceMemory * memory)
  : platform(worker_platform),
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
  bool cannot_lower = false;  // the OS has refused it once; of the worker's thread
  bool retired = false;       // its group is gone: end
  bool ended = false;         // its thread does not touch the engine any more
  bool sleeping = false;
  /// It looks for work while it is asleep. Set by the worker under the lock, cleared by it without: a thread that
  /// finds it set too late has chosen a worker that has just stopped looking. So relaxed is enough.
  std::atomic<bool> looks{false};
  intrusive::list_member_hook<> in_crew;  // of Crew::idle or Crew::coming
  Worker * next_to_wake = nullptr;  // on the list that holds it; the owner of that list touches it
  Urgency called_for;               // the same: the most urgent call is woken first
  const void * waker = nullptr;     // coming and not up yet: the thread that wakes it; else null
  ThreadUrgency urgency;            // has locks of its own
  bool asked_for_slot = false;      // of the deadline scheduler; once is enough
  bool has_slot = false;
  std::shared_ptr<CallbackNode> callback;  // whose job it runs
  Job job;
  Demand job_demand;                // what that job asks for
  TimePoint own_deadline = kNever;  // of the job, apart from fan-in
  bool handed_on = false;  // the job has released or published something; of the worker's thread
  // The message that the job has taken. The worker's thread alone touches it, like the next one.
  uint64_t publisher = 0;
  uint64_t message = RCLRT_TRACE_NO_MESSAGE;
  bool is_measured = false;  // its CPU time, by system calls
  intrusive::list_member_hook<>
    in_watched;               // of Budgets::watched_, while it runs a job with a budget
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

/// Workers to wake, by one thread. Trivial to destroy, so that a thread-local one needs no allocation.
class Wakes
{
public:
  bool empty() const noexcept { return !first_ && again_count_ == 0; }
  /// A worker that has been taken from sleep. The most urgent call is woken first.
  void add(Worker & worker) noexcept;
  /// One that another list holds, and that has got the word to go. It may be gone when it is woken: the kernel only
  /// compares the address of the word and never reads through it.
  void add_again(Platform & platform, const std::atomic<uint32_t> & word) noexcept;
  void take_over(Wakes & other) noexcept;
  /// Settle those taken from sleep: as they are held, they and their engine still exist.
  void settle() noexcept;
  void wake_all() noexcept;

private:
  struct Again
  {
    Platform * platform;
    const std::atomic<uint32_t> * word;
  };
  static constexpr std::size_t kMaxAgain = 16;

  Worker * first_ = nullptr;
  Again again_[kMaxAgain];  // the first again_count_ of them
  std::size_t again_count_ = 0;
};

/// What a thread has to do once it has left the engine's lock: threads to change, threads to wake. Belongs to one
/// thread; filled under the lock.
class Calls
{
public:
  /// Tells whose calls they are: one value a thread.
  static const void * owner() noexcept;

  /// A worker that has been taken from sleep.
  void wake(Worker & worker) noexcept { wakes_.add(worker); }
  /// A worker that another list holds, and that has got the word to go.
  void wake_again(Worker & worker) noexcept;
  /// A worker of which something has been decided.
  void settle(Worker & worker) noexcept;
  /// A thread that sleeps on this word, which has changed.
  void wake(Platform & platform, const std::atomic<uint32_t> & word) noexcept
  {
    wakes_.add_again(platform, word);
  }
  /// Whether there is room for so many more to settle. If not, leave the lock and begin anew.
  bool has_room(std::size_t count = 2) const noexcept { return to_settle_.size() + count <= kMax; }

  /// Not under the lock: settle all; then wake all, or leave that to the thread's Publication.
  void go() noexcept;

private:
  static constexpr std::size_t kMax = 24;

  Wakes wakes_;
  boost::container::static_vector<std::shared_ptr<Worker>, kMax> to_settle_;
};

/// A section of the engine's lock, and what its thread has to do when it has left it.
struct Section
{
  explicit Section(Mutex & engine_mutex) : lock(engine_mutex) {}
  ~Section()
  {
    if (lock.owns_lock()) {
      leave();
    }
  }
  Section(const Section &) = delete;
  Section & operator=(const Section &) = delete;

  void leave() noexcept
  {
    lock.unlock();
    calls.go();
  }
  void enter() noexcept { lock.lock(); }

  Calls calls;
  std::unique_lock<Mutex> lock;
};

struct Crew
{
  using Workers = intrusive::list<
    Worker, intrusive::member_hook<Worker, intrusive::list_member_hook<>, &Worker::in_crew>>;

  Workers idle;    // last in, first out: the thread that ran last has the warmest caches
  Workers coming;  // taken from sleep and not yet asking for work, or held

  /// How many of those that come can do the work of one with `needed`. O(n) in them.
  std::size_t coming_for(const Demand & needed) const noexcept;
  /// The sleeper for a job that asks for this. There is one. O(n) in the sleepers.
  Worker & choose(const Demand & wanted) noexcept;
};

/// One that keeps what it has, come what may, is as good as it gets.
bool suffices(const Worker & worker, const Demand & needed) noexcept;
/// From asleep to coming; on the list of the caller's thread from here on.
void take_from_sleep(Worker & worker, const Urgency & call, Calls & calls) noexcept;
/// It comes already, but whoever was to wake it may have lost its CPU: the caller wakes it too.
void wake_too(Worker & worker, Calls & calls) noexcept;
/// A worker that is not one of several comes, whether it sleeps or is on its way.
void call(Worker & worker, Calls & calls) noexcept;
/// By the worker: from running to asleep, or to coming if it is held.
void lie_down(Worker & worker) noexcept;
/// By the worker: from coming or asleep to running.
void wake_up(Worker & worker) noexcept;

/// An ordered queue of groups with work, and the threads that serve it.
struct Lane
{
  std::string name;
  const AttributesEntry * first = nullptr;  // what its threads have until they have run something
  ReadyGroups ready;
  Crew crew;
  Worker * spinner = nullptr;   // the one thread of the priority_events model, while it spins
  std::size_t parallelism = 0;  // of all its groups together
  std::size_t running = 0;      // threads that run a job of it, the courier included
  bool has_courier = false;     // the courier is one of them: it takes the place of a thread
  Arrivals arrivals;
  /// The sleeper that looks for work, or else the last one to lie down. Its gaps count.
  Worker * lookout = nullptr;
  /// Written under both locks of the engine, or by a thread that ends; read under `configuration`: a thread
  /// that has ended and is not counted out yet only costs a new lane.
  std::atomic<std::size_t> threads{0};

  /// The courier has taken the last place: a thread that comes takes no job.
  bool is_full() const noexcept { return has_courier && running >= places(); }
  /// The one thread of the priority_events model is not counted.
  std::size_t places() const noexcept { return std::max<std::size_t>(1, threads); }
};

}  // namespace rclrt_core

#endif  // WORKER_HPP_
