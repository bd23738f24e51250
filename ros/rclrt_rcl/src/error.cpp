// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/error.hpp"

#include "logging_mutex.hpp"
#include "rcutils/error_handling.h"
#include "rcutils/logging.h"

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

namespace detail
{

std::recursive_mutex & logging_mutex()
{
  static auto & mutex = *new std::recursive_mutex;  // never destroyed: statics may log
  return mutex;
}

}  // namespace detail

void Logger::log(int severity, const std::string & text, const Location & at) const
{
  std::lock_guard<std::recursive_mutex> lock(detail::logging_mutex());
  if (!rcutils_logging_logger_is_enabled_for(name_.c_str(), severity)) {
    return;
  }
  const rcutils_log_location_t location{at.function, at.file, at.line};
  rcutils_log(&location, severity, name_.c_str(), "%s", text.c_str());
}

void Logger::debug(const std::string & text, Location at) const
{
  log(RCUTILS_LOG_SEVERITY_DEBUG, text, at);
}
void Logger::info(const std::string & text, Location at) const
{
  log(RCUTILS_LOG_SEVERITY_INFO, text, at);
}
void Logger::warn(const std::string & text, Location at) const
{
  log(RCUTILS_LOG_SEVERITY_WARN, text, at);
}
void Logger::error(const std::string & text, Location at) const
{
  log(RCUTILS_LOG_SEVERITY_ERROR, text, at);
}
void Logger::fatal(const std::string & text, Location at) const
{
  log(RCUTILS_LOG_SEVERITY_FATAL, text, at);
}

}  // namespace rclrt_rcl
