// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "logger_services.hpp"

#include <mutex>

#include "logging_mutex.hpp"
#include "rcl_interfaces/srv/get_logger_levels.hpp"
#include "rcl_interfaces/srv/set_logger_levels.hpp"
#include "rclrt_rcl/error.hpp"
#include "rcutils/logging.h"

namespace rclrt_rcl
{
namespace detail
{
namespace
{

namespace srv = rcl_interfaces::srv;

void get_levels(
  const srv::GetLoggerLevels::Request & request, srv::GetLoggerLevels::Response & response)
{
  std::lock_guard<std::recursive_mutex> lock(logging_mutex());
  for (const auto & name : request.names) {
    rcl_interfaces::msg::LoggerLevel answer;
    answer.name = name;
    const int level = rcutils_logging_get_logger_level(name.c_str());
    if (level < 0) {
      take_rcl_error();
    } else {
      answer.level = static_cast<uint32_t>(level);
    }
    response.levels.push_back(answer);
  }
}

void set_levels(
  const srv::SetLoggerLevels::Request & request, srv::SetLoggerLevels::Response & response)
{
  std::lock_guard<std::recursive_mutex> lock(logging_mutex());
  for (const auto & wanted : request.levels) {
    rcl_interfaces::msg::SetLoggerLevelsResult result;
    result.successful = rcutils_logging_set_logger_level(
                          wanted.name.c_str(), static_cast<int>(wanted.level)) == RCUTILS_RET_OK;
    if (!result.successful) {
      result.reason = take_rcl_error();
    }
    response.results.push_back(result);
  }
}

}  // namespace

std::vector<std::shared_ptr<ServiceBase>> create_logger_services(Node & node)
{
  return {
    node.create_service<srv::GetLoggerLevels>("~/get_logger_levels", &get_levels),
    node.create_service<srv::SetLoggerLevels>("~/set_logger_levels", &set_levels)};
}

}  // namespace detail
}  // namespace rclrt_rcl
