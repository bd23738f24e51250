// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef GUEST__SCENARIOS_HPP_
#define GUEST__SCENARIOS_HPP_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "worker.hpp"

namespace guest
{

/// Returns nothing if the promise in its name holds, otherwise what was seen instead. A text that
/// begins with "skip: " says why it cannot be tried here.
using Scenario = std::string (*)();
using Scenarios = std::map<std::string, Scenario>;

Scenarios order_scenarios();
/// A part of these.
Scenarios budget_scenarios();
Scenarios sharing_scenarios();
Scenarios life_scenarios();
Scenarios tools_scenarios();
Scenarios claims_scenarios();
Scenarios damage_scenarios();
Scenarios mix_scenarios();
Scenarios many_scenarios();
Scenarios hotplug_scenarios();
Scenarios bounded_scenarios();

/// All that the command printed.
std::string output_of(const std::string & command);
std::string expect_in(const std::string & text, const std::string & wanted);
/// Run it as uid 1000 without other groups than `rt`. What it returns, or that it ended otherwise.
std::string as_user(const std::function<std::string()> & scenario);
/// The scheduler's words about its CPUs, for root to read and to spoil. Null if they cannot be mapped.
volatile rclrt_scx_cpu * cpus_of_the_scheduler();
rclrt_scx_owner owner_of(const rclrt_scx::Slot & slot);

/// Keeps a CPU busy above all our threads until it is told to stop.
class FifoHog
{
public:
  explicit FifoHog(int cpu);
  ~FifoHog();
  FifoHog(const FifoHog &) = delete;
  FifoHog & operator=(const FifoHog &) = delete;

private:
  std::atomic<bool> started_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// Counts what the fair class gets done in background, in ms of CPU time.
class Background
{
public:
  explicit Background(int cpu, int nice = 0);
  ~Background();
  Background(const Background &) = delete;
  Background & operator=(const Background &) = delete;
  int count() const { return count_.load(); }
  /// Let it end soon; the destructor waits for that.
  void stop() { stop_.store(true); }

private:
  std::atomic<bool> started_{false};
  std::atomic<bool> stop_{false};
  std::atomic<int> count_{0};
  std::thread thread_;
};

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

/// When all jobs have ended: whether the log is this.
std::string expect(Stage & stage, const std::string & wanted);

}  // namespace guest

#endif  // GUEST__SCENARIOS_HPP_
