// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Log lines of a node: to the console, the log file and /rosout, as ROS 2 is configured.
///
/// It formats and writes in the calling thread, under a process-wide lock: not real-time safe.
#ifndef RCLRT_RCL__LOGGER_HPP_
#define RCLRT_RCL__LOGGER_HPP_

#include <cstddef>
#include <string>
#include <utility>

namespace rclrt_rcl
{

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
  void fatal(const std::string & text, Location at = Location::here()) const;

private:
  void log(int severity, const std::string & text, const Location & at) const;

  std::string name_;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__LOGGER_HPP_
