// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef SHOW_HPP_
#define SHOW_HPP_

#include <cstdint>
#include <string>

namespace rclrt_scx
{

/// Print one look at the scheduler. Empty, or why there is nothing to see.
std::string show_status(const std::string & directory);
/// Print it every `interval_ms`, `count` times or (0) until a signal ends the program.
std::string show_top(const std::string & directory, uint32_t interval_ms, uint32_t count);

}  // namespace rclrt_scx

#endif  // SHOW_HPP_
