// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Mutual exclusion without blocked threads, urgency inheritance, reentrant parallelism.

#include <array>
#include <random>

#include "scenes.hpp"

namespace rclrt_core
{
namespace
{

TEST(ExclusiveGroup, decides_who_runs_when)
{
  expect({
    {"the most urgent waiting job comes next", "",
     "running 10 10 in g, low 1 20 in g, high 1 30 in g", "0 running, 1 low, 2 high",
     "0-0-10 running, 2-10-11 high, 1-11-12 low"},
    // One thread more than groups: if jobs of the busy group sat in threads, "free" would have none.
    {"waiting jobs hold no thread", "threads 2",
     "a 5 10 in busy, b 5 10 in busy, c 5 10 in busy, d 5 10 in busy, free 1 20",
     "0 a, 0 b, 0 c, 0 d, 1 free", "0-0-6 a, 1-1-2 free, 0-6-11 b, 0-11-16 c, 0-16-21 d"},
    {"what the OS holds more urgent comes first whatever the policy, which would take low first",
     "first_come", "first 10 40 in g, low 10 10 in g, high 10 30 in g, middle 20 20",
     "0 first, 1 low, 2 high, 12 middle",
     "0-0-10 first, 2-10-20 high, 12-20-40 middle, 1-40-50 low"},
    {"an inherited urgency ends with the job", "", "low 10 10 in g, high 2 30 in g, middle 5 20",
     "0 low, 3 high, 20 low, 22 middle", "0-0-10 low, 3-10-12 high, 20-20-35 low, 22-22-27 middle"},
    {"a less urgent waiting job lends nothing", "", "low 1 5 in g, runner 10 10 in g, middle 4 20",
     "0 runner, 3 low, 4 middle", "0-0-14 runner, 4-4-8 middle, 3-14-15 low"},
  });
  // Priority inversion as in the textbook: without inheritance "middle" would run before "low" is finished and "high"
  // would wait for both.
  for (const char * order_of_the_queue : {"", "first_come"}) {
    expect(
      {{"the runner inherits the urgency of the job that waits for it", order_of_the_queue,
        "low 10 10 in g, high 2 30 in g, middle 20 20", "0 low, 3 high, 4 middle",
        "0-0-10 low, 3-10-12 high, 4-12-32 middle"}});
  }
  for (const char * model : {"priority_events, cpus 4", "preemptive, cpus 4", "isolated, cpus 4"}) {
    expect(
      {{"its callbacks never overlap on any number of CPUs", model,
        "a 5 10 in g, b 5 10 in g, c 5 10 in g", "0 a, 1 b, 2 c, 3 a",
        "0-0-5 a, 1-5-10 b, 2-10-15 c, 3-15-20 a"}});
  }
}

TEST(ExclusiveGroup, that_went_and_came_back_still_excludes_what_runs)
{
  for (const ExecutionModel execution_model : kModels) {
    const EngineOptions options = with_model(execution_model);
    EngineOnSim engine(options, 4);
    const auto group = engine.group("group");
    const auto leaves = engine.add(engine.fifo_callback("leaves", 10, 10), "group");
    EXPECT_EQ(
      engine.run(
        50, {{0, "leaves"}, {3, "comes"}, {4, "comes"}},
        [&] {
          EXPECT_FALSE(engine.engine.add_group_again(group).ok());  // it is here
          engine.until(1);
          engine.engine.remove(leaves);
          EXPECT_TRUE(engine.engine.remove_group(group).ok());
          EXPECT_TRUE(engine.engine.add_group_again(group).ok());
          engine.add(engine.fifo_callback("comes", 2, 20), "group");
        }),
      (Lines{"0-0-10 leaves", "3-10-12 comes", "4-12-14 comes"}))
      << to_string(execution_model);
    EngineOnSim other(options);
    EXPECT_FALSE(other.engine.add_group_again(group).ok());
    EXPECT_FALSE(other.engine.add_group_again(nullptr).ok());
  }
}

TEST(ExclusiveGroup, urgency_is_lent_but_not_the_cpu)
{
  EngineOnSim engine(pool(), 2);
  CallbackOptions low = engine.fifo_callback("low", 10, 10);
  low.attributes.cpu_affinity = CpuSet(std::vector<int>{0});
  engine.add(
    low,
    [&] {
      engine.work(10);
      const Attributes in_force = engine.in_force();
      EXPECT_EQ(in_force.priority, 30);
      EXPECT_EQ(in_force.cpu_affinity.cpus(), std::vector<int>{0});
    },
    "shared");
  CallbackOptions high = engine.fifo_callback("high", 2, 30);
  high.attributes.cpu_affinity = CpuSet(std::vector<int>{1});
  engine.add(
    high,
    [&] {
      const Attributes in_force = engine.in_force();
      EXPECT_EQ(in_force.cpu_affinity.cpus(), std::vector<int>{1});
    },
    "shared");
  EXPECT_EQ(engine.run(100, {{0, "low"}, {3, "high"}}), (Lines{"0-0-10 low", "3-10-10 high"}));
}

TEST(ExclusiveGroup, a_refused_loan_takes_nothing_from_the_runner)
{
  EngineOnSim engine(pool(), 2);
  CallbackOptions runner = engine.fifo_callback("runner", 10, 80);
  runner.attributes.cpu_affinity = CpuSet({1});
  Attributes in_force;
  engine.add(
    runner,
    [&] {
      engine.work(10);
      in_force = engine.in_force();
    },
    "shared");
  CallbackOptions refused = engine.callback_options("refused", milliseconds(1));
  refused.attributes = os_deadline();
  engine.add(refused, "shared");
  engine.add(engine.fifo_callback("low", 1, 10), "shared");
  const Lines jobs = engine.run(50, {{2, "runner"}, {3, "refused"}, {4, "low"}}, [&] {
    engine.until(1);
    engine.sim.refuse({SchedulingPolicy::kDeadline});
  });
  EXPECT_EQ(jobs.at(0), "2-2-12 runner");
  EXPECT_EQ(to_string(in_force), to_string(runner.attributes));
}

TEST(ExclusiveGroup, a_thread_on_its_way_keeps_what_it_has_when_more_is_refused)
{
  EngineOnSim engine(pool(1));
  CallbackOptions refused = engine.callback_options("refused", milliseconds(1));
  refused.attributes = os_deadline();
  engine.add(refused);
  engine.add(engine.fifo_callback("high", 1, 80));
  engine.add(engine.fifo_callback("low", 1, 10));
  int priority = 0;
  const Lines jobs = engine.run(50, {{3, "high"}, {4, "refused"}, {5, "low"}}, [&] {
    engine.until(1);
    engine.sim.refuse({SchedulingPolicy::kDeadline});
    const auto urgent = engine.stranger(85, 2, 10);
    engine.until(6);
    for (const ThreadReport & thread : engine.engine.threads()) {
      priority = thread.name == "rclrt worker 0" ? thread.in_force.priority : priority;
    }
  });
  EXPECT_EQ(priority, 80);
  EXPECT_EQ(jobs.at(0), "4-12-13 refused")
    << "the one thread came at 12, which it could by its 80 only";
}

TEST(ExclusiveGroup, an_urgent_job_overtakes_the_one_that_a_thread_was_sent_for)
{
  for (const bool is_deadline : {false, true}) {
    const EngineOptions options =
      pool(3, is_deadline ? &fixed_priority_policy() : &first_come_policy());
    EngineOnSim engine(options);
    engine.add(engine.fifo_callback("first", 1, 10), "shared");
    CallbackOptions urgent = engine.fifo_callback("urgent", 1, 90);
    urgent.attributes = is_deadline ? os_deadline() : urgent.attributes;
    engine.add(urgent, "shared");
    EXPECT_EQ(
      engine.run(
        50, {{3, "first"}, {4, "urgent"}}, [&] { const auto hog = engine.stranger(50, 2, 20); }),
      (Lines{"4-4-5 urgent", "3-5-24 first"}));
  }
}

TEST(ExclusiveGroup, a_thread_sent_for_a_group_is_as_urgent_as_the_most_urgent_job_that_waits_there)
{
  // "blocks" comes before the group of "first" and "urgent", and takes the thread that was to go there.
  EngineOnSim engine(pool(3));
  engine.add(engine.fifo_callback("first", 1, 10), "shared");
  CallbackOptions urgent = engine.callback_options("urgent", milliseconds(1));
  urgent.attributes = os_deadline();
  engine.add(urgent, "shared");
  CallbackOptions blocks = engine.fifo_callback("blocks", 0, 90);
  engine.add(blocks, [&] { engine.sim.sleep_for(milliseconds(40)); });
  const Lines jobs = engine.run(60, {{3, "first"}}, [&] {
    const auto hog = engine.stranger(50, 2, 30);
    engine.until(4);
    const Publication batch;
    engine.notify("urgent");
    engine.notify("blocks");
  });
  EXPECT_EQ(jobs, (Lines{"4-4-5 urgent", "4-5-45 blocks", "3-33-34 first"}));
}

/// One CPU; high (fifo 40, 3 ms) and low (10) are of one group, mid (20, 10 ms) is not. The thread of low has had the
/// urgency of high. Returns which jobs began, in order.
Lines high_low_and_mid(ExecutionModel model, const std::vector<Arrival> & arrivals)
{
  EngineOptions options = pool(2);
  options.model = model;
  EngineOnSim engine(options);
  // A thread that lowers itself loses its CPU at once.
  engine.sim.set_locks({true, true});
  SimPlatform::Costs costs;
  costs.lock_section = std::chrono::nanoseconds(1);
  engine.sim.set_costs(costs);
  for (const auto & [name, work_ms, priority] :
       {std::tuple("high", 3, 40), std::tuple("low", 1, 10), std::tuple("mid", 10, 20)}) {
    CallbackOptions callback = engine.fifo_callback(name, work_ms, priority);
    engine.add(std::move(callback), name == std::string("mid") ? "" : "both");
  }
  engine.run(50, arrivals);
  Lines names;
  for (const rclrt_job_record & record : engine.ran) {
    names.push_back(engine.name_of(record.callback));
  }
  return names;
}

TEST(ExclusiveGroup, a_thread_does_not_take_a_job_with_the_urgency_of_its_last_one)
{
  for (const auto model : {ExecutionModel::kPreemptive, ExecutionModel::kIsolated}) {
    // If it were woken for low, and took it, low would be lent the urgency of high and run before mid.
    EXPECT_EQ(
      high_low_and_mid(model, {{1, "high"}, {5, "mid"}, {6, "low"}, {8, "high"}}),
      (Lines{"high", "mid", "high", "low"}));
    // A thread that comes to low after high must not keep the urgency of high, either.
    EXPECT_EQ(
      high_low_and_mid(model, {{1, "high"}, {2, "low"}, {3, "mid"}, {8, "high"}}),
      (Lines{"high", "mid", "high", "low"}));
  }
}

TEST(ReentrantGroup, runs_one_callback_in_parallel_with_itself)
{
  expect({
    {"up to the bound", "preemptive, cpus 4", "group g 2, a 10 10 in g", "0 a 3",
     "0-0-10 a, 0-0-10 a, 0-10-20 a"},
    {"up to the bound", "isolated, cpus 4", "group g 2, a 10 10 in g", "0 a 3",
     "0-0-10 a, 0-0-10 a, 0-10-20 a"},
    {"up to the number of CPUs", "cpus 3", "group g 0, a 10 10 in g", "0 a 4",
     "0-0-10 a, 0-0-10 a, 0-0-10 a, 0-10-20 a"},
    {"on all the threads that one notification can occupy", "cpus 4", "group g 4, a 10 10 in g",
     "5 a 4", "5-5-15 a, 5-5-15 a, 5-5-15 a, 5-5-15 a"},
  });
}

TEST(ReentrantGroup, a_bound_of_zero_lets_one_callback_wait_for_another_on_a_single_cpu)
{
  EngineOnSim engine(pool());
  engine.group("reentrant", 0);
  CallbackOptions waits = engine.fifo_callback("waits", 0, 10);
  engine.add(waits, [&] { engine.sim.sleep_for(milliseconds(10)); }, "reentrant");
  engine.add(engine.fifo_callback("answers", 1, 10), "reentrant");
  EXPECT_EQ(
    engine.run(50, {{0, "waits"}, {1, "answers"}}), (Lines{"0-0-10 waits", "1-1-2 answers"}));
}

TEST(Overload, waiting_jobs_are_bounded_by_the_depth_and_the_oldest_is_dropped)
{
  expect({
    {"one by one", "", "a 10 10 depth 2", "0 a, 1 a, 2 a, 3 a, 4 a",
     "0-0-10 a, 3-10-20 a, 4-20-30 a", "a released 5, a dropped 2"},
    // With a step for each it would not end.
    {"a burst of a quintillion", "", "a 1 10 depth 3", "0 a 1000000000000000000",
     "0-0-1 a, 0-1-2 a, 0-2-3 a", "a released 1000000000000000000, a dropped 999999999999999997"},
  });
}

// Random equals. Each has had as many turns as any other, but for the round that is under way.
TEST(Overload, equals_take_turns_whatever_their_depths_and_overrun_rules)
{
  std::mt19937 random(1);
  const auto pick = [&random](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  const std::array<const Policy *, 3> policies = {
    &first_come_policy(), &fixed_priority_policy(), &edf_policy()};
  for (int round = 0; round < 100; ++round) {
    EngineOptions options = pool(static_cast<std::size_t>(pick(1, 2)));
    options.model = static_cast<ExecutionModel>(pick(0, 2));
    options.policy = policies[static_cast<std::size_t>(pick(0, 2))];
    const bool shared = options.model == ExecutionModel::kIsolated || pick(0, 1) == 1;
    const auto threads = options.model == ExecutionModel::kPreemptive ? options.max_threads : 1;
    EngineOnSim engine(options, 2);
    if (shared) {
      engine.group("shared", static_cast<uint32_t>(pick(1, 2)));
    }
    const int count = pick(2, 5);
    const int work_ms = pick(1, 3);
    std::vector<std::string> names;
    std::ostringstream system;
    system << "round " << round << ": " << options.policy->name() << ", " << threads << " threads, "
           << (shared ? "one group" : "a group each") << ", " << work_ms << " ms, depths";
    for (int i = 0; i < count; ++i) {
      CallbackOptions callback =
        engine.fifo_callback(std::string(1, static_cast<char>('a' + i)).c_str(), work_ms, 10);
      callback.depth = static_cast<uint32_t>(std::array<int, 5>{1, 2, 3, 10, 100}[pick(0, 4)]);
      if (pick(0, 3) == 0) {
        callback.overrun_rule = OverrunRule::kKeepLatest;
      }
      system << ' ' << callback.depth
             << (callback.overrun_rule == OverrunRule::kKeepLatest ? " (latest)" : "");
      names.push_back(callback.name);
      engine.add(callback, shared ? "shared" : "");
    }
    std::vector<Arrival> arrivals;
    for (int ms = 0; ms < 150; ++ms) {
      std::shuffle(names.begin(), names.end(), random);
      for (const std::string & name : names) {
        arrivals.push_back({ms, name});
      }
    }
    engine.run(150, arrivals);
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    for (const std::string & name : names) {
      const uint64_t executed = engine.statistics(name).executed;
      system << ", " << name << ' ' << executed;
      least = std::min(least, executed);
      most = std::max(most, executed);
    }
    EXPECT_LE(most - least, 1 + threads) << system.str();
    EXPECT_GE(least, 150u / static_cast<unsigned>(work_ms * count) - 1) << system.str();
  }
}

TEST(Overload, a_deep_backlog_loses_no_job_and_keeps_their_order)
{
  EngineOnSim engine(pool());
  CallbackOptions options = engine.fifo_callback("a", 2, 10);
  options.depth = 100;
  engine.add(options);
  std::vector<Arrival> arrivals;
  for (int i = 0; i < 60; ++i) {
    arrivals.push_back({i, "a"});
  }
  const Lines jobs = engine.run(200, arrivals);
  EXPECT_EQ(jobs.size(), 60u);
  // Most releases are known only roughly, but none comes before an earlier one.
  EXPECT_TRUE(std::is_sorted(jobs.begin(), jobs.end(), [](const auto & one, const auto & other) {
    return std::stod(one) < std::stod(other);
  }));
  const CallbackStatistics statistics = engine.statistics("a");
  EXPECT_EQ(statistics.executed, 60u);
  EXPECT_EQ(statistics.dropped, 0u);
}

TEST(Overload, a_callback_with_a_deep_backlog_does_not_starve_the_others)
{
  const EngineOptions options = pool(1, &first_come_policy());
  EngineOnSim engine(options);
  CallbackOptions flooded = engine.fifo_callback("flooded", 1, 10);
  flooded.depth = 100;
  engine.add(flooded);
  engine.add(engine.fifo_callback("other", 1, 10));
  std::vector<Arrival> arrivals;
  for (int i = 0; i < 600; ++i) {
    arrivals.push_back({i, "flooded", 2});  // twice what can be served
    if (i == 300) {
      arrivals.push_back({i, "other"});
    }
  }
  engine.run(600, arrivals);
  EXPECT_EQ(engine.statistics("other").executed, 1u);
  EXPECT_LE(engine.statistics("other").max_response, milliseconds(101));
  const CallbackStatistics statistics = engine.statistics("flooded");
  // All but the one that ran after the last arrival.
  EXPECT_EQ(statistics.released - statistics.dropped - statistics.executed, 99u);
}

TEST(Overload, a_job_that_finds_nothing_to_take_is_counted_as_empty)
{
  EngineOnSim engine(pool());
  CallbackOptions options = engine.fifo_callback("a", 1, 10);
  options.run = [](const Job &) { return false; };
  engine.add(options);
  engine.run(10, {{1, "a", 3}});
  EXPECT_EQ(engine.statistics("a").empty, 3u);
  EXPECT_EQ(engine.statistics("a").executed, 0u);
}

}  // namespace
}  // namespace rclrt_core
