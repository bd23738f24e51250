// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// An engine on the simulated platform, whose whole run becomes a list of lines to compare:
///
///   "released-started-ended name"   in milliseconds, in order of start
#ifndef ENGINE_ON_SIM_HPP_
#define ENGINE_ON_SIM_HPP_

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "rclrt_core/deadline_scheduler.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/sim_platform.hpp"

namespace rclrt_core
{

using std::chrono::microseconds;
using std::chrono::milliseconds;

inline TimePoint at_ms(int64_t ms) { return TimePoint(milliseconds(ms)); }

inline Attributes fifo(int priority)
{
  Attributes attributes;
  attributes.policy = SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

/// A stimulus: at `time`, the engine is told of `count` units of work for a callback.
struct Arrival
{
  int64_t time_ms;
  std::string callback;
  std::size_t count = 1;
};

class EngineOnSim
{
public:
  explicit EngineOnSim(EngineOptions options = {}, int cpus = 1)
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
  EngineOnSim(int cpus, EngineOptions options)
  : sim(cpus), engine(sim, with_urgent_timers(with_fifo_bands(sim, std::move(options), cpus)))
  {
  }

  std::shared_ptr<Group> group(
    const std::string & name, uint32_t parallelism = 1, const Budget & budget = {})
  {
    std::shared_ptr<Group> & group = groups_[name];
    if (!group) {
      GroupOptions options;
      options.name = name;
      options.parallelism = parallelism;
      options.budget = budget;
      const Status status = engine.add_group(options, &group);
      EXPECT_TRUE(status.ok()) << status.message();
    }
    return group;
  }
  /// The engine may be the last to have it.
  void forget_group(const std::string & name) { groups_.erase(name); }

  /// A callback that works for `work`, in a group of its own unless one is named.
  CallbackOptions callback_options(const std::string & name, Duration work)
  {
    CallbackOptions options;
    options.name = name;
    options.depth = 10;
    options.run = [this, work](const Job &) {
      sim.work(work);
      return true;
    };
    return options;
  }

  std::shared_ptr<Callback> add(CallbackOptions options, const std::string & group_name = "")
  {
    const std::string name = options.name;
    std::shared_ptr<Callback> & callback = callbacks[name];
    const Status status = engine.add_callback(
      std::move(options), group(group_name.empty() ? "group of " + name : group_name), &callback);
    EXPECT_TRUE(status.ok()) << status.message();
    return callback;
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

  /// Spin for `duration_ms`, with `arrivals` from a thread more urgent than any callback, and
  /// `script` on the most urgent thread of all; then stop. Returns the jobs.
  std::vector<std::string> run(
    int64_t duration_ms, std::vector<Arrival> arrivals = {}, std::function<void()> script = {})
  {
    const Status status = sim.run([&] {
      std::unique_ptr<Thread> spinner;
      start("spinner", {}, [this] { spin_status = engine.spin(); }, &spinner);
      std::unique_ptr<Thread> middleware;
      start(
        "middleware", fifo(98),
        [&] {
          for (const Arrival & arrival : arrivals) {
            sim.sleep_until(at_ms(arrival.time_ms));
            engine.notify(*callbacks.at(arrival.callback), arrival.count);
          }
        },
        &middleware);
      if (script) {
        script();
      }
      sim.sleep_until(at_ms(duration_ms));
      engine.stop();
      spinner->join();
      middleware->join();
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return jobs();
  }

  void start(
    const std::string & name, const Attributes & attributes, std::function<void()> body,
    std::unique_ptr<Thread> * thread)
  {
    ThreadOptions options;
    options.name = name;
    options.attributes = attributes;
    if (attributes.policy == SchedulingPolicy::kUnchanged) {
      options.attributes.policy = SchedulingPolicy::kOther;
    }
    const Status status = sim.start_thread(options, std::move(body), {}, thread);
    EXPECT_TRUE(status.ok()) << status.message();
  }

  /// Of jobs that ran, and those of jobs that did not. Each record is handed out once.
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

  std::vector<std::string> jobs()
  {
    std::vector<std::string> lines;
    for (const rclrt_job_record & record : records()) {
      std::ostringstream line;
      line << ms(record.release_ns) << "-" << ms(record.start_ns) << "-" << ms(record.end_ns) << " "
           << name_of(record.callback);
      lines.push_back(line.str());
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

  SimPlatform sim;
  std::map<std::string, std::shared_ptr<Callback>> callbacks;
  Engine engine;
  Status spin_status;

private:
  static EngineOptions with_urgent_timers(EngineOptions options)
  {
    if (options.timer_thread.policy == SchedulingPolicy::kUnchanged) {
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

using Lines = std::vector<std::string>;

}  // namespace rclrt_core

#endif  // ENGINE_ON_SIM_HPP_
