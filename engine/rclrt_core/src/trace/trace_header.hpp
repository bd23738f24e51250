// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The parts of a trace file that are no records, as bytes.
#pragma once

#include <cstddef>
#include <string>

#include "rclrt_core/trace_file.hpp"

namespace rclrt_core
{

/// The header for a file of this process, made now. Its executor is not known yet.
rclrt_trace_header make_trace_header();
/// What the header says of the executor.
void describe(const TraceSource & source, rclrt_trace_header * header) noexcept;
/// The content of a chunk of type RCLRT_CHUNK_CALLBACK.
std::string describe(const TracedCallback & callback);
/// Zeros after the content of a chunk.
constexpr std::size_t padding_of_chunk(std::size_t size) noexcept { return (8 - size % 8) % 8; }

/// What files of traces are called: see trace_name().
constexpr char kTraceEnding[] = ".trace";

/// The first part of trace_name().
std::string program_in_trace_name();
/// Whether it is trace_name() of a process, now or before, and the ending.
bool is_trace_name(const std::string & name);

}  // namespace rclrt_core
