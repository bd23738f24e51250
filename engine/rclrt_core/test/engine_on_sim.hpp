// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// An engine on the simulated platform, whose whole run becomes a list of lines to compare:
///
///   "released-started-ended name"   in milliseconds, in order of start
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "rclrt_core/deadline_scheduler.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/sim_platform.hpp"

namespace rclrt_core
{

using std::chrono::microseconds;
using std::chrono::milliseconds;

using Lines = std::vector<std::string>;

constexpr ExecutionModel kModels[] = {
  ExecutionModel::kPriorityEvents, ExecutionModel::kPreemptive, ExecutionModel::kIsolated};

inline TimePoint at_ms(int64_t ms) { return TimePoint(milliseconds(ms)); }

inline Attributes fifo(int priority)
{
  Attributes attributes;
  attributes.scheduling_policy = SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

inline Attributes with_policy(SchedulingPolicy policy)
{
  Attributes attributes;
  attributes.scheduling_policy = policy;
  return attributes;
}

/// A reservation of the operating system's.
inline Attributes os_deadline(int64_t runtime_ms = 1, int64_t period_ms = 10)
{
  Attributes attributes = with_policy(SchedulingPolicy::kDeadline);
  attributes.runtime = milliseconds(runtime_ms);
  attributes.deadline = attributes.period = milliseconds(period_ms);
  return attributes;
}

inline Budget budget(int64_t runtime_ms, int64_t period_ms, OnOverrun reaction = OnOverrun::kDemote)
{
  Budget budget;
  budget.runtime = milliseconds(runtime_ms);
  budget.period = milliseconds(period_ms);
  budget.on_overrun = reaction;
  return budget;
}

inline EngineOptions with_model(ExecutionModel model)
{
  EngineOptions options;
  options.model = model;
  return options;
}

inline EngineOptions pool(std::size_t threads = 8, const Policy * policy = nullptr)
{
  EngineOptions options;
  options.max_threads = threads;
  options.policy = policy != nullptr ? policy : options.policy;
  return options;
}

inline TimerOptions every_ms(int64_t period_ms, bool one_shot = false)
{
  TimerOptions timer;
  timer.period = milliseconds(period_ms);
  timer.one_shot = one_shot;
  return timer;
}

/// A stimulus: at `time`, the engine is told of `count` units of work for a callback.
struct Arrival
{
  int64_t time_ms;
  std::string callback;
  std::size_t count = 1;
};

/// `Sim`: the simulated platform, or one derived from it.
template <typename Sim>
class EngineOn
{
public:
  explicit EngineOn(EngineOptions options = {}, int cpus = 1)
  : sim(cpus), engine(sim, with_urgent_timers(std::move(options)))
  {
  }

  /// With EDF in user space for callbacks with scheduling_policy ext.
  static EngineOptions with_fifo_bands(Platform & platform, EngineOptions options, int cpus)
  {
    FifoBandsOptions bands_options;
    bands_options.runners = cpus;
    std::shared_ptr<FifoBands> bands;
    const Status made = FifoBands::make(platform, bands_options, &bands);
    EXPECT_TRUE(made.ok()) << made.message();
    options.deadlines = bands;
    options.policy = &edf_policy();
    return options;
  }
  EngineOn(int cpus, EngineOptions options)
  : sim(cpus), engine(sim, with_urgent_timers(with_fifo_bands(sim, std::move(options), cpus)))
  {
  }

  // ---- What there is

  std::shared_ptr<Group> group(
    const std::string & name, uint32_t parallelism = 1, const Budget & budget = {},
    const Attributes & attributes = {})
  {
    std::shared_ptr<Group> & group = groups_[name];
    if (!group) {
      GroupOptions options;
      options.name = name;
      options.parallelism = parallelism;
      options.budget = budget;
      options.attributes = attributes;
      const Status status = engine.add_group(options, &group);
      EXPECT_TRUE(status.ok()) << status.message();
    }
    return group;
  }
  /// The engine may be the last to have it.
  void forget_group(const std::string & name) { groups_.erase(name); }

  CallbackOptions callback_options(const std::string & name, Duration work)
  {
    CallbackOptions options;
    options.name = name;
    options.depth = 10;
    return does(std::move(options), [this, work] { sim.work(work); });
  }
  CallbackOptions fifo_callback(
    const std::string & name, int64_t work_ms, int priority, const Budget & budget = {})
  {
    CallbackOptions options = callback_options(name, milliseconds(work_ms));
    options.attributes = fifo(priority);
    options.budget = budget;
    return options;
  }
  CallbackOptions ext_callback(
    const std::string & name, int64_t deadline_ms, int64_t work_ms, const Budget & budget = {})
  {
    CallbackOptions options = callback_options(name, milliseconds(work_ms));
    options.attributes.scheduling_policy = SchedulingPolicy::kExt;
    options.relative_deadline = milliseconds(deadline_ms);
    options.budget = budget;
    return options;
  }
  static CallbackOptions does(CallbackOptions options, std::function<void()> body)
  {
    options.run = [body = std::move(body)](const Job &) {
      body();
      return true;
    };
    return options;
  }
  static CallbackOptions on_cpu(int cpu, CallbackOptions options)
  {
    options.attributes.cpu_affinity = CpuSet({cpu});
    return options;
  }

  /// In a group of its own unless one is named.
  std::shared_ptr<Callback> add(CallbackOptions options, const std::string & group_name = "")
  {
    const std::string name = options.name;
    std::shared_ptr<Callback> & callback = callbacks[name];
    const Status status = engine.add_callback(
      std::move(options), group(group_name.empty() ? "group of " + name : group_name), &callback);
    EXPECT_TRUE(status.ok()) << status.message();
    return callback;
  }
  std::shared_ptr<Callback> add(
    CallbackOptions options, std::function<void()> body, const std::string & group_name = "")
  {
    return add(does(std::move(options), std::move(body)), group_name);
  }
  std::shared_ptr<Callback> add_timer(
    CallbackOptions options, TimerOptions timer, const std::string & group_name = "")
  {
    const std::string name = options.name;
    std::shared_ptr<Callback> & callback = callbacks[name];
    const Status status = engine.add_timer(
      std::move(options), timer, group(group_name.empty() ? "group of " + name : group_name),
      &callback);
    EXPECT_TRUE(status.ok()) << status.message();
    return callback;
  }
  /// Why it is refused.
  std::string refusal(CallbackOptions options, const std::string & group_name = "group")
  {
    std::shared_ptr<Callback> callback;
    return engine.add_callback(std::move(options), group(group_name), &callback).message();
  }
  /// "tick": every 10 ms from 0 on, 1 ms of work, a deadline at the end of its period, FIFO 50.
  void add_tick()
  {
    CallbackOptions tick = fifo_callback("tick", 1, 50);
    tick.relative_deadline = milliseconds(10);
    tick.overrun_rule = OverrunRule::kSkip;
    TimerOptions timer = every_ms(10);
    timer.first = Duration{0};
    add_timer(tick, timer);
  }

  // ---- What happens

  /// Spin for `duration_ms`, with `arrivals` from a thread more urgent than any callback, and
  /// `script` on the most urgent thread of all; then stop. Returns the jobs.
  Lines run(
    int64_t duration_ms, std::vector<Arrival> arrivals = {}, std::function<void()> script = {})
  {
    on_sim([&] {
      std::unique_ptr<Thread> spins;
      start("spinner", spinner, [this] { spin_status = engine.spin(); }, &spins);
      std::unique_ptr<Thread> middleware;
      start(
        "middleware", fifo(98),
        [&] {
          for (const Arrival & arrival : arrivals) {
            until(arrival.time_ms);
            notify(arrival.callback, arrival.count);
          }
        },
        &middleware);
      if (script) {
        script();
      }
      until(duration_ms);
      engine.stop();
      spins->join();
      middleware->join();
    });
    return jobs();
  }
  /// Without spinning.
  void on_sim(std::function<void()> script)
  {
    const Status status = sim.run(std::move(script));
    EXPECT_TRUE(status.ok()) << status.message();
  }
  void until(int64_t ms) { sim.sleep_until(at_ms(ms)); }
  void work(int64_t ms) { sim.work(milliseconds(ms)); }
  bool notify(const std::string & name, std::size_t count = 1, const Attributes * thread = nullptr)
  {
    return engine.notify(*callbacks.at(name), count, thread);
  }
  void remove(const std::string & name) { engine.remove(callbacks.at(name)); }
  /// On the calling thread.
  Attributes in_force()
  {
    Attributes attributes;
    EXPECT_EQ(sim.read_back(sim.current_thread(), &attributes), 0);
    return attributes;
  }

  void start(
    const std::string & name, const Attributes & attributes, std::function<void()> body,
    std::unique_ptr<Thread> * thread)
  {
    ThreadOptions options;
    options.name = name;
    options.attributes = attributes;
    if (attributes.scheduling_policy == SchedulingPolicy::kUnchanged) {
      options.attributes.scheduling_policy = SchedulingPolicy::kOther;
    }
    const Status status = sim.start_thread(options, std::move(body), {}, thread);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  /// None of the engine's, which is joined where what is returned goes.
  std::unique_ptr<Thread> stranger(const Attributes & attributes, std::function<void()> body)
  {
    std::unique_ptr<Thread> thread;
    start("stranger", attributes, std::move(body), &thread);
    return thread;
  }
  /// One that keeps a CPU.
  std::unique_ptr<Thread> stranger(int priority, int64_t from_ms, int64_t work_ms)
  {
    return stranger(fifo(priority), [this, from_ms, work_ms] {
      until(from_ms);
      work(work_ms);
    });
  }

  // ---- What was seen

  /// Returns records of jobs that ran, and puts the others into `given_up`. Hands out each once.
  std::vector<rclrt_job_record> records()
  {
    std::vector<rclrt_job_record> records;
    engine.read_trace([&](const rclrt_job_record & record) {
      (rclrt_job_ran(&record) ? records : given_up).push_back(record);
    });
    std::sort(records.begin(), records.end(), [](const auto & a, const auto & b) {
      return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.sequence < b.sequence;
    });
    ran.insert(ran.end(), records.begin(), records.end());
    return records;
  }
  std::vector<rclrt_job_record> ran;       // all that records() has handed out
  std::vector<rclrt_job_record> given_up;  // of outcomes that are no run

  Lines jobs()
  {
    Lines lines;
    for (const rclrt_job_record & record : records()) {
      lines.push_back(
        ms(record.release_ns) + "-" + ms(record.start_ns) + "-" + ms(record.end_ns) + " " +
        name_of(record.callback));
    }
    return lines;
  }
  std::string name_of(uint32_t id) const
  {
    for (const auto & entry : callbacks) {
      if (entry.second->id() == id) {
        return entry.first;
      }
    }
    return "?";
  }
  CallbackStatistics statistics(const std::string & name)
  {
    return engine.statistics(*callbacks.at(name));
  }
  /// "subject what" of each finding.
  Lines told() const
  {
    Lines told;
    for (const Finding & finding : engine.findings()) {
      told.push_back(finding.subject + " " + finding.what);
    }
    return told;
  }
  /// How many findings have all of these texts in them.
  int findings_with(const Lines & texts) const
  {
    const std::vector<Finding> all = engine.findings();
    return static_cast<int>(std::count_if(all.begin(), all.end(), [&](const Finding & finding) {
      const std::string text = to_string(finding);
      return std::all_of(texts.begin(), texts.end(), [&](const std::string & one) {
        return text.find(one) != std::string::npos;
      });
    }));
  }

  Sim sim;
  std::map<std::string, std::shared_ptr<Callback>> callbacks;
  Engine engine;
  Attributes spinner;  ///< of the thread that spins; unchanged: none in particular
  Status spin_status;

private:
  static EngineOptions with_urgent_timers(EngineOptions options)
  {
    if (options.timer_thread.scheduling_policy == SchedulingPolicy::kUnchanged) {
      options.timer_thread = fifo(97);
    }
    return options;
  }
  static std::string ms(int64_t ns)
  {
    std::ostringstream text;
    text << static_cast<double>(ns) / 1e6;
    return text.str();
  }

  std::map<std::string, std::shared_ptr<Group>> groups_;
};

using EngineOnSim = EngineOn<SimPlatform>;

/// One CPU. From 1 ms on "publisher" (fifo 20) has taken threads for what it released, and is about to
/// wake them; from 2 to 12 ms a thread that is none of the engine's (fifo 50) keeps the CPU from it.
class HeldUp
{
public:
  explicit HeldUp(EngineOptions options) : engine(std::move(options)) {}

  void add_publisher(std::function<void()> releases)
  {
    engine.add(engine.fifo_callback("publisher", 0, 20), [this, releases = std::move(releases)] {
      const Publication batch;
      releases();
      engine.work(3);
    });
  }

  Lines run(const std::vector<Arrival> & arrivals)
  {
    std::vector<Arrival> all = {{1, "publisher"}};
    all.insert(all.end(), arrivals.begin(), arrivals.end());
    return engine.run(50, all, [this] { engine.stranger(50, 2, 10)->join(); });
  }

  EngineOnSim engine;
};

}  // namespace rclrt_core
