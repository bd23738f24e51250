// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The counters of lines and clients, on /diagnostics.
#ifndef STATISTICS_HPP_
#define STATISTICS_HPP_

#include <memory>
#include <vector>

#include "agent.hpp"
#include "line_thread.hpp"
#include "rclrt_rcl/node.hpp"

namespace rclrt_agent
{

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

}  // namespace rclrt_agent

#endif  // STATISTICS_HPP_
