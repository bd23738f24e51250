// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ERROR_TEXT_HPP_
#define ERROR_TEXT_HPP_

#include <string>

#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{

/// The text of the Error that `action` throws.
template <typename F>
std::string error_of(F action)
{
  try {
    action();
  } catch (const Error & error) {
    return error.what();
  }
  return "no error";
}

}  // namespace rclrt_rcl

#endif  // ERROR_TEXT_HPP_
