// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_baselines/baselines.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <utility>

#include "member.hpp"
#include "rcl_timer.hpp"
#include "rclrt_core/job.hpp"
#include "rclrt_core/time.hpp"
#include "rclrt_rcl/error.hpp"

namespace rclrt_baselines
{

struct Event
{
  /// Null: only to wake the executor.
  std::shared_ptr<Member> member;
  rclrt_core::Job job;
};

/// Unbounded.
class EventsQueue
{
public:
  /// As `count` single events in a row.
  void enqueue(const Event & event, std::size_t count)
  {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (std::size_t i = 0; i < count; ++i) {
        events_.push(event);
      }
    }
    not_empty_.notify_one();
  }

  /// The oldest; nothing if there is none until then.
  std::optional<Event> dequeue(rclrt_core::TimePoint until)
  {
    const auto has_event = [this] { return !events_.empty(); };
    std::unique_lock<std::mutex> lock(mutex_);
    if (until == rclrt_core::kNever) {
      not_empty_.wait(lock, has_event);
    } else if (!not_empty_.wait_until(lock, until, has_event)) {
      return {};
    }
    Event event = std::move(events_.front());
    events_.pop();
    return event;
  }

  std::size_t size() const
  {
    std::lock_guard<std::mutex> lock(mutex_);
    return events_.size();
  }

private:
  mutable std::mutex mutex_;
  std::condition_variable not_empty_;
  std::queue<Event> events_;
};

class FifoEventsExecutor::Impl
{
public:
  Impl()
  : timers([this](const auto & member, const auto & job) { queue.enqueue(Event{member, job}, 1); })
  {
  }

  EventsQueue queue;
  TimersThread timers;
  std::mutex mutex;
  /// Guarded by mutex.
  std::map<const rclrt_rcl::Entity *, std::shared_ptr<Member>> members;
};

FifoEventsExecutor::FifoEventsExecutor(std::shared_ptr<rclrt_rcl::Context> context)
: Executor(std::move(context)), impl_(std::make_unique<Impl>())
{
}

FifoEventsExecutor::~FifoEventsExecutor() { detach_all(); }

void FifoEventsExecutor::on_group_added(const std::shared_ptr<rclrt_rcl::CallbackGroup> &) {}

void FifoEventsExecutor::on_group_removed(const rclrt_rcl::CallbackGroup *) {}

void FifoEventsExecutor::on_entity_added(const std::shared_ptr<rclrt_rcl::Entity> & entity)
{
  const auto member = std::make_shared<Member>(entity, nullptr);
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->members.emplace(entity.get(), member);
  }
  if (!member->is_timer) {
    entity->set_on_ready([impl = impl_.get(), member](std::size_t count) {
      rclrt_core::Job job;
      job.release = std::chrono::steady_clock::now();
      job.ready = job.release;
      impl->queue.enqueue(Event{member, job}, count);
    });
    return;
  }
  rclrt_rcl::Timer & timer = member->as_timer();
  timer.drive([&](const rclrt_rcl::Timer::State & state) {
    member->timer = std::make_shared<RclTimer>(
      timer, context(), state, [impl = impl_.get()] { impl->timers.changed(); });
    return member->timer;
  });
  if (member->timer) {
    impl_->timers.add(member);
  }
}

void FifoEventsExecutor::on_entity_removed(const std::shared_ptr<rclrt_rcl::Entity> & entity)
{
  std::shared_ptr<Member> member;
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    const auto found = impl_->members.find(entity.get());
    if (found == impl_->members.end()) {
      return;
    }
    member = found->second;
    impl_->members.erase(found);
  }
  member->is_removed.store(true);
  if (member->is_timer) {
    member->as_timer().release_driver();
    impl_->timers.remove(member);
  } else {
    entity->set_on_ready({});
  }
}

void FifoEventsExecutor::interrupt() noexcept { impl_->queue.enqueue(Event{}, 1); }

bool FifoEventsExecutor::execute(const Event & event)
{
  if (!event.member || event.member->is_removed.load()) {
    return false;
  }
  try {
    event.member->entity->take_and_run(event.job, event.member->stay);
  } catch (const rclrt_rcl::ShutdownError &) {
    if (!stop_requested()) {
      throw;
    }
  }
  return true;
}

void FifoEventsExecutor::do_spin()
{
  struct StopsTimers
  {
    ~StopsTimers() { timers.stop(); }
    TimersThread & timers;
  } const stops_timers{impl_->timers};

  impl_->timers.start();
  while (!stop_requested()) {
    if (const auto event = impl_->queue.dequeue(rclrt_core::kNever)) {
      execute(*event);
    }
  }
}

void FifoEventsExecutor::do_spin_some(rclrt_core::TimePoint until, bool exhaustive)
{
  std::size_t events_left = impl_->queue.size();
  std::size_t timers_left = impl_->timers.ready_count();
  while (!stop_requested() && std::chrono::steady_clock::now() < until) {
    if (exhaustive || events_left > 0) {
      if (const auto event = impl_->queue.dequeue(rclrt_core::TimePoint::min())) {
        execute(*event);
        --events_left;
        continue;
      }
    }
    Event due;
    if ((exhaustive || timers_left > 0) && impl_->timers.take_due(&due.member, &due.job)) {
      execute(due);
      --timers_left;
      continue;
    }
    break;
  }
}

bool FifoEventsExecutor::do_spin_once(rclrt_core::TimePoint until)
{
  if (const auto event = impl_->queue.dequeue(std::min(until, impl_->timers.next_release()))) {
    return execute(*event);
  }
  Event due;
  return impl_->timers.take_due(&due.member, &due.job) && execute(due);
}

}  // namespace rclrt_baselines
