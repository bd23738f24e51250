// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Ends the process with a message when a test hangs: a thread that never returns cannot be joined, so the
/// test could not fail by itself.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace conformance
{

class Watchdog
{
public:
  /// `what`: asked for the text to print, by the watchdog's own thread.
  Watchdog(std::chrono::seconds patience, std::function<std::string()> what)
  : thread_([this, patience, what = std::move(what)] {
      std::unique_lock<std::mutex> lock(mutex_);
      if (!end_.wait_for(lock, patience, [this] { return ended_; })) {
        std::fprintf(
          stderr, "\n*** hangs: not over after %d s: %s\n", static_cast<int>(patience.count()),
          what().c_str());
        std::fflush(nullptr);
        std::abort();  // with all stacks in the core, if there is one
      }
    })
  {
  }
  ~Watchdog()
  {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    end_.notify_one();
    thread_.join();
  }
  Watchdog(const Watchdog &) = delete;
  Watchdog & operator=(const Watchdog &) = delete;

private:
  std::mutex mutex_;
  std::condition_variable end_;
  bool ended_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace conformance
