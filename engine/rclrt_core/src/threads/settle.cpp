// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "threads/settle.hpp"

#include <cerrno>
#include <mutex>
#include <utility>

#include "messages/publication.hpp"
#include "threads/worker.hpp"
#include "timers/timer_alarm.hpp"

namespace rclrt_core
{
namespace
{

constexpr std::size_t kMaxAgain = 16;

// What the calling thread has to wake. Its own thread only reads and writes these.
thread_local Worker * first_to_wake =
  nullptr;  // taken from sleep; the next is Worker::next_to_wake
thread_local struct
{
  Platform * platform;
  const std::atomic<uint32_t> * word;
} again[kMaxAgain];  // whose word has changed already; the first `again_count` of them
thread_local std::size_t again_count = 0;

}  // namespace

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

ThreadUrgency::Outcome ThreadUrgency::settle_itself() noexcept
{
  Afterwards afterwards;
  Outcome outcome = settle(&afterwards);
  if (afterwards.gives_way) {
    deadlines_->give_way();
  }
  if (outcome.error == 0 && !afterwards.move_to.empty()) {
    Attributes affinity;
    affinity.cpu_affinity = afterwards.move_to;
    // `thread_` is written by this thread only.
    outcome.error = keep_left_out(platform_.apply(thread_, affinity));
  }
  return outcome;
}

// After a change of CPUs.
int ThreadUrgency::keep_left_out(int error) noexcept
{
  left_out_.store(error == kCpusLeftOut, std::memory_order_relaxed);
  lacks_cpus_.store(error == kCpusLeftOut, std::memory_order_relaxed);
  return error == kCpusLeftOut ? 0 : error;
}

bool ThreadUrgency::keep_cpus(Strayed * strayed) noexcept
{
  const std::lock_guard<Mutex> lock(*mutex_);
  if (thread_ == 0 || !is_known_ || !in_force_.cpus->asks_for_cpus) {
    strays_ = 0;
    return false;
  }
  Attributes asked;
  asked.cpu_affinity = in_force_.cpus->complete.cpu_affinity;
  Attributes has;
  if (platform_.read_back(thread_, &has) != 0 || has.cpu_affinity == asked.cpu_affinity) {
    lacks_cpus_.store(false, std::memory_order_relaxed);
    strays_ = 0;
    return false;
  }
  if (strays_++ == 0) {
    return false;
  }
  strays_ = 2;
  *strayed = {asked.cpu_affinity, has.cpu_affinity};
  (void)platform_.apply(thread_, asked);
  return !lacks_cpus_.exchange(true, std::memory_order_relaxed);
}

ThreadUrgency::Outcome ThreadUrgency::settle(Afterwards * afterwards) noexcept
{
  Outcome outcome;
  const std::lock_guard<Mutex> lock(*mutex_);
  if (thread_ == 0) {
    return outcome;  // not begun: it settles when it begins; ended: nobody needs to
  }
  uint32_t number = 0;
  {
    const std::lock_guard<Mutex> engine_lock(engine_mutex_);
    outcome.wanted = decided_;
    number = number_.load(std::memory_order_relaxed);
  }
  if (settled_.load(std::memory_order_relaxed) == number) {
    return outcome;
  }
  const Demand before = in_force_;
  outcome.error = settle_to(outcome.wanted, afterwards);
  if (outcome.error != 0) {
    if (!is_known_) {
      settle_to(before, nullptr);  // what it had was granted before
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

// Under `mutex_`. Asks the OS for what differs from what is in force.
int ThreadUrgency::settle_to(const Demand & to, Afterwards * afterwards) noexcept
{
  if (is_known_ && to == in_force_) {
    return 0;
  }
  const bool moves = !is_known_ || !same_cpus(to, in_force_);
  if (
    has_loan_ && !moves &&
    outranks(loan_.level, loan_.os_deadline_ns, to.level(), to.os_deadline_ns())) {
    in_force_ = to;  // for when the loan is given back
    return 0;
  }
  const bool had_deadline =
    in_deadline_class_ && in_force_.attributes->is_ext() && !in_force_.rests;
  Attributes asked = to.attributes->complete;
  asked.cpu_affinity = moves ? to.cpus->complete.cpu_affinity : CpuSet();
  // The OS makes a thread SCHED_DEADLINE only if it may run on all CPUs of where it is already.
  CpuSet move_to;
  if (afterwards && asked.scheduling_policy != SchedulingPolicy::kDeadline) {
    std::swap(asked.cpu_affinity, move_to);
  }
  int error = 0;
  if (to.attributes->is_ext() && to.rests) {
    if (in_deadline_class_) {
      deadlines_->stop(slot_);
    }
    asked.scheduling_policy = SchedulingPolicy::kUnchanged;
    error = asked.cpu_affinity.empty() ? 0 : platform_.apply(thread_, asked);
  } else {
    error = apply(asked, to.deadline);
  }
  if (moves) {
    error = keep_left_out(error);
  }
  is_known_ = error == 0;
  if (!is_known_) {
    return error;
  }
  if (afterwards) {
    afterwards->move_to = move_to;
    afterwards->gives_way =
      had_deadline && in_deadline_class_ && !to.rests && in_force_.deadline < to.deadline;
  }
  in_force_ = to;
  has_loan_ = false;  // what is decided now outranks it
  return 0;
}

// Children of the user's thread have what they had without us: never a real-time policy that only a callback is given.
bool ThreadUrgency::may_be_inherited(const Attributes & attributes) const noexcept
{
  const Attributes & own = nothing_.complete;
  const bool is_raised = !is_strict(own.scheduling_policy) &&
                         (is_strict(attributes.scheduling_policy) || attributes.nice < own.nice);
  return belongs_to_user_ && own.inherited_by_children && !is_raised && !stays_reset_;
}

// Under `mutex_`. Tells the OS, and the deadline scheduler.
int ThreadUrgency::apply(const Attributes & attributes, TimePoint deadline) noexcept
{
  const bool is_ext = attributes.scheduling_policy == SchedulingPolicy::kExt;
  if (is_ext && !deadlines_) {
    return ENOTSUP;
  }
  if (in_deadline_class_ && !is_ext) {
    deadlines_->forget(slot_);
    in_deadline_class_ = false;
  }
  Attributes other = attributes;
  other.inherited_by_children = may_be_inherited(attributes);
  if (is_ext) {
    other.scheduling_policy = SchedulingPolicy::kUnchanged;  // that is up to the deadline scheduler
  }
  const bool asks = !is_ext || !other.cpu_affinity.empty();
  int error = asks ? platform_.apply(thread_, other) : 0;
  if (error == EPERM && other.inherited_by_children) {
    // Without the privilege the kernel's reset-on-fork stays. It changes nothing for children of an ordinary thread.
    other.inherited_by_children = false;
    error = platform_.apply(thread_, other);
    stays_reset_ |= error == 0 || error == kCpusLeftOut;
  }
  if ((error == 0 || error == kCpusLeftOut) && is_ext) {
    in_deadline_class_ = true;
    const int refused = deadlines_->start(slot_, deadline);
    return refused != 0 ? refused : error;
  }
  return error;
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

void ThreadUrgency::lend(const Loan & loan) noexcept
{
  const std::lock_guard<Mutex> lock(*mutex_);
  const auto is_more_than = [&loan](uint32_t level, int64_t os_deadline_ns) {
    return outranks(loan.level, loan.os_deadline_ns, level, os_deadline_ns);
  };
  if (
    !is_more_than(in_force_.level(), in_force_.os_deadline_ns()) ||
    (has_loan_ && !is_more_than(loan_.level, loan_.os_deadline_ns))) {
    return;
  }
  const bool has_slot = deadlines_ && deadlines_ == loan.scheduler;
  const bool goes_above = loan.attributes.scheduling_policy == SchedulingPolicy::kExt && !has_slot;
  const TimePoint deadline = time_point_of(loan.os_deadline_ns);  // read for ext only
  if (apply(goes_above ? loan.above : loan.attributes, deadline) == 0) {
    has_loan_ = true;
    loan_ = loan;
  }
}

void ThreadUrgency::give_back() noexcept
{
  bool is_later = false;
  {
    const std::lock_guard<Mutex> lock(*mutex_);
    if (std::exchange(has_loan_, false)) {
      const bool had_deadline = in_deadline_class_;
      Attributes own = in_force_.attributes->complete;
      own.cpu_affinity = CpuSet();
      apply(own, in_force_.deadline);  // it was granted before
      is_later = had_deadline && in_deadline_class_;
    }
  }
  if (is_later) {
    deadlines_->give_way();  // to what has been released, which is earlier
  }
}

// Behind all that are at least as urgent.
void Section::wake(Worker & worker) noexcept
{
  wakes_ = true;
  Worker ** place = &first_to_wake;
  while (*place && !more_urgent(worker.woken_for, (*place)->woken_for)) {
    place = &(*place)->next_to_wake;
  }
  worker.next_to_wake = *place;
  *place = &worker;
}

void Section::wake(Platform & platform, const std::atomic<uint32_t> & word) noexcept
{
  wakes_ = true;
  if (again_count < kMaxAgain) {
    again[again_count++] = {&platform, &word};
  } else {
    platform.wake_one(word);  // rather too early than never
  }
}

// Those taken from sleep are held: they and their engines still exist.
void Section::settle_all() noexcept
{
  for (Worker * worker = first_to_wake; worker; worker = worker->next_to_wake) {
    if (!worker->urgency.is_settled()) {
      worker->urgency.settle();
    }
  }
}

void Section::wake_all() noexcept
{
  for (std::size_t i = 0; i < again_count; ++i) {
    again[i].platform->wake_one(*again[i].word);
  }
  again_count = 0;
  for (Worker * next = std::exchange(first_to_wake, nullptr); next;) {
    Worker & worker = *next;
    next = worker.next_to_wake;
    // From the store on the worker may run, end and be gone.
    Platform & platform = worker.platform;
    const std::atomic<uint32_t> & word = worker.word;
    worker.word.store(Worker::kAwake, std::memory_order_release);
    platform.wake_one(word);
  }
}

void Section::forget_all() noexcept
{
  first_to_wake = nullptr;
  again_count = 0;
}

const void * Section::owner() noexcept
{
  static thread_local char here;
  return &here;
}

void Section::wake_again(Worker & worker) noexcept
{
  wake(worker.platform, worker.word);
  settle(worker);
}

void Section::unlock() noexcept
{
  TimerAlarm * const alarm = std::exchange(alarm_, nullptr);
  lock.unlock();
  if (alarm && !alarm->is_set()) {
    alarm->set();
  }
}

// If there is no room, whoever decided settles.
void Section::settle(Worker & worker) noexcept
{
  if (to_settle_.size() < kMax && !worker.urgency.is_settled()) {
    to_settle_.push_back(worker.shared_from_this());
  }
}

// Also those that another thread has decided about: no thread that needs one depends on the one that was to change it.
void Section::go() noexcept
{
  for (const std::shared_ptr<Worker> & worker : to_settle_) {
    worker->urgency.settle();
  }
  to_settle_.clear();
  if (!std::exchange(wakes_, false)) {
    return;
  }
  settle_all();
  if (!publishes_here()) {
    wake_all();
  }
}

}  // namespace rclrt_core
