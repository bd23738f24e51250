// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Who runs when, under each execution model: whole traces in virtual time.

#include "scenes.hpp"

namespace rclrt_core
{
namespace
{

TEST(Models, decide_who_runs_when)
{
  expect({
    {"a more urgent callback preempts a running one", "", "low 10 10, high 2 20", "1 low, 4 high",
     "1-1-13 low, 4-4-6 high"},
    {"a less urgent callback waits for the running one", "", "low 2 10, high 10 20",
     "1 high, 4 low", "1-1-11 high, 4-11-13 low"},
    {"callbacks of two groups run side by side on two CPUs", "cpus 2", "a 10 10, b 10 10",
     "1 a, 1 b", "1-1-11 a, 1-1-11 b"},
    {"with all threads busy the most urgent waiting job comes next", "threads 1",
     "running 10 10, low 1 20, high 1 30", "0 running, 1 low, 2 high",
     "0-0-10 running, 2-10-11 high, 1-11-12 low"},
    {"threads for one CPU do not stand in for a job that may run on another", "cpus 2",
     "a 5 10 on 0, b 5 10 on 0, c 5 10 on 0, d 5 10 on 1", "10 a, 10 b, 10 c, 10 d",
     "10-10-15 a, 10-10-15 d, 10-15-20 b, 10-20-25 c"},
    // "low" wakes a thread that gets no CPU, because "busy" runs. When "busy" ends, its thread takes "low". The woken
    // thread is still on its way when "high" comes, but too little urgent to run.
    {"a less urgent thread on its way does not stand in for an urgent one", "",
     "group third_thread 1, busy 5 50, low 10 10, high 1 90", "1 busy, 2 low, 8 high",
     "1-1-6 busy, 2-6-17 low, 8-8-9 high"},
    // "low" wakes a thread that gets no CPU; the one of "high" takes "low" when it is done. There is no third thread
    // when "high" comes again.
    {"a thread on its way is raised when there is no other for an urgent job", "",
     "high 2 90, low 10 10", "1 high, 2 low, 8 high", "1-1-3 high, 2-3-15 low, 8-8-10 high"},
    {"a sleeper of a busy CPU is moved to where its job may run", "cpus 2",
     "first 1 60 on 0, busy 20 70 on 0, other 1 50 on 1", "1 first, 5 busy, 10 other",
     "1-1-2 first, 5-5-25 busy, 10-10-11 other"},
    {"a callback of one group preempts one of another", "isolated", "low 10 10, high 2 20",
     "1 low, 4 high, 30 low", "1-1-13 low, 4-4-6 high, 30-30-40 low"},
    {"jobs run one after the other, most urgent first, without preemption",
     "priority_events, cpus 2", "low 10 10, middle 1 20, high 2 30", "1 low, 2 middle, 3 high",
     "1-1-11 low, 3-11-13 high, 2-13-14 middle"},
    {"timers run on the timer thread, most urgent first", "priority_events, executes, until 19",
     "slow 4 10 every 10, fast 1 20 every 10, message 2 5", "9 message",
     "9-9-16 message, 10-10-11 fast, 10-11-15 slow"},
    {"timers that run on the timer thread are excluded within a group",
     "priority_events, executes, cpus 2, until 19", "timer 4 20 in g every 10, message 5 10 in g",
     "8 message", "8-8-13 message, 10-13-17 timer"},
  });
}

TEST(Pool, has_as_many_threads_as_its_groups_can_use_and_no_more_than_its_bound)
{
  EngineOptions options = with_model(ExecutionModel::kPreemptive);
  options.max_threads = 5;
  const auto threads_with_groups = [&](int groups) {
    EngineOnSim engine(options);
    for (int i = 0; i < groups; ++i) {
      engine.group("group " + std::to_string(i));
    }
    std::size_t count = 0;
    engine.run(10, {}, [&] {
      engine.sim.sleep_for(milliseconds(1));
      count = engine.engine.threads().size();
    });
    return count - 1;  // the timer thread
  };
  EXPECT_EQ(threads_with_groups(0), 1u);
  EXPECT_EQ(threads_with_groups(1), 1u);
  EXPECT_EQ(threads_with_groups(4), 4u);
  EXPECT_EQ(threads_with_groups(9), 5u);
}

TEST(Pool, a_group_added_while_spinning_gets_a_thread_and_none_is_made_on_release)
{
  EngineOnSim engine(with_model(ExecutionModel::kPreemptive));
  engine.run(20, {}, [&] {
    engine.sim.sleep_for(milliseconds(1));
    for (int i = 0; i < 4; ++i) {
      engine.add(engine.fifo_callback("c" + std::to_string(i), 1, 10 + i));
    }
    const int64_t started = engine.sim.counts().start_thread;
    for (int i = 0; i < 4; ++i) {
      engine.notify("c" + std::to_string(i));
    }
    engine.sim.sleep_for(milliseconds(10));
    EXPECT_EQ(engine.sim.counts().start_thread, started);
  });
  EXPECT_EQ(engine.statistics("c3").executed, 1u);
  EXPECT_EQ(engine.statistics("c0").executed, 1u);
}

TEST(Pool, steady_state_dispatch_is_one_wake_and_no_scheduling_call)
{
  EngineOnSim engine(with_model(ExecutionModel::kPreemptive));
  engine.add(engine.fifo_callback("a", 1, 10));
  engine.add(engine.fifo_callback("b", 1, 20));
  SimPlatform::Counts warm;
  SimPlatform::Counts after;
  engine.run(1000, {}, [&] {
    for (int i = 0; i < 20; ++i) {
      if (i == 10) {
        warm = engine.sim.counts();
      }
      engine.engine.notify(*engine.callbacks.at(i % 2 ? "a" : "b"));
      engine.sim.sleep_for(milliseconds(10));
    }
    after = engine.sim.counts();
  });
  EXPECT_EQ(after.wake - warm.wake, 10);
  EXPECT_EQ(after.apply - warm.apply, 0);
  EXPECT_EQ(after.start_thread - warm.start_thread, 0);
}

TEST(Pool, a_burst_wakes_a_thread_per_cpu_and_these_do_the_rest)
{
  EngineOnSim engine(with_model(ExecutionModel::kPreemptive), 2);
  std::vector<Arrival> burst;
  for (const char * name : {"a", "b", "c", "d", "e", "f"}) {
    engine.add(engine.fifo_callback(name, 1, 10));
    burst.push_back({10, name});
  }
  SimPlatform::Counts before;
  SimPlatform::Counts after;
  const Lines jobs = engine.run(50, burst, [&] {
    engine.until(5);
    before = engine.sim.counts();
    engine.until(40);
    after = engine.sim.counts();
  });
  EXPECT_EQ(
    jobs,
    (Lines{"10-10-11 a", "10-10-11 b", "10-11-12 c", "10-11-12 d", "10-12-13 e", "10-12-13 f"}));
  // Each that arrives sends for one more while there is work, and wakes the one that takes the next job once more:
  // its waker may have been held up. One call a job, not one for each thread and job.
  EXPECT_LE(after.wake - before.wake, 6);
}

TEST(Pool, callbacks_that_block_hold_up_no_other_however_few_cpus_there_are)
{
  EngineOnSim engine(with_model(ExecutionModel::kPreemptive), 1);
  std::vector<Arrival> burst;
  for (const char * name : {"a", "b", "c", "d"}) {
    CallbackOptions options = engine.fifo_callback(name, 0, 10);
    engine.add(options, [&engine] {
      engine.sim.sleep_for(milliseconds(20));  // as one that waits for the answer to a request
    });
    burst.push_back({10, name});
  }
  EXPECT_EQ(engine.run(50, burst), (Lines{"10-10-30 a", "10-10-30 b", "10-10-30 c", "10-10-30 d"}));
}

TEST(Pool, the_thread_of_a_new_group_begins_while_a_less_urgent_job_keeps_the_cpu)
{
  EngineOnSim engine(with_model(ExecutionModel::kPreemptive));
  engine.add(engine.fifo_callback("busy", 30, 50));
  CallbackOptions adds = engine.fifo_callback("adds", 0, 80);
  engine.add(adds, [&engine] {
    engine.add(engine.fifo_callback("new", 1, 70));
    engine.sim.sleep_for(milliseconds(20));  // it keeps its thread, but not the CPU
  });
  EXPECT_EQ(
    engine.run(50, {{1, "busy"}, {2, "adds"}, {5, "new"}}),
    (Lines{"1-1-32 busy", "2-2-22 adds", "5-5-6 new"}));
}

TEST(Pool, a_thread_without_a_job_has_no_urgency_once_it_sleeps)
{
  EngineOnSim engine(with_model(ExecutionModel::kPreemptive));
  engine.add(engine.fifo_callback("busy", 1, 50));
  engine.run(10, {}, [&] {
    engine.sim.sleep_for(milliseconds(1));
    std::vector<std::string> lines;
    for (const ThreadReport & thread : engine.engine.threads()) {
      lines.push_back(thread.name + " " + std::to_string(thread.in_force.priority));
    }
    EXPECT_EQ(lines, (Lines{"rclrt timers 97", "rclrt worker 0 0"}));
  });
}

TEST(Isolated, every_group_has_a_thread_of_its_own_under_its_own_attributes)
{
  EngineOnSim engine(with_model(ExecutionModel::kIsolated));
  std::shared_ptr<Group> group;
  GroupOptions group_options;
  group_options.name = "isolated";
  group_options.attributes = fifo(42);
  ASSERT_TRUE(engine.engine.add_group(group_options, &group).ok());
  engine.add(engine.fifo_callback("other", 1, 10));
  engine.run(10, {}, [&] {
    engine.sim.sleep_for(milliseconds(1));
    std::vector<std::string> lines;
    for (const ThreadReport & thread : engine.engine.threads()) {
      lines.push_back(thread.name + " " + std::to_string(thread.in_force.priority));
    }
    EXPECT_EQ(lines, (Lines{"rclrt timers 97", "isolated 0 42", "group of other 0 0"}));
  });
}

TEST(Isolated, the_thread_of_a_removed_group_ends_while_the_others_go_on)
{
  EngineOnSim engine(with_model(ExecutionModel::kIsolated));
  const auto group = engine.group("leaving");
  engine.add(engine.fifo_callback("leaves", 1, 10), "leaving");
  engine.add(engine.fifo_callback("stays", 1, 20));
  engine.run(50, {{1, "leaves"}, {20, "stays"}}, [&] {
    engine.sim.sleep_for(milliseconds(5));
    EXPECT_FALSE(engine.engine.remove_group(group).ok());  // it still has a callback
    engine.remove("leaves");
    EXPECT_TRUE(engine.engine.remove_group(group).ok());
    engine.sim.sleep_for(milliseconds(5));
    engine.group("new");  // takes the opportunity to join the ended thread
    engine.sim.sleep_for(milliseconds(5));
    std::vector<std::string> names;
    for (const ThreadReport & thread : engine.engine.threads()) {
      names.push_back(thread.name);
    }
    EXPECT_EQ(names, (Lines{"rclrt timers", "group of stays 0", "new 0"}));
  });
  EXPECT_EQ(engine.statistics("stays").executed, 1u);
}

TEST(Events, fifo_policy_runs_in_order_of_release_whatever_the_priorities_of_other_policies)
{
  EngineOptions options = with_model(ExecutionModel::kPriorityEvents);
  options.policy = &first_come_policy();
  EngineOnSim engine(options);
  const auto add = [&engine](const std::string & name, int work_ms, int priority) {
    CallbackOptions callback = engine.callback_options(name, milliseconds(work_ms));
    callback.queue_priority = priority;
    engine.add(std::move(callback));
  };
  add("low", 10, 10);
  add("middle", 1, 20);
  add("high", 2, 30);
  EXPECT_EQ(
    engine.run(50, {{1, "low"}, {2, "middle"}, {3, "high"}}),
    (Lines{"1-1-11 low", "2-11-12 middle", "3-12-14 high"}));
}

// One thread for all: the only thread of the priority_events model, a pool of one, a group's own.
class EveryModel : public testing::TestWithParam<ExecutionModel>
{
};

TEST_P(EveryModel, edf_policy_runs_the_earliest_absolute_deadline_first)
{
  EngineOptions options = with_model(GetParam());
  options.policy = &edf_policy();
  options.max_threads = 1;
  EngineOnSim engine(options);
  const std::string group = GetParam() == ExecutionModel::kIsolated ? "one group" : "";
  const auto add = [&](const char * name, int work_ms, int deadline_ms) {
    CallbackOptions callback = engine.callback_options(name, milliseconds(work_ms));
    callback.relative_deadline = milliseconds(deadline_ms);
    engine.add(callback, group);
  };
  add("running", 10, 100);
  add("late", 1, 90);
  add("early", 1, 30);
  add("none", 1, 0);
  EXPECT_EQ(
    engine.run(50, {{0, "running"}, {1, "none"}, {2, "late"}, {3, "early"}}),
    (Lines{"0-0-10 running", "3-10-11 early", "2-11-12 late", "1-12-13 none"}));
}

INSTANTIATE_TEST_SUITE_P(
  Models, EveryModel,
  testing::Values(
    ExecutionModel::kPreemptive, ExecutionModel::kPriorityEvents, ExecutionModel::kIsolated),
  [](const auto & model) { return std::string(to_string(model.param)); });

TEST(Pool, the_thread_that_ran_last_runs_next)
{
  EngineOptions options;
  EngineOnSim engine(options, 2);
  for (const char * name : {"a", "b", "idle", "idle too"}) {
    engine.add(engine.callback_options(name, milliseconds(2)));
  }
  // Two side by side, then one at a time: on the thread that went to sleep last, and it alone.
  std::vector<uint64_t> jobs;
  engine.run(100, {{0, "a"}, {1, "b"}, {10, "a"}, {20, "b"}, {30, "a"}, {40, "b"}}, [&] {
    engine.until(90);
    for (const ThreadReport & thread : engine.engine.threads()) {
      jobs.push_back(thread.jobs);
    }
  });
  std::sort(jobs.rbegin(), jobs.rend());
  EXPECT_EQ(jobs, (std::vector<uint64_t>{5, 1, 0, 0, 0}));  // the last is the timer thread
}

TEST(Waiting, is_told_with_what_keeps_it)
{
  EngineOptions options = with_model(ExecutionModel::kPreemptive);
  options.max_threads = 2;
  EngineOnSim engine(options, 2);
  engine.add(engine.fifo_callback("a", 10, 10), "group");
  engine.add(engine.fifo_callback("b", 10, 10), "group");
  engine.add(engine.fifo_callback("c", 10, 10));
  engine.add(engine.fifo_callback("d", 10, 10));
  const auto told = [&] {
    std::vector<std::string> lines;
    for (const WaitingReport & report : engine.engine.waiting()) {
      std::string line = report.callback + (report.is_group_busy ? " for its group:" : ":");
      for (const auto & keeper : report.keepers) {
        line += ' ' + keeper.callback + ' ' + std::to_string(keeper.job);
      }
      lines.push_back(line);
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  };
  engine.run(50, {{0, "a"}, {0, "c"}, {1, "b"}, {2, "d"}}, [&] {
    EXPECT_EQ(told(), Lines{});
    engine.until(5);
    EXPECT_EQ(told(), (Lines{"b for its group: a 0", "d: a 0 c 1"}));
    engine.until(15);
    EXPECT_EQ(told(), Lines{});
  });
}

TEST(Waiting, more_threads_than_one_group_can_use_are_a_note)
{
  for (const std::size_t threads : {EngineOptions().max_threads, std::size_t{8}}) {
    EngineOptions options = with_model(ExecutionModel::kPreemptive);
    options.max_threads = threads;
    EngineOnSim engine(options, 2);
    engine.add(engine.fifo_callback("a", 1, 10), "group");
    engine.add(engine.fifo_callback("b", 1, 10), "group");
    engine.run(5);
    std::string findings;
    for (const Finding & finding : engine.engine.findings()) {
      findings += to_string(finding);
    }
    EXPECT_EQ(findings.find("one callback runs at a time") != std::string::npos, threads == 8)
      << findings;
  }
}

TEST(Models, jobs_released_before_spin_run_when_it_starts)
{
  for (const ExecutionModel execution_model : kModels) {
    EngineOnSim engine(with_model(execution_model));
    engine.add(engine.fifo_callback("a", 1, 10));
    engine.notify("a", 2);
    EXPECT_EQ(engine.run(10), (Lines{"0-0-1 a", "0-1-2 a"})) << to_string(execution_model);
  }
}

TEST(Models, run_one_executes_on_the_calling_thread_most_urgent_first)
{
  for (const ExecutionModel execution_model : kModels) {
    EngineOnSim engine(with_model(execution_model));
    engine.add(engine.fifo_callback("low", 1, 10));
    engine.add(engine.fifo_callback("high", 1, 20));
    engine.on_sim([&] {
      engine.notify("low");
      engine.notify("high");
      const ThreadId here = engine.sim.current_thread();
      while (engine.engine.run_one(engine.sim.now())) {
      }
      for (const rclrt_job_record & record : engine.records()) {
        EXPECT_EQ(record.thread, static_cast<uint32_t>(here));
      }
      EXPECT_FALSE(engine.engine.run_one(engine.sim.now() + milliseconds(5)));
      EXPECT_EQ(engine.sim.now(), at_ms(2 + 5));
    });
    EXPECT_EQ(engine.statistics("high").max_response, milliseconds(1));
    EXPECT_EQ(engine.statistics("low").max_response, milliseconds(2));
  }
}

TEST(Models, run_one_wakes_for_a_release_also_in_a_group_that_has_just_come_and_for_a_timer)
{
  for (const ExecutionModel execution_model : kModels) {
    EngineOnSim engine(with_model(execution_model));
    TimerOptions timer = every_ms(20);
    engine.add_timer(engine.fifo_callback("timer", 1, 10), timer);
    engine.on_sim([&] {
      std::unique_ptr<Thread> middleware;
      engine.start(
        "middleware", fifo(98),
        [&] {
          engine.until(5);
          engine.add(engine.fifo_callback("message", 1, 10));
          engine.notify("message");
        },
        &middleware);
      EXPECT_TRUE(engine.engine.run_one(at_ms(100)));
      EXPECT_EQ(engine.sim.now(), at_ms(6)) << to_string(execution_model);
      EXPECT_TRUE(engine.engine.run_one(at_ms(100)));
      EXPECT_EQ(engine.sim.now(), at_ms(21));
      middleware->join();
    });
  }
}

TEST(Models, run_one_leaves_jobs_released_after_a_given_one)
{
  EngineOnSim engine(with_model(ExecutionModel::kPriorityEvents));
  CallbackOptions options = engine.fifo_callback("again", 1, 20);
  engine.add(options, [&] { engine.notify("again"); });
  engine.add(engine.fifo_callback("once", 1, 10));
  engine.on_sim([&] {
    engine.notify("again");
    engine.notify("once");
    const uint64_t before = engine.engine.next_sequence();
    int ran = 0;
    while (engine.engine.run_one(engine.sim.now(), before)) {
      ++ran;
    }
    EXPECT_EQ(ran, 2);
  });
  EXPECT_EQ(engine.statistics("again").executed, 1u);
  EXPECT_EQ(engine.statistics("once").executed, 1u);
}

}  // namespace
}  // namespace rclrt_core
