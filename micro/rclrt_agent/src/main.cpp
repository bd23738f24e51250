// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <exception>

#include "agent.hpp"
#include "program.hpp"
#include "rclrt_rcl/context.hpp"

int main(int argc, char ** argv)
{
  try {
    rclrt_agent::remove_dead_segments();  // an agent that was killed leaves its own
    rclrt_rcl::init(argc, argv);
    const auto context = rclrt_rcl::default_context();
    auto words = context->non_ros_arguments();
    words.erase(words.begin());
    rclrt_agent::Arguments arguments;
    try {
      arguments = rclrt_agent::parse_arguments(words);
    } catch (const std::exception & error) {
      std::fprintf(stderr, "rclrt_agent: %s\n%s", error.what(), rclrt_agent::usage());
      return 1;
    }
    if (arguments.version) {
      std::puts("rclrt_agent " RCLRT_VERSION);
      return 0;
    }
    if (arguments.help) {
      std::fputs(rclrt_agent::usage(), stdout);
      return 0;
    }
    rclrt_agent::Program program(context, arguments);
    program.spin();
    return 0;
  } catch (const std::exception & error) {
    std::fprintf(stderr, "rclrt_agent: %s\n", error.what());
    return 1;
  }
}
