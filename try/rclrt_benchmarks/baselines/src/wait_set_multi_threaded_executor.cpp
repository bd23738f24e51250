// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_baselines/wait_set_executor.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace rclrt_baselines
{

WaitSetMultiThreadedExecutor::WaitSetMultiThreadedExecutor(
  std::size_t threads, std::shared_ptr<rclrt_rcl::Context> context)
: WaitSetExecutor(std::move(context)),
  threads_(threads > 0 ? threads : std::max(std::thread::hardware_concurrency(), 2U))
{
}

WaitSetMultiThreadedExecutor::~WaitSetMultiThreadedExecutor() { detach_all(); }

void WaitSetMultiThreadedExecutor::do_spin()
{
  std::vector<std::thread> others;
  {
    std::lock_guard<std::mutex> lock(wait_mutex_);  // none runs ahead
    exception_ = nullptr;
    failed_ = false;
    for (std::size_t i = 1; i < threads_; ++i) {
      others.emplace_back([this] { work(); });
    }
  }
  work();
  for (std::thread & thread : others) {
    thread.join();
  }
  drop_result();
  if (exception_) {
    std::rethrow_exception(std::exchange(exception_, nullptr));
  }
}

void WaitSetMultiThreadedExecutor::work()
{
  while (true) {
    try {
      Executable executable;
      {
        std::lock_guard<std::mutex> lock(wait_mutex_);
        if (stop_requested() || failed_) {
          return;
        }
        if (!next(&executable, std::chrono::nanoseconds(-1))) {
          continue;
        }
      }
      execute(executable);
      if (in_exclusive_group(executable)) {
        interrupt();  // somebody may wait without the group, or it was passed over
      }
    } catch (...) {
      std::exception_ptr thrown = std::current_exception();
      // Before the lock, which whoever waits holds: interrupted, it must see why and not wait again.
      failed_ = true;
      interrupt();
      std::lock_guard<std::mutex> lock(wait_mutex_);
      if (!exception_) {
        exception_ = std::move(thrown);
      }
    }
  }
}

}  // namespace rclrt_baselines
