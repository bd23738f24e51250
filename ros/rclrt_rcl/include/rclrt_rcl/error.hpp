// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Errors of the front end.
///
/// Set-up errors, misuse and refusals by the middleware are exceptions: the text names the place
/// and the remedy. Nothing on the path from a message to its callback throws by itself.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

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

/// Log lines of a node: to the console, the log file and /rosout, as ROS 2 is configured.
///
/// It formats and writes in the calling thread, under a process-wide lock: not real-time safe.
class Logger
{
public:
  explicit Logger(std::string name) : name_(std::move(name)) {}

  const std::string & name() const noexcept { return name_; }

  /// Where it is called from; filled in by the compiler.
  struct Location
  {
    const char * function;
    const char * file;
    std::size_t line;
    static Location here(
      const char * function = __builtin_FUNCTION(), const char * file = __builtin_FILE(),
      std::size_t line = static_cast<std::size_t>(__builtin_LINE()))
    {
      return {function, file, line};
    }
  };

  void debug(const std::string & text, Location at = Location::here()) const;
  void info(const std::string & text, Location at = Location::here()) const;
  void warn(const std::string & text, Location at = Location::here()) const;
  void error(const std::string & text, Location at = Location::here()) const;

private:
  void log(int severity, const std::string & text, const Location & at) const;

  std::string name_;
};

}  // namespace rclrt_rcl
