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

/// How often a thread was woken by another one and the alarm set, 80 ms long, and what ran.
struct Steady
{
  int64_t wakes = 0;
  int64_t alarms = 0;
  Lines lines;
};

Steady run_steady(
  EngineOnSim & engine, const std::vector<Arrival> & arrivals = {}, int64_t from_ms = 15)
{
  Steady steady;
  steady.lines = engine.run(from_ms + 85, arrivals, [&] {
    engine.until(from_ms);
    const SimPlatform::Counts before = engine.sim.counts();
    engine.until(from_ms + 80);
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
  for (const int cpus : {1, 4}) {
    EngineOnSim engine(pool(16), cpus);
    for (int i = 0; i < 10; ++i) {
      CallbackOptions tick = engine.fifo_callback("tick" + std::to_string(i), 0, 50);
      engine.add_timer(tick, at_0_and_every_10_ms());
    }
    const Steady steady = run_steady(engine, {}, 405);  // it knows by then how short the jobs are
    EXPECT_EQ(steady.lines.size(), 490U);
    EXPECT_EQ(steady.wakes, 8);   // one a period, in case the first job blocks
    EXPECT_EQ(steady.alarms, 8);  // one a period: the alarm moves on
  }
}

TEST(Cover, the_alarm_is_set_once_for_a_timer_that_is_due_much_later)
{
  EngineOnSim engine(pool(1));
  engine.add_timer(engine.fifo_callback("tick", 1, 50), at_0_and_every_10_ms());
  TimerOptions later = every_ms(10);
  later.first = milliseconds(5);
  engine.add_timer(engine.fifo_callback("later", 1, 50), later);
  EXPECT_EQ(run_steady(engine).alarms, 16);
}

TEST(Cover, threads_whose_timers_are_due_at_once_come_without_being_woken)
{
  EngineOnSim engine(pool(3), 2);
  for (const char * const name : {"tick1", "tick2", "tick3"}) {
    engine.add_timer(engine.fifo_callback(name, 1, 50), at_0_and_every_10_ms());
  }
  const Steady steady = run_steady(engine);
  EXPECT_EQ(std::count(steady.lines.begin(), steady.lines.end(), "40-40-41 tick2"), 1);
  EXPECT_EQ(
    steady.wakes,
    8);  // one a period: two threads cover, and the first to come releases the third timer
}

TEST(Cover, what_comes_with_another_timer_is_released_in_time_when_that_one_goes)
{
  for (const bool is_removed : {false, true}) {
    EngineOnSim engine(pool(1));
    const auto tick = engine.add_timer(engine.fifo_callback("tick", 0, 40), at_0_and_every_10_ms());
    engine.add_timer(engine.fifo_callback("with it", 0, 40), at_0_and_every_10_ms());
    engine.add(engine.fifo_callback("long", 9, 50));
    engine.run(19, {{6, "long"}}, [&] {
      engine.until(5);
      if (is_removed) {
        engine.remove("tick");
      } else {
        EXPECT_TRUE(engine.engine.cancel_timer(tick).ok());
      }
    });
    EXPECT_EQ(engine.ran.back().ready_ns, nanoseconds_of(at_ms(10)));
  }
}

TEST(Cover, a_timer_that_is_to_be_on_time_without_the_thread_that_covers_another_is)
{
  for (const int priority : {40, 60}) {
    EngineOnSim engine(pool(1));
    engine.add_timer(engine.fifo_callback("tick", 0, 40), at_0_and_every_10_ms());
    const auto with_it =
      engine.add_timer(engine.fifo_callback("with it", 1, 40), at_0_and_every_10_ms());
    const Lines lines = engine.run(19, {}, [&] {
      const auto keeps_the_cpu = engine.stranger(50, 9, 4);
      engine.until(5);
      EXPECT_TRUE(engine.engine.set_attributes(with_it, fifo(priority)).ok());
    });
    const char * const line = priority == 60 ? "10-10-11 with it" : "10-13-14 with it";
    EXPECT_EQ(std::count(lines.begin(), lines.end(), line), 1);
  }
}

TEST(Cover, a_timer_that_comes_often_does_not_wait_for_the_thread_of_one_that_comes_seldom)
{
  EngineOnSim engine(pool(1));
  engine.add_timer(engine.fifo_callback("seldom", 0, 40), at_0_and_every_10_ms());
  TimerOptions often = every_ms(2);
  often.first = milliseconds(10);
  engine.add_timer(engine.fifo_callback("often", 0, 40), often);
  engine.run(40, {}, [&] { engine.stranger(50, 9, 20)->join(); });
  const auto first = std::find_if(engine.ran.begin(), engine.ran.end(), [](const auto & job) {
    return job.release_ns >= nanoseconds_of(at_ms(10));
  });
  EXPECT_EQ(first->ready_ns, nanoseconds_of(at_ms(10)));
}

TEST(Cover, a_timer_that_is_due_a_little_later_is_released_then)
{
  for (const int later_us : {5, 500}) {
    EngineOnSim engine(pool(2));
    engine.add_timer(engine.fifo_callback("tick", 3, 40), at_0_and_every_10_ms());
    TimerOptions later = at_0_and_every_10_ms();
    later.first = microseconds(later_us);
    engine.add_timer(engine.fifo_callback("later", 3, 50), later);
    engine.run(19);
    const auto & job = engine.ran.back();
    EXPECT_EQ(job.ready_ns, nanoseconds_of(at_ms(10) + microseconds(later_us)));
    EXPECT_EQ(job.start_ns, job.ready_ns);
  }
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
