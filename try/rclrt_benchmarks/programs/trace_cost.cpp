// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What the trace costs a job: one thread releases and runs jobs that do nothing, with and without a trace. Engines take
// turns, a round each. `watched`: a chain is declared, and a thread beside reads the records. `with a budget`: what it costs
// to count CPU time; no thread watches. Writes JSON to standard output: nanoseconds a job, of every round.
//
//   trace_cost ROUNDS JOBS

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rclrt_core/trace_file.hpp"
#include "rclrt_front_end/configured_engine.hpp"
#include "rclrt_trace/record.h"

namespace
{

using harness::check;

using Clock = std::chrono::steady_clock;

constexpr char kName[] = "/node/subscription/topic";

/// A file that declares a chain, while it exists.
struct File
{
  File()
  {
    std::ofstream(path)
      << "/**:\n  ros__parameters:\n    rclrt:\n      callbacks: {" << kName
      << ": {wcet: 1000ms, min_period: 0.000001ms}}\n      chains: {x: {callbacks: [" << kName
      << "], deadline: 1000ms, bound: 1000ms}}\n";
  }
  ~File() { std::remove(path.c_str()); }
  File(const File &) = delete;
  File & operator=(const File &) = delete;
  const std::string path = "/tmp/trace_cost." + std::to_string(getpid()) + ".yaml";
};

enum class Records : uint8_t
{
  kNone,
  kInProcess,
  kLive,
  kWatched,
};

/// The job has a budget that is enough: its CPU time is read at its begin and end.
enum class Budget : uint8_t
{
  kNone,
  kEnough,
};

class Variant
{
public:
  Variant(
    rclrt_core::Platform & platform, Records records, bool publishes, Budget budget = Budget::kNone)
  {
    rclrt_front_end::ConfiguredEngineOptions options;
    options.engine.model = rclrt_core::ExecutionModel::kPriorityEvents;
    options.engine.attributes_mode = rclrt_core::AttributesMode::kOff;
    options.engine.trace_capacity = records == Records::kNone ? 0 : 1024;
    if (records == Records::kLive || records == Records::kWatched) {
      check(rclrt_core::make_live_trace(&options.engine.trace_memory));
    }
    const File file;
    options.configuration_file = records == Records::kWatched ? file.path : "";
    check(rclrt_front_end::ConfiguredEngine::make(platform, options, &configured_));
    engine_ = &configured_->engine();
    std::shared_ptr<rclrt_core::Group> group;
    check(engine_->add_group({}, &group));
    rclrt_core::CallbackOptions what;
    what.name = kName;
    what.run = [publishes](const rclrt_core::Job & job) {
      if (publishes) {
        rclrt_core::note_taken(1, job.sequence);
        rclrt_core::note_published(2, job.sequence);
      }
      return true;
    };
    if (budget == Budget::kEnough) {
      what.budget.runtime = what.budget.period = std::chrono::seconds(1);
    }
    check(engine_->add_callback(what, group, &callback_));
  }

  /// Nanoseconds a job.
  double round(int jobs)
  {
    const auto begin = Clock::now();
    for (int i = 0; i < jobs; ++i) {
      engine_->notify(*callback_);
      engine_->run_one(rclrt_core::TimePoint{});
    }
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    return took.count() / jobs;
  }

private:
  std::unique_ptr<rclrt_front_end::ConfiguredEngine> configured_;
  rclrt_core::Engine * engine_ = nullptr;
  std::shared_ptr<rclrt_core::Callback> callback_;
};

/// The least that a record can cost: its bytes go to memory, then a word that says so.
double floor_of(int jobs)
{
  static std::vector<rclrt_job_record> ring(1024);
  static std::atomic<uint64_t> head{0};
  rclrt_job_record record{};
  const auto begin = Clock::now();
  for (int i = 0; i < jobs; ++i) {
    record.sequence = static_cast<uint64_t>(i);
    std::memcpy(&ring[static_cast<std::size_t>(i) % ring.size()], &record, sizeof(record));
    head.store(record.sequence, std::memory_order_release);
  }
  const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
  return took.count() / jobs;
}

int measure(int rounds, int jobs)
{
  rclrt_core::LinuxPlatform platform;
  Variant none(platform, Records::kNone, false);
  Variant ring(platform, Records::kInProcess, false);
  Variant live(platform, Records::kLive, false);
  Variant watched(platform, Records::kWatched, false);
  Variant budget(platform, Records::kNone, false, Budget::kEnough);
  Variant none_messages(platform, Records::kNone, true);
  Variant live_messages(platform, Records::kLive, true);
  nlohmann::json rows = nlohmann::json::object();
  for (int i = -1; i < rounds; ++i) {  // the first one warms up
    const std::vector<std::pair<const char *, double>> results = {
      {"floor", floor_of(jobs)},
      {"none", none.round(jobs)},
      {"ring", ring.round(jobs)},
      {"live", live.round(jobs)},
      {"live, watched", watched.round(jobs)},
      {"none, with a budget", budget.round(jobs)},
      {"none, with messages", none_messages.round(jobs)},
      {"live, with messages", live_messages.round(jobs)},
    };
    for (const auto & [name, ns] : results) {
      if (i >= 0) {
        rows[name].push_back(ns);
      }
    }
  }
  std::cout << rows << '\n';
  return 0;
}

}  // namespace

int main(int argc, char ** argv)
{
  const int rounds = argc == 3 ? std::atoi(argv[1]) : 0;
  const int jobs = argc == 3 ? std::atoi(argv[2]) : 0;
  if (rounds <= 0 || jobs <= 0) {
    std::cerr << "usage: trace_cost ROUNDS JOBS\n";
    return 2;
  }
  try {
    return measure(rounds, jobs);
  } catch (const std::exception & error) {
    std::cerr << "trace_cost: " << error.what() << '\n';
    return 1;
  }
}
