// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef RECORD_HPP_
#define RECORD_HPP_

#include <cstdint>
#include <string>

namespace rclrt_scx
{

/// Write the decisions of a scheduler loaded to record into `output`, for `seconds` or (0) until
/// SIGINT or SIGTERM. Empty, or what failed.
std::string record(const std::string & directory, const std::string & output, uint32_t seconds);
/// Check such a file and print what was found. Empty if EDF order was kept within the bound.
std::string check_file(const std::string & input, uint32_t bound_us);

}  // namespace rclrt_scx

#endif  // RECORD_HPP_
