// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Budgets that the callbacks of a group or of a chain share, in virtual time.

#include "scenes.hpp"

namespace rclrt_core
{
namespace
{

const std::vector<std::string> kEveryModel = {
  "preemptive", "isolated", "priority_events", "priority_events, executes"};

TEST(GroupBudget, is_shared_by_its_callbacks)
{
  EngineOnSim scene;
  scene.group("group", 1, budget(3, 20));
  scene.add(scene.fifo_callback("a", 2, 80), "group");
  scene.add(scene.fifo_callback("mate", 2, 70), "group");
  scene.add(scene.fifo_callback("b", 30, 50));
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

TEST(AnyBudget, that_is_enough_changes_nothing)
{
  const std::pair<const char *, const char *> callbacks_without_and_with[] = {
    {"tick, a 3 80", "tick, a 3 80 budget 4/10"},
    {"tick, a 3 80 in g, mate 1 70 in g",
     "tick, group g 1 budget 5/10, a 3 80 in g, mate 1 70 in g"},
    {"tick, a 2 80 then mate, mate 2 80",
     "tick, a 2 80 then mate budget 5/10 chain, mate 2 80 budget 5/10 chain"}};
  for (const auto & [without, with] : callbacks_without_and_with) {
    const bool is_group = std::string(with).find("group") != std::string::npos;
    const std::string arrivals =
      is_group ? "0 a, 0 mate, 15 a, 33 mate, 33 a, 47 a" : "0 a, 15 a, 33 a, 47 a";
    const Played free({"", "until 100", without, arrivals, ""});
    const Played bound({"", "until 100", with, arrivals, ""});
    EXPECT_EQ(bound.jobs, free.jobs);
    EXPECT_FALSE(bound.jobs.empty());
    EXPECT_TRUE(bound.engine->told().empty());
    EXPECT_EQ(bound.engine->statistics("a").over_budget, 0U);
  }
}

TEST(GroupBudget, decides_who_runs_when)
{
  expect({
    {"that is used up puts all that waits, and what is released then, behind the others, in order",
     "threads 1", "group g 1 budget 2/100, a 2 80 in g, low 1 60 in g, high 1 70 in g, b 3 50",
     "0 a, 1 low, 1 high, 1 b, 3 a, 4 b",
     "0-0-2 a, 1-2-5 b, 4-5-8 b, 3-8-10 a, 1-10-11 high, 1-11-12 low"},
    {"is whole in the next period for all that waits", "",
     "group g 1 budget 3/20, a 3 80 in g, mate 1 70 in g, other 1 60 in g, b 40 50",
     "0 a, 4 b, 5 other, 6 mate", "0-0-3 a, 4-4-46 b, 6-20-21 mate, 5-21-22 other",
     "a over_budget 0, mate over_budget 0, other over_budget 0"},
    {"is shared by jobs that run at the same time", "cpus 2",
     "group g 2 budget 4/100, x 10 80 in g, y 10 70 in g, b 5 50, c 5 50", "0 x, 0 y, 1 b, 1 c",
     "0-0-15 x, 0-0-15 y, 1-2-7 b, 1-2-7 c"},
    {"is whole in the next period also when one of its callbacks, demoted, has gone", "until 100",
     "group g 1 budget 3/20, a 3 80 in g, mate 1 70 in g, b 40 50", "0 a, 4 b, 5 mate, 10 remove a",
     "0-0-3 a, 4-4-45 b, 5-20-21 mate"},
    {"leaves what is less urgent than the background where it was", "threads 1, until 60",
     "group g 1 budget 2/100, a 2 80 in g, nice 1 0 nice 10 in g, plain 1 0",
     "0 a, 1 nice, 1 plain", "0-0-2 a, 1-2-3 plain, 1-3-4 nice"},
    // A callback that does not end holds up its group. With a budget of its own it is lent the priority of what
    // waits for it: that is the other callback's fault no more than the program's.
    {"of a group with a runaway takes no deadline of the others", "until 400",
     "tick, group g 1 budget 5/20, runaway 500 80 in g, mate 1 90 in g", "5 runaway, 30 mate", "",
     "tick skipped 0"},
    {"of each of the group's callbacks takes many", "until 400",
     "tick, runaway 500 80 in g budget 5/20, mate 1 90 in g budget 5/20", "5 runaway, 30 mate", "",
     "tick skipped 36"},
    {"that is used up puts a timer that waits for the thread of timers behind others",
     "priority_events, executes, cpus 2, until 90",
     "group g 2 budget 2/100, a 3 80 in g, first 5 90 every 50 once, of_g 1 70 in g every 50 once, "
     "other 1 60 every 50 once",
     "50 a", "50-50-53 a, 50-50-55 first, 50-55-56 other, 50-56-57 of_g"},
    {"that is not used up does not", "priority_events, executes, cpus 2, until 90",
     "group g 2 budget 2/100, a 1 80 in g, first 5 90 every 50 once, of_g 1 70 in g every 50 once, "
     "other 1 60 every 50 once",
     "50 a", "50-50-51 a, 50-50-55 first, 50-55-56 of_g, 50-56-57 other"},
    {"holds under deadlines of absolute time", "bands, until 100",
     "group g 1 budget 2/20, a 15 0 ext 10 in g, mate 15 0 ext 10 in g, b 3 0 ext 20",
     "0 a, 0 mate, 1 b, 21 b", "", "b deadline_misses 0, a executed 1, mate executed 1"},
    {"which are missed without one", "bands, until 100",
     "a 15 0 ext 10 in g, mate 15 0 ext 10 in g, b 3 0 ext 20", "0 a, 0 mate, 1 b, 21 b", "",
     "b deadline_misses 1, a executed 1, mate executed 1"},
  });
  expect_on(
    kEveryModel,
    {"a timer that waits is urgent again in the next period", "",
     "group g 1 budget 2/50, timer 1 80 in g every 50 once, a 2 80 in g, stranger 50 48 80", "45 a",
     "45-45-47 a, 50-95-96 timer"});
}

TEST(GroupBudget, holds_for_timers_and_others_in_every_model)
{
  for (const std::string & model : kEveryModel) {
    EngineOnSim scene(Machine(model).options);
    scene.group("group", 1, budget(2, 50));
    scene.add_timer(scene.fifo_callback("timer", 4, 80), every_ms(50), "group");
    scene.add(scene.fifo_callback("a", 3, 80), "group");
    bool is_late = true;
    std::unique_ptr<Thread> other;
    // From 45 ms to 95 ms the group may run for 2 ms. That is for a: nothing is left for the timer.
    scene.run(120, {{45, "a"}}, [&] {
      other = scene.stranger(fifo(50), [&] {
        scene.until(46);
        scene.work(30);
        is_late = scene.sim.now() > at_ms(77);
      });
    });
    EXPECT_FALSE(is_late) << model;
    EXPECT_GT(scene.statistics("a").over_budget + scene.statistics("timer").over_budget, 0U)
      << model;
  }
}

TEST(GroupBudget, of_a_group_that_comes_back_is_whole_again_at_once_and_in_the_next_period)
{
  const struct
  {
    int64_t period_ms, work_ms, work_of_b_ms;
    std::vector<Arrival> arrivals;
    Lines jobs;
  } cases[] = {
    {1000, 3, 20, {{0, "a"}, {20, "b"}, {21, "a"}}, {"0-0-3 ?", "20-20-42 b", "21-21-23 a"}},
    {20, 2, 40, {{20, "a"}, {23, "b"}, {24, "a"}}, {"20-20-22 a", "23-23-65 b", "24-40-42 a"}}};
  for (const auto & c : cases) {
    EngineOnSim scene;
    const auto group = scene.group("group", 1, budget(2, c.period_ms));
    scene.add(scene.fifo_callback("a", c.work_ms, 80), "group");
    scene.add(scene.fifo_callback("b", c.work_of_b_ms, 50));
    const Lines jobs = scene.run(100, c.arrivals, [&] {
      scene.until(10);  // the first time it is demoted
      scene.remove("a");
      ASSERT_TRUE(scene.engine.remove_group(group).ok());
      ASSERT_TRUE(scene.engine.add_group_again(group).ok());
      scene.add(scene.fifo_callback("a", 2, 80), "group");
    });
    EXPECT_EQ(jobs, c.jobs);
  }
}

TEST(GroupBudget, of_a_group_that_is_gone_is_not_looked_at)
{
  EngineOnSim scene;
  std::weak_ptr<Group> group = scene.group("group", 1, budget(2, 20));
  scene.add(scene.fifo_callback("a", 3, 80), "group");
  scene.run(60, {{0, "a"}}, [&] {
    scene.until(10);  // it is demoted
    scene.remove("a");
    scene.callbacks.erase("a");
    ASSERT_TRUE(scene.engine.remove_group(group.lock()).ok());
    scene.forget_group("group");
  });
  EXPECT_TRUE(group.expired());
}

// Its last job uses up the budget when nobody knows the group any more.
TEST(GroupBudget, of_a_group_that_goes_while_its_job_runs_is_still_kept)
{
  EngineOnSim scene;
  scene.add_tick();
  std::weak_ptr<Group> group = scene.group("group", 1, budget(5, 40));
  scene.add(scene.fifo_callback("runaway", 100, 80), "group");
  scene.run(300, {{5, "runaway"}}, [&] {
    scene.until(7);
    scene.remove("runaway");
    scene.callbacks.erase("runaway");
    ASSERT_TRUE(scene.engine.remove_group(group.lock()).ok());
    scene.forget_group("group");
    EXPECT_FALSE(group.expired()) << "the job has it";
  });
  EXPECT_TRUE(group.expired());
  EXPECT_EQ(scene.statistics("tick").skipped, 0U);
}

TEST(GroupBudget, of_a_group_without_callbacks_is_enforced_by_nobody_until_one_comes)
{
  EngineOnSim scene;
  scene.add_tick();
  scene.group("group", 1, budget(5, 20));
  scene.run(300, {}, [&] {
    scene.until(5);
    for (const std::string & line : scene.sim.schedule()) {
      EXPECT_EQ(line.find("rclrt budgets"), std::string::npos) << line;
    }
    scene.add(scene.fifo_callback("runaway", 200, 80), "group");
    scene.notify("runaway");
  });
  EXPECT_EQ(scene.statistics("tick").skipped, 0U);
}

TEST(GroupBudget, that_cannot_hold_is_refused_with_its_reason)
{
  EngineOnSim scene;
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

  scene.group("group", 1, budget(5, 20));
  EXPECT_EQ(
    scene.refusal(scene.fifo_callback("a", 1, 80, budget(1, 10))),
    "callback 'a': its group 'group' has a budget, which all of its callbacks share; remove one of "
    "the two");
  CallbackOptions is_inline = scene.fifo_callback("a", 1, 80);
  is_inline.inline_bound = milliseconds(1);
  EXPECT_NE(scene.refusal(is_inline).find("'group' cannot have a budget"), std::string::npos);
  CallbackOptions deadline = scene.fifo_callback("a", 1, 0);
  deadline.attributes = os_deadline();
  EXPECT_NE(scene.refusal(deadline).find("has a budget already"), std::string::npos);
  const auto b = scene.add(scene.fifo_callback("b", 1, 80), "group");
  EXPECT_FALSE(scene.engine.set_attributes(b, deadline.attributes).ok());
}

// ---- The budget of a chain

/// "a" publishes to "b" when it has worked, that to "c" (unless told otherwise), each in a group of its own.
class ChainScene : public EngineOnSim
{
public:
  using EngineOnSim::EngineOn;

  CallbackOptions link(
    const std::string & name, int priority, int64_t work_ms, const Budget & of_chain,
    const std::string & next = "")
  {
    CallbackOptions link = fifo_callback(name, work_ms, priority, of_chain);
    link.kind = CallbackKind::kSubscription;
    link.chain = "chain";
    return does(std::move(link), [this, work_ms, next] {
      work(work_ms);
      if (!next.empty()) {
        notify(next);
      }
    });
  }
};

TEST(ChainBudget, decides_who_runs_when)
{
  expect({
    {"of a runaway demotes what waits in every group, and lends it nothing", "until 400",
     "tick, runaway 500 80 in g budget 5/20 chain, mate 1 90 in g budget 5/20 chain",
     "5 runaway, 30 mate", "", "tick skipped 0"},
    {"of a runaway alone lends it what waits with a budget of its own", "until 400",
     "tick, runaway 500 80 in g budget 5/20 chain, mate 1 90 in g budget 5/20",
     "5 runaway, 30 mate", "", "tick skipped 36"},
    // Demoted, x and y are in the order of the executor's policy.
    {"that is used up puts all its callbacks behind the others until the period ends",
     "threads 1, until 80",
     "a 2 80 budget 2/20 chain, x 1 60 in mixed budget 2/20 chain, y 1 70 in mixed budget 2/20 "
     "chain, "
     "m 1 65 in mixed, b 3 50",
     "0 a, 1 x, 1 y, 1 m, 1 b, 24 b, 24 y",
     "0-0-2 a, 1-2-3 m, 1-3-6 b, 1-6-7 y, 1-7-8 x, 24-24-25 y, 24-25-28 b"},
    {"stays used up when one of its callbacks goes", "until 100",
     "a 3 80 budget 3/30 chain, mate 1 70 budget 3/30 chain, b 40 50",
     "0 a, 4 b, 5 mate, 10 remove a", "0-0-3 a, 4-4-45 b, 5-30-31 mate"},
    {"that its last job uses up when it has no callback any more is still kept", "until 300",
     "tick, runaway 100 80 budget 5/40 chain", "5 runaway, 7 forget runaway", "", "tick skipped 0"},
  });
}

TEST(ChainBudget, is_shared_by_its_callbacks)
{
  ChainScene scene;
  scene.add(scene.link("a", 80, 2, budget(3, 20), "b"));
  scene.add(scene.link("b", 70, 2, budget(3, 20)));
  scene.add(scene.fifo_callback("other", 30, 50));
  EXPECT_EQ(
    scene.run(60, {{0, "a"}, {0, "other"}}), (Lines{"0-0-2 a", "2-2-21 b", "0-3-34 other"}));
  EXPECT_EQ(scene.statistics("a").over_budget, 0U);
  EXPECT_EQ(scene.statistics("b").over_budget, 1U);
  EXPECT_EQ(
    scene.told(), Lines{"chain 'chain' needs more than its budget of 3000 us of CPU time in 20000 "
                        "us (on_overrun: demote), seen in a job of b"});
}

TEST(ChainBudget, makes_all_that_waits_urgent_again_in_the_next_period)
{
  ChainScene scene;
  scene.add(scene.link("a", 80, 20, budget(20, 40)));
  for (int i = 0; i < 15; ++i) {
    scene.add(scene.link("link " + std::to_string(i), 70 - i, 1, budget(20, 40)));
  }
  scene.add(scene.fifo_callback("b", 60, 50));
  std::vector<Arrival> arrivals = {{0, "a"}, {21, "b"}};
  for (int i = 14; i >= 0; --i) {
    arrivals.push_back({22, "link " + std::to_string(i)});
  }
  scene.run(120, arrivals);
  // In the 15 ms after the end of the period, in their order, and b waits.
  ASSERT_EQ(scene.ran.size(), 17U);
  for (const rclrt_job_record & record : scene.ran) {
    const std::string name = scene.name_of(record.callback);
    if (name.rfind("link ", 0) == 0) {
      EXPECT_EQ(record.end_ns / 1'000'000, 41 + std::stoi(name.substr(5))) << name;
    }
  }
  EXPECT_EQ(scene.ran[1].end_ns / 1'000'000, 96) << "b";
}

// ---- They come and go

TEST(ChainBudget, is_whole_again_when_all_its_callbacks_went_and_one_comes)
{
  ChainScene scene;
  scene.add(scene.link("a", 80, 3, budget(2, 1000)));
  scene.add(scene.fifo_callback("b", 20, 50));
  const Lines jobs = scene.run(60, {{0, "a"}, {20, "b"}, {21, "a"}}, [&] {
    scene.until(10);  // it is demoted
    scene.remove("a");
    scene.add(scene.link("a", 80, 2, budget(2, 1000)));
  });
  EXPECT_EQ(jobs.back(), "21-21-23 a");
}

TEST(ChainBudget, that_cannot_hold_is_refused_with_its_reason)
{
  ChainScene scene;
  const auto refused = [&](CallbackOptions options) { return scene.refusal(options, "g"); };
  CallbackOptions none = scene.link("a", 80, 1, {});
  EXPECT_EQ(
    refused(none), "callback 'a': names the chain 'chain' without its budget; give both or none");
  for (std::size_t i = 0; i < 16; ++i) {
    scene.add(scene.link(std::to_string(i), 80, 1, budget(1, 10)), "g");
  }
  EXPECT_EQ(
    refused(scene.link("a", 80, 1, budget(2, 10))),
    "callback 'a': the chain 'chain' has another budget already; give all its callbacks the same");
  EXPECT_EQ(
    refused(scene.link("a", 80, 1, budget(1, 10))),
    "callback 'a': the chain 'chain' has 16 callbacks here already, and no more can share its "
    "budget. Make two chains of it");
  scene.group("with budget", 1, budget(1, 10));
  EXPECT_NE(scene.refusal(scene.link("b", 80, 1, budget(1, 10)), "with budget"), "");
}

}  // namespace
}  // namespace rclrt_core
