// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What files of traces are called: see trace_name().
#ifndef TRACE_NAME_HPP_
#define TRACE_NAME_HPP_

#include <string>

namespace rclrt_core
{

constexpr char kTraceEnding[] = ".trace";

/// The first part of trace_name().
std::string program_in_trace_name();
/// Whether it is trace_name() of a process, now or before, and the ending.
bool is_trace_name(const std::string & name);

}  // namespace rclrt_core

#endif  // TRACE_NAME_HPP_
