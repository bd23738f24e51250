// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// What the programs with nodes of rclrt_rcl do alike: groups, priorities, and a thread that spins.

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "rclrt_rcl/rclrt_rcl.hpp"

namespace harness
{

inline rclrt_rcl::Scheduling fifo(int priority)
{
  rclrt_rcl::Scheduling scheduling;
  scheduling.attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kFifo;
  scheduling.attributes.priority = priority;
  return scheduling;
}

/// The options of a timer, subscription or service with a mutually exclusive group of its own.
template <typename Options>
Options in_own_group(rclrt_rcl::Node & node, const rclrt_rcl::Scheduling & scheduling = {})
{
  Options options;
  options.group = node.create_callback_group(rclrt_rcl::CallbackGroupType::kMutuallyExclusive);
  options.scheduling = scheduling;
  return options;
}

/// A thread that spins an executor until the end.
class Spinning
{
public:
  /// `begins` runs first on the thread. What it or the executor throws, end() throws.
  explicit Spinning(
    rclrt_rcl::Executor & executor, std::function<void()> begins = [] {})
  : executor_(executor), thread_([this, begins = std::move(begins)] {
      try {
        begins();
        executor_.spin();
      } catch (...) {
        failure_ = std::current_exception();  // read after join()
        failed_.store(true);
      }
    })
  {
  }
  ~Spinning() { join(); }
  Spinning(const Spinning &) = delete;
  Spinning & operator=(const Spinning &) = delete;

  bool has_failed() const noexcept { return failed_.load(); }
  void end()
  {
    join();
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

private:
  void join()
  {
    if (thread_.joinable()) {
      executor_.cancel();
      thread_.join();
    }
  }

  rclrt_rcl::Executor & executor_;
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};
  std::thread thread_;
};

}  // namespace harness
