// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Who runs when on the virtual CPUs.

#include <atomic>
#include <cerrno>
#include <string>

#include "sim_platform_test.hpp"

namespace rclrt_core
{
namespace
{

TEST_F(SimPlatformTest, time_passes_only_in_work_and_sleep)
{
  expect_run([&] {
    EXPECT_EQ(sim.now(), at_ms(0));
    sim.work(milliseconds(2));
    EXPECT_EQ(sim.now(), at_ms(2));
    sim.sleep_for(milliseconds(3));
    EXPECT_EQ(sim.now(), at_ms(5));
    sim.work(std::chrono::microseconds(250));
    EXPECT_EQ(sim.now(), TimePoint(std::chrono::microseconds(5250)));
  });
  EXPECT_THAT(sim.schedule(), ElementsAre("0-2ms cpu0 main", "5-5.25ms cpu0 main"));
}

TEST_F(SimPlatformTest, more_urgent_thread_preempts_and_the_other_goes_on_afterwards)
{
  CpuUse use;
  expect_run([&] {
    start("low", fifo(10), [&] {
      const CpuWatch watch = sim.watch_cpu(true);
      sim.work(milliseconds(5));
      use = sim.end_watch(watch);
    });
    start("high", fifo(20), [&] {
      sim.sleep_until(at_ms(2));
      const CpuWatch its = sim.watch_cpu(true);
      sim.work(milliseconds(1));
      const CpuUse kept = sim.end_watch(its);
      EXPECT_TRUE(kept.has_kept);
      EXPECT_EQ(kept.preemptions, 0);
    });
  });
  EXPECT_THAT(sim.schedule(), ElementsAre("0-2ms cpu0 low", "2-3ms cpu0 high", "3-6ms cpu0 low"));
  EXPECT_FALSE(use.has_kept);
  EXPECT_EQ(use.preemptions, 1);
  EXPECT_EQ(use.cpu_ns, nanoseconds_of(at_ms(5)));
}

TEST_F(SimPlatformTest, decides_who_runs_when)
{
  expect_schedule(
    "an equally urgent thread does not preempt", 1, {}, "a 10 0 5, b 10 1 1",
    {"0-5ms cpu0 a", "5-6ms cpu0 b"});
  expect_schedule(
    "a preempted thread goes on before others of its priority", 1, {},
    "a 10 0 4, b 10 0 1, high 20 1 1",
    {"0-1ms cpu0 a", "1-2ms cpu0 high", "2-5ms cpu0 a", "5-6ms cpu0 b"});
  // When main, which has CPU 0, is done, CPU 1 is high's until it sleeps.
  expect_schedule(
    "the m most urgent threads run on m CPUs", 2, {}, "low 1 0 4, mid 2 0 4, high 3 1 2",
    {"0-4ms cpu0 mid", "0-1ms cpu1 low", "1-3ms cpu1 high", "3-6ms cpu1 low"});
  expect_schedule(
    "affinity is honored even when another CPU is idle", 2, {}, "a 2 0 2 on 1, b 1 0 2 on 1",
    {"0-2ms cpu1 a", "2-4ms cpu1 b"});
  expect_schedule(
    "the holder of a mutex keeps its CPU while it works", 1, {},
    "low 10 0 3 with first, high 20 1 1, later 10 3 1",
    {"0-3ms cpu0 low", "3-4ms cpu0 high", "4-5ms cpu0 later"});
}

TEST_F(SimPlatformTest, equally_urgent_threads_run_in_the_order_of_becoming_runnable)
{
  expect_run([&] {
    start("a", fifo(10), [&] {
      sim.sleep_until(at_ms(2));
      sim.work(milliseconds(1));
    });
    start("b", fifo(10), [&] {
      sim.sleep_until(at_ms(1));
      sim.work(milliseconds(1));
    });
    sim.sleep_for(std::chrono::microseconds(500));
    sim.work(std::chrono::microseconds(2500));
  });
  EXPECT_THAT(sim.schedule(), ElementsAre("0.5-3ms cpu0 main", "3-4ms cpu0 b", "4-5ms cpu0 a"));
}

TEST_F(SimPlatformTest, fair_threads_are_ordered_by_nice_and_yield_to_real_time_ones)
{
  expect_run([&] {
    start(
      "idle",
      [] {
        Attributes a;
        a.policy = SchedulingPolicy::kIdle;
        return a;
      }(),
      [&] { sim.work(milliseconds(1)); });
    start("nice", other(5), [&] { sim.work(milliseconds(1)); });
    start("plain", Attributes(), [&] { sim.work(milliseconds(1)); });
    start("fifo", fifo(1), [&] { sim.work(milliseconds(1)); });
  });
  EXPECT_THAT(
    sim.schedule(),
    ElementsAre("0-1ms cpu0 fifo", "1-2ms cpu0 plain", "2-3ms cpu0 nice", "3-4ms cpu0 idle"));
}

TEST_F(SimPlatformTest, changing_the_affinity_of_a_running_thread_moves_it)
{
  expect_run(duo, [&] {
    start_on(duo, "a", fifo(2, {0}), [&] {
      duo.work(milliseconds(1));
      Attributes move;
      move.cpu_affinity = CpuSet({1});
      EXPECT_EQ(duo.apply(duo.current_thread(), move), 0);
      EXPECT_EQ(duo.current_cpu(), 1);
      duo.work(milliseconds(1));
    });
  });
  EXPECT_THAT(duo.schedule(), ElementsAre("0-1ms cpu0 a", "1-2ms cpu1 a"));
}

TEST_F(SimPlatformTest, wake_preempts_the_waker_at_once_unless_it_holds_a_mutex)
{
  std::atomic<uint32_t> word{0};
  const auto mutex = sim.make_mutex();
  const auto wait_once = [&](const char * event) {
    while (word.load() == 0) {
      sim.wait(word, 0, kNever);
    }
    word.store(0);
    events.push_back(event);
  };
  expect_run([&] {
    start("high", fifo(20), [&] {
      wait_once("woken 1");
      wait_once("woken 2");
    });
    start("low", fifo(10), [&] {
      word.store(1);
      sim.wake_one(word);
      events.push_back("after wake 1");
      mutex->lock();
      word.store(1);
      sim.wake_one(word);
      events.push_back("after wake 2");
      mutex->unlock();
      events.push_back("after unlock");
    });
  });
  EXPECT_THAT(
    events, ElementsAre("woken 1", "after wake 1", "after wake 2", "woken 2", "after unlock"));
  EXPECT_EQ(sim.counts().wake, 2);
}

TEST_F(SimPlatformTest, preemption_waits_for_the_outermost_of_nested_mutexes)
{
  const auto outer = sim.make_mutex();
  const auto inner = sim.make_mutex();
  expect_run([&] {
    start("low", fifo(10), [&] {
      outer->lock();
      inner->lock();
      start("high", fifo(20), [&] { events.push_back("high"); });
      inner->unlock();
      events.push_back("inner released");
      outer->unlock();
      events.push_back("outer released");
    });
  });
  EXPECT_THAT(events, ElementsAre("inner released", "high", "outer released"));
}

TEST_F(SimPlatformTest, waking_somebody_under_a_mutex_displaces_no_third_thread_for_the_holder)
{
  std::atomic<uint32_t> word{0};
  const auto mutex = duo.make_mutex();
  int64_t preemptions = -1;
  expect_run(duo, [&] {
    start_on(duo, "high", fifo(30), [&] {
      duo.wait(word, 0, kNever);
      duo.work(milliseconds(1));
    });
    start_on(duo, "mid", fifo(20), [&] {
      const CpuWatch watch = duo.watch_cpu(false);
      duo.work(milliseconds(3));
      preemptions = duo.end_watch(watch).preemptions;
    });
    start_on(duo, "low", fifo(10), [&] {
      duo.work(milliseconds(1));
      mutex->lock();
      word.store(1);
      duo.wake_one(word);
      mutex->unlock();
    });
  });
  EXPECT_EQ(preemptions, 0);
}

TEST_F(SimPlatformTest, mutex_excludes_across_cpus_and_goes_to_the_most_urgent)
{
  const auto mutex = duo.make_mutex();
  const auto critical = [&](const char * name) {
    mutex->lock();
    events.push_back(name);
    duo.work(milliseconds(2));
    mutex->unlock();
  };
  expect_run(duo, [&] {
    start_on(duo, "a", fifo(1), [&] { critical("a"); });
    start_on(duo, "b", fifo(2), [&] {
      duo.work(milliseconds(1));
      critical("b");
    });
    start_on(duo, "c", fifo(3), [&] {
      duo.sleep_until(at_ms(1));
      critical("c");
    });
  });
  EXPECT_THAT(events, ElementsAre("a", "c", "b"));
  EXPECT_EQ(duo.now(), at_ms(6));
}

TEST_F(SimPlatformTest, work_that_ends_at_the_instant_of_a_preemption_has_ended)
{
  TimePoint end;
  int64_t preemptions = -1;
  expect_run([&] {
    start("low", fifo(10), [&] {
      const CpuWatch watch = sim.watch_cpu(false);
      sim.work(milliseconds(5));
      end = sim.now();
      preemptions = sim.end_watch(watch).preemptions;
      sim.work(milliseconds(1));
    });
    start("high", fifo(20), [&] {
      sim.sleep_until(at_ms(5));
      events.push_back("high released at " + std::to_string(sim.now().time_since_epoch().count()));
      sim.work(milliseconds(2));
    });
  });
  EXPECT_EQ(end, at_ms(5));
  EXPECT_EQ(preemptions, 0);
  EXPECT_THAT(sim.schedule(), ElementsAre("0-5ms cpu0 low", "5-7ms cpu0 high", "7-8ms cpu0 low"));
}

TEST_F(SimPlatformTest, releases_at_an_instant_come_before_code_of_less_urgent_threads_there)
{
  expect_run([&] {
    start("low", fifo(10), [&] {
      sim.work(milliseconds(5));
      events.push_back("low done");
    });
    start("timer", fifo(20), [&] {
      sim.sleep_until(at_ms(5));
      events.push_back("timer");
    });
  });
  EXPECT_THAT(events, ElementsAre("timer", "low done"));
}

TEST_F(SimPlatformTest, raising_another_thread_preempts_and_lowering_oneself_yields)
{
  ThreadId a = 0;
  expect_run([&] {
    start("b", fifo(20), [&] {
      sim.sleep_until(at_ms(1));
      EXPECT_EQ(sim.apply(a, fifo(30)), 0);
      events.push_back("b goes on at " + std::to_string(sim.now().time_since_epoch().count()));
    });
    start("a", fifo(10), [&] {
      a = sim.current_thread();
      sim.work(milliseconds(2));
      EXPECT_EQ(sim.apply(a, fifo(5)), 0);
      events.push_back("a goes on");
    });
  });
  EXPECT_THAT(events, ElementsAre("b goes on at 2000000", "a goes on"));
  EXPECT_EQ(sim.counts().apply, 2);
}

TEST_F(SimPlatformTest, refused_policies_become_findings_but_the_affinity_is_applied)
{
  duo.refuse({SchedulingPolicy::kFifo});
  expect_run(duo, [&] {
    start_on(duo, "worker", fifo(10, {1}), [&] {
      Attributes in_force;
      EXPECT_EQ(duo.read_back(duo.current_thread(), &in_force), 0);
      EXPECT_EQ(in_force.policy, SchedulingPolicy::kOther);
      EXPECT_EQ(in_force.cpu_affinity, CpuSet({1}));
      EXPECT_EQ(duo.apply(duo.current_thread(), fifo(11)), EPERM);
    });
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0], HasSubstr("worker: asked for fifo, priority 10, cpu_affinity 1"));
  EXPECT_THAT(findings[0], HasSubstr("Operation not permitted"));
}

TEST_F(SimPlatformTest, system_clock_runs_with_the_virtual_one_and_can_be_stepped)
{
  expect_run([&] {
    sim.set_system_now_ns(1000);
    EXPECT_EQ(sim.system_now_ns(), 1000);
    sim.sleep_for(milliseconds(1));
    EXPECT_EQ(sim.system_now_ns(), 1'001'000);
  });
}

}  // namespace
}  // namespace rclrt_core
