// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A budget on real threads: a callback that keeps its CPU, and a timer of lower priority on the same CPU. What is
// asserted is who runs between which events. The rules are tested on the simulated platform.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include "rclrt_core/engine.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace rclrt_core
{
namespace
{

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kEnough = 10;
// Far below what the kernel leaves to SCHED_FIFO threads.
constexpr Duration kMostCpu = milliseconds(300);
constexpr Duration kMostTime = seconds(30);

Duration cpu_time_here()
{
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return seconds(time.tv_sec) + Duration(time.tv_nsec);
}

/// Why SCHED_FIFO is refused here; empty: it is permitted.
std::string refusal()
{
  LinuxPlatform platform;
  Attributes attributes;
  attributes.policy = SchedulingPolicy::kFifo;
  attributes.priority = 81;
  int error = 0;
  std::thread([&] { error = platform.apply(platform.current_thread(), attributes); }).join();
  return error == 0 ? "" : to_string(platform.explain("this test", attributes, error));
}

/// "tick" every 10 ms at FIFO 50, and "runaway" at FIFO 80, which computes until tick has run often or it has used much
/// CPU time. Both on one CPU.
struct Pair
{
  explicit Pair(const Budget & budget)
  {
    EngineOptions options;
    options.attributes_mode = AttributesMode::kRequire;
    options.timer_thread = fifo(90);
    engine = std::make_unique<Engine>(platform, options);
    tick = add("tick", fifo(50), {}, [this] { ++ticks; }, milliseconds(10));
    runaway = add("runaway", fifo(80), budget, [this] { run_away(); }, {});
  }

  Attributes fifo(int priority)
  {
    Attributes attributes;
    attributes.policy = SchedulingPolicy::kFifo;
    attributes.priority = priority;
    attributes.cpu_affinity = CpuSet({platform.usable_cpu_set().cpus().front()});
    return attributes;
  }

  std::shared_ptr<Callback> add(
    const std::string & name, const Attributes & attributes, const Budget & budget,
    std::function<void()> body, Duration period)
  {
    std::shared_ptr<Group> group;
    GroupOptions group_options;
    group_options.name = name;
    EXPECT_TRUE(engine->add_group(group_options, &group).ok());
    CallbackOptions options;
    options.name = name;
    options.attributes = attributes;
    options.budget = budget;
    options.run = [body = std::move(body)](const Job &) {
      body();
      return true;
    };
    std::shared_ptr<Callback> callback;
    TimerOptions timer;
    timer.period = period;
    const Status status = period > Duration{0} ? engine->add_timer(options, timer, group, &callback)
                                               : engine->add_callback(options, group, &callback);
    EXPECT_TRUE(status.ok()) << status.message();
    return callback;
  }

  void run_away()
  {
    const int before = ticks;
    const Duration from = cpu_time_here();
    while (ticks < before + kEnough && cpu_time_here() - from < kMostCpu) {
    }
    ticks_inside = ticks - before;
  }

  /// One job of "runaway". Returns how many of "tick" ran between its start and its end.
  int run()
  {
    std::thread spinner([this] {
      const Status status = engine->spin();
      EXPECT_TRUE(status.ok()) << status.message();
    });
    const auto give_up = std::chrono::steady_clock::now() + kMostTime;
    const auto wait_for = [give_up](const auto & condition) {
      while (!condition() && std::chrono::steady_clock::now() < give_up) {
        std::this_thread::sleep_for(milliseconds(1));
      }
      EXPECT_TRUE(condition());
    };
    wait_for([this] { return ticks > 0; });
    engine->notify(*runaway);
    wait_for([this] { return engine->statistics(*runaway).executed == 1; });
    engine->stop();
    spinner.join();
    return ticks_inside;
  }

  LinuxPlatform platform;
  std::atomic<int> ticks{0};
  std::atomic<int> ticks_inside{0};
  std::shared_ptr<Callback> tick;
  std::shared_ptr<Callback> runaway;
  std::unique_ptr<Engine> engine;
};

TEST(BudgetOnLinux, lets_the_others_run_while_a_callback_keeps_its_cpu)
{
  if (const std::string why = refusal(); !why.empty()) {
    GTEST_SKIP() << "not permitted here: " << why;
  }
  Pair without({});
  EXPECT_EQ(without.run(), 0) << "it outranks the timer, and is never interrupted for it";
  EXPECT_EQ(without.engine->statistics(*without.runaway).over_budget, 0U);

  Budget budget;
  budget.runtime = milliseconds(2);
  budget.period = milliseconds(20);
  Pair with(budget);
  EXPECT_GE(with.run(), kEnough);
  EXPECT_GT(with.engine->statistics(*with.runaway).over_budget, 0U);
}

TEST(BudgetOnLinux, the_cpu_time_of_another_thread_is_what_that_thread_sees)
{
  LinuxPlatform platform;
  std::atomic<ThreadId> id{0};
  std::atomic<int64_t> used{0};
  std::atomic<bool> ends{false};
  std::thread thread([&] {
    while (cpu_time_here() < milliseconds(5)) {
    }
    used = cpu_time_here().count();
    id = platform.current_thread();
    while (!ends) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  while (id == 0) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_GE(platform.cpu_time_ns(id), used.load());
  ends = true;
  const ThreadId gone = id;
  thread.join();
  EXPECT_EQ(platform.cpu_time_ns(0), -1);
  while (platform.cpu_time_ns(gone) != -1) {  // the kernel may take its time to forget it
    std::this_thread::sleep_for(milliseconds(1));
  }
}

}  // namespace
}  // namespace rclrt_core
