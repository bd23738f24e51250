// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// CPUs that are taken away and brought back.

#include <cstdio>

#include "scenarios.hpp"
#include "worker.hpp"

namespace guest
{
namespace
{

/// CPU 1 goes and comes back while jobs run.
std::string hotplug_is_survived()
{
  if (cpu_count() < 2) {
    return "skip: needs two CPUs";
  }
  Stage stage(3);
  for (int i = 0; i < 3; ++i) {
    stage[static_cast<std::size_t>(i)].go(1000 + 100 * i, 100);
  }
  if (!set_online(1, false)) {
    return "skip: CPU 1 cannot be taken offline";
  }
  if (!wait_all(stage.workers)) {
    return "hangs offline: " + stage.log.text();
  }
  stage[0].go(1000, 10);
  if (!wait_all(stage.workers)) {
    return "hangs offline: " + stage.log.text();
  }
  set_online(1, true);
  for (int i = 0; i < 3; ++i) {
    stage[static_cast<std::size_t>(i)].go(1000 + 100 * i, 60);
  }
  if (!wait_all(stage.workers)) {
    return "hangs online: " + stage.log.text();
  }
  return stage.client->in_force() ? "" : "ejected: " + stage.client->exit_reason();
}

/// All CPUs but the first are away. None of them is idle.
std::string a_cpu_that_is_away_is_not_chosen()
{
  const int cpus = cpu_count();
  if (cpus < 2) {
    return "skip: needs two CPUs";
  }
  Stage stage(2);
  bool away = true;
  for (int cpu = 1; cpu < cpus; ++cpu) {
    away = set_online(cpu, false) && away;
  }
  stage[1].go(1000, 0, [&stage] {
    sleep_ms(40);
    stage.log.add("woken");
  });
  sleep_ms(10);
  stage[0].go(5000, 80);
  sleep_ms(200);  // Not awake before: at that, the scheduler would look.
  const bool done = wait_all(stage.workers);
  for (int cpu = 1; cpu < cpus; ++cpu) {
    set_online(cpu, true);
  }
  if (!away) {
    return "skip: CPUs cannot be taken offline";
  }
  return done && stage.log.text() == "B+ A+ woken B- A-" ? "" : stage.log.text();
}

/// Of two threads that may run on that CPU only one waits, and so does one of the background.
std::string what_waits_for_a_cpu_that_goes_away_goes_on_elsewhere()
{
  if (cpu_count() < 2) {
    return "skip: needs two CPUs";
  }
  Stage stage(3, 1);
  Background background(1);
  stage[0].go(1000, 400);
  stage[1].go(2000, 10);
  sleep_ms(20);
  const int64_t began = now_ns();
  if (!set_online(1, false)) {
    return "CPU 1 did not go";
  }
  const int64_t took = now_ns() - began;
  stage[2].go(500, 10);  // It sleeps, and may run only where no CPU is any more.
  const bool done = wait_all(stage.workers);
  const int before = background.count();
  sleep_ms(100);
  const bool background_runs = background.count() > before;
  set_online(1, true);
  background.stop();
  std::printf(
    "LATENCY a CPU with threads of its own went in %.1f ms\n", static_cast<double>(took) / 1e6);
  if (!done || !background_runs) {
    return (done ? "the background does not run: " : "hangs: ") + stage.log.text();
  }
  return stage.client->in_force() ? "" : "ejected: " + stage.client->exit_reason();
}

}  // namespace

Scenarios hotplug_scenarios()
{
  return {
#define SCENARIO(name) {#name, name}
    SCENARIO(hotplug_is_survived),
    SCENARIO(a_cpu_that_is_away_is_not_chosen),
    SCENARIO(what_waits_for_a_cpu_that_goes_away_goes_on_elsewhere),
#undef SCENARIO
  };
}

}  // namespace guest
