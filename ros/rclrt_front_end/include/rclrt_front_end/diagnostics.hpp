// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What an executor says of itself on /diagnostics, without ROS: a diagnostic_msgs/DiagnosticStatus for each chain, for
/// each callback, and one for the proof of the chains. `./rclrt watch --diagnostics` says the same of chains, in the
/// same words.
#ifndef RCLRT_FRONT_END__DIAGNOSTICS_HPP_
#define RCLRT_FRONT_END__DIAGNOSTICS_HPP_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "rclrt_core/status.hpp"

namespace rclrt_front_end
{

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

#endif  // RCLRT_FRONT_END__DIAGNOSTICS_HPP_
