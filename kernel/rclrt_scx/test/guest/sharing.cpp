// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Several CPUs, several classes: who gets which CPU, that nobody starves for ever, and CPUs that come and go.

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "scenarios.hpp"

namespace guest
{
namespace
{

SCENARIO(sharing, 1, every_cpu_takes_the_earliest_that_waits)
{
  const int cpus = cpu_count();
  const int jobs = 3 * cpus;
  Stage stage(jobs);
  {
    std::vector<std::unique_ptr<FifoHog>> hogs;
    for (int cpu = 0; cpu < cpus; ++cpu) {
      hogs.push_back(std::make_unique<FifoHog>(cpu));
    }
    for (int i = 0; i < jobs; ++i) {  // Woken in an order that is not that of their deadlines.
      const int job = (i * 5 + 3) % jobs;
      stage[static_cast<std::size_t>(job)].go(2000 + 500 * job, 60);
    }
  }
  if (!wait_all(stage.workers)) {
    return "hangs: " + stage.log.text();
  }
  // Jobs start in rounds of as many as there are CPUs, the earlier ones in the earlier round.
  std::vector<std::pair<std::size_t, int>> starts;
  for (int job = 0; job < jobs; ++job) {
    starts.emplace_back(stage.log.at(std::string(1, static_cast<char>('A' + job)) + "+"), job);
  }
  std::sort(starts.begin(), starts.end());
  for (int i = 0; i < jobs; ++i) {
    if (starts[static_cast<std::size_t>(i)].second / cpus != i / cpus) {
      return "not in the order of deadlines: " + stage.log.text();
    }
  }
  return {};
}

SCENARIO(sharing, 1, an_earlier_one_takes_the_cpu_of_the_latest)
{
  const int cpus = cpu_count();
  Stage stage(cpus + 1);
  for (int i = 0; i < cpus; ++i) {
    stage[static_cast<std::size_t>(i)].go(5000 + 500 * i, 300);
  }
  sleep_ms(60);
  stage[static_cast<std::size_t>(cpus)].go(1000, 20);
  if (!wait_all(stage.workers)) {
    return "hangs: " + stage.log.text();
  }
  // The newcomer ends before the latest; the latest is the last to end.
  const std::string newcomer(1, static_cast<char>('A' + cpus));
  const std::string latest(1, static_cast<char>('A' + cpus - 1));
  const std::size_t end = stage.log.at(latest + "-");
  for (int i = 0; i < cpus - 1; ++i) {
    if (
      stage.log.at(newcomer + "-") >
      stage.log.at(std::string(1, static_cast<char>('A' + i)) + "-")) {
      return "the newcomer waited: " + stage.log.text();
    }
  }
  return stage.log.at(newcomer + "-") < end ? "" : "it did not preempt: " + stage.log.text();
}

SCENARIO(sharing, 3, several_woken_at_once_take_a_cpu_each)
{
  const int others = cpu_count() - 1;
  // This thread keeps its own CPU. The late jobs are shorter than a slice, at whose end the scheduler
  // looks anyway.
  Stage stage(2 * others);
  const auto name = [](int job) { return std::string(1, static_cast<char>('A' + job)); };
  for (int i = 0; i < others; ++i) {
    stage[static_cast<std::size_t>(i)].go(5000 + 500 * i, 80);
  }
  const auto started = [&](int job) {
    return stage.log.text().find(name(job) + "+") != std::string::npos;
  };
  for (int i = 0; i < others; ++i) {
    for (int ms = 0; ms < 1000 && !started(i); ++ms) {
      spin_ms(1);
    }
  }
  for (int i = others; i < 2 * others; ++i) {
    stage[static_cast<std::size_t>(i)].go(1000, 5);
  }
  spin_ms(200);
  if (!wait_all(stage.workers)) {
    return "hangs: " + stage.log.text();
  }
  std::size_t first_end = stage.log.at(name(0) + "-");
  for (int i = 1; i < others; ++i) {
    first_end = std::min(first_end, stage.log.at(name(i) + "-"));
  }
  for (int i = others; i < 2 * others; ++i) {
    if (stage.log.at(name(i) + "-") > first_end) {
      return name(i) + " waited: " + stage.log.text();
    }
  }
  return {};
}

SCENARIO(sharing, 2, a_job_preempted_by_a_fifo_hog_goes_on_elsewhere)
{
  Stage stage(1);
  stage[0].go(1000, 100);
  sleep_ms(30);
  const int cpu = stage[0].cpu_of_job();
  const FifoHog hog(cpu);
  // The hog stays until the job is done: parked on the hog's CPU it would never be.
  return stage[0].wait_done() ? "" : "the job stayed behind the hog on CPU " + std::to_string(cpu);
}

SCENARIO(sharing, 1, a_hog_with_the_earliest_deadline_leaves_the_reserve)
{
  const int cpus = cpu_count();
  Stage stage(cpus);
  const Background background(0);
  const int before = background.count();
  for (int i = 0; i < cpus; ++i) {
    stage[static_cast<std::size_t>(i)].go(1000 + i, 1500);
  }
  for (int i = 0; i < cpus; ++i) {
    if (!stage[static_cast<std::size_t>(i)].wait_done()) {
      return "hangs";
    }
    if (i == 0) {
      const int got = background.count() - before;  // ms of CPU 0 while hogs had 1500 each
      if (got < 15) {
        return "the background got only " + std::to_string(got) + " ms beside 1500 ms";
      }
      if (got > 600) {
        return "the background got " + std::to_string(got) + " ms: the reserve is no reserve";
      }
    }
  }
  return stage.client->in_force() ? "" : "ejected: " + stage.client->exit_reason();
}

SCENARIO(sharing, 1, a_starved_job_gets_turns_and_the_scheduler_stays)
{
  // Longer than the watchdog of the scheduler under test, which is loaded with --timeout 2000.
  const int cpus = cpu_count();
  Stage stage(cpus + 1);
  std::atomic<int> progress{0};
  std::atomic<bool> stop{false};
  for (int i = 0; i < cpus; ++i) {
    stage[static_cast<std::size_t>(i)].go(1000, 4500);
  }
  sleep_ms(20);
  stage[static_cast<std::size_t>(cpus)].go(9000, 0, [&] {
    while (!stop.load()) {
      spin_ms(1);
      progress.fetch_add(1);
    }
  });
  for (int i = 0; i < cpus; ++i) {
    if (!stage[static_cast<std::size_t>(i)].wait_done()) {
      return "hangs";
    }
    if (i == 0 && progress.load() == 0) {
      stop.store(true);
      return "it never ran beside the hogs";
    }
  }
  stop.store(true);
  stage[static_cast<std::size_t>(cpus)].wait_done();
  return stage.client->in_force() ? "" : "ejected: " + stage.client->exit_reason();
}

Worker & add(Stage & stage, const char * name, int cpu)
{
  stage.workers.push_back(std::make_unique<Worker>(*stage.client, stage.log, name, cpu));
  return *stage.workers.back();
}

SCENARIO(sharing, 2, affinity_is_respected_and_costs_nobody_else)
{
  Stage stage(0);
  Worker & first = add(stage, "A", 1);
  Worker & second = add(stage, "B", 1);
  Worker & other = add(stage, "C", 0);
  other.go(3000, 120);
  first.go(2000, 120);
  sleep_ms(30);
  // Earlier than both, but may only run on CPU 1.
  second.go(1000, 30);
  if (!wait_all(stage.workers)) {
    return "hangs: " + stage.log.text();
  }
  if (first.cpu_of_job() != 1 || second.cpu_of_job() != 1 || other.cpu_of_job() != 0) {
    return "ran where it must not";
  }
  return stage.log.at("B-") < stage.log.at("A-") ? "" : "no preemption: " + stage.log.text();
}

SCENARIO(sharing, 2, a_pinned_early_job_does_not_hide_later_ones_from_other_cpus)
{
  Stage stage(0);
  Worker & running = add(stage, "A", 1);
  Worker & pinned = add(stage, "B", 1);
  Worker & free = add(stage, "C", -1);
  std::atomic<bool> released{false};
  running.go(1000, 0, [&] {  // Until C is done: an emulator does not give every CPU the same.
    for (int i = 0; i < 600 && !(released.load() && free.done()); ++i) {
      spin_ms(1);
    }
  });
  sleep_ms(20);
  pinned.go(2000, 20);  // Waits at the head of the queue, for CPU 1 alone.
  free.go(3000, 20);
  released.store(true);
  return expect(stage, [&] { return stage.log.at("C-") < stage.log.at("A-"); });
}

// The CPU in question is not that of the dispatcher: nobody passes by there by chance. What runs on it is
// shorter than the slice of a job with a deadline, at whose end the scheduler looks anyway.
constexpr int64_t kShorterThanASliceMs = 80;

/// Two jobs on CPU 1, A before B; then `change` makes B the earlier one.
std::string after_a_change_from_another_cpu(void (*change)(Stage & stage))
{
  Stage stage(2, 1);
  stage[0].go(3000, kShorterThanASliceMs);
  sleep_ms(20);
  stage[1].go(5000, 10);
  sleep_ms(5);
  change(stage);
  return expect(stage, "A+ B+ B- A-");
}

SCENARIO(sharing, 2, a_queued_one_is_promoted_from_another_cpu)
{
  return after_a_change_from_another_cpu(
    [](Stage & stage) { stage[1].slot().lend(now_ns() + 500 * kMs); });
}

SCENARIO(sharing, 2, a_running_one_is_demoted_from_another_cpu)
{
  return after_a_change_from_another_cpu([](Stage & stage) {
    stage[0].slot().set_deadline(now_ns() + 9000 * kMs);
    stage[0].slot().reconsider();
  });
}

SCENARIO(sharing, 2, one_that_moves_to_another_cpu_preempts_there)
{
  Stage stage(0);
  Worker & stays = add(stage, "A", 1);
  Worker & moves = add(stage, "B", 0);
  stays.go(5000, kShorterThanASliceMs);
  sleep_ms(20);
  moves.go(1000, 0, [&stage] {
    pin_to(1);
    stage.log.add("moved");
  });
  return expect(stage, "A+ B+ moved B- A-");
}

// ---- CPUs that are taken away and brought back

/// CPU 1 goes and comes back while jobs run.
SCENARIO(alone, 2, hotplug_is_survived)
{
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
SCENARIO(alone, 2, a_cpu_that_is_away_is_not_chosen)
{
  const int cpus = cpu_count();
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
  sleep_ms(200);  // If this thread woke before, the scheduler would look.
  const bool done = wait_all(stage.workers);
  for (int cpu = 1; cpu < cpus; ++cpu) {
    set_online(cpu, true);
  }
  if (!away) {
    return "skip: CPUs cannot be taken offline";
  }
  return done && stage.log.text() == "B+ A+ woken B- A-" ? "" : stage.log.text();
}

/// Two threads may run on that CPU. One of them waits, and so does one of the background.
SCENARIO(alone, 2, what_waits_for_a_cpu_that_goes_away_goes_on_elsewhere)
{
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
}  // namespace guest
