// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What every executor of ours can be asked, whatever the front end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "rclrt_core/callback.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_watch/statuses.hpp"

namespace rclrt_front_end
{

using rclrt_watch::ChainReport;
using rclrt_watch::ChainState;
using rclrt_watch::DiagnosticLevel;
using rclrt_watch::DiagnosticStatus;

class ConfiguredEngine;

/// A base of executors. Thread-safe. All functions allocate and take locks: they are not for callbacks that
/// must be quick.
class ExecutorReport
{
public:
  /// What the operating system refused, or what looks wrong: about the machine, the executor's threads, the
  /// configuration and the middleware's threads.
  std::vector<rclrt_core::Finding> findings() const;
  /// What orders the threads of callbacks with scheduling_policy ext, e.g. "fifo bands". Empty if there are
  /// none, or if the executor has not begun to spin.
  std::string deadline_scheduler() const;
  /// What was seen of those chains of the parameters file whose last callback this executor has.
  /// A background thread looks 20 times a second, at what is older than 0.3 s; see docs/how-to/watch.md.
  std::vector<ChainReport> chains() const;
  /// Counters by callback name, of the callbacks that the executor has now.
  std::map<std::string, rclrt_core::CallbackStatistics> statistics() const;
  /// Callback names by the ids in job records, also of callbacks that were removed.
  std::map<uint32_t, std::string> callback_names() const;
  /// The executor's threads that exist now, with the attributes that are in force.
  std::vector<rclrt_core::ThreadReport> threads() const;
  /// See rclrt_core::Engine::read_trace().
  void read_trace(const std::function<void(const rclrt_job_record &)> & visit);
  /// What the records refer to, for TraceFile. See rclrt_core::Engine::trace_source().
  rclrt_core::TraceSource trace_source() const;

protected:
  ExecutorReport() = default;
  ~ExecutorReport() = default;
  ExecutorReport(const ExecutorReport &) = delete;
  ExecutorReport & operator=(const ExecutorReport &) = delete;

private:
  virtual ConfiguredEngine & configured() const = 0;
};

/// Publishes them. Called once a second by an ordinary thread; may take its time. An error is told once.
using PublishDiagnostics =
  std::function<rclrt_core::Status(const std::vector<DiagnosticStatus> & statuses)>;

}  // namespace rclrt_front_end
