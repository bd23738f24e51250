// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// From sleep to coming, to running and back: the drawing in dispatch.hpp.

#include "threads/dispatch.hpp"
#include "timers/timer_clocks.hpp"

namespace rclrt_core
{

void take_from_sleep(Worker & worker, const Urgency & urgency, Section & section) noexcept
{
  if (worker.covers) {
    worker.lane->clocks->uncover(worker);
  }
  worker.sleeping = false;
  worker.waker = Section::owner();
  worker.woken_for = urgency;
  if (worker.lane) {
    worker.lane->idle.erase(worker.lane->idle.iterator_to(worker));
    worker.lane->coming.push_back(worker);
  }
  section.wake(worker);
}

// Whoever took it from sleep may have lost its CPU to a thread of middle urgency, before it woke the worker or
// between the store and the system call: this thread does so too.
void wake_too(Worker & worker, Section & section) noexcept
{
  if (!worker.waker) {
    section.settle(
      worker);  // it changes itself, and may have lost its CPU before that: see Engine::Impl::become()
    return;
  }
  if (worker.waker == Section::owner()) {
    return;
  }
  worker.waker = Section::owner();
  uint32_t expected = Worker::kAsleep;
  // Release: the thread that finds the word changed sees what was decided for the worker under the lock. If it is not
  // kAsleep any more there is nothing to say: the word of its first waker stands.
  worker.word.compare_exchange_strong(
    expected, Worker::kAwakeAndHeld, std::memory_order_release, std::memory_order_relaxed);
  section.wake_again(worker);
}

void make_come(Worker & worker, Section & section) noexcept
{
  if (worker.sleeping) {
    take_from_sleep(worker, Urgency{UINT32_MAX}, section);
  } else {
    wake_too(worker, section);
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
    worker.lane->coming.push_back(worker);
  } else if (worker.lane) {
    worker.lane->idle.push_front(worker);
  }
}

void wake_up(Worker & worker) noexcept
{
  Lane::Workers * list = nullptr;
  if (worker.sleeping) {  // the time is up and nobody has taken the worker: it takes itself
    worker.sleeping = false;
    worker.word.store(Worker::kAwake, std::memory_order_relaxed);  // under the lock
    list = worker.lane ? &worker.lane->idle : nullptr;
  } else {
    list = worker.lane ? &worker.lane->coming : nullptr;
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

}  // namespace rclrt_core
