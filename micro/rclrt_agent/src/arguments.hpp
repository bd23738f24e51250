// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The command line, with the words that users of other agents know.
#ifndef ARGUMENTS_HPP_
#define ARGUMENTS_HPP_

#include <string>
#include <vector>

#include "serial_line.hpp"
#include "udp_line.hpp"

namespace rclrt_agent
{

struct Arguments
{
  std::vector<SerialOptions> serial;
  std::vector<NetOptions> udp;
  std::vector<NetOptions> tcp;
  std::string references;  ///< file of profiles
  bool help = false;
};

/// `arguments`: without the program's name and without those of ROS. Throws std::runtime_error that says what
/// is wrong.
Arguments parse_arguments(const std::vector<std::string> & arguments);
const char * usage();

}  // namespace rclrt_agent

#endif  // ARGUMENTS_HPP_
