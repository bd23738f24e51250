// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Results of rcl functions.
#ifndef CHECK_HPP_
#define CHECK_HPP_

#include <string>

#include "rcl/error_handling.h"
#include "rcl/types.h"
#include "rclrt_rcl/error.hpp"

namespace rclrt_baselines
{

inline void check(rcl_ret_t result, const char * what)
{
  if (result != RCL_RET_OK) {
    const std::string text = std::string(what) + ": " + rcl_get_error_string().str;
    rcl_reset_error();
    throw rclrt_rcl::Error(text);
  }
}

/// Where nothing can be done about it, e.g. in destructors.
inline void ignore_failure(rcl_ret_t result) noexcept
{
  if (result != RCL_RET_OK) {
    rcl_reset_error();
  }
}

}  // namespace rclrt_baselines

#endif  // CHECK_HPP_
