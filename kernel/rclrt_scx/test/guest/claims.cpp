// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What the scheduler says of CPUs and threads, for others to act on: that it is true, and what becomes of
// those whom a wrong word passed over.

#include <algorithm>
#include <cstdio>

#include "scenarios.hpp"

namespace guest
{
namespace
{

// Shorter than the slice of a job with a deadline, at whose end the scheduler looks anyway.
constexpr int64_t kShorterThanASliceMs = 80;

/// Wakes `late` as if a claim that came to nothing were on every CPU at that moment.
void go_past_wrong_claims(Worker & late, int64_t work_ms)
{
  constexpr uint64_t kWrong = 1;
  volatile rclrt_scx_cpu * const cpus = cpus_of_the_scheduler();
  std::vector<uint64_t> words;
  for (int cpu = 0; cpu < cpu_count(); ++cpu) {
    const uint64_t said = cpus[cpu].running_ns;
    words.push_back(said);
    cpus[cpu].running_ns = kWrong;
  }
  late.go(1000, work_ms);
  spin_ms(2);  // Its CPU may be the one that puts it into the queue.
  for (int cpu = 0; cpu < cpu_count(); ++cpu) {
    if (cpus[cpu].running_ns == kWrong) {
      cpus[cpu].running_ns = words[static_cast<std::size_t>(cpu)];
    }
  }
}

SCENARIO(alone, 2, who_was_passed_over_for_a_wrong_claim_takes_the_place_of_the_latest)
{
  const auto others = static_cast<std::size_t>(cpu_count() - 1);
  Stage stage(static_cast<int>(others) + 1);  // This thread keeps its own CPU.
  const auto name = [](std::size_t job) { return std::string(1, static_cast<char>('A' + job)); };
  for (std::size_t i = 0; i < others; ++i) {  // The first is the latest, and the shortest.
    stage[i].go(
      i == 0 ? 9000 : 5000 + static_cast<int>(i), kShorterThanASliceMs - (i == 0 ? 15 : 0));
  }
  for (int ms = 0; ms < 1000 && stage.log.at(name(others - 1) + "+") > others; ++ms) {
    spin_ms(1);
  }
  go_past_wrong_claims(stage[others], 30);
  spin_ms(150);
  if (!wait_all(stage.workers)) {
    return "hangs: " + stage.log.text();
  }
  for (std::size_t i = 1; i <= others; ++i) {
    if (stage.log.at(name(i) + "-") > stage.log.at("A-")) {
      return name(i) + " ended after the latest: " + stage.log.text();
    }
  }
  return {};
}

SCENARIO(alone, 1, a_cpu_is_not_said_to_run_nothing_while_its_thread_can_run)
{
  Stage stage(1, 0);
  const volatile rclrt_scx_cpu * const cpus = cpus_of_the_scheduler();
  stage[0].go(5000, 60);
  sleep_ms(20);  // It runs; then this thread preempts it.
  const uint64_t said = cpus[0].running_ns;
  const auto deadline = static_cast<uint64_t>(stage[0].slot().deadline());
  if (!wait_all(stage.workers)) {
    return "hangs: " + stage.log.text();
  }
  return said == deadline ? "" : "said " + std::to_string(said);
}

SCENARIO(alone, 1, one_that_becomes_later_without_a_word_gives_way_within_a_tick)
{
  Stage stage(2, 0);
  stage[0].go(1000, 0, [&stage] {
    spin_ms(20);
    stage[0].slot().set_deadline(now_ns() + 5000 * kMs);
    spin_ms(40);  // No sched_yield(), and its slice is longer.
  });
  stage[1].go(2000, 10);
  sleep_ms(200);  // If this thread woke before, the scheduler would look.
  return expect(stage, "A+ B+ B- A-");
}

SCENARIO(alone, 1, only_one_that_sleeps_is_asleep)
{
  Stage stage(2, 0);
  std::atomic<int> itself{-1};
  if (!stage[0].slot().is_asleep()) {
    return "one that sleeps is not";
  }
  stage[0].go(5000, 0, [&] {
    itself.store(stage[0].slot().is_asleep());
    spin_ms(30);
    stage[0].slot().clear_deadline();
    spin_ms(60);
  });
  if (stage[0].slot().is_asleep()) {
    return "one that was woken is asleep before it runs";
  }
  sleep_ms(50);  // Its deadline is cleared, it lost its CPU to this thread, and then to B.
  stage[1].go(1000, 10);
  const bool preempted = stage[0].slot().is_asleep();
  if (!wait_all(stage.workers)) {
    return "hangs: " + stage.log.text();
  }
  if (itself.load() != 0 || preempted) {
    return "one that runs or waits is asleep";
  }
  return stage[0].slot().is_asleep() ? "" : "one that sleeps again is not";
}

SCENARIO(alone, 1, a_job_whose_deadline_is_cleared_at_its_end_is_counted)
{
  Stage stage(2, 0);
  const auto work = [&stage](std::size_t who, int64_t ms) {
    return [&stage, who, ms] {
      spin_ms(ms);
      stage[who].slot().clear_deadline();
    };
  };
  stage[0].go(20, 0, work(0, 50));
  stage[1].go(5000, 0, work(1, 5));
  if (!wait_all(stage.workers)) {
    return "hangs: " + stage.log.text();
  }
  const rclrt_scx_owner late = owner_of(stage[0].slot());
  const rclrt_scx_owner good = owner_of(stage[1].slot());
  return late.jobs == 1 && late.misses == 1 && good.jobs == 1 && good.misses == 0
           ? ""
           : "jobs and misses: " + std::to_string(late.jobs) + " " + std::to_string(late.misses) +
               ", " + std::to_string(good.jobs) + " " + std::to_string(good.misses);
}

SCENARIO(alone, 1, several_in_background_get_no_more_than_the_reserve)
{
  Stage stage(1, 0);
  const Background background[] = {Background(0), Background(0), Background(0)};
  const auto done = [&background] {
    return background[0].count() + background[1].count() + background[2].count();
  };
  const int before = done();
  std::atomic<int> got{0};
  stage[0].go(1000, 0, [&] {
    spin_ms(1500);
    got.store(done() - before);
  });
  sleep_ms(1500);
  if (!wait_all(stage.workers)) {
    return "hangs: " + stage.log.text();
  }
  // 5 ms a turn, and the kernel looks at slices once a tick of 4 ms: at most 8 ms beside 95 ms.
  std::printf("LATENCY the background got %d ms beside 1500 ms\n", got.load());
  return got.load() > 40 && got.load() <= 1500 * 8 / 95
           ? ""
           : "it got " + std::to_string(got.load()) + " ms beside 1500 ms";
}

/// With a watchdog of one second.
SCENARIO(alone, 1, a_nice_thread_among_many_busy_ones_is_not_forgotten)
{
  Stage stage(0);
  std::vector<std::unique_ptr<Background>> busy;
  for (int i = 0; i < 60; ++i) {
    busy.push_back(std::make_unique<Background>(0));
  }
  Background nice(0, 19);
  const int before = nice.count();
  for (int i = 0; i < 20 && stage.client->in_force(); ++i) {
    sleep_ms(100);
  }
  const bool ran = nice.count() > before;
  nice.stop();
  for (const auto & thread : busy) {
    thread->stop();
  }
  if (!stage.client->in_force()) {
    return "ejected: " + stage.client->exit_reason();
  }
  return ran ? "" : "it did not run";
}

/// Several times: a thread of the kernel that wakes while it is alone tells the scheduler how far it is.
SCENARIO(alone, 1, one_that_was_alone_goes_on_beside_two_that_wake)
{
  Stage stage(2, 0);
  Background alone(0);
  std::string got;
  int least = 120;
  for (int i = 0; i < 8; ++i) {
    sleep_ms(300);
    const int before = alone.count();
    stage[0].go(0, 100);
    stage[1].go(0, 100);
    sleep_ms(120);
    least = std::min(least, alone.count() - before);
    got += " " + std::to_string(alone.count() - before);
    if (!wait_all(stage.workers)) {
      return "hangs: " + stage.log.text();
    }
  }
  alone.stop();
  return least >= 20 ? "" : "of 120 ms each the one that had been alone got" + got;
}

/// Weights are 1024 and 110: nine to one.
SCENARIO(alone, 1, a_nice_thread_gets_less_than_another)
{
  Stage stage(0);
  Background normal(0);
  Background nice(0, 10);
  const int normal_before = normal.count();
  const int nice_before = nice.count();
  sleep_ms(1000);
  const int normal_got = normal.count() - normal_before;
  const int nice_got = nice.count() - nice_before;
  normal.stop();
  nice.stop();
  return nice_got >= 20 && normal_got >= 4 * nice_got
           ? ""
           : std::to_string(normal_got) + " ms, the nice one " + std::to_string(nice_got);
}

/// Several times, as it depends on how far the nice one is ahead.
SCENARIO(alone, 1, who_wakes_beside_a_nice_one_does_not_keep_the_others_waiting)
{
  Stage stage(0);
  Background normal(0);
  Background nice(0, 19);
  for (int i = 0; i < 4; ++i) {
    sleep_ms(600);
    const int before = normal.count();
    Background third(0);
    sleep_ms(120);
    const int got = normal.count() - before;
    third.stop();
    if (got < 20) {
      return std::to_string(got) + " of 120 ms";
    }
  }
  normal.stop();
  nice.stop();
  return "";
}

/// The script runs it while `scx load` runs: in force means that every thread may have a slot.
SCENARIO(alone, 1, who_can_open_can_bind)
{
  std::string why;
  become_fifo(90);
  std::unique_ptr<rclrt_scx::Client> client;
  for (int i = 0; i < 20000 && client == nullptr; ++i) {
    client = rclrt_scx::Client::open(&why);
    sleep_ms(1);
  }
  if (client == nullptr) {
    return why;
  }
  return client->bind_this_thread(&why) ? "" : why;
}

}  // namespace
}  // namespace guest
