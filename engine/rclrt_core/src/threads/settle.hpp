// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What a thread does when it has left the engine's lock: it settles what it has decided there, then wakes whom it has
/// taken from sleep (Section). And what one thread has in force (ThreadUrgency): the only place that changes the
/// scheduling of an engine's thread.
///
///   under the engine's lock               without it
///   decide(demand) --> decided ---------> settle(): makes in force what is decided by then
///
/// The thread that decides also settles, after it has left the engine's lock. settle() reads the decision while it
/// holds the lock of this thread's urgency. So of two threads that settle at the same time the second one
/// makes the later decision stand, whatever the order in which they got there, and no change is ever late.
///
/// Locks: the urgency's own (with priority inheritance), and the engine's inside it for three assignments.
/// Under its own lock run at most four system calls and one call of the DeadlineScheduler (twice that if the
/// OS refuses). Never ask for it while holding the engine's lock.
///
/// While the thread publishes, somebody may *lend* it more urgency than what is decided: see Publication.
#pragma once

#include <atomic>
#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <memory>
#include <mutex>

#include "order/urgency.hpp"
#include "rclrt_core/deadline_scheduler.hpp"
#include "rclrt_core/platform.hpp"

namespace rclrt_core
{

struct Worker;
class TimerAlarm;

/// What a publication lends to the thread that publishes. Copied: the lender may be another engine.
struct Loan
{
  Loan() = default;
  /// `deadlines` orders jobs with ext; null: nobody does.
  Loan(const Demand & demand, DeadlineScheduler * deadlines);

  Attributes attributes;  ///< policy and its parameters; no CPUs
  uint32_t level = 0;
  int64_t os_deadline_ns = INT64_MAX;
  DeadlineScheduler * scheduler = nullptr;  ///< ext: whose deadline it is
  Attributes above;  ///< ext: what a thread without a slot of that scheduler is given instead
};

class ThreadUrgency
{
public:
  /// `engine_mutex` protects the decision. What the thread has at first is `nothing`.
  ThreadUrgency(Platform & platform, Mutex & engine_mutex, const AttributesEntry & nothing);

  // ---- Under the engine's lock

  /// The thread runs a job with a budget, or without one. No system call.
  void limit(const DeadlineScheduler::Limit & limit) noexcept
  {
    // `deadlines_` and `slot_`: the thread itself writes them, before it begins and after its last job.
    if (deadlines_) {
      deadlines_->limit(slot_, limit);
    }
  }
  /// From now on the thread shall have this. No system call.
  void decide(const Demand & demand) noexcept;
  const Demand & decided() const noexcept { return decided_; }
  /// Whether somebody has settled the last decision. Also without the lock: then it may be old news.
  bool is_settled() const noexcept
  {
    // Acquire: pairs with the release in settle(), so that a thread that finds it settled finds the other one changed.
    return settled_.load(std::memory_order_acquire) == number_.load(std::memory_order_relaxed);
  }

  // ---- Without the engine's lock

  struct Outcome
  {
    int error = 0;  ///< errno; ENOTSUP: nobody orders deadlines; ENOSPC: no room for this job
    Demand wanted;  ///< what was decided
  };
  /// Make the decision stand. If the OS refuses, the thread keeps what it had, and that is the decision then.
  Outcome settle() noexcept { return settle(nullptr); }

  struct Strayed
  {
    CpuSet asked;
    CpuSet has;
  };
  /// Whether the thread still has the CPUs that are in force. The kernel takes them away for good when they go offline,
  /// and another process may. What is amiss at two looks in a row (before that, the thread may be on its way) is asked
  /// for again at each look. True: there is something to tell. Moving it may take as long as the thread waits for a CPU.
  bool keep_cpus(Strayed * strayed) noexcept;

  // ---- By the thread itself

  /// Settles, but holds no lock while the thread moves to other CPUs, which may take long.
  Outcome settle_itself() noexcept;
  /// Whether all is in force but CPUs that may not be used, whoever has settled it. Tells it once.
  bool take_left_out() noexcept
  {
    return left_out_.load(std::memory_order_relaxed) && left_out_.exchange(false);
  }
  /// From now on others may change it.
  void begin() noexcept;
  /// From here on nobody does.
  void end() noexcept;
  /// A thread of the user: children that it starts inherit what they inherited before.
  void belongs_to_the_user() noexcept { belongs_to_user_ = true; }
  Status enter(DeadlineScheduler & scheduler);

  /// The thread publishes and has released something. It is given this if it has less.
  void lend(const Loan & loan) noexcept;
  /// The publication has returned.
  void give_back() noexcept;

private:
  /// What the thread does after it has left the lock.
  struct Afterwards
  {
    CpuSet move_to;
    bool gives_way = false;  ///< its deadline is later than before
  };

  Outcome settle(Afterwards * afterwards) noexcept;
  int settle_to(const Demand & to, Afterwards * afterwards) noexcept;
  int keep_left_out(int error) noexcept;
  bool may_be_inherited(const Attributes & attributes) const noexcept;
  int apply(const Attributes & attributes, TimePoint deadline) noexcept;

  Platform & platform_;
  Mutex & engine_mutex_;
  const AttributesEntry & nothing_;

  // Under the engine's lock.
  Demand decided_;
  std::atomic<uint32_t> number_{0};  ///< of the decision; written under the engine's lock

  // Under `mutex_`, but the atomics, which are only written under it or by the thread.
  const std::unique_ptr<Mutex> mutex_;
  ThreadId thread_ = 0;   ///< 0: not begun or ended
  Demand in_force_;       ///< apart from the loan
  bool is_known_ = true;  ///< else something was refused halfway
  bool belongs_to_user_ = false;
  bool stays_reset_ =
    false;  ///< that children inherit nothing was asked for, and may not be taken back
  DeadlineScheduler * deadlines_ =
    nullptr;  ///< where it has a slot; set by the thread before begin()
  DeadlineScheduler::Slot slot_ = 0;
  bool in_deadline_class_ = false;  ///< the slot decides about the thread's urgency
  bool has_loan_ = false;
  Loan loan_;
  std::atomic<uint32_t> settled_{0};
  /// CPUs were left out, which is not told yet. Relaxed: the thread reads it after `settled_`.
  std::atomic<bool> left_out_{false};
  /// CPUs are missing, and that was or will be told. Written like `left_out_`; relaxed: only what is told depends on it.
  std::atomic<bool> lacks_cpus_{false};
  int strays_ = 0;  ///< looks in a row at which it had other CPUs, at most 2
};

/// A section of the engine's lock, and what its thread has to do when it has left it: threads to change, threads to
/// wake. Belongs to one thread; filled under the lock. Each thread has one list of those that it has to wake: while it
/// publishes, several sections fill that.
class Section
{
public:
  explicit Section(Mutex & engine_mutex) : lock(engine_mutex) {}
  ~Section()
  {
    if (lock.owns_lock()) {
      leave();
    }
  }
  Section(const Section &) = delete;
  Section & operator=(const Section &) = delete;

  void enter() noexcept { lock.lock(); }
  void leave() noexcept
  {
    unlock();
    go();
  }
  /// And set the alarm: before the thread lowers itself or is moved to another CPU, after which it may wait for long.
  void unlock() noexcept;
  /// Without the lock: settle all; then wake all, or leave that to the thread's Publication.
  void go() noexcept;
  /// Settles, then wakes all on the list of the calling thread, which holds no engine's lock.
  static void settle_all() noexcept;
  static void wake_all() noexcept;
  /// Empties the list, in the child of a fork: the threads do not exist there.
  static void forget_all() noexcept;

  /// Tells whose sections they are: one value a thread.
  static const void * owner() noexcept;
  /// A worker that has been taken from sleep. The most urgent one is woken first.
  void wake(Worker & worker) noexcept;
  /// A worker that another list holds, and that has got the word to go.
  void wake_again(Worker & worker) noexcept;
  /// A worker of which something has been decided.
  void settle(Worker & worker) noexcept;
  /// A thread that sleeps on this word, which has changed. It may be gone when it is woken: the kernel only compares the
  /// address of the word and never reads through it.
  void wake(Platform & platform, const std::atomic<uint32_t> & word) noexcept;
  /// The alarm has to be set, or another thread that has to set it may have lost its CPU.
  void set(TimerAlarm & alarm) noexcept { alarm_ = &alarm; }
  /// Whether there is room for so many more to settle. If not, leave the lock and begin anew.
  bool has_room(std::size_t count = 2) const noexcept { return to_settle_.size() + count <= kMax; }

  std::unique_lock<Mutex> lock;

private:
  static constexpr std::size_t kMax = 24;

  TimerAlarm * alarm_ = nullptr;
  bool wakes_ = false;  ///< it has put something on its thread's list
  boost::container::static_vector<std::shared_ptr<Worker>, kMax> to_settle_;
};

}  // namespace rclrt_core
