// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Writes the trace of an engine into files: everything, or as a flight recorder what led to a missed deadline or to a
/// signal (rclrt_config::TraceOptions). From when it is made until it is destroyed.
///
///   <directory>/<rclrt_core::trace_name()>-<000, 001, ...>.trace
///
/// Files are at most a quarter of the limit long; of each recorder the newest are kept. An ordinary thread
/// (SCHED_OTHER) does it all, every 20 ms: the engine's threads only write into their rings. What a ring holds is
/// overwritten when its thread runs more jobs than `trace_capacity` within that time; the file says how many were lost.
///
/// The recorder takes the records: Engine::read_trace() gives those to nobody else.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "rclrt_config/configuration.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/platform.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_core/trace_file.hpp"

namespace rclrt_front_end
{

class Recorder
{
public:
  using Tell = std::function<void(const rclrt_core::Finding &)>;

  /// `options.directory` is not empty. `tell` hears what cannot be written, from any thread; the engine goes on without.
  Recorder(rclrt_core::Engine & engine, rclrt_config::TraceOptions options, Tell tell);
  /// Writes what is left. May take as long as the file system.
  ~Recorder();
  Recorder(const Recorder &) = delete;
  Recorder & operator=(const Recorder &) = delete;

private:
  void run();
  void step(bool is_last);
  void keep(const rclrt_job_record & record);
  void write_all();
  void write_what_is_kept(bool is_last);
  bool open_next();
  void close_file();
  /// With the callbacks that the open file does not know yet.
  rclrt_core::TraceSource source();
  void give_up(const rclrt_core::Status & status);

  rclrt_core::Engine & engine_;
  const rclrt_config::TraceOptions options_;
  const Tell tell_;
  std::atomic<uint32_t> end_{
    0};  ///< set once by the destructor; release and acquire by Platform::wait()
  std::unique_ptr<rclrt_core::Thread> thread_;

  // Used by the thread of the recorder alone, and after that by the destructor:
  const std::string name_;  ///< of the files, but for what counts them
  rclrt_core::TraceFile file_;
  bool is_open_ = false;
  uint32_t next_callback_ = 0;  ///< the first one that the file does not know
  bool has_failed_ = false;
  struct File
  {
    std::string path;
    bool by_signal;
  };
  std::deque<File> files_;  ///< that are there
  uint32_t next_number_ = 0;
  rclrt_core::TimePoint next_flush_{};
  // For a flight recorder:
  std::deque<rclrt_job_record> kept_;
  uint64_t signals_ = 0;                           ///< seen so far
  std::optional<rclrt_core::TimePoint> occasion_;  ///< that is not written yet
  bool by_signal_ = false;                         ///< somebody asks for this one
  rclrt_core::TimePoint not_before_{};             ///< the next one
};

}  // namespace rclrt_front_end
