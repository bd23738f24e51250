// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/error.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "of_all_entities.hpp"
#include "of_the_process.hpp"
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

namespace detail
{
namespace
{

using SteadyTime = std::chrono::steady_clock::time_point;

/// Others make them: they must not use up the memory.
constexpr std::size_t kMostSubjects = 1000;

struct Told
{
  SteadyTime next{};
  uint64_t left_out = 0;
};

}  // namespace

void warn_rarely(const Logger & logger, const std::string & subject, const std::string & what)
{
  static auto & mutex =
    *new std::mutex;  // never destroyed: somebody may log while the program ends
  static auto & all = *new std::map<std::string, Told>;
  uint64_t left_out = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (all.size() >= kMostSubjects) {
      all.clear();
    }
    Told & told = all[logger.name() + '\n' + subject];
    const SteadyTime now = std::chrono::steady_clock::now();
    if (now < told.next) {
      ++told.left_out;
      return;
    }
    told.next = now + std::chrono::seconds(1);
    left_out = std::exchange(told.left_out, 0);
  }
  logger.warn(
    subject + what +
    (left_out == 0 ? "" : " (and " + std::to_string(left_out) + " more since the last such line)"));
}

}  // namespace detail
}  // namespace rclrt_rcl
