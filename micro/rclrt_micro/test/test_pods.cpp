// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// The published evaluation, against its model: where the figures come from is said in
// docs/reference/pods.md.
#include "../benchmark/pods.hpp"
#include "program.hpp"

#include <gtest/gtest.h>

namespace
{
using pods::Experiment;
using pods::Who;

// What stuffing a byte takes on the line: it depends on numbers and checksums.
constexpr double kByteMs = 0.0869;

// What the first chain takes with nothing else in the world: its callbacks, its message and the reply on
// the line with 19 bytes of framing and header each, and what the agent takes.
double floor_of(const Experiment & setup)
{
  const double line_ms = (setup.bytes + 19 + 10 + 19) * static_cast<double>(kByte115200) / 1e6;
  return 2 * static_cast<double>(setup.work_ns) / 1e6 + line_ms + 1;
}

double top(const Experiment & setup) { return pods::worst(pods::run(setup).latency_ms[0]); }

Experiment with(Who who) { return Experiment{who}; }

TEST(Pods, latency_over_chains_is_that_of_the_model)
{
  const double batch[] = {33.8, 50.7, 71.0, 91.3, 111.6};
  const double paper[] = {33.9, 33.9, 40.0, 40.0, 40.0};
  double own_before = 0;
  for (unsigned i = 0; i < 5; ++i) {
    SCOPED_TRACE(i + 1);
    Experiment setup = with(Who::kBatch);
    setup.chains = i + 1;
    EXPECT_NEAR(top(setup), batch[i], batch[i] * 0.01);
    setup.who = Who::kPaper;
    const double published = top(setup);
    EXPECT_NEAR(published, paper[i], paper[i] * 0.01);
    setup.who = Who::kOwn;
    EXPECT_LE(top(setup), published + kByteMs);
    setup.who = Who::kLevels;
    const double levels = top(setup);
    EXPECT_NEAR(levels, 33.9, 0.34) << "its own work and transmission, whatever else there is";
    own_before = levels;
  }
  EXPECT_LT(own_before, 40.0);
}

TEST(Pods, latency_over_packet_size_is_that_of_the_model)
{
  const double batch[] = {51.0, 77.0, 103.1, 129.1, 155.2};
  const double paper[] = {23.9, 32.6, 41.2, 49.9, 58.6};
  for (unsigned i = 0; i < 5; ++i) {
    SCOPED_TRACE(100 * (i + 1));
    Experiment setup = with(Who::kBatch);
    setup.bytes = 100 * (i + 1);
    setup.work_ns = 5 * kMs;
    EXPECT_NEAR(top(setup), batch[i], batch[i] * 0.01);
    setup.who = Who::kPaper;
    EXPECT_NEAR(top(setup), paper[i], paper[i] * 0.01);
    setup.who = Who::kLevels;
    EXPECT_LE(top(setup), paper[i] * 1.01);
  }
}

TEST(Pods, latency_over_execution_time_is_that_of_the_model)
{
  const double batch[] = {71, 111, 151, 191, 231};
  const double paper[] = {40, 60, 90, 120, 150};
  for (unsigned i = 0; i < 5; ++i) {
    SCOPED_TRACE(10 * (i + 1));
    Experiment setup = with(Who::kBatch);
    setup.work_ns = 10 * (i + 1) * kMs;
    EXPECT_NEAR(top(setup), batch[i], batch[i] * 0.01);
    setup.who = Who::kPaper;
    EXPECT_NEAR(top(setup), paper[i], paper[i] * 0.01);
    setup.who = Who::kLevels;
    EXPECT_LT(top(setup), paper[i] - 5);
  }
}

// The floor is the time of the first chain alone: its callbacks, its message, and the reply.
TEST(Pods, with_levels_it_is_at_the_floor_everywhere_and_so_below_whoever_is_not)
{
  std::vector<Experiment> points;
  const auto add = [&points](unsigned chains, uint32_t bytes, uint64_t work_ms) {
    points.push_back(with(Who::kLevels));
    points.back().chains = chains;
    points.back().bytes = bytes;
    points.back().work_ns = work_ms * kMs;
  };
  for (unsigned i = 1; i <= 5; ++i) {
    add(i, 100, 10);         // Fig. 10
    add(3, 100 * i, 5);      // Fig. 11
    add(3, 100, 10ULL * i);  // Fig. 12
  }
  unsigned below = 0;
  for (auto point : points) {
    SCOPED_TRACE(
      std::to_string(point.chains) + " chains, " + std::to_string(point.bytes) + " bytes, " +
      std::to_string(point.work_ns / kMs) + " ms");
    const double floor = floor_of(point);
    const double levels = top(point);
    EXPECT_GE(levels, floor - 0.001);
    EXPECT_LE(levels, floor + 4 * kByteMs) << "stuffing";
    point.who = Who::kPaper;
    const double paper = top(point);
    EXPECT_GE(paper, floor - 0.001);
    const bool there_as_well = point.chains <= 2 || point.work_ns == 5 * kMs;
    EXPECT_EQ(paper < floor + 4 * kByteMs, there_as_well);
    below += levels < paper - 1 ? 1U : 0U;
  }
  EXPECT_EQ(below, 8U) << "3 to 5 chains, and five execution times with 3";
}

TEST(Pods, reliable_latency_at_the_corners_of_table_1_is_that_of_the_model)
{
  Experiment setup = with(Who::kBatch);
  setup.reliable = true;
  EXPECT_NEAR(top(setup), 82.3, 0.82);
  setup.success = 0;
  EXPECT_NEAR(top(setup), 113.3, 1.13);
  setup.who = Who::kPaper;
  EXPECT_NEAR(top(setup), 48.0, 0.48);
  setup.success = 1;
  EXPECT_NEAR(top(setup), 40.0, 0.4);
}

TEST(Pods, ours_is_never_above_the_published_one_and_below_it_where_messages_are_lost)
{
  for (const double success : {0.0, 0.4, 0.8, 1.0}) {
    SCOPED_TRACE(success);
    Experiment setup = with(Who::kPaper);
    setup.reliable = true;
    setup.success = success;
    setup.samples = 40;
    const auto paper = pods::run(setup).latency_ms[0];
    setup.who = Who::kOwn;
    const auto own = pods::run(setup).latency_ms[0];
    setup.who = Who::kLevels;
    const auto levels = pods::run(setup).latency_ms[0];
    EXPECT_LE(pods::worst(own), pods::worst(paper) + kByteMs);
    EXPECT_LT(pods::mean(levels), pods::mean(paper));
    if (success < 1) {
      EXPECT_LT(pods::mean(own), pods::mean(paper));
      EXPECT_LT(pods::worst(own), pods::worst(paper) - 1);
    }
    EXPECT_LT(pods::worst(levels), success < 1 ? 48.0 : 34.5);
  }
}

// Who runs when, in whole milliseconds: "t0 0-10, t1 20-30".
std::string schedule(const Experiment & setup)
{
  std::string text;
  const auto ms = [](uint64_t ns) { return std::to_string((ns + 500'000) / 1'000'000); };
  for (const auto & segment : pods::run(setup).schedule) {
    text += (text.empty() ? "" : ", ") + segment.name + " " + ms(segment.begin_ns) + "-" +
            ms(segment.end_ns);
  }
  return text;
}

TEST(Pods, a_batch_makes_the_most_urgent_callback_wait_for_all_others)
{
  // Figure 3: the reply for chain 0 is there at 24 ms; it runs when the batch is over.
  EXPECT_EQ(
    schedule(with(Who::kBatch)), "t0 0-10, t1 20-30, t2 41-51, s0 61-71, s1 71-81, s2 81-91");
}

TEST(Pods, one_at_a_time_the_most_urgent_callback_waits_for_one_other_at_most)
{
  EXPECT_EQ(
    schedule(with(Who::kPaper)), "t0 0-10, t1 10-20, t2 20-30, s0 30-40, s1 40-50, s2 50-60");
}

TEST(Pods, with_levels_it_waits_for_none)
{
  // What the urgent chains gain, the least urgent one pays: s0 and s1 ran in the middle of t2.
  EXPECT_EQ(
    schedule(with(Who::kLevels)), "t0 0-10, t1 10-20, s0 24-34, s1 34-44, t2 20-50, s2 64-74");
}

// Preemption levels and budgets, in virtual time.
TEST_F(Program, levels_preempt_in_the_middle_of_a_callback_but_not_below_a_ceiling)
{
  auto & levels = use_levels({0, 10, 20});
  auto & low = guard("low", 3, 10 * kMs);
  auto & low2 = guard("low2", 5, 1 * kMs);
  auto & high = guard("high", 25, 1 * kMs);
  const uint64_t now = system.world.now_ns();
  system.world.at(now + 1 * kMs, [&] { rclrt_guard_trigger(&low.guard); });
  system.world.at(now + 2 * kMs, [&] { rclrt_guard_trigger(&low2.guard); });
  system.world.at(now + 3 * kMs, [&] {
    rclrt_guard_trigger(&high.guard);
    log += " (high ready)";
  });
  system.world.run_until(now + 30 * kMs);
  EXPECT_EQ(log, "low (high ready) high low2") << "low2 is of low's level: it waits";
  EXPECT_EQ(system.world.now_ns(), now + 30 * kMs);

  // The ceiling is level 2, as while a resource is held that a callback shares with high.
  log.clear();
  const int before = levels.raise(2);
  rclrt_guard_trigger(&high.guard);
  levels.dispatch();
  EXPECT_EQ(log, "");
  levels.restore(before);
  EXPECT_EQ(log, "high");
}

// Where levels are threads, two may run at once: one that took the other's callback could run it a second
// time while it runs.
TEST_F(Program, a_level_takes_only_its_own_callbacks)
{
  rclrt_micro::SimLevels levels(system.world, system.port, [](unsigned) {});
  const uint8_t floors[] = {0, 10, 20};
  must(rclrt_executor_use_levels(&system.executor, floors, 3));
  auto & low = guard("low", 9, 0);
  auto & middle = guard("middle", 10, 0);
  auto & high = guard("high", 20, 0);
  for (auto * each : {&low, &middle, &high}) {
    rclrt_guard_trigger(&each->guard);
  }
  rclrt_executor_run_level(&system.executor, 1);
  EXPECT_EQ(log, "middle");
  rclrt_executor_run_level(&system.executor, 0);
  EXPECT_EQ(log, "middle low");
  rclrt_executor_run_level(&system.executor, 2);
  EXPECT_EQ(log, "middle low high");
}

// A callback that is ready again as soon as it has run, and a less urgent one.
class Storm : public Program
{
protected:
  void SetUp() override
  {
    auto & added = job("u", 1 * kMs);
    EXPECT_EQ(
      rclrt_executor_add_guard(
        &system.executor, &added.guard, 9,
        [](void * context) {
          ran(context, "");
          rclrt_guard_trigger(&static_cast<Job *>(context)->guard);
        },
        &added),
      RCLRT_OK);
    storm = &added.guard;
  }

  rclrt_guard * storm = nullptr;
};

TEST_F(Storm, without_a_budget_it_starves_what_is_less_urgent)
{
  auto & low = guard("low", 1);
  rclrt_guard_trigger(storm);
  rclrt_guard_trigger(&low.guard);
  system.spin_for(6);
  EXPECT_EQ(log, "u u u u u u");
}

TEST_F(Storm, with_a_budget_others_come_first_when_it_is_used_up_and_it_goes_on_when_there_are_none)
{
  auto & low = guard("low", 1);
  auto & lowest = guard("lowest", 0);
  rclrt_budget budget;
  rclrt_budget_init(&budget, 2, 20 * kMs);
  must(rclrt_callback_set_budget(&storm->callback, &budget));
  rclrt_guard_trigger(storm);
  rclrt_guard_trigger(&low.guard);
  rclrt_guard_trigger(&lowest.guard);
  system.spin_for(5);
  EXPECT_EQ(log, "u u low lowest u u u");
  EXPECT_EQ(budget.exhausted, 1U);
  // Full again 20 ms after its first use.
  log.clear();
  system.spin_for(15);
  log.clear();
  rclrt_guard_trigger(&low.guard);
  system.spin_for(3);
  EXPECT_EQ(log, "u u low u");
}

TEST_F(Storm, with_levels_it_waits_until_its_budget_is_full_again)
{
  rclrt_micro::SimLevels levels(system.world, system.port, [this](unsigned level) {
    const uint64_t again = rclrt_executor_run_level(&system.executor, level);
    if (again != UINT64_MAX) {  // the timer interrupt
      system.world.at(again, [this, level] { system.port.port.pend(&system.port, level); });
    }
  });
  rclrt_executor_remove(&system.executor, &storm->callback);
  const uint8_t floors[] = {0, 5};
  must(rclrt_executor_use_levels(&system.executor, floors, 2));
  must(rclrt_executor_add_on_new_data(&system.executor, &storm->callback, 9));
  auto & low = guard("low", 1, 5 * kMs);
  rclrt_budget budget;
  rclrt_budget_init(&budget, 3, 10 * kMs);
  must(rclrt_callback_set_budget(&storm->callback, &budget));
  const uint64_t now = system.world.now_ns();
  system.world.at(now + 1, [&] {
    rclrt_guard_trigger(storm);
    rclrt_guard_trigger(&low.guard);
  });
  system.world.run_until(now + 9 * kMs);
  EXPECT_EQ(log, "u u u low");
  system.world.run_until(now + 19 * kMs);
  EXPECT_EQ(log, "u u u low u u u") << "three every 10 ms";
}

TEST_F(Program, levels_that_cannot_be_are_refused)
{
  const uint8_t floors[] = {0, 10, 10};
  const uint8_t not_zero[] = {1, 10};
  EXPECT_EQ(rclrt_executor_use_levels(&system.executor, floors, 2), RCLRT_ERR_ARGUMENT)
    << "no pend in the port";
  rclrt_micro::SimLevels levels(system.world, system.port, [](unsigned) {});
  EXPECT_EQ(rclrt_executor_use_levels(&system.executor, floors, 3), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(rclrt_executor_use_levels(&system.executor, not_zero, 2), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(rclrt_executor_use_levels(&system.executor, floors, 5), RCLRT_ERR_ARGUMENT);
  EXPECT_EQ(rclrt_executor_use_levels(&system.executor, floors, 2), RCLRT_OK);
}
}  // namespace
