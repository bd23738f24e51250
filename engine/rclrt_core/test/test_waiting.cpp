// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Threads that look for work before they sleep.

#include <algorithm>
#include <atomic>
#include <random>

#include "../src/threads/arrivals.hpp"
#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

WaitingOptions waiting(Waiting kind, Duration spin = milliseconds(1))
{
  WaitingOptions options;
  options.kind = kind;
  options.spin = spin;
  return options;
}

// ---- When the next job is likely

Arrivals after(const std::vector<int64_t> & gaps_us)
{
  Arrivals arrivals;
  for (const int64_t gap : gaps_us) {
    arrivals.add(microseconds(gap));
  }
  return arrivals;
}

TEST(Arrivals, are_looked_for_around_the_time_of_the_last_ones)
{
  const Look look = after(std::vector<int64_t>(50, 2000)).look(waiting(Waiting::kAdaptive));
  EXPECT_TRUE(look.any());
  EXPECT_LT(look.from, microseconds(2000));
  EXPECT_GE(look.from, microseconds(1500));
  EXPECT_GE(look.to, microseconds(2000));
}

TEST(Arrivals, are_not_looked_for_if_there_were_few_or_if_they_are_irregular)
{
  const WaitingOptions options = waiting(Waiting::kAdaptive);
  EXPECT_FALSE(Arrivals().look(options).any());
  EXPECT_FALSE(after({2000, 2000, 2000}).look(options).any());
  std::vector<int64_t> irregular;
  for (int i = 0; i < 50; ++i) {
    irregular.push_back(i % 2 == 0 ? 100 : 4000);
  }
  EXPECT_FALSE(after(irregular).look(options).any());
}

TEST(Arrivals, cost_no_more_than_the_share_on_average)
{
  std::minstd_rand random(1);
  for (int round = 0; round < 300; ++round) {
    WaitingOptions options = waiting(Waiting::kAdaptive, milliseconds(5));
    options.max_share = 0.05 * static_cast<double>(1 + round % 20);
    const int64_t period = 20 + static_cast<int64_t>(random() % 5000);
    const int64_t jitter = 1 + static_cast<int64_t>(random() % 200);
    Arrivals arrivals;
    int64_t all = 0;
    int64_t spent = 0;
    for (int i = 0; i < 2000; ++i) {
      const int64_t gap = period + static_cast<int64_t>(random()) % jitter;
      const Look look = arrivals.look(options);
      const int64_t from = look.from / microseconds(1);
      const int64_t until = std::min<int64_t>(gap, look.to / microseconds(1));
      spent += look.any() ? std::max<int64_t>(0, until - from) : 0;
      all += gap;
      arrivals.add(microseconds(gap));
    }
    EXPECT_LE(
      static_cast<double>(spent), (options.max_share * 1.1 + 0.01) * static_cast<double>(all))
      << "period " << period << " us, jitter " << jitter << " us, share " << options.max_share;
  }
}

// ---- In the engine

/// Writes down who looks for work, with which attributes.
class Watched : public SimPlatform
{
public:
  using SimPlatform::SimPlatform;
  bool spin(
    const std::atomic<uint32_t> & word, uint32_t expected, TimePoint until) noexcept override
  {
    Attributes attributes;
    read_back(current_thread(), &attributes);
    looks.push_back({now(), until, attributes});
    last_to_look = current_thread();
    most = std::max(most, ++looking);
    while (uses_the_cpu && word == expected && now() < until) {
      work(microseconds(20));
    }
    SimPlatform::spin(word, expected, until);
    --looking;
    return !is_busy;
  }

  struct OneLook
  {
    TimePoint from;
    TimePoint until;
    Attributes attributes;
  };
  std::vector<OneLook> looks;
  ThreadId last_to_look = 0;
  int looking = 0;
  int most = 0;
  bool uses_the_cpu = false;  ///< as on a real machine
  bool is_busy = false;       ///< another thread takes the CPU all the time
};

struct Scene : EngineOn<Watched>
{
  Scene(int cpus, EngineOptions options) : EngineOn(std::move(options), cpus) {}

  void add(const std::string & name, const Attributes & attributes, Duration work)
  {
    CallbackOptions options = callback_options(name, work);
    options.depth = 100;
    options.attributes = attributes;
    EngineOn::add(std::move(options), [this, name, work] {
      jobs.push_back(
        name + " at " + std::to_string(sim.now().time_since_epoch() / microseconds(1)));
      had.push_back(in_force());
      by_the_last_to_look += sim.current_thread() == sim.last_to_look ? 1 : 0;
      sim.work(work);
    });
  }

  void run(
    const std::vector<std::pair<int64_t, std::string>> & arrivals_us, const Attributes & spins = {},
    const std::function<void()> & first = {})
  {
    spinner = spins;
    const int64_t last_us = arrivals_us.back().first;
    EngineOn::run(last_us / 1000 + 50, {}, [&] {
      if (first) {
        first();
      }
      for (const auto & [time, name] : arrivals_us) {
        sim.sleep_until(TimePoint(microseconds(time)));
        notify(name);
      }
    });
  }

  Lines jobs;
  std::vector<Attributes> had;
  int by_the_last_to_look = 0;
};

EngineOptions options_of(WaitingOptions waiting, ExecutionModel model = ExecutionModel::kPreemptive)
{
  EngineOptions options;
  options.model = model;
  options.waiting = waiting;
  return options;
}

std::vector<std::pair<int64_t, std::string>> every(
  int64_t period_us, const std::string & name, int n)
{
  std::vector<std::pair<int64_t, std::string>> arrivals;
  for (int i = 1; i <= n; ++i) {
    arrivals.emplace_back(i * period_us, name);
  }
  return arrivals;
}

TEST(Waiting, a_thread_that_looks_for_work_gives_way_and_its_job_has_its_attributes)
{
  for (const ExecutionModel model : kModels) {
    SCOPED_TRACE(to_string(model));
    Scene scene(2, options_of(waiting(Waiting::kSpin, milliseconds(3)), model));
    scene.add("a", fifo(80), microseconds(100));
    scene.run(every(2000, "a", 20));
    EXPECT_EQ(scene.jobs.size(), 20u);
    for (const Attributes & had : scene.had) {
      EXPECT_EQ(had.scheduling_policy, SchedulingPolicy::kFifo);
      EXPECT_EQ(had.priority, 80);
    }
    EXPECT_GE(scene.sim.looks.size(), 20u) << "after each job";
    for (const Watched::OneLook & look : scene.sim.looks) {
      EXPECT_EQ(look.attributes.scheduling_policy, SchedulingPolicy::kOther);
      EXPECT_LE(look.until - look.from, milliseconds(3));
    }
    EXPECT_EQ(scene.sim.most, 1);
  }
}

TEST(Waiting, the_thread_that_looks_is_the_one_that_gets_the_job)
{
  // Without it, "b" would go to the thread that has its attributes, and sleeps.
  Scene scene(2, options_of(waiting(Waiting::kSpin, milliseconds(20))));
  scene.add("a", fifo(80), microseconds(100));
  scene.add("b", fifo(70), microseconds(100));
  scene.run({{1000, "a"}, {1000, "b"}, {3000, "a"}, {5000, "b"}, {7000, "a"}, {9000, "b"}});
  EXPECT_EQ(scene.jobs.size(), 6u);
  EXPECT_EQ(scene.by_the_last_to_look, 4) << "nobody looks before there was a job";
}

TEST(Waiting, real_time_work_beside_a_thread_that_looks_begins_at_once_on_every_cpu)
{
  for (const int cpus : {2, 3}) {
    Scene scene(cpus, options_of(waiting(Waiting::kSpin, milliseconds(20))));
    scene.sim.uses_the_cpu = true;
    scene.add("a", fifo(80), microseconds(100));
    std::vector<TimePoint> begun;
    std::vector<std::unique_ptr<Thread>> others(static_cast<std::size_t>(cpus));
    const auto body = [&] {
      scene.sim.sleep_until(TimePoint(milliseconds(5)));
      begun.push_back(scene.sim.now());
      scene.sim.work(milliseconds(3));
    };
    scene.run({{1000, "a"}, {6000, "a"}}, {}, [&] {
      for (auto & other : others) {
        ASSERT_TRUE(scene.sim.start_thread({"other", 0, fifo(10)}, body, {}, &other).ok());
      }
    });
    EXPECT_EQ(begun, std::vector<TimePoint>(others.size(), TimePoint(milliseconds(5))));
    EXPECT_GE(scene.sim.looks.size(), 1u);
    EXPECT_EQ(scene.jobs, (Lines{"a at 1000", "a at 6020"})) << "at its next look";
  }
}

TEST(Waiting, fewer_threads_look_than_there_are_cpus)
{
  for (const int cpus : {1, 2, 3}) {
    Scene scene(
      cpus, options_of(waiting(Waiting::kSpin, milliseconds(50)), ExecutionModel::kIsolated));
    std::vector<std::pair<int64_t, std::string>> arrivals;
    for (const std::string name : {"a", "b", "c", "d"}) {
      scene.add(name, fifo(50), microseconds(100));
      arrivals.emplace_back(1000 + 1000 * static_cast<int64_t>(arrivals.size()), name);
    }
    scene.run(arrivals);
    EXPECT_EQ(scene.jobs.size(), 4u);
    EXPECT_EQ(scene.sim.most, cpus - 1);
  }
}

TEST(Waiting, a_real_time_process_or_a_single_cpu_does_not_look_and_says_so)
{
  for (const bool one_cpu : {true, false}) {
    Scene scene(one_cpu ? 1 : 2, options_of(waiting(Waiting::kSpin)));
    scene.add("a", fifo(80), microseconds(100));
    scene.run(every(2000, "a", 3), one_cpu ? Attributes{} : fifo(10));
    EXPECT_EQ(scene.jobs.size(), 3u);
    EXPECT_TRUE(scene.sim.looks.empty());
    const std::vector<Finding> findings = scene.engine.findings();
    EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [&](const Finding & finding) {
      return finding.subject == "waiting spin" &&
             finding.what.find(one_cpu ? "one CPU" : "real-time") != std::string::npos;
    }));
  }
}

TEST(Waiting, somebody_who_needs_the_cpu_ends_it_for_a_while)
{
  Scene scene(2, options_of(waiting(Waiting::kSpin)));
  scene.sim.is_busy = true;
  scene.add("a", fifo(80), microseconds(100));
  scene.run(every(10'000, "a", 50));
  EXPECT_EQ(scene.jobs.size(), 50u);
  ASSERT_EQ(scene.sim.looks.size(), 3u) << "each time after a longer while";
  EXPECT_GE(scene.sim.looks[1].from - scene.sim.looks[0].from, milliseconds(100));
  EXPECT_GE(scene.sim.looks[2].from - scene.sim.looks[1].from, milliseconds(200));
}

TEST(Waiting, adaptive_sleeps_until_shortly_before_the_next_job)
{
  Scene scene(2, options_of(waiting(Waiting::kAdaptive)));
  scene.add("a", fifo(80), microseconds(100));
  scene.run(every(2000, "a", 60));
  EXPECT_EQ(scene.jobs.size(), 60u);
  ASSERT_GE(scene.sim.looks.size(), 30u);
  const Watched::OneLook & last = scene.sim.looks[scene.sim.looks.size() - 2];
  const Duration since_job = (last.from.time_since_epoch() - microseconds(100)) % milliseconds(2);
  EXPECT_GE(since_job, microseconds(1500)) << "of the 1.9 ms";
}

/// Whatever the waiting, virtual time shows no difference: a look costs nothing there.
TEST(Waiting, does_not_change_what_runs_when)
{
  for (const ExecutionModel model : kModels) {
    for (unsigned seed = 0; seed < 30; ++seed) {
      Lines jobs;
      for (const Waiting kind : {Waiting::kBlock, Waiting::kSpin, Waiting::kAdaptive}) {
        std::minstd_rand random(seed + 1);
        Scene scene(2, options_of(waiting(kind, microseconds(random() % 4000 + 1)), model));
        const std::vector<std::string> names = {"a", "b", "c", "d"};
        for (std::size_t i = 0; i < names.size(); ++i) {
          const int priority = 10 + static_cast<int>(10 * i);
          scene.add(names[i], fifo(priority), microseconds(random() % 1500));
        }
        std::vector<std::pair<int64_t, std::string>> arrivals;
        int64_t time = 1000;
        for (int i = 0; i < 60; ++i) {
          time += static_cast<int64_t>(random() % 3000);
          arrivals.emplace_back(time, names[random() % names.size()]);
        }
        scene.run(arrivals);
        if (kind == Waiting::kBlock) {
          jobs = scene.jobs;
        } else {
          EXPECT_EQ(scene.jobs, jobs) << to_string(kind) << ", seed " << seed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace rclrt_core
