// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef GUEST__SCENARIOS_HPP_
#define GUEST__SCENARIOS_HPP_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "worker.hpp"

namespace guest
{

/// Returns nothing if the promise in its name holds, otherwise what was seen instead. A text that
/// begins with "skip: " says why it cannot be tried here.
using Scenario = std::string (*)();
using Scenarios = std::map<std::string, Scenario>;

Scenarios order_scenarios();
Scenarios sharing_scenarios();
Scenarios life_scenarios();
Scenarios tools_scenarios();

/// A scheduler in force, a log, and some workers named A, B, ...
struct Stage
{
  explicit Stage(int workers, int cpu = -1);
  Worker & operator[](std::size_t i) { return *workers[i]; }

  std::string why;
  std::unique_ptr<rclrt_scx::Client> client;
  Log log;
  std::vector<std::unique_ptr<Worker>> workers;
};

}  // namespace guest

#endif  // GUEST__SCENARIOS_HPP_
