// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// One run of a scenario under one executor: connect, warm up, measure, stop.
///
///   spin ... connected ... all timers start | warm-up | measured ............ | stop
///                                           ^ start   ^ Run::measured_from_ns ^ Run::measured_to_ns
///
/// It ends early, with what was measured so far, when the context is shut down (Ctrl-C).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rclrt_core/engine.hpp"
#include "rclrt_core/status.hpp"
#include "reference_system.hpp"

namespace rclrt_reference_system
{

/// After the measurement, for what was received in time to end; twice the slowest hot path in use.
constexpr std::chrono::milliseconds kDrain{200};

struct RunOptions
{
  std::chrono::nanoseconds warm_up{0};
  std::chrono::nanoseconds duration{0};
  /// When everything is connected, say so on standard output and read from standard input when all
  /// timers start, so that several processes start as one. Otherwise they start at once.
  bool start_together = false;
  std::chrono::nanoseconds connect_timeout{0};
};

/// What the process used.
struct ResourceUse
{
  double cpu_s = 0;  ///< all threads, in user and kernel
  int64_t voluntary_switches = 0;
  int64_t involuntary_switches = 0;
};

struct Run
{
  int64_t measured_from_ns = 0;  ///< CLOCK_MONOTONIC
  int64_t measured_to_ns = 0;    ///< equal to the former if nothing was measured
  bool interrupted = false;
  ResourceUse use;                                ///< between the two
  double rss_mib_before = 0;                      ///< resident when measuring begins
  double rss_mib = 0;                             ///< and at the end
  std::vector<rclrt_core::ThreadReport> threads;  ///< of an engine's executor
  std::vector<rclrt_core::Finding> findings;
  std::string deadline_scheduler;  ///< what ordered threads by deadline, if anything did
};

/// Run `system`, which is in `executor`. Passes on what a callback throws. Errors: not connected.
rclrt_core::Status run(
  const RunOptions & options, ReferenceSystem & system, rclrt_rcl::Executor & executor,
  Run * result);

}  // namespace rclrt_reference_system
