// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Who runs when, under each execution model: whole traces in virtual time.

#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

EngineOptions model(ExecutionModel execution_model)
{
  EngineOptions options;
  options.model = execution_model;
  return options;
}

CallbackOptions prioritised(EngineOnSim & engine, const char * name, int work_ms, int priority)
{
  CallbackOptions options = engine.callback_options(name, milliseconds(work_ms));
  options.attributes = fifo(priority);
  return options;
}

TEST(Pool, a_more_urgent_callback_preempts_a_running_one)
{
  EngineOnSim engine(model(ExecutionModel::kPool));
  engine.add(prioritised(engine, "low", 10, 10));
  engine.add(prioritised(engine, "high", 2, 20));
  EXPECT_EQ(engine.run(50, {{1, "low"}, {4, "high"}}), (Lines{"1-1-13 low", "4-4-6 high"}));
}

TEST(Pool, a_less_urgent_callback_waits_for_the_running_one)
{
  EngineOnSim engine(model(ExecutionModel::kPool));
  engine.add(prioritised(engine, "low", 2, 10));
  engine.add(prioritised(engine, "high", 10, 20));
  EXPECT_EQ(engine.run(50, {{1, "high"}, {4, "low"}}), (Lines{"1-1-11 high", "4-11-13 low"}));
}

TEST(Pool, callbacks_of_two_groups_run_side_by_side_on_two_cpus)
{
  EngineOnSim engine(model(ExecutionModel::kPool), 2);
  engine.add(prioritised(engine, "a", 10, 10));
  engine.add(prioritised(engine, "b", 10, 10));
  EXPECT_EQ(engine.run(50, {{1, "a"}, {1, "b"}}), (Lines{"1-1-11 a", "1-1-11 b"}));
}

TEST(Pool, with_all_threads_busy_the_most_urgent_waiting_job_comes_next)
{
  EngineOptions options = model(ExecutionModel::kPool);
  options.max_threads = 1;
  EngineOnSim engine(options);
  engine.add(prioritised(engine, "running", 10, 10));
  engine.add(prioritised(engine, "low", 1, 20));
  engine.add(prioritised(engine, "high", 1, 30));
  EXPECT_EQ(
    engine.run(50, {{0, "running"}, {1, "low"}, {2, "high"}}),
    (Lines{"0-0-10 running", "2-10-11 high", "1-11-12 low"}));
}

TEST(Pool, has_as_many_threads_as_its_groups_can_use_and_no_more_than_its_bound)
{
  EngineOptions options = model(ExecutionModel::kPool);
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
  EngineOnSim engine(model(ExecutionModel::kPool));
  engine.run(20, {}, [&] {
    engine.sim.sleep_for(milliseconds(1));
    for (int i = 0; i < 4; ++i) {
      engine.add(prioritised(engine, ("c" + std::to_string(i)).c_str(), 1, 10 + i));
    }
    const int64_t started = engine.sim.counts().start_thread;
    for (int i = 0; i < 4; ++i) {
      engine.engine.notify(*engine.callbacks.at("c" + std::to_string(i)));
    }
    engine.sim.sleep_for(milliseconds(10));
    EXPECT_EQ(engine.sim.counts().start_thread, started);
  });
  EXPECT_EQ(engine.statistics("c3").executed, 1u);
  EXPECT_EQ(engine.statistics("c0").executed, 1u);
}

TEST(Pool, steady_state_dispatch_is_one_wake_and_no_scheduling_call)
{
  EngineOnSim engine(model(ExecutionModel::kPool));
  engine.add(prioritised(engine, "a", 1, 10));
  engine.add(prioritised(engine, "b", 1, 20));
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
  EngineOnSim engine(model(ExecutionModel::kPool), 2);
  std::vector<Arrival> burst;
  for (const char * name : {"a", "b", "c", "d", "e", "f"}) {
    engine.add(prioritised(engine, name, 1, 10));
    burst.push_back({10, name});
  }
  SimPlatform::Counts before;
  SimPlatform::Counts after;
  const Lines jobs = engine.run(50, burst, [&] {
    engine.sim.sleep_until(at_ms(5));
    before = engine.sim.counts();
    engine.sim.sleep_until(at_ms(40));
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
  EngineOnSim engine(model(ExecutionModel::kPool), 1);
  std::vector<Arrival> burst;
  for (const char * name : {"a", "b", "c", "d"}) {
    CallbackOptions options = prioritised(engine, name, 0, 10);
    options.run = [&engine](const Job &) {
      engine.sim.sleep_for(milliseconds(20));  // as one that waits for the answer to a request
      return true;
    };
    engine.add(options);
    burst.push_back({10, name});
  }
  EXPECT_EQ(engine.run(50, burst), (Lines{"10-10-30 a", "10-10-30 b", "10-10-30 c", "10-10-30 d"}));
}

TEST(Pool, threads_for_one_cpu_do_not_stand_in_for_a_job_that_may_run_on_another)
{
  EngineOnSim engine(model(ExecutionModel::kPool), 2);
  const auto pinned = [&](const char * name, int cpu) {
    CallbackOptions options = prioritised(engine, name, 5, 10);
    options.attributes.cpu_affinity = CpuSet({cpu});
    engine.add(options);
  };
  pinned("a", 0);
  pinned("b", 0);
  pinned("c", 0);
  pinned("d", 1);
  EXPECT_EQ(
    engine.run(50, {{10, "a"}, {10, "b"}, {10, "c"}, {10, "d"}}),
    (Lines{"10-10-15 a", "10-10-15 d", "10-15-20 b", "10-20-25 c"}));
}

TEST(Pool, a_less_urgent_thread_on_its_way_does_not_stand_in_for_an_urgent_one)
{
  // "low" wakes a thread that gets no CPU, because "busy" runs. When "busy" ends, its thread takes
  // "low". The woken thread is still on its way when "high" comes, but too little urgent to run.
  EngineOnSim engine(model(ExecutionModel::kPool));
  engine.group("third thread");
  engine.add(prioritised(engine, "busy", 5, 50));
  engine.add(prioritised(engine, "low", 10, 10));
  engine.add(prioritised(engine, "high", 1, 90));
  EXPECT_EQ(
    engine.run(50, {{1, "busy"}, {2, "low"}, {8, "high"}}),
    (Lines{"1-1-6 busy", "2-6-17 low", "8-8-9 high"}));
}

TEST(Pool, a_thread_on_its_way_is_raised_when_there_is_no_other_for_an_urgent_job)
{
  // "low" wakes a thread that gets no CPU; the one of "high" takes "low" when it is done. There is no
  // third thread when "high" comes again.
  EngineOnSim engine(model(ExecutionModel::kPool));
  engine.add(prioritised(engine, "high", 2, 90));
  engine.add(prioritised(engine, "low", 10, 10));
  EXPECT_EQ(
    engine.run(50, {{1, "high"}, {2, "low"}, {8, "high"}}),
    (Lines{"1-1-3 high", "2-3-15 low", "8-8-10 high"}));
}

TEST(Pool, the_thread_of_a_new_group_begins_while_a_less_urgent_job_keeps_the_cpu)
{
  EngineOnSim engine(model(ExecutionModel::kPool));
  engine.add(prioritised(engine, "busy", 30, 50));
  CallbackOptions adds = prioritised(engine, "adds", 0, 80);
  adds.run = [&engine](const Job &) {
    engine.add(prioritised(engine, "new", 1, 70));
    engine.sim.sleep_for(milliseconds(20));  // it keeps its thread, but not the CPU
    return true;
  };
  engine.add(adds);
  EXPECT_EQ(
    engine.run(50, {{1, "busy"}, {2, "adds"}, {5, "new"}}),
    (Lines{"1-1-32 busy", "2-2-22 adds", "5-5-6 new"}));
}

TEST(Pool, a_thread_without_a_job_has_no_urgency_once_it_sleeps)
{
  EngineOnSim engine(model(ExecutionModel::kPool));
  engine.add(prioritised(engine, "busy", 1, 50));
  engine.run(10, {}, [&] {
    engine.sim.sleep_for(milliseconds(1));
    std::vector<std::string> lines;
    for (const ThreadReport & thread : engine.engine.threads()) {
      lines.push_back(thread.name + " " + std::to_string(thread.in_force.priority));
    }
    EXPECT_EQ(lines, (Lines{"rclrt timers 97", "rclrt worker 0 0"}));
  });
}

TEST(Pool, a_sleeper_of_a_busy_cpu_is_moved_to_where_its_job_may_run)
{
  EngineOnSim engine(model(ExecutionModel::kPool), 2);
  const auto pinned = [&](const char * name, int work_ms, int priority, int cpu) {
    CallbackOptions options = prioritised(engine, name, work_ms, priority);
    options.attributes.cpu_affinity = CpuSet({cpu});
    engine.add(options);
  };
  pinned("first", 1, 60, 0);
  pinned("busy", 20, 70, 0);
  pinned("other", 1, 50, 1);
  EXPECT_EQ(
    engine.run(50, {{1, "first"}, {5, "busy"}, {10, "other"}}),
    (Lines{"1-1-2 first", "5-5-25 busy", "10-10-11 other"}));
}

TEST(Isolated, every_group_has_a_thread_of_its_own_under_its_own_attributes)
{
  EngineOnSim engine(model(ExecutionModel::kIsolated));
  std::shared_ptr<Group> group;
  GroupOptions group_options;
  group_options.name = "isolated";
  group_options.attributes = fifo(42);
  ASSERT_TRUE(engine.engine.add_group(group_options, &group).ok());
  engine.add(prioritised(engine, "other", 1, 10));
  engine.run(10, {}, [&] {
    engine.sim.sleep_for(milliseconds(1));
    std::vector<std::string> lines;
    for (const ThreadReport & thread : engine.engine.threads()) {
      lines.push_back(thread.name + " " + std::to_string(thread.in_force.priority));
    }
    EXPECT_EQ(lines, (Lines{"rclrt timers 97", "isolated 0 42", "group of other 0 0"}));
  });
}

TEST(Isolated, a_callback_of_one_group_preempts_one_of_another)
{
  EngineOnSim engine(model(ExecutionModel::kIsolated));
  engine.add(prioritised(engine, "low", 10, 10));
  engine.add(prioritised(engine, "high", 2, 20));
  EXPECT_EQ(
    engine.run(50, {{1, "low"}, {4, "high"}, {30, "low"}}),
    (Lines{"1-1-13 low", "4-4-6 high", "30-30-40 low"}));
}

TEST(Isolated, the_thread_of_a_removed_group_ends_while_the_others_go_on)
{
  EngineOnSim engine(model(ExecutionModel::kIsolated));
  const auto group = engine.group("leaving");
  engine.add(prioritised(engine, "leaves", 1, 10), "leaving");
  engine.add(prioritised(engine, "stays", 1, 20));
  engine.run(50, {{1, "leaves"}, {20, "stays"}}, [&] {
    engine.sim.sleep_for(milliseconds(5));
    EXPECT_FALSE(engine.engine.remove_group(group).ok());  // it still has a callback
    engine.engine.remove(engine.callbacks.at("leaves"));
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

TEST(Events, jobs_run_one_after_the_other_most_urgent_first_without_preemption)
{
  EngineOnSim engine(model(ExecutionModel::kEvents), 2);
  engine.add(prioritised(engine, "low", 10, 10));
  engine.add(prioritised(engine, "middle", 1, 20));
  engine.add(prioritised(engine, "high", 2, 30));
  EXPECT_EQ(
    engine.run(50, {{1, "low"}, {2, "middle"}, {3, "high"}}),
    (Lines{"1-1-11 low", "3-11-13 high", "2-13-14 middle"}));
}

TEST(Events, fifo_policy_runs_in_order_of_release_whatever_the_priorities_of_other_policies)
{
  EngineOptions options = model(ExecutionModel::kEvents);
  options.policy = &first_come_policy();
  EngineOnSim engine(options);
  const auto add = [&engine](const std::string & name, int work_ms, int priority) {
    CallbackOptions callback = engine.callback_options(name, milliseconds(work_ms));
    callback.priority = priority;
    engine.add(std::move(callback));
  };
  add("low", 10, 10);
  add("middle", 1, 20);
  add("high", 2, 30);
  EXPECT_EQ(
    engine.run(50, {{1, "low"}, {2, "middle"}, {3, "high"}}),
    (Lines{"1-1-11 low", "2-11-12 middle", "3-12-14 high"}));
}

TEST(Events, release_and_execute_runs_timers_on_the_timer_thread_most_urgent_first)
{
  EngineOptions options = model(ExecutionModel::kEvents);
  options.release_and_execute = true;
  EngineOnSim engine(options);
  TimerOptions timer;
  timer.period = milliseconds(10);
  engine.add_timer(prioritised(engine, "slow timer", 4, 10), timer);
  timer.period = milliseconds(10);
  engine.add_timer(prioritised(engine, "fast timer", 1, 20), timer);
  engine.add(prioritised(engine, "subscription", 2, 5));
  EXPECT_EQ(
    engine.run(19, {{9, "subscription"}}),
    (Lines{"9-9-16 subscription", "10-10-11 fast timer", "10-11-15 slow timer"}));
}

TEST(Events, release_and_execute_still_excludes_within_a_group)
{
  EngineOptions options = model(ExecutionModel::kEvents);
  options.release_and_execute = true;
  EngineOnSim engine(options, 2);
  TimerOptions timer;
  timer.period = milliseconds(10);
  engine.add_timer(prioritised(engine, "timer", 4, 20), timer, "shared");
  engine.add(prioritised(engine, "subscription", 5, 10), "shared");
  EXPECT_EQ(
    engine.run(19, {{8, "subscription"}}), (Lines{"8-8-13 subscription", "10-13-17 timer"}));
}

// One thread for all: the only thread of the events model, a pool of one, a group's own.
class EveryModel : public testing::TestWithParam<ExecutionModel>
{
};

TEST_P(EveryModel, edf_policy_runs_the_earliest_absolute_deadline_first)
{
  EngineOptions options = model(GetParam());
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
  testing::Values(ExecutionModel::kPool, ExecutionModel::kEvents, ExecutionModel::kIsolated),
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
    engine.sim.sleep_until(at_ms(90));
    for (const ThreadReport & thread : engine.engine.threads()) {
      jobs.push_back(thread.jobs);
    }
  });
  std::sort(jobs.rbegin(), jobs.rend());
  EXPECT_EQ(jobs, (std::vector<uint64_t>{5, 1, 0, 0, 0}));  // the last is the timer thread
}

TEST(Waiting, is_told_with_what_keeps_it)
{
  EngineOptions options = model(ExecutionModel::kPool);
  options.max_threads = 2;
  EngineOnSim engine(options, 2);
  engine.add(prioritised(engine, "a", 10, 10), "group");
  engine.add(prioritised(engine, "b", 10, 10), "group");
  engine.add(prioritised(engine, "c", 10, 10));
  engine.add(prioritised(engine, "d", 10, 10));
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
    engine.sim.sleep_until(at_ms(5));
    EXPECT_EQ(told(), (Lines{"b for its group: a 0", "d: a 0 c 1"}));
    engine.sim.sleep_until(at_ms(15));
    EXPECT_EQ(told(), Lines{});
  });
}

TEST(Waiting, more_threads_than_one_group_can_use_are_a_note)
{
  for (const std::size_t threads : {EngineOptions().max_threads, std::size_t{8}}) {
    EngineOptions options = model(ExecutionModel::kPool);
    options.max_threads = threads;
    EngineOnSim engine(options, 2);
    engine.add(prioritised(engine, "a", 1, 10), "group");
    engine.add(prioritised(engine, "b", 1, 10), "group");
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
  for (const ExecutionModel execution_model :
       {ExecutionModel::kEvents, ExecutionModel::kPool, ExecutionModel::kIsolated}) {
    EngineOnSim engine(model(execution_model));
    engine.add(prioritised(engine, "a", 1, 10));
    engine.engine.notify(*engine.callbacks.at("a"), 2);
    EXPECT_EQ(engine.run(10), (Lines{"0-0-1 a", "0-1-2 a"})) << to_string(execution_model);
  }
}

TEST(Models, run_one_executes_on_the_calling_thread_most_urgent_first)
{
  for (const ExecutionModel execution_model :
       {ExecutionModel::kEvents, ExecutionModel::kPool, ExecutionModel::kIsolated}) {
    EngineOnSim engine(model(execution_model));
    engine.add(prioritised(engine, "low", 1, 10));
    engine.add(prioritised(engine, "high", 1, 20));
    const Status status = engine.sim.run([&] {
      engine.engine.notify(*engine.callbacks.at("low"));
      engine.engine.notify(*engine.callbacks.at("high"));
      const ThreadId here = engine.sim.current_thread();
      while (engine.engine.run_one(engine.sim.now())) {
      }
      for (const rclrt_job_record & record : engine.records()) {
        EXPECT_EQ(record.thread, static_cast<uint32_t>(here));
      }
      EXPECT_FALSE(engine.engine.run_one(engine.sim.now() + milliseconds(5)));
      EXPECT_EQ(engine.sim.now(), at_ms(2 + 5));
    });
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(engine.statistics("high").max_response, milliseconds(1));
    EXPECT_EQ(engine.statistics("low").max_response, milliseconds(2));
  }
}

TEST(Models, run_one_wakes_for_a_release_and_for_a_timer)
{
  EngineOnSim engine(model(ExecutionModel::kPool));
  engine.add(prioritised(engine, "message", 1, 10));
  TimerOptions timer;
  timer.period = milliseconds(20);
  engine.add_timer(prioritised(engine, "timer", 1, 10), timer);
  const Status status = engine.sim.run([&] {
    std::unique_ptr<Thread> middleware;
    engine.start(
      "middleware", fifo(98),
      [&] {
        engine.sim.sleep_until(at_ms(5));
        engine.engine.notify(*engine.callbacks.at("message"));
      },
      &middleware);
    EXPECT_TRUE(engine.engine.run_one(at_ms(100)));
    EXPECT_EQ(engine.sim.now(), at_ms(6));
    EXPECT_TRUE(engine.engine.run_one(at_ms(100)));
    EXPECT_EQ(engine.sim.now(), at_ms(21));
    middleware->join();
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Models, run_one_leaves_jobs_released_after_a_given_one)
{
  EngineOnSim engine(model(ExecutionModel::kEvents));
  CallbackOptions options = prioritised(engine, "again", 1, 20);
  options.run = [&](const Job &) {
    engine.engine.notify(*engine.callbacks.at("again"));
    return true;
  };
  engine.add(options);
  engine.add(prioritised(engine, "once", 1, 10));
  const Status status = engine.sim.run([&] {
    engine.engine.notify(*engine.callbacks.at("again"));
    engine.engine.notify(*engine.callbacks.at("once"));
    const uint64_t before = engine.engine.next_sequence();
    int ran = 0;
    while (engine.engine.run_one(engine.sim.now(), before)) {
      ++ran;
    }
    EXPECT_EQ(ran, 2);
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(engine.statistics("again").executed, 1u);
  EXPECT_EQ(engine.statistics("once").executed, 1u);
}

}  // namespace
}  // namespace rclrt_core
