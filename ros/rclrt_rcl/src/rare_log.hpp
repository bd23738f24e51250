// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Lines of the log that each message or request could cause: at most one a second for each subject.
#ifndef RARE_LOG_HPP_
#define RARE_LOG_HPP_

#include <string>

#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{
namespace detail
{

/// A warning "<subject><what>". Within a second of the last one with this subject it is only counted, and the next one
/// says how many were left out. Thread-safe; as slow as the log.
void warn_rarely(const Logger & logger, const std::string & subject, const std::string & what);

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // RARE_LOG_HPP_
