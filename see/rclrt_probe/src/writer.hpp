// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Reads the rings in a thread of its own and writes the files: one for each executor, one for what belongs to none.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "rclrt_core/trace_file.hpp"

namespace rclrt_probe
{

struct Probe;

/// The callback of records of publications that no callback has made.
constexpr uint32_t kOutside = 0;

class Writer
{
public:
  explicit Writer(Probe & probe) : probe_(probe) {}

  /// Start the thread, unless it runs or has ended for good. After the first time it costs a load.
  void start() noexcept
  {
    if (state_.load(std::memory_order_relaxed) == State::kIdle) {
      start_thread();
    }
  }
  /// The process ends: write all there is.
  void finish() noexcept;

  /// Around fork(): nobody is in the middle of writing. The child has files of its own, once it has records.
  void before_fork() noexcept;
  void after_fork(bool is_child) noexcept;

private:
  enum class State : uint8_t
  {
    kIdle,
    kRuns,
    kEnded,
  };

  static void * run(void * self) noexcept;
  void start_thread() noexcept;
  void round(bool is_last);
  rclrt_core::TraceFile & file_of(uint16_t executor);
  void complain(const std::string & text) noexcept;
  void describe(uint16_t executor, rclrt_core::TraceFile & file, bool is_last);

  Probe & probe_;
  /// Idle to runs: by whoever exchanges it first. Ended: by finish(). Idle again: by the only thread of a new process.
  /// Relaxed, because what the thread looks at goes by the mutex.
  std::atomic<State> state_{State::kIdle};
  std::mutex mutex_;
  // Under the mutex.
  std::map<uint16_t, std::unique_ptr<rclrt_core::TraceFile>> files_;
  std::string base_;
  std::string missing_;  ///< as the files say
  unsigned round_ = 0;
  bool has_failed_ = false;
};

}  // namespace rclrt_probe
