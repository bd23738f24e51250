// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A library with an executor, loaded by loading_program.cpp, which knows nothing of it.

#include <cstdio>
#include <memory>

#include "rclcpp/rclcpp.hpp"
#include "rclrt_rclcpp/preemptive_executor.hpp"

/// Prints the findings about definitions not in effect, of an executor that has a callback with a priority.
extern "C" void print_findings()
{
  const auto node = std::make_shared<rclcpp::Node>("node");
  const auto timer = node->create_wall_timer(std::chrono::milliseconds(1), [] {});
  rclrt_rclcpp::Scheduling urgent;
  urgent.attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kFifo;
  urgent.attributes.priority = 10;
  rclrt_rclcpp::PreemptiveExecutorOptions options;
  const auto registry = std::make_shared<rclrt_rclcpp::SchedulingRegistry>();
  registry->set(timer, urgent);
  options.scheduling = registry;
  rclrt_rclcpp::PreemptiveExecutor executor(rclcpp::ExecutorOptions(), options);
  executor.add_node(node);
  const auto stop =
    node->create_wall_timer(std::chrono::milliseconds(5), [&] { executor.cancel(); });
  executor.spin();
  for (const auto & finding : executor.findings()) {
    if (finding.subject == "publications" || finding.subject == "entities") {
      std::puts(to_string(finding).c_str());
    }
  }
}
