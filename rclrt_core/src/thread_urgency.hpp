// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What one thread has in force: the only place that changes a thread's scheduling.
///
///   under the engine's lock               without it
///   decide(demand) --> decided ---------> settle(): makes in force what is decided by then
///
/// Whoever decides also settles, after it has left the engine's lock. settle() reads the decision while it
/// holds the lock of this thread's urgency. So of two threads that settle at the same time the second one
/// makes the later decision stand, whatever the order in which they got there, and no change is ever late.
///
/// Locks: the urgency's own (with priority inheritance), and the engine's inside it for three assignments. Under
/// its own lock run at most four system calls and one call of the DeadlineScheduler. Never ask for it while
/// holding the engine's lock.
///
/// While the thread publishes, a *loan* may hold it more urgent than what is decided: see Publication.
#ifndef THREAD_URGENCY_HPP_
#define THREAD_URGENCY_HPP_

#include <atomic>
#include <memory>

#include "demand.hpp"
#include "rclrt_core/deadline_scheduler.hpp"
#include "rclrt_core/platform.hpp"

namespace rclrt_core
{

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

  /// From now on the thread shall have this. No system call.
  void decide(const Demand & demand) noexcept;
  const Demand & decided() const noexcept { return decided_; }
  /// Whether somebody has settled the last decision. Also without the lock: then it may be old news.
  bool is_settled() const noexcept
  {
    // Acquire: pairs with the release in settle(), so that who finds it settled finds the thread changed.
    return settled_.load(std::memory_order_acquire) == number_.load(std::memory_order_relaxed);
  }

  // ---- Without the engine's lock

  struct Outcome
  {
    int error = 0;  ///< errno; ENOTSUP: nobody orders deadlines; ENOSPC: no room for this job
    bool is_later = false;  ///< the deadline in force is later than before: give_way()
    CpuSet move_to;         ///< the thread itself has to move there, holding no lock
    bool left_out = false;  ///< all is in force but CPUs that may not be used: kCpusLeftOut
  };
  /// Make the decision stand. If the OS refuses, the thread keeps what it had, and that is the decision then.
  /// `by_itself`: it is the thread's own call; to move to a busy CPU may take long, so it gets `move_to` back.
  Outcome settle(bool by_itself = false) noexcept;
  /// By the thread: wait for its turn on other CPUs. Returns errno.
  int move(const CpuSet & cpus) noexcept;

  // ---- By the thread itself

  /// From now on others may change it.
  void begin() noexcept;
  /// From here on nobody does.
  void end() noexcept;
  /// A thread of the user: children that it forks inherit what they inherited before.
  void is_lent_by_the_user() noexcept { is_lent_by_user_ = true; }
  Status enter(DeadlineScheduler & scheduler);
  bool has_slot() const noexcept { return deadlines_ != nullptr; }
  void give_way() noexcept { deadlines_->give_way(); }

  /// The thread publishes and has released something. It is given this if it has less.
  void borrow(const Loan & loan) noexcept;
  /// The publication has returned.
  void give_back() noexcept;

private:
  int put(const Demand & to, bool by_itself, Outcome * outcome) noexcept;
  int change(const Attributes & attributes, TimePoint deadline) noexcept;
  int lend(const Loan & loan) noexcept;
  void rest() noexcept;

  Platform & platform_;
  Mutex & engine_mutex_;
  const AttributesEntry & nothing_;

  // Under the engine's lock.
  Demand decided_;
  std::atomic<uint32_t> number_{0};  ///< of the decision; written under the engine's lock

  // Under `mutex_`, but `settled_`, which is only written under it.
  const std::unique_ptr<Mutex> mutex_;
  ThreadId thread_ = 0;   ///< 0: not begun or ended
  Demand in_force_;       ///< apart from the loan
  bool is_known_ = true;  ///< else something was refused halfway
  bool is_lent_by_user_ = false;
  DeadlineScheduler * deadlines_ =
    nullptr;  ///< where it has a slot; set by the thread before begin()
  DeadlineScheduler::Slot slot_ = 0;
  bool in_deadline_class_ = false;  ///< the slot decides about the thread's urgency
  bool has_loan_ = false;
  Loan loan_;
  std::atomic<uint32_t> settled_{0};
};

}  // namespace rclrt_core

#endif  // THREAD_URGENCY_HPP_
