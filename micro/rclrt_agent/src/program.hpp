// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The program: its command line, with the words that users of other agents know, its lines, its diagnostics.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent.hpp"
#include "dispatcher.hpp"
#include "line_thread.hpp"
#include "net_lines.hpp"
#include "rclrt_rcl/executor.hpp"
#include "rclrt_rcl/node.hpp"
#include "ros_backend.hpp"
#include "serial_line.hpp"

namespace rclrt_agent
{

struct Arguments
{
  std::vector<SerialOptions> serial;
  std::vector<NetOptions> udp;
  std::vector<NetOptions> tcp;
  std::string references;  ///< file of profiles
  bool help = false;
  bool version = false;
};

/// `arguments`: without the program's name and without those of ROS. Throws std::runtime_error that says what
/// is wrong.
Arguments parse_arguments(const std::vector<std::string> & arguments);
const char * usage();

// The counters of lines and clients, on /diagnostics.
/// Without diagnostic_msgs at build time it does nothing.
class Statistics
{
public:
  explicit Statistics(rclrt_rcl::Node & node);
  ~Statistics();
  void publish(
    const Agent & agent, const std::vector<std::unique_ptr<LineThread>> & lines, TimePoint now);

private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// The agent as a program: node, executor, lines, and statistics.
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
