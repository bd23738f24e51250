// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// scheduling_policy ext with the FIFO bands, on virtual CPUs: whole traces.

#include <cerrno>

#include "edf_scenarios.hpp"
#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

Lines run(const EdfScenario & scenario, ExecutionModel model)
{
  EngineOptions options;
  options.model = model;
  EngineOnSim engine(scenario.cpus, options);
  std::vector<Arrival> arrivals;
  for (const EdfScenarioJob & job : scenario.jobs) {
    CallbackOptions callback =
      engine.ext_callback(job.name, job.deadline_ms - job.arrival_ms, job.work_ms);
    callback.run = [&engine, &job](const Job &) {
      run_job(job, at_ms(0), [&](int64_t ms) { engine.work(ms); });
      return true;
    };
    engine.add(std::move(callback), job.group);
    arrivals.push_back({job.arrival_ms, job.name});
  }
  std::vector<std::pair<int64_t, std::string>> ends;
  engine.run(100, arrivals, [&] {
    engine.until(90);
    for (const rclrt_job_record & record : engine.records()) {
      ends.emplace_back(record.end_ns / 1'000'000, engine.name_of(record.callback));
    }
  });
  std::sort(ends.begin(), ends.end());
  Lines lines;
  for (const auto & [end, name] : ends) {
    lines.push_back(std::to_string(end) + " " + name);
  }
  return lines;
}

TEST(EdfOnSim, runs_every_scenario_as_told_in_a_pool)
{
  for (const EdfScenario & scenario : edf_scenarios()) {
    EXPECT_EQ(run(scenario, ExecutionModel::kPreemptive), scenario.on_sim) << scenario.name;
  }
}

TEST(EdfOnSim, runs_every_scenario_as_told_with_a_thread_a_group)
{
  for (const EdfScenario & scenario : edf_scenarios()) {
    EXPECT_EQ(run(scenario, ExecutionModel::kIsolated), scenario.on_sim) << scenario.name;
  }
}

TEST(EdfOnSim, a_steady_load_that_fits_needs_no_change_of_attributes)
{
  EngineOnSim engine(2, {});
  engine.add(engine.ext_callback("a", 5, 1));
  engine.add(engine.ext_callback("b", 5, 1));
  std::vector<Arrival> arrivals;
  for (int i = 0; i < 20; ++i) {
    arrivals.push_back({10 + i * 10, "a"});
    arrivals.push_back({10 + i * 10, "b"});
  }
  int64_t before = 0;
  int64_t after = 0;
  engine.run(300, arrivals, [&] {
    engine.until(100);
    before = engine.sim.counts().apply;
    engine.until(205);
    after = engine.sim.counts().apply;
  });
  EXPECT_EQ(engine.statistics("a").executed, 20u);
  EXPECT_EQ(after - before, 0);
}

TEST(EdfOnSim, what_a_job_publishes_runs_with_its_deadline)
{
  // The source's job has until 30; what it triggers, without a deadline of its own, outranks "other".
  EngineOnSim engine(1, {});
  CallbackOptions source = engine.ext_callback("source", 30, 1);
  engine.add(source, [&] {
    engine.work(1);
    engine.notify("sink");
  });
  engine.add(engine.ext_callback("sink", 0, 2));
  engine.add(engine.ext_callback("other", 60, 5));
  EXPECT_EQ(
    engine.run(50, {{0, "other"}, {2, "source"}}),
    (Lines{"0-0-8 other", "2-2-3 source", "3-3-5 sink"}));
}

TEST(EdfOnSim, a_deadline_in_the_past_goes_first_and_no_deadline_goes_last)
{
  EngineOnSim engine(1, {});
  TimerOptions timer;
  timer.period = milliseconds(100);
  timer.first = milliseconds(4);
  CallbackOptions late = engine.ext_callback("late", 0, 3);
  late.relative_deadline = microseconds(1);
  engine.add_timer(late, timer);
  engine.add(engine.ext_callback("never", 0, 3));
  engine.add(engine.ext_callback("soon", 9, 3));
  EXPECT_EQ(
    engine.run(50, {{0, "never"}, {1, "soon"}}),
    (Lines{"0-0-9 never", "1-1-4 soon", "4-4-7 late"}));
}

TEST(EdfOnSim, fifo_and_ext_callbacks_share_threads)
{
  EngineOnSim engine(1, {});
  engine.add(engine.fifo_callback("fifo", 2, 80));
  CallbackOptions plain = engine.callback_options("plain", milliseconds(2));
  engine.add(std::move(plain));
  engine.add(engine.ext_callback("ext", 5, 3));
  EXPECT_EQ(
    engine.run(
      50, {{0, "plain"}, {1, "ext"}, {2, "fifo"}, {20, "ext"}, {30, "plain"}, {31, "ext"}}),
    (Lines{
      "0-0-7 plain", "1-1-6 ext", "2-2-4 fifo", "20-20-23 ext", "30-30-35 plain", "31-31-34 ext"}));
}

TEST(EdfOnSim, without_a_deadline_scheduler_ext_is_a_finding_or_an_error)
{
  for (const AttributesMode mode : {AttributesMode::kPrefer, AttributesMode::kRequire}) {
    EngineOptions options;
    options.attributes_mode = mode;
    EngineOnSim engine(options);
    engine.add(engine.ext_callback("a", 5, 1));
    const Lines jobs = engine.run(20, {{1, "a"}});
    if (mode == AttributesMode::kPrefer) {
      EXPECT_EQ(jobs, (Lines{"1-1-2 a"}));
      ASSERT_EQ(engine.engine.findings().size(), 1u);
      EXPECT_EQ(engine.engine.findings().front().subject, "a");
    } else {
      EXPECT_FALSE(engine.spin_status.ok());
      EXPECT_NE(engine.spin_status.message().find("ext"), std::string::npos);
    }
  }
}

/// Orders nothing. It has slots for some threads, and room for so many jobs.
class FewSlots final : public DeadlineScheduler
{
public:
  explicit FewSlots(int slots) : slots_(slots) {}
  const char * name() const noexcept override { return "few"; }
  Attributes above() const noexcept override { return fifo(50); }
  Status enter(Slot * slot) override
  {
    *slot = 0;
    if (--refuse_in == 0) {
      return Status::error("not this one");
    }
    return --slots_ < 0 ? Status::error("all slots are taken") : Status();
  }
  void leave(Slot) noexcept override { ++slots_; }
  int start(Slot, TimePoint) noexcept override
  {
    ++starts;
    return full_for-- > 0 ? ENOSPC : 0;
  }
  void stop(Slot) noexcept override {}
  void forget(Slot) noexcept override {}
  std::vector<Finding> findings() const override { return {}; }

  int starts = 0;
  int full_for = 0;   ///< so many calls of start()
  int refuse_in = 0;  ///< that call of enter(), counted from 1

private:
  int slots_;
};

struct FewSlotsRun
{
  FewSlotsRun(std::shared_ptr<FewSlots> scheduler, ExecutionModel model, AttributesMode mode)
  : engine(options_of(std::move(scheduler), model, mode), 6)
  {
    for (const std::string name : {"a", "b", "c", "d", "e", "f"}) {
      engine.add(engine.ext_callback(name, 20, 1));
      for (int i = 0; i < 10; ++i) {
        arrivals.push_back({10 + i * 8, name});
      }
    }
    std::stable_sort(arrivals.begin(), arrivals.end(), [](const auto & x, const auto & y) {
      return x.time_ms < y.time_ms;
    });
  }

  static EngineOptions options_of(
    std::shared_ptr<DeadlineScheduler> scheduler, ExecutionModel model, AttributesMode mode)
  {
    EngineOptions options;
    options.deadlines = std::move(scheduler);
    options.policy = &edf_policy();
    options.model = model;
    options.attributes_mode = mode;
    return options;
  }

  void expect_all_have_run_and_are_ext()
  {
    for (const auto & [name, callback] : engine.callbacks) {
      EXPECT_EQ(engine.statistics(name).executed, 10u) << name;
      EXPECT_EQ(engine.engine.attributes(*callback).scheduling_policy, SchedulingPolicy::kExt)
        << name;
    }
  }

  EngineOnSim engine;
  std::vector<Arrival> arrivals;
};

TEST(EdfOnSim, a_thread_without_a_slot_takes_ext_away_from_no_callback)
{
  const auto scheduler = std::make_shared<FewSlots>(4);
  FewSlotsRun run(scheduler, ExecutionModel::kPreemptive, AttributesMode::kPrefer);
  run.engine.run(200, run.arrivals);
  EXPECT_TRUE(run.engine.spin_status.ok());
  run.expect_all_have_run_and_are_ext();
  EXPECT_GE(scheduler->starts, 10) << "the threads with slots use them to the end";
  const auto findings = run.engine.engine.findings();
  EXPECT_EQ(findings.size(), 2u) << "of the six, two";
  for (const Finding & finding : findings) {
    EXPECT_NE(finding.what.find("all slots are taken; jobs"), std::string::npos);
    EXPECT_NE(finding.fix.find("max_threads"), std::string::npos);
  }
}

/// And what is told is what happened, not that there was no room.
TEST(EdfOnSim, no_slot_at_all_is_a_finding_and_takes_ext_from_no_callback)
{
  for (const auto model : {ExecutionModel::kPreemptive, ExecutionModel::kIsolated}) {
    FewSlotsRun run(std::make_shared<FewSlots>(0), model, AttributesMode::kPrefer);
    run.engine.run(200, run.arrivals);
    EXPECT_TRUE(run.engine.spin_status.ok());
    run.expect_all_have_run_and_are_ext();
    const auto findings = run.engine.engine.findings();
    EXPECT_EQ(findings.size(), 7u) << "one of the callbacks' attributes, one of each thread";
    for (const Finding & finding : findings) {
      EXPECT_NE(finding.what.find("all slots are taken"), std::string::npos) << to_string(finding);
      EXPECT_EQ(finding.error_number, 0) << to_string(finding);
    }
  }
}

/// Its threads have the attributes of the group from the start.
TEST(EdfOnSim, a_thread_of_an_ext_group_that_gets_no_slot_says_so_once)
{
  EngineOnSim engine(
    FewSlotsRun::options_of(
      std::make_shared<FewSlots>(0), ExecutionModel::kIsolated, AttributesMode::kPrefer),
    1);
  GroupOptions options;
  options.name = "g";
  options.attributes = with_policy(SchedulingPolicy::kExt);
  std::shared_ptr<Group> group;
  ASSERT_TRUE(engine.engine.add_group(options, &group).ok());
  engine.run(10);
  const auto findings = engine.engine.findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().error_number, 0) << to_string(findings.front());
}

TEST(EdfOnSim, a_thread_without_a_slot_is_an_error_where_attributes_are_required)
{
  for (const auto model :
       {ExecutionModel::kPreemptive, ExecutionModel::kIsolated, ExecutionModel::kPriorityEvents}) {
    // The timer thread needs none. In the priority_events model only the thread that spins runs jobs.
    const int enough = model == ExecutionModel::kPriorityEvents ? 1 : 6;
    for (const int slots : {enough - 1, enough}) {
      FewSlotsRun run(std::make_shared<FewSlots>(slots), model, AttributesMode::kRequire);
      const Lines jobs = run.engine.run(200, run.arrivals);
      const Status & status = run.engine.spin_status;
      EXPECT_EQ(status.ok(), slots == enough) << status.message();
      if (slots == enough) {
        run.expect_all_have_run_and_are_ext();
      } else {
        // If there is none at all, that is seen before there are threads.
        const char * const said = slots == 0 ? "all slots are taken" : "has no slot";
        EXPECT_NE(status.message().find(said), std::string::npos) << status.message();
        EXPECT_TRUE(jobs.empty());
      }
    }
  }
}

TEST(EdfOnSim, no_timer_runs_before_the_thread_that_spins_has_its_slot)
{
  for (const int slots : {1, 2}) {
    EngineOptions options = FewSlotsRun::options_of(
      std::make_shared<FewSlots>(slots), ExecutionModel::kPriorityEvents, AttributesMode::kRequire);
    options.release_and_execute = true;
    EngineOnSim engine(options, 1);
    TimerOptions timer;
    timer.period = milliseconds(10);
    timer.first = Duration{0};
    engine.add_timer(engine.ext_callback("timer", 10, 1), timer);
    engine.add(engine.ext_callback("a", 10, 1));
    const Lines jobs = engine.run(25, {{5, "a"}});
    EXPECT_EQ(engine.spin_status.ok(), slots == 2) << engine.spin_status.message();
    EXPECT_EQ(jobs.size(), slots == 2 ? 4u : 0u);
  }
}

TEST(EdfOnSim, an_ext_job_wakes_a_thread_that_has_a_slot_if_one_sleeps)
{
  // After the trial, which comes before the threads: the first of two, which will be asleep for longer.
  const auto scheduler = std::make_shared<FewSlots>(9);
  scheduler->refuse_in = 2;
  EngineOptions options =
    FewSlotsRun::options_of(scheduler, ExecutionModel::kPreemptive, AttributesMode::kPrefer);
  EngineOnSim engine(options, 2);
  engine.add(engine.ext_callback("a", 10, 1));
  engine.add(engine.ext_callback("b", 10, 1));
  engine.run(10, {{5, "a"}});
  EXPECT_EQ(engine.engine.findings().size(), 1u) << "the first of the two has none";
  EXPECT_EQ(scheduler->starts, 2) << "the trial, and the job";
}

TEST(EdfOnSim, ext_is_refused_for_the_timer_thread)
{
  EngineOptions options;
  options.timer_thread = with_policy(SchedulingPolicy::kExt);
  EngineOnSim engine(1, options);
  engine.run(5);
  EXPECT_FALSE(engine.spin_status.ok());
  EXPECT_NE(engine.spin_status.message().find("timer thread"), std::string::npos);
  EXPECT_FALSE(engine.engine.set_timer_thread(with_policy(SchedulingPolicy::kExt)).ok());
  EXPECT_TRUE(engine.engine.set_timer_thread(fifo(50)).ok());
}

TEST(EdfOnSim, no_room_for_a_job_takes_ext_away_from_that_job_only)
{
  const auto scheduler = std::make_shared<FewSlots>(7);
  FewSlotsRun run(scheduler, ExecutionModel::kPreemptive, AttributesMode::kPrefer);
  run.engine.run(200, run.arrivals, [&] {
    run.engine.until(25);
    scheduler->full_for = 20;
  });
  run.expect_all_have_run_and_are_ext();
  EXPECT_LT(scheduler->full_for, 0) << "asked for again, and granted";
  const auto findings = run.engine.engine.findings();
  ASSERT_EQ(findings.size(), 1u) << "told once";
  EXPECT_EQ(findings.front().error_number, ENOSPC);
}

/// Writes down what it is told of its one slot.
class WhatItIsTold final : public DeadlineScheduler
{
public:
  const char * name() const noexcept override { return "told"; }
  Attributes above() const noexcept override { return fifo(50); }
  Status enter(Slot * slot) override
  {
    *slot = 0;
    return {};
  }
  void leave(Slot) noexcept override {}
  int start(Slot, TimePoint deadline) noexcept override
  {
    told.push_back("start " + std::to_string(deadline.time_since_epoch() / milliseconds(1)));
    return 0;
  }
  void limit(Slot, const Limit & limit) noexcept override
  {
    const auto us = [](Duration time) { return std::to_string(time / microseconds(1)); };
    limits.push_back(us(limit.left) + " " + us(limit.runtime) + "/" + us(limit.period));
  }
  void stop(Slot) noexcept override { told.emplace_back("stop"); }
  void forget(Slot) noexcept override { told.emplace_back("forget"); }
  std::vector<Finding> findings() const override { return {}; }
  Lines told;
  Lines limits;
};

// With what the enforcer may be late by. The second job finds 1 ms, and when the enforcer has demoted it the rest is free.
TEST(EdfOnSim, who_orders_deadlines_is_told_what_is_left_of_the_budget_of_a_job_that_runs)
{
  for (const OnOverrun reaction : {OnOverrun::kDemote, OnOverrun::kNotify}) {
    const auto scheduler = std::make_shared<WhatItIsTold>();
    EngineOnSim engine(
      FewSlotsRun::options_of(scheduler, ExecutionModel::kPreemptive, AttributesMode::kPrefer), 1);
    CallbackOptions a = engine.ext_callback("a", 20, 3);
    a.budget = {milliseconds(4), milliseconds(10), reaction};
    engine.add(a, "g");
    engine.run(20, {{2, "a"}, {6, "a"}});
    Lines & limits = scheduler->limits;  // the enforcer may have looked, and nothing was new
    limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
    EXPECT_EQ(
      limits, reaction == OnOverrun::kDemote
                ? (Lines{"4125 4000/10000", "0 0/0", "1125 4000/10000", "0 0/0"})
                : Lines{"0 0/0"});
  }
}

// For "urgent" in its group the thread that runs "a" shall become fifo. It has left the deadline scheduler by then.
TEST(EdfOnSim, a_running_job_keeps_its_deadline_if_the_os_refuses_what_would_be_more_urgent)
{
  const auto scheduler = std::make_shared<WhatItIsTold>();
  EngineOnSim engine(
    FewSlotsRun::options_of(scheduler, ExecutionModel::kPreemptive, AttributesMode::kPrefer), 1);
  engine.add(engine.ext_callback("a", 20, 4), "g");
  engine.add(engine.fifo_callback("urgent", 1, 60), "g");
  Lines told_while_a_runs;
  const Lines jobs = engine.run(20, {{2, "a"}, {4, "urgent"}}, [&] {
    engine.until(1);
    engine.sim.refuse({SchedulingPolicy::kFifo});
    scheduler->told.clear();
    engine.until(5);
    told_while_a_runs = scheduler->told;
  });
  EXPECT_EQ(jobs, (Lines{"2-2-6 a", "4-6-7 urgent"}));
  EXPECT_EQ(told_while_a_runs, (Lines{"start 22", "forget", "start 22"}));
}

TEST(EdfOnSim, what_the_os_refuses_is_a_finding_and_the_callback_runs)
{
  EngineOnSim engine(1, {});
  engine.sim.refuse({SchedulingPolicy::kFifo});
  engine.add(engine.ext_callback("a", 5, 1));
  const Lines jobs = engine.run(20, {{1, "a"}});
  EXPECT_EQ(jobs, (Lines{"1-1-2 a"}));
  EXPECT_FALSE(engine.engine.findings().empty());
}

}  // namespace
}  // namespace rclrt_core
