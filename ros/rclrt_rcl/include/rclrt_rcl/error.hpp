// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Errors of the front end.
///
/// Set-up errors, misuse and refusals by the middleware are exceptions: the text names the place
/// and the remedy. Nothing on the path from a message to its callback throws by itself.
#ifndef RCLRT_RCL__ERROR_HPP_
#define RCLRT_RCL__ERROR_HPP_

#include <stdexcept>
#include <string>

#include "rcl/types.h"

namespace rclrt_rcl
{

class Error : public std::runtime_error
{
public:
  explicit Error(const std::string & message, rcl_ret_t code = RCL_RET_ERROR)
  : std::runtime_error(message), code_(code)
  {
  }

  /// The return code of rcl, if the error came from there; RCL_RET_ERROR otherwise.
  rcl_ret_t code() const noexcept { return code_; }

private:
  rcl_ret_t code_;
};

/// Something was asked of a context that has been shut down, e.g. to publish. If it leaves a
/// callback of a context that is shutting down, the executor treats it as the end of that callback,
/// not as a failure.
class ShutdownError : public Error
{
public:
  explicit ShutdownError(const std::string & message) : Error(message, RCL_RET_NOT_INIT) {}
};

/// Throws Error("<doing>: <what rcl says>") unless `result` is RCL_RET_OK, and resets rcl's error.
void throw_unless_ok(rcl_ret_t result, const std::string & doing);

/// rcl's pending error text, which is then reset; "unknown error" if there is none.
std::string take_rcl_error();

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__ERROR_HPP_
