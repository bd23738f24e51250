// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What the records of an engine refer to: its callbacks, and what the engine is.
#ifndef RCLRT_CORE__TRACE_SOURCE_HPP_
#define RCLRT_CORE__TRACE_SOURCE_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "rclrt_core/callback.hpp"
#include "rclrt_core/time.hpp"
#include "rclrt_trace/record.h"

namespace rclrt_core
{

struct TracedCallback
{
  uint32_t id = 0;  ///< in the records
  std::string name;
  CallbackKind kind = CallbackKind::kWaitable;
  uint32_t group = 0;        ///< a number; callbacks of one group have the same
  uint32_t parallelism = 1;  ///< jobs of the group that may run at once
  std::string group_name;
  Duration period{-1};  ///< of a timer when it was added; negative for all others
};

struct TraceSource
{
  uint32_t executor = 0;  ///< number of the engine within the process, from 1
  rclrt_trace_model model = RCLRT_MODEL_UNKNOWN;
  rclrt_trace_ordering ordering = RCLRT_ORDER_UNKNOWN;
  bool timers_preempt = false;            ///< EngineOptions::release_and_execute
  std::vector<TracedCallback> callbacks;  ///< also the last 1024 that were removed; by id
  /// Records that were overwritten before Engine::read_trace() came for them.
  uint64_t dropped = 0;
};

}  // namespace rclrt_core

#endif  // RCLRT_CORE__TRACE_SOURCE_HPP_
