// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The timers of a FifoEventsExecutor and the thread that calls them when they are due.
#ifndef TIMERS_THREAD_HPP_
#define TIMERS_THREAD_HPP_

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "member.hpp"
#include "rclrt_core/job.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_baselines
{

class TimersThread
{
public:
  /// `on_release` is called for each expiry, with the lock held.
  explicit TimersThread(
    std::function<void(const std::shared_ptr<Member> &, const rclrt_core::Job &)> on_release);
  ~TimersThread();
  TimersThread(const TimersThread &) = delete;
  TimersThread & operator=(const TimersThread &) = delete;

  void add(const std::shared_ptr<Member> & timer);
  void remove(const std::shared_ptr<Member> & timer);
  /// A timer was reset.
  void changed();

  void start();
  void stop();

  // While the thread does not run:

  std::size_t ready_count();
  /// kNever when there is none.
  rclrt_core::TimePoint next_release();
  /// Call the timer that is due first and hand out what is to be executed.
  bool take_due(std::shared_ptr<Member> * timer, rclrt_core::Job * job);

private:
  void run();
  std::shared_ptr<Member> head() const;
  void release_due();

  const std::function<void(const std::shared_ptr<Member> &, const rclrt_core::Job &)> on_release_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::vector<std::shared_ptr<Member>> timers_;
  bool has_changed_ = false;
  bool stop_ = false;
};

}  // namespace rclrt_baselines

#endif  // TIMERS_THREAD_HPP_
