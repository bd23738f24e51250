// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Times as people read them.
#ifndef MILLISECONDS_HPP_
#define MILLISECONDS_HPP_

#include <cstdio>
#include <string>

#include "rclrt_core/time.hpp"

namespace rclrt_front_end
{

/// As "%g" has it.
inline std::string milliseconds_of(rclrt_core::Duration duration)
{
  char text[32];
  std::snprintf(text, sizeof(text), "%g", static_cast<double>(duration.count()) / 1e6);
  return text;
}

inline std::string in_ms(rclrt_core::Duration duration)
{
  return milliseconds_of(duration) + " ms";
}

}  // namespace rclrt_front_end

#endif  // MILLISECONDS_HPP_
