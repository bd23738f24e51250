// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A service that begins and ends the trace files of an executor, without ROS.
#ifndef RCLRT_FRONT_END__TRACE_SERVICE_HPP_
#define RCLRT_FRONT_END__TRACE_SERVICE_HPP_

#include <functional>
#include <string>

#include "rclrt_core/status.hpp"

namespace rclrt_front_end
{

/// As the response of std_srvs/SetBool.
struct TraceAnswer
{
  bool success = false;
  std::string message;
};

/// Does what callers want: `true` begins, `false` ends.
using SwitchTrace = std::function<TraceAnswer(bool begin)>;

/// Looks whether somebody has called the service, and answers with what `change` returns. Called now and then by one
/// ordinary thread; may take its time. `executor`: its number in the process, a part of the name. An error is told once.
using TraceService =
  std::function<rclrt_core::Status(unsigned executor, const SwitchTrace & change)>;

}  // namespace rclrt_front_end

#endif  // RCLRT_FRONT_END__TRACE_SERVICE_HPP_
