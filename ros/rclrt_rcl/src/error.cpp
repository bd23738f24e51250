// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/error.hpp"

#include "rcutils/error_handling.h"

namespace rclrt_rcl
{

std::string take_rcl_error()
{
  if (!rcutils_error_is_set()) {
    return "unknown error";
  }
  std::string text = rcutils_get_error_string().str;
  rcutils_reset_error();
  return text;
}

void throw_unless_ok(rcl_ret_t result, const std::string & doing)
{
  if (result != RCL_RET_OK) {
    throw Error(doing + ": " + take_rcl_error(), result);
  }
}

}  // namespace rclrt_rcl
