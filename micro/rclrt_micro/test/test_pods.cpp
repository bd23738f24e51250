// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Preemption levels and budgets, in virtual time. In which order the executors of the published evaluation run
// callbacks is in test_firmware; its figures are held by ./rclrt bench pods.
#include "program.hpp"

#include <gtest/gtest.h>

namespace
{
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
