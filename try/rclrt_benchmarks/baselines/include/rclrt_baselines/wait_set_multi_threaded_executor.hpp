// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Several threads on one wait set, after rclcpp's MultiThreadedExecutor. For comparison only.
///
/// One mutex guards the wait set: one thread waits or chooses, the others run callbacks or queue for
/// the mutex. A mutually exclusive group that is busy is left out; the thread that has run one of
/// its callbacks interrupts the wait, so that it is looked at again.
#ifndef RCLRT_BASELINES__WAIT_SET_MULTI_THREADED_EXECUTOR_HPP_
#define RCLRT_BASELINES__WAIT_SET_MULTI_THREADED_EXECUTOR_HPP_

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>

#include "rclrt_baselines/wait_set_executor.hpp"

namespace rclrt_baselines
{

class WaitSetMultiThreadedExecutor : public WaitSetExecutor
{
public:
  /// 0 threads: as many as there are CPUs, but at least 2. The thread that spins is one of them.
  explicit WaitSetMultiThreadedExecutor(
    std::size_t threads = 0, std::shared_ptr<rclrt_rcl::Context> context = nullptr);
  ~WaitSetMultiThreadedExecutor() override;

  std::size_t thread_count() const noexcept { return threads_; }

private:
  void do_spin() override;
  void work();

  const std::size_t threads_;
  std::mutex wait_mutex_;
  /// A callback has thrown. Set by its thread before it interrupts the wait, read by all.
  std::atomic<bool> failed_{false};
  std::exception_ptr exception_;  ///< guarded by wait_mutex_
};

}  // namespace rclrt_baselines

#endif  // RCLRT_BASELINES__WAIT_SET_MULTI_THREADED_EXECUTOR_HPP_
