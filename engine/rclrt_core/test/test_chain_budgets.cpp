// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Budgets that the callbacks of a chain share, in virtual time.

#include "budget_scene.hpp"

namespace rclrt_core
{
namespace
{

/// "a" publishes to "b" when it has worked, that to "c" (unless told otherwise), each in a group of its own.
class ChainScene : public Scene
{
public:
  using Scene::Scene;

  CallbackOptions link(
    const std::string & name, int priority, int64_t work_ms, const Budget & of_chain,
    const std::string & next = "")
  {
    CallbackOptions link = options(name, priority, work_ms, of_chain);
    link.kind = CallbackKind::kSubscription;
    link.chain = "chain";
    link.run = [this, work_ms, next](const Job &) {
      sim.work(milliseconds(work_ms));
      if (!next.empty()) {
        engine.notify(*callbacks.at(next));
      }
      return true;
    };
    return link;
  }
};

TEST(ChainBudget, is_shared_by_its_callbacks)
{
  ChainScene scene;
  scene.add(scene.link("a", 80, 2, budget(3, 20), "b"));
  scene.add(scene.link("b", 70, 2, budget(3, 20)));
  scene.add(scene.options("other", 50, 30));
  EXPECT_EQ(
    scene.run(60, {{0, "a"}, {0, "other"}}), (Lines{"0-0-2 a", "2-2-21 b", "0-3-34 other"}));
  EXPECT_EQ(scene.statistics("a").over_budget, 0U);
  EXPECT_EQ(scene.statistics("b").over_budget, 1U);
  EXPECT_EQ(
    scene.told(), Lines{"chain 'chain' needs more than its budget of 3000 us of CPU time in 20000 "
                        "us (on_overrun: demote), seen in a job of b"});
}

TEST(ChainBudget, that_is_enough_changes_nothing)
{
  Lines jobs[2];
  for (const bool has_budget : {false, true}) {
    ChainScene scene;
    scene.add_tick();
    for (const char * name : {"a", "b"}) {
      CallbackOptions options =
        scene.link(name, 80, 2, has_budget ? budget(5, 10) : Budget(), *name == 'a' ? "b" : "");
      options.chain = has_budget ? "chain" : "";
      scene.add(options);
    }
    jobs[has_budget] = scene.run(100, {{0, "a"}, {15, "a"}, {33, "a"}, {47, "a"}});
    EXPECT_TRUE(scene.told().empty());
  }
  EXPECT_EQ(jobs[true], jobs[false]);
  EXPECT_FALSE(jobs[true].empty());
}

TEST(ChainBudget, of_a_runaway_demotes_what_waits_in_every_group_and_lends_it_nothing)
{
  for (const bool is_shared : {true, false}) {
    ChainScene scene;
    scene.add_tick();
    CallbackOptions runaway = scene.link("runaway", 80, 500, budget(5, 20));
    CallbackOptions mate = scene.link("mate", 90, 1, budget(5, 20));
    mate.chain = is_shared ? "chain" : "";  // else it has as much of its own
    scene.add(runaway, "group");
    scene.add(mate, "group");
    scene.run(400, {{5, "runaway"}, {30, "mate"}});
    EXPECT_EQ(scene.statistics("tick").skipped == 0, is_shared);
  }
}

TEST(ChainBudget, that_is_used_up_puts_all_its_callbacks_behind_the_others_until_the_period_ends)
{
  EngineOptions options;
  options.max_threads = 1;
  ChainScene scene(options);
  scene.add(scene.link("a", 80, 2, budget(2, 20)));
  scene.add(scene.link("x", 60, 1, budget(2, 20)), "mixed");
  scene.add(scene.link("y", 70, 1, budget(2, 20)), "mixed");
  scene.add(scene.options("m", 65, 1), "mixed");
  scene.add(scene.options("b", 50, 3));
  EXPECT_EQ(
    scene.run(80, {{0, "a"}, {1, "x"}, {1, "y"}, {1, "m"}, {1, "b"}, {24, "b"}, {24, "y"}}),
    (Lines{"0-0-2 a", "1-2-3 m", "1-3-6 b", "1-6-7 y", "1-7-8 x", "24-24-25 y", "24-25-28 b"}))
    << "demoted, x and y are in the order of the executor's policy";
}

TEST(ChainBudget, makes_all_that_waits_urgent_again_in_the_next_period)
{
  ChainScene scene;
  scene.add(scene.link("a", 80, 20, budget(20, 40)));
  for (int i = 0; i < 15; ++i) {
    scene.add(scene.link("link " + std::to_string(i), 70 - i, 1, budget(20, 40)));
  }
  scene.add(scene.options("b", 50, 60));
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
  scene.add(scene.options("b", 50, 20));
  const Lines jobs = scene.run(60, {{0, "a"}, {20, "b"}, {21, "a"}}, [&] {
    scene.sim.sleep_until(at_ms(10));  // it is demoted
    scene.engine.remove(scene.callbacks["a"]);
    scene.add(scene.link("a", 80, 2, budget(2, 1000)));
  });
  EXPECT_EQ(jobs.back(), "21-21-23 a");
}

TEST(ChainBudget, stays_used_up_when_one_of_its_callbacks_goes)
{
  ChainScene scene;
  scene.add(scene.link("a", 80, 3, budget(3, 30)));
  scene.add(scene.link("mate", 70, 1, budget(3, 30)));
  scene.add(scene.options("b", 50, 40));
  const Lines jobs = scene.run(100, {{0, "a"}, {4, "b"}, {5, "mate"}}, [&] {
    scene.sim.sleep_until(at_ms(10));
    scene.engine.remove(scene.callbacks["a"]);
  });
  EXPECT_EQ(jobs, (Lines{"0-0-3 a", "4-4-45 b", "5-30-31 mate"}));
}

// Its last job uses up the budget when the chain has no callback any more.
TEST(ChainBudget, of_a_chain_that_goes_while_its_job_runs_is_still_kept)
{
  ChainScene scene;
  scene.add_tick();
  scene.add(scene.link("runaway", 80, 100, budget(5, 40)));
  scene.run(300, {{5, "runaway"}}, [&] {
    scene.sim.sleep_until(at_ms(7));
    scene.engine.remove(scene.callbacks["runaway"]);
    scene.callbacks.erase("runaway");
  });
  EXPECT_EQ(scene.statistics("tick").skipped, 0U);
}

TEST(ChainBudget, that_cannot_hold_is_refused_with_its_reason)
{
  ChainScene scene;
  const auto refused = [&](CallbackOptions options) {
    std::shared_ptr<Callback> callback;
    return scene.engine.add_callback(std::move(options), scene.group("g"), &callback).message();
  };
  CallbackOptions none = scene.link("a", 80, 1, {});
  EXPECT_EQ(
    refused(none), "callback 'a': names the chain 'chain' without its budget; give both or none");
  Budget elastic = budget(1, 10);
  elastic.criticality = Criticality::kLow;
  elastic.max_period = milliseconds(20);
  EXPECT_NE(
    refused(scene.link("a", 80, 1, elastic)).find("max_period is for the budget of a timer"),
    std::string::npos);
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
  std::shared_ptr<Callback> callback;
  EXPECT_FALSE(
    scene.engine
      .add_callback(scene.link("b", 80, 1, budget(1, 10)), scene.group("with budget"), &callback)
      .ok());
}

}  // namespace
}  // namespace rclrt_core
