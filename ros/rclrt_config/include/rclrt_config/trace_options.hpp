// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The values of `trace`: what an executor records of its jobs, and where.
#ifndef RCLRT_CONFIG__TRACE_OPTIONS_HPP_
#define RCLRT_CONFIG__TRACE_OPTIONS_HPP_

#include <cstdint>
#include <string>

#include "rclrt_core/time.hpp"

namespace rclrt_config
{

struct TraceOptions
{
  /// The newest records of every thread are in a file in memory that other programs of the user can read, also after
  /// the process was killed (rclrt_core::make_live_trace()).
  bool live = true;

  /// Trace files are written there; it is made if it is not there. Empty: none. The environment variable RCLRT_TRACE
  /// overrides it.
  std::string directory;
  /// A service of ROS begins and ends it. Until somebody calls that, no file is written, unless RCLRT_TRACE is set.
  bool service = false;
  /// 0: all records are written. Above: a flight recorder. It keeps the last jobs in memory, as long as this, and
  /// writes them on an occasion.
  rclrt_core::Duration keep{0};
  /// The occasions: a job that ends after its deadline,
  bool on_miss = true;
  /// and a signal, e.g. SIGUSR2; 0: none.
  int on_signal = 0;
  /// Bytes of all files of the executor together, and of what is kept in memory. The oldest files are removed.
  uint64_t limit = uint64_t{1} << 30;
};

}  // namespace rclrt_config

#endif  // RCLRT_CONFIG__TRACE_OPTIONS_HPP_
