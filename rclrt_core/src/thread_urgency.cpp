// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "thread_urgency.hpp"

#include <cerrno>
#include <mutex>
#include <utility>

namespace rclrt_core
{

ThreadUrgency::ThreadUrgency(
  Platform & platform, Mutex & engine_mutex, const AttributesEntry & nothing)
: platform_(platform),
  engine_mutex_(engine_mutex),
  nothing_(nothing),
  decided_{&nothing, &nothing},
  mutex_(platform.make_mutex()),
  in_force_(decided_)
{
}

void ThreadUrgency::decide(const Demand & demand) noexcept
{
  if (demand != decided_) {
    decided_ = demand;
    // Relaxed: read by others under the same lock, or as a hint.
    number_.store(number_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
}

ThreadUrgency::Outcome ThreadUrgency::settle(bool by_itself) noexcept
{
  Outcome outcome;
  const std::lock_guard<Mutex> lock(*mutex_);
  if (thread_ == 0) {
    return outcome;  // begin() settles, or nobody needs to
  }
  Demand wanted;
  uint32_t number = 0;
  {
    const std::lock_guard<Mutex> engine_lock(engine_mutex_);
    wanted = decided_;
    number = number_.load(std::memory_order_relaxed);
  }
  if (settled_.load(std::memory_order_relaxed) == number) {
    return outcome;
  }
  const Demand before = in_force_;
  outcome.error = put(wanted, by_itself, &outcome);
  if (outcome.error != 0) {
    outcome.move_to = CpuSet();
    if (!is_known_) {
      Outcome restored;
      put(before, false, &restored);  // what it had was granted before
    }
    const std::lock_guard<Mutex> engine_lock(engine_mutex_);
    if (number_.load(std::memory_order_relaxed) == number) {
      decided_ = in_force_;
    }
  }
  if (is_known_) {  // else the next to settle tries again
    settled_.store(number, std::memory_order_release);
  }
  return outcome;
}

int ThreadUrgency::move(const CpuSet & cpus) noexcept
{
  Attributes affinity;
  affinity.cpu_affinity = cpus;
  return platform_.apply(
    thread_, affinity);  // `thread_` is written by the caller's own thread only
}

// Under `mutex_`. Asks the OS for what differs from what is in force.
int ThreadUrgency::put(const Demand & to, bool by_itself, Outcome * outcome) noexcept
{
  if (is_known_ && to == in_force_) {
    return 0;
  }
  if (
    has_loan_ && is_known_ && same_cpus(to, in_force_) &&
    outranks(loan_.level, loan_.os_deadline_ns, to.level(), to.os_deadline_ns())) {
    in_force_ = to;  // for when the loan is given back
    return 0;
  }
  const bool had_deadline = in_deadline_class_ && !in_force_.rests && in_force_.policy->is_ext();
  const TimePoint deadline_before = in_force_.deadline;
  Attributes asked = to.policy->complete;
  asked.cpu_affinity =
    is_known_ && same_cpus(to, in_force_) ? CpuSet() : to.cpus->complete.cpu_affinity;
  // The OS makes nobody a SCHED_DEADLINE thread who may not run on all CPUs, where the thread is already.
  if (by_itself && asked.policy != SchedulingPolicy::kDeadline) {
    std::swap(asked.cpu_affinity, outcome->move_to);
  }
  int error = 0;
  if (to.policy->is_ext() && to.rests) {
    rest();
    asked.policy = SchedulingPolicy::kUnchanged;
    error = asked.cpu_affinity.empty() ? 0 : platform_.apply(thread_, asked);
  } else {
    error = change(asked, to.deadline);
  }
  outcome->left_out = error == kCpusLeftOut;
  error = outcome->left_out ? 0 : error;
  // Of CPUs that are left out the thread itself hears when it asks once more.
  is_known_ = error == 0 && (by_itself || !outcome->left_out);
  if (error == 0) {
    in_force_ = to;
    has_loan_ = false;  // what is decided now outranks it
    outcome->is_later =
      had_deadline && in_deadline_class_ && !to.rests && deadline_before < to.deadline;
  }
  return error;
}

// Under `mutex_`.
int ThreadUrgency::change(const Attributes & attributes, TimePoint deadline) noexcept
{
  const bool is_ext = attributes.policy == SchedulingPolicy::kExt;
  if (is_ext && !deadlines_) {
    return ENOTSUP;
  }
  if (in_deadline_class_ && !is_ext) {
    deadlines_->forget(slot_);
    in_deadline_class_ = false;
  }
  Attributes other = attributes;
  other.inherited_by_children = is_lent_by_user_ && nothing_.complete.inherited_by_children;
  if (is_ext) {
    other.policy = SchedulingPolicy::kUnchanged;  // that is up to the deadline scheduler
  }
  const bool asks = !is_ext || !other.cpu_affinity.empty();
  const int error = asks ? platform_.apply(thread_, other) : 0;
  if ((error == 0 || error == kCpusLeftOut) && is_ext) {
    in_deadline_class_ = true;
    const int refused = deadlines_->start(slot_, deadline);
    return refused != 0 ? refused : error;
  }
  return error;
}

// Under `mutex_`. Its job is over.
void ThreadUrgency::rest() noexcept
{
  if (in_deadline_class_) {
    deadlines_->stop(slot_);
  }
}

void ThreadUrgency::begin() noexcept
{
  const std::lock_guard<Mutex> lock(*mutex_);
  thread_ = platform_.current_thread();
}

void ThreadUrgency::end() noexcept
{
  const std::lock_guard<Mutex> lock(*mutex_);
  thread_ = 0;
  if (deadlines_) {
    deadlines_->leave(slot_);
    deadlines_ = nullptr;
  }
}

Status ThreadUrgency::enter(DeadlineScheduler & scheduler)
{
  const Status entered = scheduler.enter(&slot_);
  if (entered.ok()) {
    const std::lock_guard<Mutex> lock(*mutex_);
    deadlines_ = &scheduler;
  }
  return entered;
}

void ThreadUrgency::borrow(const Loan & loan) noexcept
{
  const std::lock_guard<Mutex> lock(*mutex_);
  const bool enough =
    !outranks(loan.level, loan.os_deadline_ns, in_force_.level(), in_force_.os_deadline_ns()) ||
    (has_loan_ && !outranks(loan.level, loan.os_deadline_ns, loan_.level, loan_.os_deadline_ns));
  if (!enough && lend(loan) == 0) {
    has_loan_ = true;
    loan_ = loan;
  }
}

// Under `mutex_`.
int ThreadUrgency::lend(const Loan & loan) noexcept
{
  if (loan.attributes.policy != SchedulingPolicy::kExt) {
    return change(loan.attributes, kNever);
  }
  return deadlines_ && deadlines_ == loan.scheduler
           ? change(loan.attributes, time_point_of(loan.os_deadline_ns))
           : change(loan.above, kNever);
}

void ThreadUrgency::give_back() noexcept
{
  bool is_later = false;
  {
    const std::lock_guard<Mutex> lock(*mutex_);
    if (std::exchange(has_loan_, false)) {
      const bool was_a_deadline = in_deadline_class_;
      Attributes own = in_force_.policy->complete;
      own.cpu_affinity = CpuSet();
      change(own, in_force_.deadline);  // it was granted before
      is_later = was_a_deadline && in_deadline_class_;
    }
  }
  if (is_later) {
    give_way();  // to what has been released, which is earlier
  }
}

}  // namespace rclrt_core
