// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// How much the engine does at once: lock sections and wake-ups are counted, not timed. And to whom it lends. And in
// which order threads take jobs.

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

/// On two CPUs, so many groups wait for CPU 0 and then two less urgent ones for CPU 1: the wake-ups for the last
/// one. No time passes, so no thread takes a job in between.
int64_t wakes_for_the_last(int groups)
{
  EngineOptions options;
  options.max_threads = 4;
  EngineOnSim engine(options, 2);
  const auto add = [&engine](const std::string & name, int priority, int cpu) {
    CallbackOptions callback = engine.fifo_callback(name, 1, priority);
    callback.attributes.cpu_affinity = CpuSet({cpu});
    engine.add(std::move(callback));
  };
  for (int i = 0; i < groups; ++i) {
    add("on 0: " + std::to_string(i), 50, 0);
  }
  add("first on 1", 10, 1);
  add("last", 10, 1);
  int64_t wakes = 0;
  engine.run(500, {}, [&] {
    engine.until(1);
    for (int i = 0; i < groups; ++i) {
      engine.notify("on 0: " + std::to_string(i));
    }
    engine.notify("first on 1");
    const int64_t before = engine.sim.counts().wake;
    engine.notify("last");
    wakes = engine.sim.counts().wake - before;
  });
  EXPECT_EQ(engine.statistics("last").executed, 1u);
  return wakes;
}

TEST(Bounds, a_release_looks_at_64_ready_groups_at_most)
{
  // The last of 64 is the one that needs a thread more.
  EXPECT_EQ(wakes_for_the_last(62), 1);
  // One group more, and it is not seen: a thread that arrives later sends for it.
  EXPECT_EQ(wakes_for_the_last(63), 0);
  EXPECT_EQ(wakes_for_the_last(200), 0);
}

TEST(Bounds, a_second_job_of_an_exclusive_group_wakes_no_second_thread)
{
  EngineOnSim engine({}, 2);
  engine.add(engine.callback_options("a", milliseconds(1)));
  std::vector<int64_t> wakes;
  engine.run(20, {}, [&] {
    engine.until(1);
    for (int i = 0; i < 3; ++i) {
      const int64_t before = engine.sim.counts().wake;
      engine.notify("a");
      wakes.push_back(engine.sim.counts().wake - before);
    }
  });
  EXPECT_EQ(wakes, (std::vector<int64_t>{1, 0, 0}));
}

/// Lock sections of the timer thread in which it releases so many timers that are due at once.
int64_t sections_for(int timers)
{
  EngineOptions options;
  options.attributes_mode = AttributesMode::kOff;  // no thread is changed: no other lock is taken
  EngineOnSim engine(options);
  TimerOptions once;
  once.period = milliseconds(10);
  once.one_shot = true;
  for (int i = 0; i < timers; ++i) {
    engine.add_timer(engine.callback_options(std::to_string(i), {}), once, "group");
  }
  int64_t sections = 0;
  engine.sim.set_hook([&](SimPlatform::Point point, const std::string & thread) {
    sections += point == SimPlatform::Point::kLocked && thread == "rclrt timers" &&
                engine.sim.now() == at_ms(10);
  });
  int64_t at_ten = 0;
  engine.run(20, {}, [&] {
    engine.until(11);
    at_ten = sections;
  });
  for (int i = 0; i < timers; ++i) {
    EXPECT_EQ(engine.statistics(std::to_string(i)).executed, 1u);
  }
  return at_ten;
}

TEST(Bounds, eight_due_timers_are_released_in_one_section_of_the_lock)
{
  EXPECT_EQ(sections_for(1), 1);
  EXPECT_EQ(sections_for(8), 1);
  EXPECT_EQ(sections_for(9), 2);
  EXPECT_EQ(sections_for(16), 2);
  EXPECT_EQ(sections_for(17), 3);
}

/// One thread for all. A stranger (fifo 50) wants the CPU from 2 to 12 ms.
struct OneThread
{
  explicit OneThread(AttributesMode mode) : engine(options(mode))
  {
    for (const auto & [name, priority] : {std::pair("low", 10), std::pair("high", 90)}) {
      engine.add(engine.fifo_callback(name, priority == 10 ? 5 : 1, priority));
    }
  }
  static EngineOptions options(AttributesMode mode)
  {
    EngineOptions options;
    options.model = ExecutionModel::kEvents;
    options.attributes_mode = mode;
    return options;
  }
  Lines run()
  {
    return engine.run(50, {{1, "low"}, {3, "high"}}, [this] {
      std::unique_ptr<Thread> stranger;
      const auto body = [this] {
        engine.until(2);
        engine.work(10);
      };
      engine.start("stranger", fifo(50), body, &stranger);
      stranger->join();
    });
  }
  EngineOnSim engine;
};

TEST(Lending, the_only_thread_is_as_urgent_as_what_waits_for_it)
{
  OneThread scene(AttributesMode::kPrefer);
  EXPECT_EQ(scene.run(), (Lines{"1-1-7 low", "3-7-8 high"}));
}

TEST(Lending, changes_no_thread_if_attributes_are_off)
{
  OneThread scene(AttributesMode::kOff);
  EXPECT_EQ(scene.run(), (Lines{"1-1-16 low", "3-16-17 high"}));
  EXPECT_EQ(scene.engine.sim.counts().apply, 0);
}

// By default the platform lets a thread go on without a CPU at the instant at which its work is done: so it may take a
// less urgent job than those that wait for the CPU. The engine does not, where threads need CPUs.
TEST(EveryThread, takes_no_less_urgent_job_while_one_of_another_group_waits_for_the_cpu)
{
  std::mt19937 random(7);
  const auto pick = [&random](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  for (int round = 0; round < 40; ++round) {
    const bool is_pool = pick(0, 1) == 1;
    EngineOptions options;
    options.model = is_pool ? ExecutionModel::kPool : ExecutionModel::kIsolated;
    EngineOnSim engine(options);
    engine.sim.need_cpu();
    std::map<uint32_t, std::pair<int, std::string>> of;  // priority and group, by id
    std::vector<std::string> names;
    for (int i = pick(2, 6); i > 0; --i) {
      names.push_back(std::string(1, static_cast<char>('a' + i)));
      const int priority = 10 * pick(1, 5);
      const std::string group = "group " + std::to_string(pick(0, 2));
      CallbackOptions callback = engine.callback_options(names.back(), milliseconds(pick(1, 4)));
      callback.attributes = fifo(priority);
      of[engine.add(callback, group)->id()] = {priority, group};
    }
    std::vector<Arrival> arrivals;
    for (int64_t ms = 0; ms < 100; ++ms) {
      for (const std::string & name : names) {
        if (pick(0, 9) == 0) {
          arrivals.push_back({ms, name});
        }
      }
    }
    engine.run(130, arrivals);
    for (const auto & low : engine.ran) {
      for (const auto & high : engine.ran) {
        const bool waits = high.release_ns < low.start_ns && low.start_ns < high.start_ns;
        const bool is_other = of[high.callback].second != of[low.callback].second;
        if (!waits || !is_other || of[high.callback].first <= of[low.callback].first) {
          continue;
        }
        const bool has_free_group =
          std::none_of(engine.ran.begin(), engine.ran.end(), [&](const auto & job) {
            return of[job.callback].second == of[high.callback].second &&
                   job.start_ns <= low.start_ns && low.start_ns < job.end_ns;
          });
        EXPECT_FALSE(has_free_group) << "round " << round << " at " << low.start_ns;
      }
    }
  }
}

}  // namespace
}  // namespace rclrt_core
