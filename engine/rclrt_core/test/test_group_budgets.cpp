// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Budgets that the callbacks of a group share, in virtual time.

#include "budget_scene.hpp"

namespace rclrt_core
{
namespace
{

std::vector<EngineOptions> every_model()
{
  std::vector<EngineOptions> all(4);
  all[0].model = ExecutionModel::kPool;
  all[1].model = ExecutionModel::kIsolated;
  all[2].model = all[3].model = ExecutionModel::kEvents;
  all[3].release_and_execute = true;
  return all;
}

std::string name_of(const EngineOptions & options)
{
  return std::string(to_string(options.model)) +
         (options.release_and_execute ? ", timers run" : "");
}

TEST(GroupBudget, is_shared_by_its_callbacks)
{
  Scene scene;
  scene.group("group", 1, budget(3, 20));
  scene.add(scene.options("a", 80, 2), "group");
  scene.add(scene.options("mate", 70, 2), "group");
  scene.add(scene.options("b", 50, 30));
  // 2 ms of a, 1 of mate. The other one in the next period.
  EXPECT_EQ(
    scene.run(60, {{0, "a"}, {0, "mate"}, {0, "b"}}),
    (Lines{"0-0-2 a", "0-2-21 mate", "0-3-34 b"}));
  EXPECT_EQ(scene.statistics("a").over_budget, 0U);
  EXPECT_EQ(scene.statistics("mate").over_budget, 1U);
  EXPECT_EQ(
    scene.told(), Lines{"group 'group' needs more than its budget of 3000 us of CPU time in 20000 "
                        "us (on_overrun: demote), seen in a job of mate"});
}

TEST(GroupBudget, that_is_enough_changes_nothing)
{
  Lines jobs[2];
  for (const bool has_budget : {false, true}) {
    Scene scene;
    scene.add_tick();
    scene.group("group", 1, has_budget ? budget(5, 10) : Budget());
    scene.add(scene.options("a", 80, 3), "group");
    scene.add(scene.options("mate", 70, 1), "group");
    jobs[has_budget] =
      scene.run(100, {{0, "a"}, {0, "mate"}, {15, "a"}, {33, "mate"}, {33, "a"}, {47, "a"}});
    EXPECT_TRUE(scene.told().empty());
  }
  EXPECT_EQ(jobs[true], jobs[false]);
  EXPECT_FALSE(jobs[true].empty());
}

// A callback that does not end holds up its group. With a budget of its own it is lent the priority of what waits for
// it: that is the other callback's fault no more than the program's.
TEST(GroupBudget, of_a_runaway_with_a_callback_that_waits_for_it_takes_no_deadline_of_the_others)
{
  for (const bool is_of_the_group : {true, false}) {
    Scene scene;
    scene.add_tick();
    scene.group("group", 1, is_of_the_group ? budget(5, 20) : Budget());
    const Budget own = is_of_the_group ? Budget() : budget(5, 20);
    scene.add(scene.options("runaway", 80, 500, own), "group");
    scene.add(scene.options("mate", 90, 1, own), "group");
    scene.run(400, {{5, "runaway"}, {30, "mate"}});
    if (is_of_the_group) {
      EXPECT_EQ(scene.statistics("tick").skipped, 0U);
    } else {
      EXPECT_GT(scene.statistics("tick").skipped, 30U);
    }
  }
}

TEST(
  GroupBudget, that_is_used_up_puts_all_that_waits_behind_the_others_in_the_order_in_which_it_was)
{
  EngineOptions options;
  options.max_threads = 1;
  Scene scene(options);
  scene.group("group", 1, budget(2, 100));
  scene.add(scene.options("a", 80, 2), "group");
  scene.add(scene.options("low", 60, 1), "group");
  scene.add(scene.options("high", 70, 1), "group");
  scene.add(scene.options("b", 50, 3));
  // What is released after that, too.
  EXPECT_EQ(
    scene.run(60, {{0, "a"}, {1, "low"}, {1, "high"}, {1, "b"}, {3, "a"}, {4, "b"}}),
    (Lines{"0-0-2 a", "1-2-5 b", "4-5-8 b", "3-8-10 a", "1-10-11 high", "1-11-12 low"}));
}

TEST(GroupBudget, leaves_what_is_less_urgent_than_the_background_where_it_was)
{
  EngineOptions options;
  options.max_threads = 1;
  Scene scene(options);
  scene.group("group", 1, budget(2, 100));
  scene.add(scene.options("a", 80, 2), "group");
  CallbackOptions nice = scene.options("nice", 0, 1);
  nice.attributes = Attributes();
  nice.attributes.policy = SchedulingPolicy::kOther;
  nice.attributes.nice = 10;
  scene.add(nice, "group");
  CallbackOptions plain = scene.options("plain", 0, 1);
  plain.attributes = Attributes();
  scene.add(plain);
  EXPECT_EQ(
    scene.run(60, {{0, "a"}, {1, "nice"}, {1, "plain"}}),
    (Lines{"0-0-2 a", "1-2-3 plain", "1-3-4 nice"}));
}

TEST(GroupBudget, is_whole_in_the_next_period_for_all_that_waits)
{
  Scene scene;
  scene.group("group", 1, budget(3, 20));
  scene.add(scene.options("a", 80, 3), "group");
  scene.add(scene.options("mate", 70, 1), "group");
  scene.add(scene.options("other", 60, 1), "group");
  scene.add(scene.options("b", 50, 40));
  EXPECT_EQ(
    scene.run(100, {{0, "a"}, {4, "b"}, {5, "other"}, {6, "mate"}}),
    (Lines{"0-0-3 a", "4-4-46 b", "6-20-21 mate", "5-21-22 other"}));
  EXPECT_TRUE(scene.told().empty()) << "none needed more";
}

TEST(GroupBudget, is_shared_by_jobs_that_run_at_the_same_time)
{
  Scene scene(EngineOptions(), 2);
  scene.group("reentrant", 2, budget(4, 100));
  scene.add(scene.options("x", 80, 10), "reentrant");
  scene.add(scene.options("y", 70, 10), "reentrant");
  scene.add(scene.options("b", 50, 5));
  scene.add(scene.options("c", 50, 5));
  EXPECT_EQ(
    scene.run(100, {{0, "x"}, {0, "y"}, {1, "b"}, {1, "c"}}),
    (Lines{"0-0-15 x", "0-0-15 y", "1-2-7 b", "1-2-7 c"}));
  EXPECT_EQ(scene.statistics("x").over_budget + scene.statistics("y").over_budget, 1U);
}

TEST(GroupBudget, holds_for_timers_and_others_in_every_model)
{
  for (const EngineOptions & options : every_model()) {
    Scene scene(options);
    scene.group("group", 1, budget(2, 50));
    TimerOptions timer;
    timer.period = milliseconds(50);
    scene.add_timer(scene.options("timer", 80, 4), timer, "group");
    scene.add(scene.options("a", 80, 3), "group");
    bool is_late = true;
    std::unique_ptr<Thread> other;
    // Of 45 ms to 95 ms there are 2 for a, and none for the timer.
    scene.run(120, {{45, "a"}}, [&] {
      scene.start(
        "other", fifo(50),
        [&] {
          scene.sim.sleep_until(at_ms(46));
          scene.sim.work(milliseconds(30));
          is_late = scene.sim.now() > at_ms(77);
        },
        &other);
    });
    other->join();
    EXPECT_FALSE(is_late) << name_of(options);
    EXPECT_GT(scene.statistics("a").over_budget + scene.statistics("timer").over_budget, 0U)
      << name_of(options);
  }
}

TEST(GroupBudget, a_timer_that_waits_is_urgent_again_in_the_next_period_in_every_model)
{
  for (const EngineOptions & options : every_model()) {
    Scene scene(options);
    scene.group("group", 1, budget(2, 50));
    TimerOptions timer;
    timer.period = milliseconds(50);
    timer.one_shot = true;
    scene.add_timer(scene.options("timer", 80, 1), timer, "group");
    scene.add(scene.options("a", 80, 2), "group");
    std::unique_ptr<Thread> other;
    const Lines jobs = scene.run(150, {{45, "a"}}, [&] {
      scene.start(
        "other", fifo(50),
        [&] {
          scene.sim.sleep_until(at_ms(48));
          scene.sim.work(milliseconds(80));
        },
        &other);
    });
    other->join();
    EXPECT_EQ(jobs, (Lines{"45-45-47 a", "50-95-96 timer"})) << name_of(options);
  }
}

TEST(GroupBudget, that_is_used_up_puts_a_timer_that_waits_for_the_thread_of_timers_behind_others)
{
  for (const bool is_used_up : {true, false}) {
    Scene scene(every_model().back(), 2);
    scene.group("reentrant", 2, budget(2, 100));
    scene.add(scene.options("a", 80, is_used_up ? 3 : 1), "reentrant");
    TimerOptions timer;
    timer.period = milliseconds(50);
    timer.one_shot = true;
    scene.add_timer(scene.options("first", 90, 5), timer);
    scene.add_timer(scene.options("of the group", 70, 1), timer, "reentrant");
    scene.add_timer(scene.options("other", 60, 1), timer);
    const Lines jobs = scene.run(90, {{50, "a"}});
    ASSERT_EQ(jobs.size(), 4U);
    EXPECT_EQ(jobs[2], is_used_up ? "50-55-56 other" : "50-55-56 of the group");
  }
}

TEST(GroupBudget, is_whole_in_the_next_period_also_when_one_of_its_callbacks_has_gone)
{
  Scene scene;
  scene.group("group", 1, budget(3, 20));
  scene.add(scene.options("a", 80, 3), "group");
  scene.add(scene.options("mate", 70, 1), "group");
  scene.add(scene.options("b", 50, 40));
  const Lines jobs = scene.run(100, {{0, "a"}, {4, "b"}, {5, "mate"}}, [&] {
    scene.sim.sleep_until(at_ms(10));  // it is demoted
    scene.engine.remove(scene.callbacks["a"]);
  });
  EXPECT_EQ(jobs, (Lines{"0-0-3 a", "4-4-45 b", "5-20-21 mate"}));
}

TEST(GroupBudget, holds_under_deadlines_of_absolute_time)
{
  for (const bool has_budget : {false, true}) {
    Scene scene(1, EngineOptions());
    scene.group("group", 1, has_budget ? budget(2, 20) : Budget());
    const auto with_deadline = [&](const char * name, int64_t work_ms, int64_t deadline_ms) {
      CallbackOptions options = scene.options(name, 0, work_ms);
      options.attributes = Attributes();
      options.attributes.policy = SchedulingPolicy::kExt;
      options.relative_deadline = milliseconds(deadline_ms);
      return options;
    };
    scene.add(with_deadline("a", 15, 10), "group");
    scene.add(with_deadline("mate", 15, 10), "group");
    scene.add(with_deadline("b", 3, 20));
    scene.run(100, {{0, "a"}, {0, "mate"}, {1, "b"}, {21, "b"}});
    EXPECT_EQ(scene.statistics("b").deadline_misses > 0, !has_budget);
    EXPECT_EQ(scene.statistics("a").executed + scene.statistics("mate").executed, 2U);
  }
}

TEST(GroupBudget, of_a_group_that_comes_back_is_whole_again)
{
  Scene scene;
  const auto group = scene.group("group", 1, budget(2, 1000));
  scene.add(scene.options("a", 80, 3), "group");
  scene.add(scene.options("b", 50, 20));
  const Lines jobs = scene.run(60, {{0, "a"}, {20, "b"}, {21, "a"}}, [&] {
    scene.sim.sleep_until(at_ms(10));  // it is demoted
    scene.engine.remove(scene.callbacks["a"]);
    ASSERT_TRUE(scene.engine.remove_group(group).ok());
    ASSERT_TRUE(scene.engine.add_group_again(group).ok());
    scene.add(scene.options("a", 80, 2), "group");
  });
  EXPECT_EQ(jobs.back(), "21-21-23 a");
}

TEST(GroupBudget, of_a_group_that_comes_back_is_whole_in_the_next_period_too)
{
  Scene scene;
  const auto group = scene.group("group", 1, budget(2, 20));
  scene.add(scene.options("a", 80, 2), "group");
  scene.add(scene.options("b", 50, 40));
  const Lines jobs = scene.run(100, {{20, "a"}, {23, "b"}, {24, "a"}}, [&] {
    scene.sim.sleep_until(at_ms(10));
    scene.engine.remove(scene.callbacks["a"]);
    ASSERT_TRUE(scene.engine.remove_group(group).ok());
    ASSERT_TRUE(scene.engine.add_group_again(group).ok());
    scene.add(scene.options("a", 80, 2), "group");
  });
  EXPECT_EQ(jobs, (Lines{"20-20-22 a", "23-23-65 b", "24-40-42 a"}));
}

TEST(GroupBudget, of_a_group_that_is_gone_is_not_looked_at)
{
  Scene scene;
  std::weak_ptr<Group> group = scene.group("group", 1, budget(2, 20));
  scene.add(scene.options("a", 80, 3), "group");
  scene.run(60, {{0, "a"}}, [&] {
    scene.sim.sleep_until(at_ms(10));  // it is demoted
    scene.engine.remove(scene.callbacks["a"]);
    scene.callbacks.erase("a");
    ASSERT_TRUE(scene.engine.remove_group(group.lock()).ok());
    scene.forget_group("group");
  });
  EXPECT_TRUE(group.expired());
}

// Its last job uses up the budget when nobody knows the group any more.
TEST(GroupBudget, of_a_group_that_goes_while_its_job_runs_is_still_kept)
{
  Scene scene;
  scene.add_tick();
  std::weak_ptr<Group> group = scene.group("group", 1, budget(5, 40));
  scene.add(scene.options("runaway", 80, 100), "group");
  scene.run(300, {{5, "runaway"}}, [&] {
    scene.sim.sleep_until(at_ms(7));
    scene.engine.remove(scene.callbacks["runaway"]);
    scene.callbacks.erase("runaway");
    ASSERT_TRUE(scene.engine.remove_group(group.lock()).ok());
    scene.forget_group("group");
    EXPECT_FALSE(group.expired()) << "the job has it";
  });
  EXPECT_TRUE(group.expired());
  EXPECT_EQ(scene.statistics("tick").skipped, 0U);
}

TEST(GroupBudget, of_a_group_without_callbacks_is_watched_by_nobody_until_one_comes)
{
  Scene scene;
  scene.add_tick();
  scene.group("group", 1, budget(5, 20));
  scene.run(300, {}, [&] {
    scene.sim.sleep_until(at_ms(5));
    for (const std::string & line : scene.sim.schedule()) {
      EXPECT_EQ(line.find("rclrt budgets"), std::string::npos) << line;
    }
    scene.add(scene.options("runaway", 80, 200), "group");
    scene.engine.notify(*scene.callbacks["runaway"]);
  });
  EXPECT_EQ(scene.statistics("tick").skipped, 0U);
}

TEST(GroupBudget, that_cannot_hold_is_refused_with_its_reason)
{
  Scene scene;
  const auto of_group = [&](const Budget & its_budget) {
    GroupOptions options;
    options.name = "g";
    options.budget = its_budget;
    std::shared_ptr<Group> group;
    return scene.engine.add_group(options, &group).message();
  };
  EXPECT_EQ(
    of_group(budget(11, 10)),
    "group 'g': the budget's runtime is 11000 us, must be 100 us to the period, 10000 us");

  const auto group = scene.group("group", 1, budget(5, 20));
  const auto of_callback = [&](CallbackOptions options) {
    std::shared_ptr<Callback> callback;
    return scene.engine.add_callback(std::move(options), group, &callback).message();
  };
  EXPECT_EQ(
    of_callback(scene.options("a", 80, 1, budget(1, 10))),
    "callback 'a': its group 'group' has a budget, which all of its callbacks share; remove one of "
    "the two");
  CallbackOptions is_inline = scene.options("a", 80, 1);
  is_inline.inline_bound = milliseconds(1);
  EXPECT_NE(of_callback(is_inline).find("'group' cannot have a budget"), std::string::npos);
  CallbackOptions deadline = scene.options("a", 0, 1);
  deadline.attributes.policy = SchedulingPolicy::kDeadline;
  deadline.attributes.runtime = milliseconds(1);
  deadline.attributes.deadline = deadline.attributes.period = milliseconds(10);
  EXPECT_NE(of_callback(deadline).find("has a budget already"), std::string::npos);
  const auto b = scene.add(scene.options("b", 80, 1), "group");
  EXPECT_FALSE(scene.engine.set_attributes(b, deadline.attributes).ok());
}

}  // namespace
}  // namespace rclrt_core
