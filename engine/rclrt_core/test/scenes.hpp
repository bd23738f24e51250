// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Tests as tables: a line or two for what there is, what happens and what must run.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
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
///   callbacks  NAME WORK_MS PRIORITY (0: none), then words of: in GROUP; on CPU; budget R/P; chain; ext DEADLINE_MS;
///              depth N; every PERIOD_MS; first MS; once; off; skip; queue_all; keep_latest; nice N; inherits;
///              then NAME (which it notifies when it has worked)
///              group NAME PARALLELISM, then perhaps: budget R/P
///              tick (add_tick() of engine_on_sim.hpp)
///              stranger PRIORITY FROM_MS WORK_MS (a thread that is none of the engine's)
///   happens    MS NAME, or MS NAME COUNT: so much work for that callback. Before it, on the most urgent thread of all:
///              MS remove NAME; MS forget NAME (nobody has it any more); MS add CALLBACK (as above);
///              MS priority NAME P; MS cancel NAME; MS reset NAME; MS period NAME PERIOD_MS
///   jobs       as run() returns them; empty: whatever they are
///   counts     NAME executed N, and so on
struct Scene
{
  std::string promise;
  std::string machine;
  std::string callbacks;
  std::string happens;
  std::string jobs;
  std::string counts = "";
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
  if (name == "tick" && (words >> std::ws).eof()) {
    return engine.add_tick();
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
    {"chain",
     [&] {
       options.chain = "chain";
       options.kind = CallbackKind::kSubscription;
     }},
    {"ext",
     [&] {
       options.attributes.scheduling_policy = SchedulingPolicy::kExt;
       options.relative_deadline = milliseconds(next<int64_t>(words));
     }},
    {"nice",
     [&] {
       options.attributes.scheduling_policy = SchedulingPolicy::kOther;
       options.attributes.nice = next<int>(words);
     }},
    {"inherits", [&] { options.inherit_priority = true; }},
    {"depth", [&] { options.depth = next<uint32_t>(words); }},
    {"every", [&] { of_timer().period = milliseconds(next<int64_t>(words)); }},
    {"first", [&] { of_timer().first = milliseconds(next<int64_t>(words)); }},
    {"once", [&] { of_timer().one_shot = true; }},
    {"off", [&] { of_timer().autostart = false; }},
    {"skip", [&] { options.overrun_rule = OverrunRule::kSkip; }},
    {"queue_all", [&] { options.overrun_rule = OverrunRule::kQueueAll; }},
    {"keep_latest", [&] { options.overrun_rule = OverrunRule::kKeepLatest; }},
    {"then", [&] {
       options =
         EngineOnSim::does(std::move(options), [&engine, work_ms, then = next<std::string>(words)] {
           engine.work(work_ms);
           engine.notify(then);
         });
     }}};
  for (std::string word; words >> word;) {
    known.at(word)();
  }
  timer ? engine.add_timer(options, *timer, group) : engine.add(options, group);
}

/// What happens besides work that comes. False: it is no such thing.
inline bool happens(EngineOnSim & engine, const std::string & what, std::istream & words)
{
  if (what == "add") {
    add(engine, words);
    return true;
  }
  using Of = std::shared_ptr<Callback>;
  const std::map<std::string, std::function<Status(const Of &)>> known = {
    {"remove", [&](const Of & it) { return engine.engine.remove(it), Status(); }},
    {"forget",
     [&](const Of & it) {
       engine.engine.remove(it);
       engine.callbacks.erase(it->name());
       return Status();
     }},
    {"priority",
     [&](const Of & it) { return engine.engine.set_attributes(it, fifo(next<int>(words))); }},
    {"cancel", [&](const Of & it) { return engine.engine.cancel_timer(it); }},
    {"reset", [&](const Of & it) { return engine.engine.reset_timer(it); }},
    {"period", [&](const Of & it) {
       return engine.engine.set_timer_period(it, milliseconds(next<int64_t>(words)));
     }}};
  const auto found = known.find(what);
  if (found == known.end()) {
    return false;
  }
  const Status done = found->second(engine.callbacks.at(next<std::string>(words)));
  EXPECT_TRUE(done.ok()) << done.message();
  return true;
}

/// A scene that has run.
struct Played
{
  explicit Played(const Scene & scene)
  {
    Machine machine(scene.machine);
    if (machine.has_bands) {
      machine.options.policy = &edf_policy();
    }
    engine = machine.has_bands
               ? std::make_unique<EngineOnSim>(machine.cpus, std::move(machine.options))
               : std::make_unique<EngineOnSim>(std::move(machine.options), machine.cpus);
    std::vector<std::istringstream> strangers;
    for (std::istringstream & words : parts_of(scene.callbacks)) {
      words.str().rfind("stranger ", 0) == 0 ? strangers.push_back(std::move(words))
                                             : add(*engine, words);
    }
    std::vector<Arrival> arrivals;
    std::vector<std::pair<int64_t, std::istringstream>> steps;
    for (std::istringstream & words : parts_of(scene.happens)) {
      const auto time_ms = next<int64_t>(words);
      const auto name = next<std::string>(words);
      std::size_t count = 1;
      const bool is_step = !(words >> std::ws).eof() && !(words >> count);
      if (!is_step) {
        arrivals.push_back({time_ms, name, count});
        continue;
      }
      steps.emplace_back(time_ms, std::istringstream(words.str()));
      next<int64_t>(steps.back().second);
    }
    std::vector<std::unique_ptr<Thread>> threads;
    const Lines lines = engine->run(machine.until_ms, arrivals, [&] {
      for (std::istringstream & words : strangers) {
        next<std::string>(words);
        const auto priority = next<int>(words);
        const auto from_ms = next<int64_t>(words);
        threads.push_back(engine->stranger(priority, from_ms, next<int64_t>(words)));
      }
      for (auto & [time_ms, words] : steps) {
        engine->until(time_ms);
        const auto what = next<std::string>(words);
        EXPECT_TRUE(happens(*engine, what, words)) << what;
      }
    });
    for (const std::string & job : lines) {
      jobs += (jobs.empty() ? "" : ", ") + job;
    }
  }

  std::unique_ptr<EngineOnSim> engine;
  std::string jobs;
};

inline void expect(const std::vector<Scene> & scenes)
{
  using Statistics = CallbackStatistics;
  const std::map<std::string, uint64_t Statistics::*> known = {
    {"released", &Statistics::released},       {"executed", &Statistics::executed},
    {"dropped", &Statistics::dropped},         {"skipped", &Statistics::skipped},
    {"over_budget", &Statistics::over_budget}, {"deadline_misses", &Statistics::deadline_misses}};
  for (const Scene & scene : scenes) {
    SCOPED_TRACE(scene.promise + ", " + scene.machine);
    const Played played(scene);
    if (!scene.jobs.empty()) {
      EXPECT_EQ(played.jobs, scene.jobs);
    }
    for (std::istringstream & words : parts_of(scene.counts)) {
      const auto callback = next<std::string>(words);
      const auto which = next<std::string>(words);
      EXPECT_EQ(played.engine->statistics(callback).*known.at(which), next<uint64_t>(words))
        << callback << ' ' << which;
    }
  }
}

/// Expects the scene to play alike on each of several machines.
inline void expect_on(const std::vector<std::string> & machines, Scene scene)
{
  for (const std::string & machine : machines) {
    scene.machine = machine;
    expect({scene});
  }
}

}  // namespace rclrt_core
