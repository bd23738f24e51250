// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The agent as a program: node, executor, lines, and statistics.
#ifndef PROGRAM_HPP_
#define PROGRAM_HPP_

#include <memory>
#include <vector>

#include "agent.hpp"
#include "arguments.hpp"
#include "dispatcher.hpp"
#include "line_thread.hpp"
#include "rclrt_rcl/node.hpp"
#include "rclrt_rcl/preemptive_executor.hpp"
#include "ros_backend.hpp"
#include "statistics.hpp"

namespace rclrt_agent
{

class Program
{
public:
  /// Opens the lines; they are read from spin() on. Throws if one cannot be had, or a parameter is wrong.
  Program(const std::shared_ptr<rclrt_rcl::Context> & context, const Arguments & arguments);
  ~Program();

  /// Until the context is shut down.
  void spin();
  const std::vector<std::unique_ptr<LineThread>> & lines() const { return lines_; }
  rclrt_rcl::Node & node() { return *node_; }

private:
  AgentOptions options(const Arguments & arguments);
  int urgency_of(const std::string & name) const;

  std::shared_ptr<rclrt_rcl::Node> node_;
  std::map<std::string, int> urgencies_;
  std::map<std::string, double> budgets_;
  std::map<std::string, rclrt_core::Duration> deadlines_;
  std::unique_ptr<rclrt_rcl::PreemptiveExecutor> executor_;
  std::unique_ptr<RosBackend> backend_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::unique_ptr<Agent> agent_;
  std::vector<std::unique_ptr<LineThread>> lines_;
  std::unique_ptr<Statistics> statistics_;
  std::shared_ptr<rclrt_rcl::Timer> timer_;
};

}  // namespace rclrt_agent

#endif  // PROGRAM_HPP_
