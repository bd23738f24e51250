// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Runs a scenario under one executor and writes what happened, every sample of it.
///
/// Exit status: 0 also when it was interrupted (what was measured is written), 1 when it failed, 2 when
/// it was asked for something that does not exist.

#include <sched.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "executor_choice.hpp"
#include "plan.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"
#include "rclrt_reference_system/busy_work.hpp"
#include "rclrt_reference_system/scenario.hpp"
#include "reference_system.hpp"
#include "report.hpp"
#include "run.hpp"

namespace
{

using namespace rclrt_reference_system;
using rclrt_core::Duration;
using rclrt_core::Status;

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

struct Arguments
{
  std::string scenario;
  std::string executor = "preemptive";
  std::string policy;
  std::string config;
  std::string out;
  std::string node;
  double duration_s = 10;
  double warm_up_s = 0.5;
  double work_ms = -1;
  double iterations_per_ms = 0;
  std::vector<int> cpus;
  bool start_together = false;
  bool calibrate = false;
  bool check = false;
  bool counts = false;
};

void declare(CLI::App & app, Arguments & arguments)
{
  std::string names;
  for (const std::string & name : executor_names()) {
    names += (names.empty() ? "" : ", ") + name;
  }
  app.add_option("--scenario", arguments.scenario, "The scenario file (YAML)");
  app.add_option("--executor", arguments.executor, "One of: " + names);
  app.add_option("--policy", arguments.policy, "fifo, rm, dm, edf or hot (the executor's own)");
  app.add_option("--config", arguments.config, "Configuration of callbacks and executor (YAML)");
  app.add_option("--duration", arguments.duration_s, "Seconds to measure")
    ->check(CLI::Range(0.1, 86400.0));
  app.add_option("--warm-up", arguments.warm_up_s, "Seconds before, not measured")
    ->check(CLI::Range(0.0, 3600.0));
  app
    .add_option("--work-ms", arguments.work_ms, "Work of every callback that works, ms of CPU time")
    ->check(CLI::Range(0.0, 10000.0));
  app.add_option("--cpus", arguments.cpus, "The CPUs to use, e.g. 0,1 (all)")->delimiter(',');
  app.add_option("--node", arguments.node, "Run this node only; the others are other processes");
  app.add_flag(
    "--start-together", arguments.start_together,
    "Say 'connected' when all nodes are; start at the time (CLOCK_MONOTONIC, ns) then read");
  app
    .add_option(
      "--iterations-per-ms", arguments.iterations_per_ms,
      "Do not calibrate; as printed by --calibrate")
    ->check(CLI::PositiveNumber);
  app.add_option("--out", arguments.out, "Write the report there, JSON (standard output)");
  app.add_flag("--counts", arguments.counts, "No samples in the report: how many, and how long");
  app.add_flag("--check", arguments.check, "Only say whether all of this could run");
  app.add_flag("--calibrate", arguments.calibrate, "Print the iterations of work per ms, and exit");
}

/// For this thread and those it will start, all of the middleware's among them.
Status use_cpus(const std::vector<int> & cpus, int cpu_count)
{
  if (cpus.empty()) {
    return {};
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu < 0 || cpu >= cpu_count) {
      return Status::error(
        "--cpus: there is no CPU " + std::to_string(cpu) + ". This machine has 0 to " +
        std::to_string(cpu_count - 1));
    }
    CPU_SET(static_cast<unsigned>(cpu), &set);
  }
  if (sched_setaffinity(0, sizeof(set), &set) != 0) {
    return Status::error("--cpus: none of them may be used here (see taskset -p $$)");
  }
  return {};
}

void set_work(double work_ms, Scenario * scenario)
{
  const Duration work(static_cast<int64_t>(std::llround(work_ms * 1e6)));
  const auto set = [work](Duration & mine) { mine = mine > Duration(0) ? work : mine; };
  for (ScenarioNode & node : scenario->nodes) {
    set(node.work);
    for (ScenarioConnection & connection : node.connections) {
      set(connection.work);
    }
  }
}

Status check_node(const std::string & name, const Scenario & scenario)
{
  const bool exists = std::any_of(
    scenario.nodes.begin(), scenario.nodes.end(),
    [&name](const ScenarioNode & node) { return node.name == name; });
  return name.empty() || exists
           ? Status()
           : Status::error("--node: scenario '" + scenario.name + "' has no node '" + name + "'");
}

Status write(const nlohmann::json & report, const std::string & path)
{
  if (path.empty()) {
    std::cout << report.dump() << "\n" << std::flush;
    return std::cout ? Status() : Status::error("standard output cannot be written");
  }
  std::ofstream file(path);
  file << report.dump() << "\n";
  file.close();
  return file ? Status() : Status::error(path + ": cannot be written. Name another file");
}

int fail(int status, const Status & error)
{
  std::fprintf(stderr, "rclrt_reference_system: %s\n", error.message().c_str());
  return status;
}

int run_scenario(const Arguments & arguments)
{
  const auto cpu_count = static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
  ExecutorChoice choice;
  Scenario scenario;
  Plan plan;
  Status status = choose_executor(arguments.executor, arguments.policy, arguments.config, &choice);
  if (status.ok()) {
    status = load_scenario(arguments.scenario, cpu_count, &scenario);
  }
  if (status.ok()) {
    status = check_node(arguments.node, scenario);
  }
  if (status.ok()) {
    status = use_cpus(arguments.cpus, cpu_count);
  }
  if (status.ok()) {
    if (arguments.work_ms >= 0) {
      set_work(arguments.work_ms, &scenario);
    }
    status = make_plan(scenario, choice.policy, &plan);
  }
  if (!status.ok()) {
    return fail(kWrongUsage, status);
  }
  if (arguments.check) {
    return 0;
  }

  const BusyWork work =
    arguments.iterations_per_ms > 0 ? BusyWork(arguments.iterations_per_ms) : BusyWork::calibrate();
  const auto seconds = [](double s) { return Duration(static_cast<int64_t>(s * 1e9)); };
  RunOptions options;
  options.warm_up = seconds(arguments.warm_up_s);
  options.duration = seconds(arguments.duration_s);
  options.start_together = arguments.start_together;
  options.connect_timeout = std::chrono::seconds(50);

  rclrt_rcl::init();
  const auto context = rclrt_rcl::default_context();
  std::unique_ptr<rclrt_rcl::Executor> executor;
  try {
    executor = make_executor(choice, context);
  } catch (const rclrt_rcl::Error & error) {
    return fail(kWrongUsage, Status::error(error.what()));
  }
  ReferenceSystem system(
    scenario, plan, choice, work, arguments.node, options.warm_up + options.duration + kDrain,
    context);
  system.add_to(*executor);
  Run result;
  status = run(options, system, *executor, &result);
  if (!status.ok()) {
    return fail(kFailed, status);
  }
  status = write(
    make_report(
      scenario, plan, choice, system, result, work.iterations_per_ms(), !arguments.counts),
    arguments.out);
  return status.ok() ? 0 : fail(kFailed, status);
}

}  // namespace

int main(int argc, char ** argv)
{
  CLI::App app("Runs a scenario under one executor and writes every sample.");
  Arguments arguments;
  declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError & error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  if (arguments.calibrate) {
    std::printf("%.0f\n", BusyWork::calibrate().iterations_per_ms());
    return 0;
  }
  if (arguments.scenario.empty()) {
    return fail(kWrongUsage, Status::error("--scenario FILE is missing"));
  }
  try {
    return run_scenario(arguments);
  } catch (const std::exception & error) {
    return fail(kFailed, Status::error(error.what()));
  }
}
