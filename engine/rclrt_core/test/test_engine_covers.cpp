// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Threads that sleep until the release of a timer (timers/timer_alarm.hpp).

#include <algorithm>
#include <vector>

#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

/// The first release is the timer thread's: it finds all threads asleep that have begun. From then on they cover.
TimerOptions at_0_and_every_10_ms()
{
  TimerOptions timer = every_ms(10);
  timer.first = Duration{0};
  return timer;
}

/// How often a thread was woken by another one and the alarm set from 15 to 95 ms, and what ran.
struct Steady
{
  int64_t wakes = 0;
  int64_t alarms = 0;
  Lines lines;
};

Steady run_steady(EngineOnSim & engine, const std::vector<Arrival> & arrivals = {})
{
  Steady steady;
  steady.lines = engine.run(100, arrivals, [&] {
    engine.until(15);
    const SimPlatform::Counts before = engine.sim.counts();
    engine.until(95);
    const SimPlatform::Counts after = engine.sim.counts();
    steady.wakes = after.wake - before.wake;
    steady.alarms = after.alarm - before.alarm;
  });
  return steady;
}

TEST(Cover, the_thread_that_runs_a_timer_sleeps_until_its_release_and_nobody_wakes_it)
{
  for (const ExecutionModel model : kModels) {
    EngineOnSim engine(with_model(model));
    engine.add_tick();
    engine.add(engine.fifo_callback("idle", 1, 50));
    const Steady steady = run_steady(engine);
    ASSERT_EQ(steady.lines.size(), 10U);
    EXPECT_EQ(steady.lines[4], "40-40-41 tick");
    EXPECT_EQ(steady.wakes, 0);
    EXPECT_EQ(steady.alarms, 8);  // one a release: the alarm moves on
    EXPECT_EQ(engine.ran.at(4).waited_for, RCLRT_WAITED_FOR_NOTHING);
  }
}

TEST(Cover, messages_cost_no_alarm)
{
  std::vector<Arrival> arrivals;
  for (int64_t ms = 2; ms < 95; ms += 3) {
    arrivals.push_back({ms, "message"});
  }
  for (const bool has_another_thread : {false, true}) {
    EngineOnSim engine(pool(has_another_thread ? 2 : 1));
    engine.add_tick();
    engine.add(engine.fifo_callback("message", 0, 50));
    const Steady steady = run_steady(engine, arrivals);
    EXPECT_EQ(steady.lines.size(), 10 + arrivals.size());
    // About two a release: its thread is taken from it for a message, and the timer thread has looked in vain.
    EXPECT_LE(steady.alarms, has_another_thread ? 10 : 20);
  }
}

TEST(Cover, of_many_timers_that_are_due_at_once_few_threads_run_all)
{
  EngineOnSim engine(pool(16));
  for (int i = 0; i < 10; ++i) {
    CallbackOptions tick = engine.fifo_callback("tick" + std::to_string(i), 0, 50);
    engine.add_timer(tick, at_0_and_every_10_ms());
  }
  const Steady steady = run_steady(engine);
  EXPECT_EQ(steady.lines.size(), 100U);
  EXPECT_LE(
    steady.wakes, 16);  // two a period: for one CPU, and for the thread that takes the first job
}

TEST(Cover, a_thread_that_covers_a_timer_has_what_its_job_needs)
{
  for (const int priority : {60, 40}) {
    EngineOnSim engine(pool(1));
    engine.add_timer(engine.fifo_callback("first", 1, 50), every_ms(2, true));
    engine.add_timer(engine.fifo_callback("tick", 1, priority), at_0_and_every_10_ms());
    Attributes has;
    const Lines lines = engine.run(30, {}, [&] {
      const auto keeps_the_cpu = engine.stranger(55, 9, 11);
      engine.until(5);
      for (const auto & thread : engine.engine.threads()) {
        has = thread.jobs > 0 ? thread.in_force : has;
      }
    });
    EXPECT_EQ(has.priority, priority);
    EXPECT_EQ(lines.at(2), priority == 60 ? "10-10-11 tick" : "10-20-21 tick");
  }
}

TEST(Cover, a_thread_that_is_taken_for_another_job_leaves_the_timer_to_the_timer_thread)
{
  EngineOnSim engine(pool(1));
  engine.add_timer(engine.fifo_callback("tick", 1, 40), at_0_and_every_10_ms());
  engine.add(engine.fifo_callback("long", 9, 50));
  EXPECT_EQ(engine.run(19, {{5, "long"}}), (Lines{"0-0-1 tick", "5-5-14 long", "10-14-15 tick"}));
  EXPECT_EQ(engine.ran.at(2).ready_ns, nanoseconds_of(at_ms(10)));
}

TEST(Cover, a_timer_is_on_time_although_its_thread_was_taken_by_one_that_is_held_up)
{
  for (const int cpu_is_taken_from :
       {2, 1}) {  // before it wakes that thread; before it sets the alarm
    HeldUp scene(pool(2));
    scene.engine.add_timer(scene.engine.fifo_callback("tick", 1, 90), at_0_and_every_10_ms());
    scene.engine.add(scene.engine.fifo_callback("low", 1, 10));
    scene.add_publisher([&] { scene.engine.notify("low"); });
    const auto jobs = scene.engine.run(
      50, {{1, "publisher"}}, [&] { scene.engine.stranger(50, cpu_is_taken_from, 15)->join(); });
    EXPECT_NE(std::find(jobs.begin(), jobs.end(), "10-10-11 tick"), jobs.end());
  }
}

TEST(Cover, what_changes_while_a_thread_covers_a_timer_counts)
{
  const auto run =
    [](const std::function<void(EngineOnSim &, const std::shared_ptr<Callback> &)> & change) {
      EngineOnSim engine;
      const auto tick =
        engine.add_timer(engine.fifo_callback("tick", 1, 40), at_0_and_every_10_ms());
      Lines lines = engine.run(19, {}, [&] {
        const auto keeps_the_cpu = engine.stranger(50, 9, 3);
        engine.until(5);
        change(engine, tick);
      });
      EXPECT_EQ(lines.at(0), "0-0-1 tick");
      lines.erase(lines.begin());
      return lines;
    };
  const auto nothing = [](EngineOnSim &, const std::shared_ptr<Callback> &) {};
  EXPECT_EQ(run(nothing), (Lines{"10-12-13 tick"}));
  EXPECT_EQ(
    run([](EngineOnSim & engine, const auto & tick) {
      EXPECT_TRUE(engine.engine.set_attributes(tick, fifo(60)).ok());
    }),
    (Lines{"10-10-11 tick"}));
  EXPECT_EQ(
    run([](EngineOnSim & engine, const auto & tick) {
      EXPECT_TRUE(engine.engine.reset_timer(tick).ok());
    }),
    (Lines{"15-15-16 tick"}));
  EXPECT_EQ(
    run([](EngineOnSim & engine, const auto & tick) {
      EXPECT_TRUE(engine.engine.cancel_timer(tick).ok());
    }),
    Lines{});
  EXPECT_EQ(run([](EngineOnSim & engine, const auto &) { engine.remove("tick"); }), Lines{});
  EXPECT_EQ(
    run([](EngineOnSim & engine, const auto &) {
      engine.add_timer(engine.fifo_callback("nearer", 1, 40), every_ms(3, true));
    }),
    (Lines{"8-8-9 nearer", "10-12-13 tick"}));
}

TEST(Cover, a_release_that_comes_nearer_while_the_job_runs_is_on_time)
{
  EngineOnSim engine(pool(1));
  const auto tick = engine.add_timer(engine.fifo_callback("tick", 5, 40), at_0_and_every_10_ms());
  engine.run(19, {}, [&] {
    engine.until(8);
    EXPECT_TRUE(engine.engine.set_timer_period(tick, milliseconds(2)).ok());
  });
  EXPECT_EQ(engine.ran.at(2).release_ns, nanoseconds_of(at_ms(12)));
  EXPECT_EQ(engine.ran.at(2).ready_ns, nanoseconds_of(at_ms(12)));
}

TEST(Cover, a_thread_finds_its_timer_behind_many_that_are_due)
{
  EngineOnSim engine(with_model(ExecutionModel::kIsolated));
  for (int i = 0; i < 10; ++i) {
    engine.add_timer(
      engine.fifo_callback("tick" + std::to_string(i), 0, 40), at_0_and_every_10_ms());
  }
  TimerOptions later = every_ms(10);
  later.first = milliseconds(1);
  engine.add_timer(engine.fifo_callback("urgent", 0, 90), later);
  const auto lines = engine.run(15, {}, [&] { engine.stranger(50, 9, 4)->join(); });
  EXPECT_NE(std::find(lines.begin(), lines.end(), "11-11-11 urgent"), lines.end());
}

TEST(Cover, equals_take_turns)
{
  EngineOnSim engine(pool(2));
  engine.add_timer(engine.fifo_callback("tick", 1, 50), at_0_and_every_10_ms());
  engine.add(engine.fifo_callback("message", 3, 50));
  const Lines lines = engine.run(19, {{8, "message", 5}});
  EXPECT_EQ(lines.at(2), "8-11-14 message");  // it has waited since it last began, at 8
  EXPECT_EQ(lines.at(3), "10-14-15 tick");
}

TEST(Cover, a_thread_that_makes_itself_more_urgent_for_a_timer_does_not_keep_a_job_waiting)
{
  EngineOnSim engine(pool(1));
  engine.sim.set_locks({true, true});
  engine.sim.need_cpu();
  engine.add_timer(engine.fifo_callback("low", 1, 10), every_ms(2, true));
  engine.add_timer(engine.fifo_callback("tick", 1, 80), every_ms(30));
  engine.add(engine.fifo_callback("urgent", 1, 70));
  std::unique_ptr<Thread> keeps_the_cpu;
  engine.sim.set_hook([&](SimPlatform::Point point, const std::string & thread) {
    const bool is_it = point == SimPlatform::Point::kApply && engine.sim.now() >= at_ms(3);
    if (is_it && !keeps_the_cpu && thread.find("rclrt worker") == 0) {
      keeps_the_cpu = engine.stranger(fifo(50), [&] { engine.work(40); });
    }
  });
  const Lines lines = engine.run(60, {{6, "urgent"}}, [&] {
    engine.until(50);
    ASSERT_TRUE(keeps_the_cpu);
    keeps_the_cpu->join();
  });
  EXPECT_EQ(lines.at(1), "6-6-7 urgent");
}

TEST(Cover, nothing_changes_threads_for_each_message)
{
  EngineOnSim engine(pool(2), 2);
  for (const char * const name : {"tick1", "tick2"}) {
    engine.add_timer(engine.fifo_callback(name, 0, 40), at_0_and_every_10_ms());
  }
  engine.add(engine.fifo_callback("message", 0, 60));
  std::vector<Arrival> arrivals;
  for (int64_t ms = 11; ms < 90; ++ms) {
    arrivals.push_back({ms, "message"});
  }
  SimPlatform::Counts before;
  engine.run(90, arrivals, [&] {
    engine.until(10);
    before = engine.sim.counts();
  });
  EXPECT_LE(engine.sim.counts().apply - before.apply, 40);  // for two timers every 10 ms
}

TEST(Cover, what_is_due_is_released_before_its_period_changes)
{
  EngineOnSim engine(pool(1));
  const auto tick = engine.add_timer(engine.fifo_callback("tick", 1, 40), at_0_and_every_10_ms());
  const Lines lines = engine.run(40, {}, [&] {
    const auto keeps_the_cpu = engine.stranger(50, 9, 5);
    engine.until(12);
    EXPECT_TRUE(engine.engine.set_timer_period(tick, milliseconds(15)).ok());
  });
  EXPECT_EQ(lines, (Lines{"0-0-1 tick", "10-14-15 tick", "20-20-21 tick", "35-35-36 tick"}));
}

TEST(Cover, a_rule_that_skips_keeps_the_job_that_would_have_waited)
{
  EngineOnSim engine(pool(1));
  CallbackOptions tick = engine.fifo_callback("tick", 1, 40);
  tick.overrun_rule = OverrunRule::kSkip;
  engine.add_timer(tick, at_0_and_every_10_ms());
  const Lines lines = engine.run(49, {}, [&] { engine.stranger(50, 9, 16)->join(); });
  EXPECT_EQ(lines.at(1), "10-25-26 tick");
  EXPECT_EQ(engine.statistics("tick").skipped, 1U);
}

TEST(Cover, nobody_covers_before_the_engine_runs)
{
  EngineOptions options;
  options.attributes_mode = AttributesMode::kOff;
  EngineOnSim engine(options);
  engine.add_timer(engine.callback_options("tick", milliseconds(1)), at_0_and_every_10_ms());
  EXPECT_EQ(engine.run(15).size(), 2U);
}

TEST(Cover, a_thread_that_gets_no_cpu_for_a_period_is_not_waited_for)
{
  EngineOnSim engine(pool(1));
  CallbackOptions tick = engine.fifo_callback("tick", 1, 40);
  tick.overrun_rule = OverrunRule::kQueueAll;
  engine.add_timer(tick, at_0_and_every_10_ms());
  std::size_t wait = 0;
  const Lines lines = engine.run(60, {}, [&] {
    const auto keeps_the_cpu = engine.stranger(50, 5, 40);
    engine.until(21);
    wait = engine.engine.waiting().size();  // the timer thread has released it
    keeps_the_cpu->join();
  });
  EXPECT_EQ(wait, 1U);
  EXPECT_EQ(lines.at(1), "10-45-46 tick");
  EXPECT_EQ(lines.at(2), "20-46-47 tick");
}

}  // namespace
}  // namespace rclrt_core
