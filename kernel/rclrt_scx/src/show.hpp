// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef SHOW_HPP_
#define SHOW_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "cgroups.hpp"
#include "rclrt_scx/slots.h"

namespace rclrt_scx
{

/// Print one look at the scheduler. Empty, or why there is nothing to see.
std::string show_status(const std::string & directory);
/// The same for other programs: JSON, or the text format of Prometheus. Empty, or why there is nothing to see.
std::string export_status(const std::string & directory, bool as_json);
/// What cgroups say of CPU time and the scheduler in force does not heed.
std::vector<CgroupLimit> ignored_limits(const rclrt_scx_state & state);
/// Print it every `interval_ms`, `count` times or (0) until a signal ends the program.
std::string show_top(const std::string & directory, uint32_t interval_ms, uint32_t count);

}  // namespace rclrt_scx

#endif  // SHOW_HPP_
