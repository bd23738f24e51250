// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// When a job runs on the thread that brings its work: docs/decisions/0013-inline.md.

#include "inline_scene.hpp"

namespace rclrt_core
{
namespace
{

// ---- When a job runs where its work arrives

TEST(Inline, a_job_runs_on_the_thread_that_brings_its_work_under_every_model)
{
  for (const ExecutionModel model :
       {ExecutionModel::kPool, ExecutionModel::kIsolated, ExecutionModel::kEvents}) {
    Scene scene(with_model(model));
    scene.add({"a", microseconds(100)});
    scene.run([&] { scene.bring("a"); });
    EXPECT_EQ(scene.jobs, (Lines{"1000-1100 a inline"})) << to_string(model);
    EXPECT_EQ(scene.statistics("a").inlined, 1U);
    EXPECT_EQ(scene.statistics("a").executed, 1U);
    EXPECT_EQ(scene.statistics("a").over_bound, 0U);
  }
}

TEST(Inline, a_callback_that_does_not_ask_for_it_is_queued)
{
  Scene scene;
  scene.add({"a", microseconds(100), Duration{0}});
  scene.run([&] { scene.bring("a"); });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 a queued"}));
}

TEST(Inline, nothing_is_run_without_a_delivery_or_in_one_of_a_thread_that_may_run_nothing)
{
  Scene scene;
  scene.add({"a", microseconds(100)});
  scene.run([&] {
    scene.engine.notify(*scene.callbacks["a"]);
    scene.sim.sleep_for(milliseconds(1));
    const Delivery outer(&scene.has);
    const Delivery delivery(nullptr);
    scene.engine.notify(*scene.callbacks["a"]);
  });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 a queued", "2000-2100 a queued"}));
}

TEST(Inline, a_publication_runs_nothing)
{
  Scene scene;
  scene.add({"a", microseconds(100)});
  scene.run([&] {
    const Publication publication;
    scene.bring("a");
  });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 a queued"}));
}

TEST(Inline, a_job_that_brings_work_runs_none_of_it)
{
  Scene scene;
  scene.add({"b", microseconds(100)});
  scene.add({"a", microseconds(300), milliseconds(1), {}, "", [&] { scene.bring("b"); }});
  scene.run([&] { scene.bring("a"); });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 b queued", "1000-1300 a inline"}));
}

TEST(Inline, a_job_on_a_thread_of_the_executor_runs_none_either)
{
  Scene scene;
  scene.add({"b", microseconds(100)});
  scene.add({"a", microseconds(300), Duration{0}, {}, "", [&] { scene.bring("b"); }});
  scene.run([&] { scene.bring("a"); });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 b queued", "1000-1300 a queued"}));
  EXPECT_EQ(scene.statistics("b").inlined, 0U);
}

TEST(Inline, of_several_units_of_work_the_first_runs_and_the_others_are_queued)
{
  Scene scene;
  scene.add({"a", microseconds(100)});
  scene.run([&] { scene.bring("a", 3); });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 a inline", "1100-1200 a queued", "1200-1300 a queued"}));
}

TEST(Inline, the_end_of_a_delivery_inside_another_one_leaves_that_open)
{
  Scene scene;
  scene.add({"a", microseconds(100)});
  scene.run([&] {
    const Delivery outer(&scene.has);
    {
      const Delivery inner(nullptr);
    }
    scene.engine.notify(*scene.callbacks["a"]);
  });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 a inline"}));
}

TEST(Inline, one_delivery_runs_one_job)
{
  Scene scene;
  scene.add({"a", microseconds(100)});
  scene.add({"b", microseconds(100)});
  scene.run([&] {
    const Delivery delivery(&scene.has);
    scene.engine.notify(*scene.callbacks["a"]);
    scene.engine.notify(*scene.callbacks["b"]);
  });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 a inline", "1000-1100 b queued"}));
}

// ---- When it is queued as ever

TEST(Inline, a_job_of_a_busy_group_is_queued)
{
  Scene scene;
  scene.add({"busy", milliseconds(2), Duration{0}, {}, "both"});
  scene.add({"a", microseconds(100), milliseconds(1), {}, "both"});
  scene.run([&] {
    scene.bring("busy");
    scene.sim.sleep_for(milliseconds(1));
    scene.bring("a");
  });
  EXPECT_EQ(scene.jobs, (Lines{"1000-3000 busy queued", "3000-3100 a queued"}));
}

TEST(Inline, a_job_is_queued_while_a_more_urgent_one_runs_and_not_while_a_less_urgent_one_does)
{
  for (const int other : {10, 60}) {
    Scene scene;
    scene.add({"other", milliseconds(2), Duration{0}, fifo(other)});
    scene.add({"a", microseconds(100), milliseconds(1), fifo(50)});
    scene.run([&] {
      scene.bring("other");
      scene.sim.sleep_for(milliseconds(1));
      scene.bring("a");
    });
    EXPECT_EQ(scene.statistics("a").inlined, other == 10 ? 1U : 0U);
  }
}

TEST(Inline, a_job_is_queued_while_a_more_urgent_one_waits_in_any_lane)
{
  for (const ExecutionModel model : {ExecutionModel::kPool, ExecutionModel::kIsolated}) {
    Scene scene(with_model(model), 1);
    scene.add({"urgent", microseconds(100), Duration{0}, fifo(60)});
    scene.add({"a", microseconds(100), milliseconds(1), fifo(50)});
    scene.run([&] {
      scene.bring("urgent");  // it waits: this thread has the only CPU
      scene.bring("a");
    });
    EXPECT_EQ(scene.jobs, (Lines{"1000-1100 urgent queued", "1100-1200 a queued"}))
      << to_string(model);
  }
}

TEST(Inline, a_job_of_equal_urgency_that_came_before_goes_first)
{
  Scene scene({}, 1);
  scene.add({"before", microseconds(100), Duration{0}, fifo(50)});
  scene.add({"a", microseconds(100), milliseconds(1), fifo(50)});
  scene.run([&] {
    scene.bring("before");
    scene.bring("a");
  });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 before queued", "1100-1200 a queued"}));
}

TEST(Inline, a_thread_that_is_less_urgent_than_the_callback_does_not_run_it)
{
  Scene scene;
  scene.has = fifo(40);
  scene.add({"a", microseconds(100), milliseconds(1), fifo(50)});
  scene.run([&] { scene.bring("a"); });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 a queued"}));
}

TEST(Inline, without_attributes_in_force_the_urgency_of_the_thread_does_not_matter)
{
  EngineOptions options;
  options.attributes_mode = AttributesMode::kOff;
  Scene scene(options);
  scene.has = {};
  scene.add({"a", microseconds(100), milliseconds(1), fifo(50)});
  scene.run([&] { scene.bring("a"); });
  EXPECT_EQ(scene.jobs, (Lines{"1000-1100 a inline"}));
}

TEST(Inline, a_callback_that_asks_for_cpus_or_a_budget_is_queued)
{
  Attributes cpus = fifo(50);
  cpus.cpu_affinity = CpuSet({1});
  Attributes budget;
  budget.policy = SchedulingPolicy::kDeadline;
  budget.runtime = milliseconds(1);
  budget.deadline = budget.period = milliseconds(10);
  for (const Attributes & attributes : {cpus, budget}) {
    Scene scene;
    scene.has = budget;
    scene.add({"a", microseconds(100), milliseconds(1), attributes});
    scene.has = fifo(98);
    scene.run([&] { scene.bring("a"); });
    EXPECT_EQ(scene.statistics("a").inlined, 0U);
    EXPECT_EQ(scene.statistics("a").executed, 1U);
  }
}

TEST(Inline, only_one_job_runs_like_that_in_the_process)
{
  Scene scene({}, 4);
  EngineOptions options;
  Engine other(scene.sim, options);
  std::shared_ptr<Group> group;
  ASSERT_TRUE(other.add_group({}, &group).ok());
  std::shared_ptr<Callback> callback;
  CallbackOptions of_other;
  of_other.name = "other";
  of_other.inline_bound = milliseconds(1);
  of_other.run = [&](const Job &) {
    scene.sim.work(milliseconds(1));
    return true;
  };
  ASSERT_TRUE(other.add_callback(of_other, group, &callback).ok());
  scene.add({"a", milliseconds(1)});
  scene.add({"b", milliseconds(1)});
  std::unique_ptr<Thread> spins;
  std::unique_ptr<Thread> second;
  scene.run([&] {
    scene.start("spins", {}, [&] { EXPECT_TRUE(other.spin().ok()); }, &spins);
    scene.sim.sleep_for(milliseconds(5));
    scene.start(
      "second", scene.has,
      [&] {
        scene.sim.sleep_for(microseconds(200));
        const Delivery delivery(&scene.has);
        other.notify(*callback);
        scene.engine.notify(*scene.callbacks["b"]);
      },
      &second);
    scene.bring("a");
    scene.sim.sleep_for(milliseconds(5));
    scene.bring("b");
    other.stop();
    second.reset();
    spins.reset();
  });
  EXPECT_EQ(scene.statistics("a").inlined, 1U);
  EXPECT_EQ(other.statistics(*callback).inlined, 0U);
  EXPECT_EQ(other.statistics(*callback).executed, 1U);
  EXPECT_EQ(scene.statistics("b").inlined, 1U) << "the first was queued, the second not";
  EXPECT_EQ(scene.statistics("b").executed, 2U);
}

// ---- It takes the place of a thread

TEST(Inline, an_executor_with_one_thread_runs_nothing_else_meanwhile_and_goes_on_afterwards)
{
  EngineOptions one = with_model(ExecutionModel::kPool);
  one.max_threads = 1;
  for (const EngineOptions & options : {one, with_model(ExecutionModel::kEvents)}) {
    Scene scene(options);
    scene.add({"other", microseconds(100), Duration{0}});
    scene.add({"third", microseconds(100), Duration{0}});
    scene.add({"a", milliseconds(1), milliseconds(1), {}, "", [&] {
                 scene.engine.notify(*scene.callbacks["other"]);
                 scene.engine.notify(*scene.callbacks["third"]);
               }});
    scene.run([&] { scene.bring("a"); });
    EXPECT_EQ(
      scene.jobs,
      (Lines{"1000-2000 a inline", "2000-2100 other queued", "2100-2200 third queued"}));
    EXPECT_EQ(scene.most, 1);
    scene.engine.read_trace([&](const rclrt_job_record & record) {
      const bool is_inline = record.callback == scene.callbacks["a"]->id();
      EXPECT_EQ(record.waited_for, is_inline ? RCLRT_WAITED_FOR_NOTHING : RCLRT_WAITED_FOR_THREAD);
    });
  }
}

TEST(Inline, if_all_threads_have_something_to_do_the_job_is_queued)
{
  Scene scene(with_model(ExecutionModel::kEvents));
  scene.add({"busy", milliseconds(2), Duration{0}});
  scene.add({"a", microseconds(100)});
  scene.run([&] {
    scene.bring("busy");
    scene.sim.sleep_for(milliseconds(1));
    scene.bring("a");
  });
  EXPECT_EQ(scene.jobs, (Lines{"1000-3000 busy queued", "3000-3100 a queued"}));
}

}  // namespace
}  // namespace rclrt_core
