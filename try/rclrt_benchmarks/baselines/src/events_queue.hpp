// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The unbounded queue of a FifoEventsExecutor.
#ifndef EVENTS_QUEUE_HPP_
#define EVENTS_QUEUE_HPP_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>

#include "rclrt_core/job.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_baselines
{

class Member;

struct Event
{
  /// Null: only to wake the executor.
  std::shared_ptr<Member> member;
  rclrt_core::Job job;
};

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

}  // namespace rclrt_baselines

#endif  // EVENTS_QUEUE_HPP_
