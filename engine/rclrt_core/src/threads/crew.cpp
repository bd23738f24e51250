// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "threads/worker.hpp"

#include <algorithm>
#include <utility>

#include "messages/publication.hpp"

namespace rclrt_core
{

bool suffices(const Worker & worker, const Demand & needed) noexcept
{
  return worker.is_left_alone || suffices(worker.urgency.decided(), needed);
}

std::size_t Crew::coming_for(const Demand & needed) const noexcept
{
  return static_cast<std::size_t>(std::count_if(
    coming.begin(), coming.end(),
    [&needed](const Worker & worker) { return suffices(worker, needed); }));
}

// One that looks for work needs no waking. Else the warmest thread that has the attributes already; if none has, the
// coldest one, so that the warm ones keep theirs and a steady load needs no scheduling calls.
Worker & Crew::choose(const Demand & wanted) noexcept
{
  const auto looking = std::find_if(idle.begin(), idle.end(), [&wanted](const Worker & worker) {
    return worker.looks.load(std::memory_order_relaxed) &&
           same_cpus(worker.urgency.decided(), wanted) &&
           (!wanted.policy->is_ext() || worker.has_slot);
  });
  if (looking != idle.end()) {
    return *looking;
  }
  const auto ready_made = std::find_if(idle.begin(), idle.end(), [&wanted](const Worker & worker) {
    return worker.urgency.decided().policy == wanted.policy &&
           same_cpus(worker.urgency.decided(), wanted);
  });
  if (ready_made != idle.end()) {
    return *ready_made;
  }
  // A thread without a slot takes an ext job only if none with a slot is left.
  const bool needs_slot = wanted.policy->is_ext();
  const auto coldest = std::find_if(
    idle.rbegin(), idle.rend(),
    [needs_slot](const Worker & worker) { return !needs_slot || worker.has_slot; });
  return coldest != idle.rend() ? *coldest : idle.back();
}

void Worker::begin(Mutex & mutex, const AttributesEntry & nothing, const AttributesEntry & above)
{
  {
    const std::lock_guard<Mutex> lock(mutex);
    if (!is_left_alone && urgency.decided() == Demand{&nothing, &nothing}) {
      urgency.decide({&above, &nothing});
    }
  }
  urgency.begin();
  urgency.settle_itself();
}

void Worker::decide_first(const AttributesEntry & rest) noexcept
{
  Demand demand{&rest, &rest};
  demand.rests = rest.is_ext();
  if (!rest.is_ext() || has_slot) {
    urgency.decide(demand);
  }
}

int Worker::settle_first(const AttributesEntry & rest) noexcept
{
  const ThreadUrgency::Outcome outcome = urgency.settle_itself();
  const bool is_of_first = outcome.wanted.policy == &rest && outcome.wanted.cpus == &rest;
  // Else a job has been given to it, and asks for itself.
  const int error = is_of_first ? outcome.error : 0;
  return urgency.take_left_out() ? kCpusLeftOut : error;
}

void Worker::wait(TimePoint until) const noexcept
{
  // Acquire: pairs with the release of the thread that changes the word.
  while (word.load(std::memory_order_acquire) == kAsleep) {
    platform.wait(word, kAsleep, until);
    if (word.load(std::memory_order_acquire) == kAsleep && platform.now() >= until) {
      break;
    }
  }
}

void Worker::fan_in() noexcept
{
  own_deadline = job.deadline;
  job.deadline = std::min(job.deadline, earliest_to_bring_together(*callback));
}

void take_from_sleep(Worker & worker, const Urgency & urgency, Calls & calls) noexcept
{
  worker.sleeping = false;
  worker.waker = Calls::owner();
  worker.called_for = urgency;
  if (worker.lane) {
    Crew & crew = worker.lane->crew;
    crew.idle.erase(crew.idle.iterator_to(worker));
    crew.coming.push_back(worker);
  }
  calls.wake(worker);
}

// Whoever took it from sleep may have lost its CPU to a thread of middle urgency, before it woke the worker or
// between the store and the system call: this thread does so too.
void wake_too(Worker & worker, Calls & calls) noexcept
{
  if (!worker.waker || worker.waker == Calls::owner()) {
    return;
  }
  worker.waker = Calls::owner();
  uint32_t expected = Worker::kAsleep;
  // Release: the thread that finds the word changed sees what was decided for the worker under the lock. If it is not
  // kAsleep any more there is nothing to say: the word of its first waker stands.
  worker.word.compare_exchange_strong(
    expected, Worker::kAwakeAndHeld, std::memory_order_release, std::memory_order_relaxed);
  calls.wake_again(worker);
}

void call(Worker & worker, Calls & calls) noexcept
{
  if (worker.sleeping) {
    take_from_sleep(worker, Urgency{UINT32_MAX}, calls);
  } else {
    wake_too(worker, calls);
  }
}

void lie_down(Worker & worker) noexcept
{
  uint32_t expected = Worker::kAwakeAndHeld;
  // Acquire, if it fails: pairs with the store of the thread that held it and may not touch the worker any more.
  // The other stores are relaxed: published by the unlock, before anybody can find the worker.
  const bool is_held = worker.word.compare_exchange_strong(
    expected, Worker::kAsleep, std::memory_order_acquire, std::memory_order_acquire);
  if (is_held) {
    worker.waker = &worker;  // whoever
  } else {
    worker.word.store(Worker::kAsleep, std::memory_order_relaxed);
  }
  worker.sleeping = !is_held;
  if (worker.lane && is_held) {
    worker.lane->crew.coming.push_back(worker);
  } else if (worker.lane) {
    worker.lane->crew.idle.push_front(worker);
  }
}

void wake_up(Worker & worker) noexcept
{
  Crew::Workers * list = nullptr;
  if (worker.sleeping) {  // the time is up and nobody has taken the worker: it takes itself
    worker.sleeping = false;
    worker.word.store(Worker::kAwake, std::memory_order_relaxed);  // under the lock
    list = worker.lane ? &worker.lane->crew.idle : nullptr;
  } else {
    list = worker.lane ? &worker.lane->crew.coming : nullptr;
    // If the time is up and its waker has not woken it yet, the worker does not wait for that.
    uint32_t expected = Worker::kAsleep;
    worker.word.compare_exchange_strong(
      expected, Worker::kAwakeAndHeld, std::memory_order_acquire, std::memory_order_acquire);
  }
  worker.waker = nullptr;
  if (list) {
    list->erase(list->iterator_to(worker));
  }
}

// Behind all that are at least as urgent.
void Wakes::add(Worker & worker) noexcept
{
  Worker ** place = &first_;
  while (*place && !more_urgent(worker.called_for, (*place)->called_for)) {
    place = &(*place)->next_to_wake;
  }
  worker.next_to_wake = *place;
  *place = &worker;
}

void Wakes::add_again(Platform & platform, const std::atomic<uint32_t> & word) noexcept
{
  if (again_count_ < kMaxAgain) {
    again_[again_count_++] = {&platform, &word};
  } else {
    platform.wake_one(word);  // rather too early than never
  }
}

void Wakes::take_over(Wakes & other) noexcept
{
  for (Worker * next = std::exchange(other.first_, nullptr); next;) {
    Worker & worker = *next;
    next = worker.next_to_wake;
    add(worker);
  }
  for (std::size_t i = 0; i < other.again_count_; ++i) {
    add_again(*other.again_[i].platform, *other.again_[i].word);
  }
  other.again_count_ = 0;
}

void Wakes::settle() noexcept
{
  for (Worker * worker = first_; worker; worker = worker->next_to_wake) {
    if (!worker->urgency.is_settled()) {
      worker->urgency.settle();
    }
  }
}

void Wakes::wake_all() noexcept
{
  for (std::size_t i = 0; i < again_count_; ++i) {
    again_[i].platform->wake_one(*again_[i].word);
  }
  again_count_ = 0;
  for (Worker * next = std::exchange(first_, nullptr); next;) {
    Worker & worker = *next;
    next = worker.next_to_wake;
    // From the store on the worker may run, end and be gone.
    Platform & platform = worker.platform;
    const std::atomic<uint32_t> & word = worker.word;
    worker.word.store(Worker::kAwake, std::memory_order_release);
    platform.wake_one(word);
  }
}

const void * Calls::owner() noexcept
{
  static thread_local char here;
  return &here;
}

void Calls::wake_again(Worker & worker) noexcept
{
  wakes_.add_again(worker.platform, worker.word);
  settle(worker);
}

// If there is no room, whoever decided settles.
void Calls::settle(Worker & worker) noexcept
{
  if (to_settle_.size() < kMax && !worker.urgency.is_settled()) {
    to_settle_.push_back(worker.shared_from_this());
  }
}

// Also those that another thread has decided about: no thread that needs one depends on the one that was to change it.
void Calls::go() noexcept
{
  for (const std::shared_ptr<Worker> & worker : to_settle_) {
    worker->urgency.settle();
  }
  to_settle_.clear();
  if (wakes_.empty()) {
    return;
  }
  wakes_.settle();
  if (publishes_here()) {
    wake_after_publication(wakes_);
  } else {
    wakes_.wake_all();
  }
}

}  // namespace rclrt_core
