// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A chain of three callbacks every 60 ms beside callbacks that take all CPU time they get, in one executor on one CPU.
// In some ways a callback runs away, with a priority above the chain's, for kRunaway of CPU time again and again. Writes
// JSON: instances, misses, and what the best effort got done. See budget.py.
//
//   chain_beside_best_effort WAY SECONDS      WAY: shared, fifo, runaway, budget
//
// Exits with 77, and says why, where SCHED_FIFO is not permitted.

#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rclrt_core/engine.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace
{

using rclrt_core::Duration;
using rclrt_core::TimePoint;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int kSkipped = 77;
constexpr int kChain = 50;
constexpr int kAbove = 80;
constexpr int kTimers = 90;
constexpr int kStages = 3;
constexpr std::size_t kBestEffort = 4;
constexpr milliseconds kPeriod{60};
constexpr milliseconds kStage{4};
constexpr milliseconds kTurn{5};        ///< of the best effort
constexpr milliseconds kRunaway{100};   ///< far below what the kernel leaves to SCHED_FIFO
constexpr milliseconds kRunsAway{300};  ///< how often
constexpr microseconds kUnit{50};

Duration cpu_time_here()
{
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec);
}

/// Calls `done` for each unit of work.
template <typename Done>
void work(Duration length, Done && done)
{
  const Duration begin = cpu_time_here();
  Duration unit_ends = begin + kUnit;
  while (true) {
    const Duration now = cpu_time_here();
    if (now >= begin + length) {
      return;
    }
    if (now >= unit_ends) {
      unit_ends += kUnit;
      done();
    }
  }
}

void check(const rclrt_core::Status & status)
{
  if (!status.ok()) {
    throw std::runtime_error(status.message());
  }
}

rclrt_core::Attributes fifo(int priority)
{
  rclrt_core::Attributes attributes;
  attributes.policy = rclrt_core::SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

class Process
{
public:
  explicit Process(const std::string & way)
  {
    rclrt_core::EngineOptions options;
    options.attributes_mode = rclrt_core::AttributesMode::kRequire;
    options.timer_thread = fifo(kTimers);
    engine_ = std::make_unique<rclrt_core::Engine>(platform_, options);
    const rclrt_core::Attributes chain = way == "shared" ? rclrt_core::Attributes() : fifo(kChain);
    for (std::size_t i = 0; i < kStages; ++i) {
      rclrt_core::CallbackOptions stage;
      stage.attributes = chain;
      stage.depth = 100;
      stage.run = [this, i](const rclrt_core::Job & job) {
        run_stage(i, job);
        return true;
      };
      stages_[i] =
        add("stage " + std::to_string(i), stage, i == 0 ? Duration(kPeriod) : Duration{});
    }
    for (std::size_t i = 0; i < kBestEffort; ++i) {
      rclrt_core::CallbackOptions one;
      one.depth = 2;
      one.run = [this, i](const rclrt_core::Job &) {
        work(kTurn, [this] { units_.fetch_add(1, std::memory_order_relaxed); });
        engine_->notify(*best_effort_[i]);
        return true;
      };
      best_effort_[i] = add("best effort " + std::to_string(i), one, {});
    }
    if (way == "runaway" || way == "budget") {
      rclrt_core::CallbackOptions one;
      one.attributes = fifo(kAbove);
      one.overrun_rule = rclrt_core::OverrunRule::kSkip;
      if (way == "budget") {
        one.budget.runtime = milliseconds(5);
        one.budget.period = milliseconds(50);
      }
      one.run = [](const rclrt_core::Job &) {
        work(kRunaway, [] {});
        return true;
      };
      add("runaway", one, kRunsAway);
    }
  }

  nlohmann::json run(Duration length)
  {
    rclrt_core::Status status;
    std::thread spinner([&] { status = engine_->spin(); });
    while (!engine_->is_spinning() && status.ok()) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    for (const auto & callback : best_effort_) {
      engine_->notify(*callback);
    }
    std::this_thread::sleep_for(milliseconds(100));
    const auto begin = std::chrono::steady_clock::now();
    const int64_t units = units_.load();
    const int64_t from = instances_.load();
    const int64_t missed = misses_.load();
    std::this_thread::sleep_for(length);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const int64_t done = units_.load() - units;
    // What has not ended after two periods is a miss, too.
    const int64_t due = static_cast<int64_t>(took.count() / 0.060);
    const int64_t ended = instances_.load() - from;
    const int64_t late = misses_.load() - missed + std::max<int64_t>(0, due - ended - 2);
    engine_->stop();
    spinner.join();
    check(status);
    return {
      {"instances", std::max(ended, due)},
      {"misses", late},
      {"worst_ms", static_cast<double>(worst_ns_.load()) / 1e6},
      {"units_per_s", static_cast<double>(done) / took.count()}};
  }

private:
  std::shared_ptr<rclrt_core::Callback> add(
    const std::string & name, rclrt_core::CallbackOptions options, Duration period)
  {
    std::shared_ptr<rclrt_core::Group> group;
    rclrt_core::GroupOptions group_options;
    group_options.name = name;
    check(engine_->add_group(group_options, &group));
    options.name = name;
    std::shared_ptr<rclrt_core::Callback> callback;
    rclrt_core::TimerOptions timer;
    timer.period = period;
    check(
      period > Duration{} ? engine_->add_timer(options, timer, group, &callback)
                          : engine_->add_callback(options, group, &callback));
    return callback;
  }

  void run_stage(std::size_t i, const rclrt_core::Job & job)
  {
    // The n-th job of each stage belongs to the n-th instance.
    const std::size_t slot = static_cast<std::size_t>(counts_[i]++) % released_.size();
    if (i == 0) {
      released_[slot].store(rclrt_core::nanoseconds_of(job.release));
    }
    work(kStage, [] {});
    if (i + 1 < kStages) {
      engine_->notify(*stages_[i + 1]);
      return;
    }
    const int64_t now_ns = rclrt_core::nanoseconds_of(platform_.now());
    const int64_t latency_ns = now_ns - released_[slot].load();
    worst_ns_.store(std::max(worst_ns_.load(), latency_ns));
    misses_ += Duration(latency_ns) > kPeriod ? 1 : 0;
    ++instances_;
  }

  rclrt_core::LinuxPlatform platform_;
  std::array<std::shared_ptr<rclrt_core::Callback>, kStages> stages_;
  std::array<std::shared_ptr<rclrt_core::Callback>, kBestEffort> best_effort_;
  std::array<std::atomic<int64_t>, 256> released_{};
  std::array<int64_t, kStages> counts_{};  // each of one group
  std::atomic<int64_t> units_{0};
  std::atomic<int64_t> instances_{0};
  std::atomic<int64_t> misses_{0};
  std::atomic<int64_t> worst_ns_{0};  // written by the last stage
  std::unique_ptr<rclrt_core::Engine> engine_;
};

}  // namespace

int main(int argc, char ** argv)
{
  const std::string way = argc == 3 ? argv[1] : "";
  const double seconds = argc == 3 ? std::atof(argv[2]) : 0;
  if ((way != "shared" && way != "fifo" && way != "runaway" && way != "budget") || seconds <= 0) {
    std::cerr << "usage: chain_beside_best_effort shared|fifo|runaway|budget SECONDS\n";
    return 2;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(rclrt_core::LinuxPlatform().usable_cpu_set().cpus().front(), &one);
  sched_param priority{};
  priority.sched_priority = kTimers;
  int refused = 0;
  std::thread([&] { refused = sched_setscheduler(0, SCHED_FIFO, &priority) == 0 ? 0 : 1; }).join();
  if (refused != 0 || sched_setaffinity(0, sizeof(one), &one) != 0) {
    std::cerr << "SCHED_FIFO is not permitted\n";
    return kSkipped;
  }
  try {
    Process process(way);
    std::cout << process.run(
                   std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)))
              << '\n';
  } catch (const std::exception & error) {
    std::cerr << "chain_beside_best_effort: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
