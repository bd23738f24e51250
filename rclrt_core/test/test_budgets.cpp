// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Budgets of callbacks, in virtual time.

#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

Budget budget(int64_t runtime_ms, int64_t period_ms, OnOverrun reaction = OnOverrun::kDemote)
{
  Budget budget;
  budget.runtime = milliseconds(runtime_ms);
  budget.period = milliseconds(period_ms);
  budget.on_overrun = reaction;
  return budget;
}

class Scene : public EngineOnSim
{
public:
  using EngineOnSim::EngineOnSim;

  CallbackOptions options(
    const std::string & name, int priority, int64_t work_ms, const Budget & its_budget = {})
  {
    CallbackOptions options = callback_options(name, milliseconds(work_ms));
    options.attributes = fifo(priority);
    options.budget = its_budget;
    return options;
  }

  /// "tick": every 10 ms from 0 on, 1 ms of work, a deadline at the end of its period, FIFO 50.
  void add_tick()
  {
    CallbackOptions tick = options("tick", 50, 1);
    tick.relative_deadline = milliseconds(10);
    tick.overrun_rule = OverrunRule::kSkip;
    TimerOptions timer;
    timer.period = milliseconds(10);
    timer.first = Duration{0};
    add_timer(tick, timer);
  }

  Lines told() const
  {
    Lines told;
    for (const Finding & finding : engine.findings()) {
      told.push_back(finding.subject + " " + finding.what);
    }
    return told;
  }
};

// ---- A callback that does not end, beside one that must meet its deadlines, on one CPU

TEST(Budget, a_runaway_without_one_takes_every_deadline_of_the_others)
{
  Scene scene;
  scene.add_tick();
  scene.add(scene.options("runaway", 80, 500));
  scene.run(520, {{5, "runaway"}});
  EXPECT_EQ(scene.statistics("tick").skipped, 49U);
}

TEST(Budget, a_runaway_with_one_takes_no_deadline_of_the_others)
{
  Scene scene;
  scene.add_tick();
  scene.add(scene.options("runaway", 80, 500, budget(5, 20)));
  scene.run(1000, {{5, "runaway"}});
  EXPECT_EQ(scene.statistics("tick").skipped, 0U);
  EXPECT_EQ(scene.statistics("tick").deadline_misses, 0U);
  EXPECT_GE(scene.statistics("tick").executed, 99U);
  EXPECT_EQ(scene.statistics("runaway").executed, 1U) << "in the background it goes on";
}

TEST(Budget, is_had_in_every_period_and_the_rest_runs_in_the_background)
{
  Scene scene;
  scene.add(scene.options("a", 80, 8, budget(2, 10)));
  scene.add(scene.options("b", 50, 30));
  // a: 0-2, 10-12, 20-22 at priority 80, and in the background after b has ended.
  EXPECT_EQ(scene.run(60, {{0, "a"}, {0, "b"}}), (Lines{"0-0-32 a", "0-2-38 b"}));
  EXPECT_EQ(scene.statistics("a").over_budget, 4U);
}

TEST(Budget, that_is_enough_changes_nothing)
{
  Scene with;
  Scene without;
  for (Scene * scene : {&with, &without}) {
    scene->add_tick();
    scene->add(scene->options("a", 80, 3, scene == &with ? budget(4, 10) : Budget()));
    scene->run(100, {{0, "a"}, {15, "a"}, {33, "a"}, {47, "a"}});
  }
  EXPECT_EQ(with.ran.size(), without.ran.size());
  EXPECT_EQ(with.jobs(), without.jobs());
  EXPECT_EQ(with.statistics("a").over_budget, 0U);
  EXPECT_TRUE(with.told().empty());
}

}  // namespace
}  // namespace rclrt_core
