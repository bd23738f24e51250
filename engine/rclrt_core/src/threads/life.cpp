// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "threads/life.hpp"

#include <algorithm>
#include <utility>

namespace rclrt_core
{

void Life::end() noexcept
{
  stop_word_.store(0, std::memory_order_relaxed);  // no thread is left to read it
  spinning_.store(false);
}

void Life::wait_until_stopped() const noexcept
{
  // Acquire: what the thread that stopped us did before is visible to the thread in spin().
  while (stop_word_.load(std::memory_order_acquire) == 0) {
    platform_.wait(stop_word_, 0, kNever);
  }
}

void Life::wait_until_nobody_spins() const noexcept
{
  while (spinning_.load()) {
    platform_.wait(stop_word_, 1, platform_.now() + std::chrono::milliseconds(1));
  }
}

void Life::take_stop_back() noexcept
{
  if (!spinning_.load()) {
    stop_word_.store(0, std::memory_order_release);
  }
}

// Whoever reads the list under `mutex` sees the old one or the new one.
void Life::set_workers(Workers next)
{
  const Lock lock(mutex_);
  workers_.swap(next);
}

void Life::add(const std::shared_ptr<Worker> & worker)
{
  Workers more = workers_;
  more.push_back(worker);
  set_workers(std::move(more));
}

Status Life::start(
  const std::shared_ptr<Worker> & worker, const ThreadOptions & options, std::function<void()> body,
  const std::function<void(const Finding &)> & on_finding)
{
  const Workers before = workers_;
  add(worker);
  Status started = platform_.start_thread(options, std::move(body), on_finding, &worker->thread);
  if (!started.ok()) {
    set_workers(before);
  }
  return started;
}

Life::Workers Life::take_all()
{
  const Lock lock(mutex_);
  return std::exchange(workers_, {});
}

Life::Workers Life::take_ended()
{
  Workers left;
  Workers ended;
  left.reserve(workers_.size());
  ended.reserve(workers_.size());
  {
    const Lock lock(mutex_);
    for (const auto & worker : workers_) {
      (worker->retired && worker->ended ? ended : left).push_back(worker);
    }
  }
  if (!ended.empty()) {
    set_workers(std::move(left));
  }
  return ended;
}

void Life::arrive() noexcept
{
  arrived_.fetch_add(1);
  platform_.wake_one(arrived_);
}

void Life::wait_for_arrivals(const Worker * here)
{
  const auto has_arrived = [here](const auto & worker) {
    const bool sleeps = worker->sleeping && !worker->first_rest.load(std::memory_order_acquire);
    return sleeps || worker->ended || worker.get() == here;
  };
  Lock lock(mutex_);
  while (!std::all_of(workers_.begin(), workers_.end(), has_arrived)) {
    const uint32_t seen = arrived_.load();
    lock.unlock();
    platform_.wait(arrived_, seen, kNever);
    lock.lock();
  }
}

void Life::retire(Worker & worker, Section & section) const noexcept
{
  // The thread whose list it is on reads from it.
  while (worker.word.load(std::memory_order_acquire) == Worker::kAwakeAndHeld) {
    section.leave();
    wait_until_let_go(worker);
    section.enter();
  }
  worker.ended = true;
  if (worker.retired) {
    --worker.lane->threads;
  }
}

void Life::wait_until_let_go(const Worker & worker) const noexcept
{
  while (worker.word.load(std::memory_order_acquire) == Worker::kAwakeAndHeld) {
    platform_.wait(worker.word, Worker::kAwakeAndHeld, kNever);
  }
}

void Life::join(const Workers & ended)
{
  for (const auto & worker : ended) {
    if (worker->thread) {  // else it is the one that spins
      worker->thread->join();
    }
  }
}

}  // namespace rclrt_core
