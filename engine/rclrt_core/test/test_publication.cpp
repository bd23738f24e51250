// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A publication is not held up by what it releases, and the most urgent of that comes first. One CPU.

#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

/// What a middleware does that delivers in the thread which publishes: one reader after the other, a millisecond
/// each; then the publisher has a millisecond of work of its own.
void publish_to(EngineOnSim & engine, const std::vector<std::string> & readers)
{
  {
    const Publication publication;
    for (const std::string & reader : readers) {
      engine.notify(reader);
      engine.work(1);
    }
  }
  engine.work(1);
}

struct Scene
{
  explicit Scene(EngineOptions options = {}) : engine(std::move(options)) { add_readers(); }
  Scene(int cpus, EngineOptions options) : engine(cpus, std::move(options)) {}

  void add_readers()
  {
    engine.add(engine.fifo_callback("mid", 30, 50));
    engine.add(engine.fifo_callback("high", 1, 80));
  }
  void add_publisher(int priority, const std::vector<std::string> & readers)
  {
    CallbackOptions publisher = engine.fifo_callback("publisher", 0, priority);
    engine.add(publisher, [this, readers] { publish_to(engine, readers); });
  }

  EngineOnSim engine;
};

TEST(Publication, starts_the_most_urgent_first_in_whichever_order_it_released_them)
{
  for (const bool mid_first : {true, false}) {
    Scene scene;
    scene.add_publisher(10, mid_first ? Lines{"mid", "high"} : Lines{"high", "mid"});
    const Lines jobs = scene.engine.run(50, {{1, "publisher"}});
    const Lines expected = mid_first ? Lines{"1-1-35 publisher", "2-3-4 high", "1-4-34 mid"}
                                     : Lines{"1-1-35 publisher", "1-3-4 high", "2-4-34 mid"};
    EXPECT_EQ(jobs, expected);
  }
}

TEST(Publication, is_not_held_up_by_a_job_between_the_publisher_and_what_it_has_released)
{
  Scene scene;
  scene.add_publisher(10, {"high"});
  // "mid" comes of its own accord while "high" has been told and not been woken.
  EXPECT_EQ(
    scene.engine.run(
      50, {{1, "publisher"}},
      [&] {
        scene.engine.sim.sleep_until(TimePoint(microseconds(1500)));
        scene.engine.notify("mid");
      }),
    (Lines{"1-1-34 publisher", "1-2-3 high", "1.5-3-33 mid"}));
}

TEST(Publication, by_a_thread_that_is_not_the_engines_is_not_held_up_either)
{
  Scene scene;
  Attributes during;
  Attributes after;
  const Lines jobs = scene.engine.run(50, {}, [&] {
    std::unique_ptr<Thread> stranger;
    const auto body = [&] {
      scene.engine.until(1);
      {
        const Publication publication;
        for (const char * reader : {"mid", "high"}) {
          scene.engine.notify(reader);
          scene.engine.work(1);
        }
        during = scene.engine.in_force();
      }
      after = scene.engine.in_force();
    };
    scene.engine.start("stranger", {}, body, &stranger);
    stranger->join();
  });
  EXPECT_EQ(jobs, (Lines{"2-3-4 high", "1-4-34 mid"}));
  EXPECT_EQ(during.priority, 80);
  EXPECT_EQ(after.scheduling_policy, SchedulingPolicy::kOther);
}

TEST(Publication, lends_urgency_but_no_cpus)
{
  EngineOnSim engine({}, 2);
  std::vector<Attributes> during;
  const auto publish = [&] {
    const Publication publication;
    engine.notify("high");
    EXPECT_EQ(engine.sim.read_back(engine.sim.current_thread(), &during.emplace_back()), 0);
  };
  CallbackOptions high = engine.fifo_callback("high", 1, 80);
  high.attributes.cpu_affinity = CpuSet({1});
  engine.add(std::move(high));
  CallbackOptions publisher = engine.fifo_callback("publisher", 0, 10);
  publisher.attributes.cpu_affinity = CpuSet({0});
  engine.add(publisher, [&] { publish(); });
  engine.run(50, {{1, "publisher"}}, [&] {
    std::unique_ptr<Thread> stranger;
    Attributes attributes = fifo(10);
    attributes.cpu_affinity = CpuSet({0});
    const auto body = [&] {
      engine.until(10);
      publish();
    };
    engine.start("stranger", attributes, body, &stranger);
    stranger->join();
  });
  ASSERT_EQ(during.size(), 2u);
  for (const Attributes & lent : during) {
    EXPECT_EQ(lent.priority, 80);
    EXPECT_EQ(lent.cpu_affinity, CpuSet({0}));
  }
}

TEST(Publication, to_a_callback_with_a_deadline_lends_what_orders_deadlines_or_nothing)
{
  const auto lent_by = [](EngineOnSim & engine) {
    CallbackOptions soon = engine.callback_options("soon", milliseconds(1));
    soon.attributes.scheduling_policy = SchedulingPolicy::kExt;
    soon.relative_deadline = milliseconds(5);
    engine.add(std::move(soon));
    Attributes during;
    engine.run(20, {}, [&] {
      std::unique_ptr<Thread> stranger;
      const auto body = [&] {
        engine.until(2);
        const Publication publication;
        engine.notify("soon");
        during = engine.in_force();
      };
      Attributes nice;
      nice.scheduling_policy = SchedulingPolicy::kOther;
      nice.nice = 5;
      engine.start("stranger", nice, body, &stranger);
      stranger->join();
    });
    return during;
  };
  EngineOnSim with_bands(1, EngineOptions());
  EXPECT_EQ(lent_by(with_bands).scheduling_policy, SchedulingPolicy::kFifo);
  EngineOnSim without;
  const Attributes lent = lent_by(without);
  EXPECT_EQ(lent.scheduling_policy, SchedulingPolicy::kOther);
  EXPECT_EQ(lent.nice, 5);
}

TEST(Publication, gives_back_what_the_publisher_had_also_when_nested)
{
  Scene scene;
  std::vector<int> priorities;
  const auto note = [&] {
    const Attributes now = scene.engine.in_force();
    priorities.push_back(now.priority);
  };
  CallbackOptions publisher = scene.engine.fifo_callback("publisher", 0, 10);
  scene.engine.add(publisher, [&] {
    note();
    {
      const Publication outer;
      {
        const Publication inner;
        scene.engine.notify("mid");
        note();
      }
      note();  // only the outermost counts
      scene.engine.notify("high");
      note();
    }
    note();
  });
  scene.engine.run(60, {{1, "publisher"}});
  EXPECT_EQ(priorities, (std::vector<int>{10, 50, 50, 80, 10}));
}

TEST(Publication, lends_nothing_to_a_publisher_that_is_urgent_enough)
{
  EngineOptions options;
  options.model = ExecutionModel::kIsolated;  // threads keep what they have
  Scene scene(options);
  std::vector<int64_t> calls;
  CallbackOptions publisher = scene.engine.fifo_callback("publisher", 0, 90);
  scene.engine.add(publisher, [&] {
    const int64_t before = scene.engine.sim.counts().apply;
    publish_to(scene.engine, {"mid", "high"});
    calls.push_back(scene.engine.sim.counts().apply - before);
  });
  scene.engine.run(90, {{1, "publisher"}, {40, "publisher"}});
  // The first time the two sleepers are given what their callbacks ask for.
  EXPECT_EQ(calls, (std::vector<int64_t>{2, 0}));
}

// SCHED_DEADLINE cannot be lent: FIFO 99 is the most that can be had. A publisher that has it needs nothing.
TEST(Publication, to_a_sched_deadline_callback_is_under_fifo_99)
{
  for (const int priority : {10, 99}) {
    EngineOptions options;
    options.model = ExecutionModel::kIsolated;
    Scene scene(options);
    CallbackOptions budget = scene.engine.callback_options("budget", milliseconds(1));
    budget.attributes.scheduling_policy = SchedulingPolicy::kDeadline;
    budget.attributes.runtime = milliseconds(1);
    budget.attributes.deadline = budget.attributes.period = milliseconds(10);
    scene.engine.add(std::move(budget));
    std::vector<int> priorities;
    std::vector<int64_t> calls;
    const auto note = [&] {
      const Attributes now = scene.engine.in_force();
      EXPECT_EQ(now.scheduling_policy, SchedulingPolicy::kFifo);
      priorities.push_back(now.priority);
    };
    CallbackOptions publisher = scene.engine.fifo_callback("publisher", 0, priority);
    scene.engine.add(publisher, [&] {
      const int64_t before = scene.engine.sim.counts().apply;
      {
        const Publication publication;
        for (const char * reader : {"mid", "budget", "high"}) {
          scene.engine.notify(reader);
          scene.engine.work(1);
          note();
        }
      }
      note();
      calls.push_back(scene.engine.sim.counts().apply - before);
    });
    const Lines jobs = scene.engine.run(120, {{1, "publisher"}, {60, "publisher"}});
    EXPECT_EQ(calls.back(), priority == 99 ? 0 : 3) << "50, 99, nothing for 80, and back";
    EXPECT_EQ(
      priorities, priority == 99 ? std::vector<int>(8, 99)
                                 : (std::vector<int>{50, 99, 99, 10, 50, 99, 99, 10}));
    EXPECT_EQ(
      Lines(jobs.begin(), jobs.begin() + 4),
      (Lines{"1-1-4 publisher", "2-4-5 budget", "3-5-6 high", "1-6-36 mid"}));
  }
}

TEST(Publication, keeps_a_loan_from_a_job_that_waits_for_the_publisher)
{
  // "waits" (60) is released into the publisher's group while it publishes to "mid" (50).
  Scene scene;
  CallbackOptions publisher = scene.engine.fifo_callback("publisher", 0, 10);
  scene.engine.add(publisher, [&] { publish_to(scene.engine, {"mid"}); }, "group");
  scene.engine.add(scene.engine.fifo_callback("waits", 1, 60), "group");
  EXPECT_EQ(
    scene.engine.run(
      60, {{1, "publisher"}},
      [&] {
        scene.engine.sim.sleep_until(TimePoint(microseconds(1500)));
        scene.engine.notify("waits");
      }),
    (Lines{"1-1-3 publisher", "1.5-3-4 waits", "1-4-34 mid"}));
}

TEST(Publication, of_a_job_with_a_later_deadline_is_as_urgent_as_what_it_releases)
{
  EngineOptions options;
  Scene scene(1, options);
  const auto ext = [&](const std::string & name, int deadline_ms, int work_ms) {
    CallbackOptions callback = scene.engine.callback_options(name, milliseconds(work_ms));
    callback.attributes.scheduling_policy = SchedulingPolicy::kExt;
    callback.relative_deadline = milliseconds(deadline_ms);
    return callback;
  };
  CallbackOptions publisher = ext("publisher", 100, 0);
  scene.engine.add(publisher, [&] { publish_to(scene.engine, {"mid", "high"}); });
  scene.engine.add(ext("mid", 60, 30));
  scene.engine.add(ext("high", 20, 1));
  EXPECT_EQ(
    scene.engine.run(60, {{1, "publisher"}}),
    (Lines{"1-1-35 publisher", "2-3-4 high", "1-4-34 mid"}));
}

}  // namespace
}  // namespace rclrt_core
