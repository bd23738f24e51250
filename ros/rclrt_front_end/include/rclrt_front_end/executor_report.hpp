// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What every executor of ours can be asked, whatever the front end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rclrt_core/callback.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_front_end
{

/// What an executor has seen of a chain that a parameters file declares. What an instance is, and how long it takes:
/// docs/concepts/chains.md.
enum class ChainState : uint8_t
{
  kUnseen,  ///< no instance yet
  kOk,
  kWarn,    ///< so many misses in a row as `on_miss` says
  kError,   ///< likewise
  kSilent,  ///< nothing new has come out for `silent_after`
  kNotLast,  ///< no instance: each time another input of a join came last, and `join: last` leaves that out
};
/// "UNSEEN", "OK", "WARN", "ERROR", "SILENT", "NOT LAST".
const char * to_string(ChainState state);

struct ChainReport
{
  std::string name;
  ChainState state = ChainState::kUnseen;
  std::optional<rclrt_core::Duration> deadline;
  std::optional<rclrt_core::Duration> bound;  ///< that the file gives
  std::optional<rclrt_core::Duration> last;
  std::optional<rclrt_core::Duration> worst;
  std::optional<rclrt_core::Duration> p99;  ///< of the newest 10,000; unset with fewer than 100
  uint64_t instances = 0;
  /// Outputs that used its new data, which were not the last to come: `join: last` counts none of them.
  uint64_t left_out = 0;
  uint64_t misses = 0;  ///< also silences
  uint64_t misses_in_a_row = 0;
  uint64_t most_misses_in_a_row = 0;
  uint64_t silences = 0;
  /// Data that came out only after newer ones, or never: a queue has dropped them, or a join or a timer took newer ones.
  uint64_t overtaken = 0;
  uint64_t not_run = 0;  ///< jobs of its callbacks that were dropped or skipped
  /// Records that nobody read in time; instances that they belong to were not seen.
  uint64_t lost_records = 0;
  /// It has a bound, which is not above the deadline, and nothing that this rests on was seen to be wrong.
  bool proved = false;
};

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

/// What an executor says of itself on /diagnostics, without ROS: a diagnostic_msgs/DiagnosticStatus for each chain, for
/// each callback, and one for the proof of the chains. `./rclrt watch --diagnostics` says the same of chains, in the
/// same words.

/// As diagnostic_msgs numbers them.
enum class DiagnosticLevel : uint8_t
{
  kOk = 0,
  kWarn = 1,
  kError = 2,
  kStale = 3,
};

struct DiagnosticStatus
{
  std::string name;
  DiagnosticLevel level = DiagnosticLevel::kOk;
  std::string message;
  std::string hardware_id;  ///< the program
  std::vector<std::pair<std::string, std::string>> values;
};

/// Publishes them. Called once a second by an ordinary thread; may take its time. An error is told once.
using PublishDiagnostics =
  std::function<rclrt_core::Status(const std::vector<DiagnosticStatus> & statuses)>;

}  // namespace rclrt_front_end
