// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Tests as tables: a line or two for what there is, what arrives and what must run.
#ifndef SCENES_HPP_
#define SCENES_HPP_

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "engine_on_sim.hpp"

namespace rclrt_core
{

/// A whole test in words, where callbacks only work. Parts of a text are separated by ", ".
///
///   machine    words of: priority_events preemptive isolated executes first_come edf bands; threads N; cpus N; until MS
///   callbacks  NAME WORK_MS PRIORITY (0: none), then words of: in GROUP; on CPU; budget R/P; ext DEADLINE_MS; depth N;
///              every PERIOD_MS; first MS; once; skip; queue_all; keep_latest
///              group NAME PARALLELISM, then perhaps: budget R/P
///   arrivals   MS NAME, or MS NAME COUNT
///   jobs       as run() returns them; empty: whatever they are
///   counts     NAME executed N, and so on
struct Scene
{
  const char * promise;
  std::string machine;
  const char * callbacks;
  const char * arrivals;
  std::string jobs;
  const char * counts = "";
};

inline std::vector<std::istringstream> parts_of(const std::string & text)
{
  std::vector<std::istringstream> parts;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(", ", begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  return parts;
}

template <typename T>
T next(std::istream & words)
{
  T value{};
  EXPECT_TRUE(words >> value) << "a scene lacks something";
  return value;
}

inline Budget next_budget(std::istream & words)
{
  const auto runtime_ms = next<int64_t>(words);
  words.ignore();
  return budget(runtime_ms, next<int64_t>(words));
}

struct Machine
{
  explicit Machine(const std::string & text)
  {
    const std::map<std::string, std::function<void(std::istream &)>> known = {
      {"priority_events", [this](auto &) { options.model = ExecutionModel::kPriorityEvents; }},
      {"preemptive", [this](auto &) { options.model = ExecutionModel::kPreemptive; }},
      {"isolated", [this](auto &) { options.model = ExecutionModel::kIsolated; }},
      {"executes", [this](auto &) { options.release_and_execute = true; }},
      {"first_come", [this](auto &) { options.policy = &first_come_policy(); }},
      {"edf", [this](auto &) { options.policy = &edf_policy(); }},
      {"bands", [this](auto &) { has_bands = true; }},
      {"threads", [this](auto & words) { options.max_threads = next<std::size_t>(words); }},
      {"cpus", [this](auto & words) { cpus = next<int>(words); }},
      {"until", [this](auto & words) { until_ms = next<int64_t>(words); }}};
    for (std::istringstream & words : parts_of(text)) {
      known.at(next<std::string>(words))(words);
    }
  }
  EngineOptions options;
  int cpus = 1;
  bool has_bands = false;
  int64_t until_ms = 150;
};

inline void add(EngineOnSim & engine, std::istream & words)
{
  const auto name = next<std::string>(words);
  if (name == "group") {
    const auto group = next<std::string>(words);
    const auto parallelism = next<uint32_t>(words);
    std::string word;
    engine.group(group, parallelism, words >> word ? next_budget(words) : Budget());
    return;
  }
  const auto work_ms = next<int64_t>(words);
  const auto priority = next<int>(words);
  CallbackOptions options = engine.callback_options(name, milliseconds(work_ms));
  options.attributes = priority > 0 ? fifo(priority) : Attributes();
  std::string group;
  std::optional<TimerOptions> timer;
  const auto of_timer = [&]() -> TimerOptions & { return timer ? *timer : timer.emplace(); };
  const std::map<std::string, std::function<void()>> known = {
    {"in", [&] { group = next<std::string>(words); }},
    {"on", [&] { options.attributes.cpu_affinity = CpuSet({next<int>(words)}); }},
    {"budget", [&] { options.budget = next_budget(words); }},
    {"ext",
     [&] {
       options.attributes.policy = SchedulingPolicy::kExt;
       options.relative_deadline = milliseconds(next<int64_t>(words));
     }},
    {"depth", [&] { options.depth = next<uint32_t>(words); }},
    {"every", [&] { of_timer().period = milliseconds(next<int64_t>(words)); }},
    {"first", [&] { of_timer().first = milliseconds(next<int64_t>(words)); }},
    {"once", [&] { of_timer().one_shot = true; }},
    {"skip", [&] { options.overrun_rule = OverrunRule::kSkip; }},
    {"queue_all", [&] { options.overrun_rule = OverrunRule::kQueueAll; }},
    {"keep_latest", [&] { options.overrun_rule = OverrunRule::kKeepLatest; }}};
  for (std::string word; words >> word;) {
    known.at(word)();
  }
  timer ? engine.add_timer(options, *timer, group) : engine.add(options, group);
}

inline void expect(const std::vector<Scene> & scenes)
{
  using Statistics = CallbackStatistics;
  const std::map<std::string, uint64_t Statistics::*> known = {
    {"released", &Statistics::released},       {"executed", &Statistics::executed},
    {"dropped", &Statistics::dropped},         {"skipped", &Statistics::skipped},
    {"over_budget", &Statistics::over_budget}, {"deadline_misses", &Statistics::deadline_misses}};
  for (const Scene & scene : scenes) {
    SCOPED_TRACE(scene.promise + (", " + scene.machine));
    Machine machine(scene.machine);
    EngineOptions & options = machine.options;
    if (machine.has_bands) {
      options.policy = &edf_policy();
    }
    std::optional<EngineOnSim> place;
    EngineOnSim & engine = machine.has_bands ? place.emplace(machine.cpus, std::move(options))
                                             : place.emplace(std::move(options), machine.cpus);
    for (std::istringstream & words : parts_of(scene.callbacks)) {
      add(engine, words);
    }
    std::vector<Arrival> arrivals;
    for (std::istringstream & words : parts_of(scene.arrivals)) {
      Arrival & arrival = arrivals.emplace_back();
      words >> arrival.time_ms >> arrival.callback;
      std::size_t count = 0;
      arrival.count = words >> count ? count : 1;
    }
    std::string jobs;
    for (const std::string & job : engine.run(machine.until_ms, arrivals)) {
      jobs += (jobs.empty() ? "" : ", ") + job;
    }
    if (!scene.jobs.empty()) {
      EXPECT_EQ(jobs, scene.jobs);
    }
    for (std::istringstream & words : parts_of(scene.counts)) {
      const auto callback = next<std::string>(words);
      const auto which = next<std::string>(words);
      EXPECT_EQ(engine.statistics(callback).*known.at(which), next<uint64_t>(words))
        << callback << ' ' << which;
    }
  }
}

}  // namespace rclrt_core

#endif  // SCENES_HPP_
