// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// How a stand-in looks: it records, and calls the next definition.
#pragma once

#include "next.hpp"
#include "probe.hpp"
#include "thread.hpp"

// A tracepoint: what follows in braces is done first, if something is to be recorded; `probe` is in its scope. Without a
// next definition (nobody traces) that is all.
#define RCLRT_POINT(name, parameters, arguments)                                           \
  static void record_##name(rclrt_probe::Probe & probe, RCLRT_UNPACK parameters) noexcept; \
  static rclrt_probe::Next<void parameters> next_##name("ros_trace_" #name);               \
  extern "C" __attribute__((visibility("default"))) void ros_trace_##name parameters       \
  {                                                                                        \
    if (rclrt_probe::Probe * const here = rclrt_probe::probe()) {                          \
      record_##name(*here, RCLRT_UNPACK arguments);                                        \
    }                                                                                      \
    if (auto * const next = next_##name.get(__builtin_return_address(0))) {                \
      next arguments;                                                                      \
    }                                                                                      \
  }                                                                                        \
  static void record_##name(                                                               \
    [[maybe_unused]] rclrt_probe::Probe & probe, RCLRT_UNPACK parameters) noexcept
#define RCLRT_UNPACK(...) __VA_ARGS__

// A tracepoint that the program calls in two steps: "is anybody interested?", then the point. To be followed by nothing;
// its RCLRT_POINT must come before it.
#define RCLRT_POINT_IN_STEPS(name, parameters, arguments)                               \
  static rclrt_probe::Next<bool()> next_enabled_##name("ros_trace_enabled_" #name);     \
  static rclrt_probe::Next<void parameters> next_do_##name("ros_trace_do_" #name);      \
  extern "C" __attribute__((visibility("default"))) bool ros_trace_enabled_##name()     \
  {                                                                                     \
    auto * const next = next_enabled_##name.get(__builtin_return_address(0));           \
    return rclrt_probe::probe() || (next && next());                                    \
  }                                                                                     \
  extern "C" __attribute__((visibility("default"))) void ros_trace_do_##name parameters \
  {                                                                                     \
    const void * const caller = __builtin_return_address(0);                            \
    if (rclrt_probe::Probe * const here = rclrt_probe::probe()) {                       \
      record_##name(*here, RCLRT_UNPACK arguments);                                     \
    }                                                                                   \
    auto * const enabled = next_enabled_##name.get(caller);                             \
    auto * const next = next_do_##name.get(caller);                                     \
    if (enabled && enabled() && next) {                                                 \
      next arguments;                                                                   \
    }                                                                                   \
  }
