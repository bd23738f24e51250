// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Budgets of callbacks, in virtual time.

#include "scenes.hpp"

namespace rclrt_core
{
namespace
{

TEST(Budget, of_a_callback_that_does_not_end_saves_the_deadlines_of_the_others)
{
  expect({
    {"without one it takes all of them", "until 520", "tick, runaway 500 80", "5 runaway", "",
     "tick skipped 49"},
    {"with one it takes none, and goes on in the background", "until 1000",
     "tick, runaway 500 80 budget 5/20", "5 runaway", "",
     "tick skipped 0, tick deadline_misses 0, tick executed 100, runaway executed 1"},
    {"also where it was removed when it had been demoted", "until 200",
     "tick, runaway 300 80 budget 5/20", "5 runaway, 12 forget runaway", "", "tick skipped 0"},
    {"also if it comes while others run", "until 300", "tick",
     "5 add runaway 200 80 budget 5/20, 5 runaway", "", "tick skipped 0"},
    {"under deadlines of absolute time, without one", "bands, until 100",
     "a 30 0 ext 10, b 3 0 ext 20", "0 a, 1 b, 21 b", "", "b deadline_misses 1, a executed 1"},
    {"under deadlines of absolute time, with one", "bands, until 100",
     "a 30 0 ext 10 budget 2/20, b 3 0 ext 20", "0 a, 1 b, 21 b", "",
     "b deadline_misses 0, a executed 1"},
  });
  expect_on(
    {"preemptive, until 200", "isolated, until 200"},
    {"in every model", "", "tick, runaway 300 80 budget 5/20", "5 runaway", "", "tick skipped 0"});
}

TEST(Budget, decides_who_runs_when)
{
  expect({
    // a: 0-2, 10-12, 20-22 at priority 80, and in the background after b has ended. The fourth period was just enough.
    {"is had in every period, and the rest runs in the background", "",
     "a 8 80 budget 2/10, b 30 50", "0 a, 0 b", "0-0-32 a, 0-2-38 b", "a over_budget 3"},
    // From 15 on. The job of 18 has 1 ms, and the rest at 25. That is of the next period, in which 2 ms are left.
    {"is shared by the jobs of a period, which begins with the first", "",
     "a 2 80 budget 3/10, b 40 50", "10 b, 15 a, 18 a, 27 a",
     "10-10-56 b, 15-15-17 a, 18-18-26 a, 27-27-29 a", "a over_budget 1"},
    {"that was not used is not saved", "", "a 6 80 budget 3/10, b 40 50", "50 b, 60 a",
     "50-50-96 b, 60-60-73 a"},
    {"counts only what is used with the priority of the callback: 20 ms end in the second period",
     "", "a 20 80 budget 2/10", "0 a", "0-0-20 a", "a over_budget 2"},
    // The second job of a must not lend its priority to the first, nor go before b.
    {"a job that waits is not more urgent than the demoted one", "", "a 8 80 budget 2/20, b 10 50",
     "0 a, 1 a, 1 b", "0-0-18 a, 1-2-12 b, 1-18-26 a"},
    // The second job of a is released in the period that is spent, the CPU is b's until the next one.
    {"a job that waits is urgent again in the next period", "", "a 3 80 budget 3/20, b 40 50",
     "0 a, 4 b, 5 a", "0-0-3 a, 4-4-47 b, 5-20-23 a", "a over_budget 0"},
    {"is shared by jobs that run at the same time", "cpus 2",
     "group two 2, many 10 80 in two budget 4/100, b 5 50, c 5 50", "0 many 2, 1 b, 1 c",
     "0-0-15 many, 0-0-15 many, 1-2-7 b, 1-2-7 c", "many over_budget 1"},
    {"of the next period does not pay for what was used in the background", "cpus 2",
     "group two 2, many 30 80 in two budget 4/20, b 5 50, c 5 50", "0 many 2, 21 b, 21 c",
     "0-0-35 many, 0-0-35 many, 21-22-27 b, 21-22-27 c"},
    {"that is used up puts jobs that wait for a thread behind the others", "threads 1",
     "a 3 80 budget 2/10, b 3 50, c 20 50", "0 a, 1 a, 2 b, 5 c, 9 a",
     "0-0-3 a, 2-3-6 b, 5-6-26 c, 1-26-29 a, 9-29-32 a"},
    {"of a callback that is gone, demoted and without a job, is not looked at", "until 30",
     "a 3 80 budget 2/10", "0 a, 5 forget a", "0-0-3 ?"},
  });
}

/// Calls it each time before the thread that enforces budgets sleeps.
void at_each_look(EngineOnSim & scene, std::function<void()> look)
{
  scene.sim.set_hook(
    [look = std::move(look)](SimPlatform::Point point, const std::string & thread) {
      if (point == SimPlatform::Point::kWait && thread == "rclrt budgets") {
        look();
      }
    });
}

TEST(Budget, of_a_job_that_waits_for_something_is_not_used)
{
  EngineOnSim scene;
  CallbackOptions a = scene.fifo_callback("a", 0, 80, budget(2, 100));
  scene.add(a, [&scene] {
    scene.work(1);
    scene.sim.sleep_for(milliseconds(50));
  });
  int looks = 0;
  at_each_look(scene, [&] { ++looks; });
  scene.run(90, {{0, "a"}});
  EXPECT_EQ(scene.statistics("a").over_budget, 0U);
  EXPECT_LT(looks, 60) << "at most one for what is left of the budget";
}

// rclrt_analysis counts so many looks (bounds/demotion.py): at the begin of a job, after its end, and for each part of
// the time for which it is preempted.
TEST(Budget, of_a_job_that_is_preempted_is_looked_at_as_often_as_the_bounds_count)
{
  const microseconds work = milliseconds(6);
  const microseconds away = milliseconds(10);
  int64_t most_in_hundred = 0;
  for (const microseconds runtime :
       {microseconds(6050), microseconds(6200), microseconds(7000), microseconds(8000)}) {
    for (const int64_t begun_ms : {1, 3, 5}) {
      EngineOnSim scene;
      Budget budget;
      budget.runtime = runtime;
      budget.period = milliseconds(40);
      scene.add(scene.fifo_callback("a", 6, 50, budget));
      scene.add(scene.fifo_callback("b", 10, 80));
      int64_t looks = 0;
      at_each_look(scene, [&] { looks += scene.sim.now() < at_ms(38) ? 1 : 0; });
      scene.run(60, {{0, "a"}, {begun_ms, "b"}});
      EXPECT_EQ(scene.statistics("a").over_budget, 0U);
      const microseconds between = std::max({runtime - work, runtime / 32, microseconds(50)});
      const int64_t counted = 3 + away / between;
      EXPECT_LE(looks, counted) << runtime.count() << " us, preempted after " << begun_ms << " ms";
      most_in_hundred = std::max(most_in_hundred, 100 * looks / counted);
    }
  }
  EXPECT_GT(most_in_hundred, 60) << "it is no idle bound";
}

// ---- What happens when it is used up

TEST(Budget, notify_counts_each_period_and_tells_once)
{
  EngineOnSim scene;
  scene.add(scene.fifo_callback("a", 25, 80, budget(2, 10, OnOverrun::kNotify)));
  scene.add(scene.fifo_callback("b", 1, 50));
  EXPECT_EQ(scene.run(60, {{0, "a"}, {1, "b"}}), (Lines{"0-0-25 a", "1-25-26 b"}));
  EXPECT_EQ(scene.statistics("a").over_budget, 3U);
  EXPECT_EQ(
    scene.told(),
    Lines{"a needs more than its budget of 2000 us of CPU time in 10000 us (on_overrun: notify)"});
}

TEST(Budget, is_told_while_the_job_goes_on)
{
  EngineOnSim scene;
  bool is_told = false;
  scene.add(scene.fifo_callback("a", 100, 80, budget(2, 10)));
  scene.run(50, {{0, "a"}}, [&] {
    scene.until(11);
    is_told = !scene.told().empty();
  });
  EXPECT_TRUE(is_told);
}

// ---- Together with the engine's other rules

TEST(Budget, another_callback_of_the_group_lends_what_it_needs_and_no_more)
{
  EngineOnSim scene;
  scene.add(scene.fifo_callback("a", 10, 80, budget(2, 100)), "group");
  scene.add(scene.fifo_callback("mate", 1, 60), "group");
  scene.add(scene.fifo_callback("below", 5, 50));
  scene.add(scene.fifo_callback("above", 5, 70));
  EXPECT_EQ(
    scene.run(100, {{0, "a"}, {3, "mate"}, {3, "below"}, {4, "above"}}),
    (Lines{"0-0-15 a", "4-4-9 above", "3-9-21 below", "3-15-16 mate"}));
  EXPECT_EQ(
    scene.sim.schedule(),
    (Lines{
      "0-4ms cpu0 rclrt worker 0",  // from 3 on as urgent as mate
      "4-9ms cpu0 rclrt worker 2", "9-16ms cpu0 rclrt worker 0", "16-21ms cpu0 rclrt worker 2"}));
}

TEST(Budget, is_whole_for_a_job_that_begins_before_the_enforcer_has_looked)
{
  EngineOnSim scene;
  scene.add(scene.fifo_callback("a", 3, 80, budget(2, 10)));
  scene.add(scene.fifo_callback("b", 10, 50));
  at_each_look(scene, [&] {
    if (scene.sim.now() > at_ms(1) && scene.sim.now() < at_ms(30)) {
      scene.until(30);  // it gets no CPU
    }
  });
  EXPECT_EQ(
    scene.run(60, {{0, "a"}, {12, "a"}, {13, "b"}}),
    (Lines{"0-0-3 a", "12-12-15 a", "13-15-25 b"}));
}

TEST(Budget, holds_where_locks_are_preempted_and_calls_take_time)
{
  EngineOnSim scene;
  scene.add_tick();
  scene.add(scene.fifo_callback("runaway", 300, 80, budget(5, 20)));
  SimPlatform::Locks locks;
  locks.preemptible = true;
  scene.sim.set_locks(locks);
  SimPlatform::Costs costs;
  costs.lock_section = microseconds(5);
  costs.apply = costs.wake_one = costs.wait = microseconds(10);
  scene.sim.set_costs(costs);
  scene.run(200, {{5, "runaway"}});
  EXPECT_EQ(scene.statistics("tick").skipped, 0U);
}

// ---- The enforcer

TEST(Budget, is_enforced_by_a_thread_just_above_the_callback_and_by_none_if_there_is_no_budget)
{
  for (const bool has_budget : {true, false}) {
    EngineOnSim scene;
    scene.add(scene.fifo_callback("a", 1, 33, has_budget ? budget(2, 10) : Budget()));
    scene.add(scene.fifo_callback("b", 1, 44));
    int priority = 0;
    at_each_look(scene, [&] { priority = scene.in_force().priority; });
    scene.run(20, {{1, "a"}, {12, "a"}}, [&] {
      scene.until(10);
      EXPECT_EQ(priority, has_budget ? 34 : 0);
      EXPECT_TRUE(scene.engine.set_attributes(scene.callbacks["a"], fifo(60)).ok());
    });
    EXPECT_EQ(priority, has_budget ? 61 : 0);
  }
}

TEST(Budget, of_a_callback_that_inherits_is_enforced_from_above_all_others)
{
  EngineOnSim scene;
  CallbackOptions a = scene.fifo_callback("a", 1, 33, budget(2, 10));
  a.inherit_priority = true;
  scene.add(a);
  scene.add(scene.fifo_callback("b", 1, 44));
  int priority = 0;
  at_each_look(scene, [&] { priority = scene.in_force().priority; });
  scene.run(20, {{1, "a"}, {12, "a"}}, [&] {
    scene.until(10);
    EXPECT_EQ(priority, 45);
    scene.add(scene.fifo_callback("c", 1, 55));
  });
  EXPECT_EQ(priority, 56);
}

TEST(Budget, is_enforced_from_above_the_deadlines_that_a_scheduler_orders_from_now_on)
{
  EngineOnSim scene;
  CallbackOptions a = scene.ext_callback("a", 0, 20, budget(2, 100));
  scene.add(a);
  scene.add(scene.fifo_callback("b", 1, 20));
  const Lines jobs = scene.run(60, {{12, "a"}, {14, "b"}}, [&] {
    scene.until(10);
    // Nobody ordered it, so it was refused.
    ASSERT_TRUE(scene.engine.set_attributes(scene.callbacks["a"], a.attributes).ok());
    std::shared_ptr<FifoBands> bands;
    ASSERT_TRUE(FifoBands::make(scene.sim, FifoBandsOptions(), &bands).ok());
    ASSERT_TRUE(scene.engine.set_deadline_scheduler(bands).ok());
  });
  EXPECT_EQ(jobs, (Lines{"12-12-33 a", "14-14-15 b"}));
}

TEST(Budget, is_whole_again_in_the_next_spin)
{
  EngineOnSim scene;
  scene.add(scene.fifo_callback("a", 5, 80, budget(2, 1000)));
  scene.add(scene.fifo_callback("b", 5, 50));
  scene.run(20, {{0, "a"}});
  EXPECT_EQ(scene.run(50, {{21, "b"}, {22, "a"}}), (Lines{"21-21-28 b", "22-22-31 a"}));
}

TEST(Budget, is_only_counted_where_attributes_are_off)
{
  EngineOptions options;
  options.attributes_mode = AttributesMode::kOff;
  EngineOnSim scene(options);
  scene.add(scene.fifo_callback("a", 5, 80, budget(2, 10)));
  scene.run(20, {{0, "a"}});
  EXPECT_EQ(scene.statistics("a").over_budget, 1U);
  EXPECT_EQ(scene.told().size(), 1U);
  for (const std::string & line : scene.sim.schedule()) {
    EXPECT_EQ(line.find("rclrt budgets"), std::string::npos) << "nobody enforces";
  }
  options.max_threads = 1;
  EngineOnSim queue(options);
  queue.add(queue.fifo_callback("a", 5, 80, budget(2, 100)));
  queue.add(queue.fifo_callback("b", 5, 50));
  EXPECT_EQ(
    queue.run(50, {{0, "a"}, {1, "b"}, {6, "a"}, {7, "b"}}),
    (Lines{"0-0-5 a", "1-5-10 b", "6-10-15 a", "7-15-20 b"}));
}

TEST(Budget, is_a_finding_or_an_error_if_its_enforcer_is_refused)
{
  for (const AttributesMode mode : {AttributesMode::kPrefer, AttributesMode::kRequire}) {
    EngineOptions options;
    options.attributes_mode = mode;
    EngineOnSim scene(options);
    CallbackOptions a = scene.fifo_callback("a", 1, 80, budget(2, 10));
    a.attributes.scheduling_policy = SchedulingPolicy::kRoundRobin;
    scene.add(a);
    ASSERT_TRUE(scene.engine.set_timer_thread({}).ok());
    scene.sim.refuse({SchedulingPolicy::kFifo});
    scene.run(20, {{0, "a"}});
    EXPECT_EQ(scene.spin_status.ok(), mode == AttributesMode::kPrefer);
    const std::string text =
      mode == AttributesMode::kPrefer ? scene.told().front() : scene.spin_status.message();
    EXPECT_NE(text.find("the thread that enforces budgets"), std::string::npos) << text;
  }
}

TEST(Budget, of_a_callback_with_the_highest_priority_is_a_finding)
{
  EngineOnSim scene;
  scene.add(scene.fifo_callback("a", 1, 99, budget(2, 10)));
  scene.run(20);
  ASSERT_EQ(scene.told().size(), 1U);
  EXPECT_NE(scene.told().front().find("priority 99"), std::string::npos);
}

// ---- What is refused

TEST(Budget, that_cannot_hold_is_refused_with_its_reason)
{
  EngineOnSim scene;
  const struct
  {
    Budget budget;
    const char * reason;
  } cases[] = {
    {budget(11, 10), "runtime is 11000 us, must be 100 us to the period, 10000 us"},
    {budget(0, 10), "runtime is 0 us, must be 100 us to the period, 10000 us"},
    {budget(1, 0), "period is 0 us, must be at least 1000 us"},
    {budget(-1, -1), "period is -1000 us, must be at least 1000 us"}};
  for (const auto & [its, reason] : cases) {
    EXPECT_EQ(
      scene.refusal(scene.fifo_callback("a", 1, 80, its)),
      std::string("callback 'a': the budget's ") + reason);
  }
  CallbackOptions is_inline = scene.fifo_callback("a", 1, 80, budget(2, 10));
  is_inline.inline_bound = milliseconds(1);
  EXPECT_NE(scene.refusal(is_inline).find("cannot have a budget"), std::string::npos);
  CallbackOptions deadline = scene.fifo_callback("a", 1, 0, budget(2, 10));
  deadline.attributes = os_deadline();
  EXPECT_NE(scene.refusal(deadline).find("has a budget already"), std::string::npos);
  const auto b = scene.add(scene.fifo_callback("b", 1, 80, budget(2, 10)));
  EXPECT_FALSE(scene.engine.set_attributes(b, os_deadline()).ok());
}

}  // namespace
}  // namespace rclrt_core
