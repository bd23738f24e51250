// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A budget on real threads: a callback that keeps its CPU, and a timer of lower priority on the same CPU. What is
// asserted is who runs between which events. The rules are tested on the simulated platform.

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

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

/// Why that is refused here; empty: it is permitted.
std::string refusal(const Attributes & attributes)
{
  LinuxPlatform platform;
  int error = 0;
  std::thread([&] { error = platform.apply(platform.current_thread(), attributes); }).join();
  return error == 0 ? "" : to_string(platform.explain("this test", attributes, error));
}

Attributes fifo(int priority)
{
  Attributes attributes;
  attributes.scheduling_policy = SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

Attributes on_one_cpu(Attributes attributes)
{
  attributes.cpu_affinity = CpuSet({LinuxPlatform().usable_cpu_set().cpus().front()});
  return attributes;
}

Attributes deadline()
{
  Attributes attributes;
  attributes.scheduling_policy = SchedulingPolicy::kDeadline;
  attributes.runtime = milliseconds(2);
  attributes.deadline = attributes.period = milliseconds(20);
  return attributes;
}

/// "tick" every 10 ms at FIFO 50 on one CPU, and callbacks which compute until tick has run often or they have used much
/// CPU time. In the isolated model each has a thread of its own.
struct Beside
{
  Beside(
    const Attributes & attributes, const Budget & budget, int count, ExecutionModel model,
    const Budget & group_budget = {})
  {
    EngineOptions options;
    options.model = model;
    options.attributes_mode = AttributesMode::kRequire;
    options.timer_thread = fifo(90);
    engine = std::make_unique<Engine>(platform, options);
    tick = add("tick", on_one_cpu(fifo(50)), {}, [this] { ++ticks; }, milliseconds(10));
    for (int i = 0; i < count; ++i) {
      runaways.push_back(add(
        "runaway " + std::to_string(i), attributes, budget, [this] { run_away(); }, {},
        group_budget));
    }
  }

  std::shared_ptr<Callback> add(
    const std::string & name, const Attributes & attributes, const Budget & budget,
    std::function<void()> body, Duration period, const Budget & group_budget = {})
  {
    std::shared_ptr<Group> group;
    GroupOptions group_options;
    group_options.name = name;
    group_options.attributes = attributes;
    group_options.budget = group_budget;
    EXPECT_TRUE(engine->add_group(group_options, &group).ok());
    CallbackOptions options;
    options.name = name;
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
    ticks_inside += ticks - before;
  }

  /// One job of each. Returns how many of "tick" ran between start and end, of all together.
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
    for (const auto & runaway : runaways) {
      engine->notify(*runaway);
    }
    wait_for([this] {
      return std::all_of(runaways.begin(), runaways.end(), [this](const auto & runaway) {
        return engine->statistics(*runaway).executed == 1;
      });
    });
    engine->stop();
    spinner.join();
    return ticks_inside;
  }
  uint64_t over_budget() const { return engine->statistics(*runaways.front()).over_budget; }

  LinuxPlatform platform;
  std::atomic<int> ticks{0};
  std::atomic<int> ticks_inside{0};
  std::shared_ptr<Callback> tick;
  std::vector<std::shared_ptr<Callback>> runaways;
  std::unique_ptr<Engine> engine;
};

TEST(BudgetOnLinux, lets_the_others_run_while_a_callback_keeps_its_cpu)
{
  if (const std::string why = refusal(fifo(90)); !why.empty()) {
    GTEST_SKIP() << "not permitted here: " << why;
  }
  const Attributes above = on_one_cpu(fifo(80));
  Beside without(above, {}, 1, ExecutionModel::kPreemptive);
  EXPECT_EQ(without.run(), 0) << "it outranks the timer, and is never interrupted for it";
  EXPECT_EQ(without.over_budget(), 0U);

  Budget budget;
  budget.runtime = milliseconds(2);
  budget.period = milliseconds(20);
  Beside with(above, budget, 1, ExecutionModel::kPreemptive);
  EXPECT_GE(with.run(), kEnough);
  EXPECT_GT(with.over_budget(), 0U);

  Beside with_group(above, {}, 1, ExecutionModel::kPreemptive, budget);
  EXPECT_GE(with_group.run(), kEnough) << "the budget of its group";
  EXPECT_GT(with_group.over_budget(), 0U);
}

// The kernel's own budget. Its threads may run on any CPU: so there is one for each.
TEST(BudgetOnLinux, of_sched_deadline_lets_the_others_run_while_callbacks_keep_all_cpus)
{
  const Attributes wanted = deadline();
  if (const std::string why = refusal(wanted); !why.empty()) {
    GTEST_SKIP() << "not permitted here: " << why;
  }
  const int cpus = LinuxPlatform().usable_cpus();
  Beside beside(wanted, {}, cpus, ExecutionModel::kIsolated);
  EXPECT_GE(beside.run(), kEnough * cpus);
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

// ---- The permission to be a real-time thread is taken away while the engine spins. In a process of its own.

/// The limit is the process's, a capability that of each thread.
void withdraw_permission()
{
  const rlimit none{};
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct no_capability[2] = {};
  if (setrlimit(RLIMIT_RTPRIO, &none) != 0 || syscall(SYS_capset, &header, no_capability) != 0) {
    std::perror("withdraw_permission()");
    std::_Exit(3);
  }
}

/// One thread for "low" (FIFO 20), which publishes to "high" (30).
class Spinning
{
public:
  Spinning()
  {
    EngineOptions options;
    options.max_threads = 1;
    engine_ = std::make_unique<Engine>(platform_, options);
    high_ = add("high", 30, [] {});
    low_ = add("low", 20, [this] {
      if (withdraws_.exchange(false)) {
        withdraw_permission();
      }
      const Publication publication;
      engine_->notify(*high_);
    });
    spinner_ = std::thread([this] { (void)engine_->spin(); });
  }
  ~Spinning()
  {
    engine_->stop();
    spinner_.join();
  }
  Spinning(const Spinning &) = delete;
  Spinning & operator=(const Spinning &) = delete;

  /// What "low" and then "high" were run with.
  std::string run()
  {
    had_.clear();
    ended_ = 0;
    engine_->notify(*low_);
    for (int i = 0; i < 20000 && ended_ < 2; ++i) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    return ended_ == 2 ? had_ : "hangs: " + had_;
  }
  /// From this thread and, in the next "low", from the one that runs both.
  void withdraw()
  {
    withdraw_permission();
    withdraws_ = true;
  }
  /// Who was refused what.
  std::string refusals() const
  {
    std::string text;
    for (const Finding & finding : engine_->findings()) {
      text += finding.error_number == EPERM ? finding.subject + " " + finding.what + "; " : "";
    }
    return text;
  }

private:
  std::shared_ptr<Callback> add(const std::string & name, int priority, std::function<void()> body)
  {
    GroupOptions group_options;
    group_options.name = name;
    std::shared_ptr<Group> group;
    EXPECT_TRUE(engine_->add_group(group_options, &group).ok());
    CallbackOptions options;
    options.name = name;
    options.attributes.scheduling_policy = SchedulingPolicy::kFifo;
    options.attributes.priority = priority;
    options.run = [this, body = std::move(body)](const Job &) {
      body();
      Attributes mine;
      platform_.read_back(platform_.current_thread(), &mine);
      had_ +=
        to_string(mine.scheduling_policy) + std::string(" ") + std::to_string(mine.priority) + "; ";
      ++ended_;
      return true;
    };
    std::shared_ptr<Callback> callback;
    EXPECT_TRUE(engine_->add_callback(options, group, &callback).ok());
    return callback;
  }

  LinuxPlatform platform_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<Callback> high_, low_;
  std::string had_;  // of one job after the other
  std::atomic<int> ended_{0};
  std::atomic<bool> withdraws_{false};
  std::thread spinner_;
};

TEST(Permission, that_is_withdrawn_while_it_spins_is_told_and_everything_goes_on)
{
  Attributes highest;
  highest.scheduling_policy = SchedulingPolicy::kFifo;
  highest.priority = 30;
  int refusal = 0;
  std::thread([&] {
    LinuxPlatform platform;
    refusal = platform.apply(platform.current_thread(), highest);
  }).join();
  if (refusal != 0) {
    GTEST_SKIP() << "real-time scheduling is refused: docs/how-to/real-time-permissions.md";
  }
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto child = [] {
    Spinning spinning;
    std::string seen = spinning.run() + "\n";
    spinning.withdraw();
    seen += spinning.run() + "\n";
    seen += spinning.run() + "\n";
    std::fprintf(stderr, "%s%s\n", seen.c_str(), spinning.refusals().c_str());
    std::_Exit(0);
  };
  // A thread keeps what it has, and nobody gets more.
  EXPECT_EXIT(
    child(), ::testing::ExitedWithCode(0),
    "fifo 20; fifo 30; \nfifo 20; other 0; \nother 0; other 0; \n"
    "high asked for fifo, priority 30; low asked for fifo, priority 20; ");
}

/// Without it nobody takes the kernel's reset-on-fork away from a thread, but any thread may become an ordinary one.
TEST(
  Permission,
  that_is_withdrawn_leaves_the_thread_that_spins_an_ordinary_one_after_a_real_time_callback)
{
  const auto child = [] {
    LinuxPlatform platform;
    EngineOptions options;
    options.model = ExecutionModel::kPriorityEvents;
    Engine engine(platform, options);
    std::string had;
    const auto read = [&] {
      Attributes mine;
      platform.read_back(platform.current_thread(), &mine);
      had += to_string(mine.scheduling_policy) + std::string("; ");
    };
    const auto add = [&](const std::string & name, const Attributes & attributes, bool is_last) {
      GroupOptions group_options;
      group_options.name = name;
      std::shared_ptr<Group> group;
      EXPECT_TRUE(engine.add_group(group_options, &group).ok());
      CallbackOptions callback_options;
      callback_options.name = name;
      callback_options.attributes = attributes;
      callback_options.run = [&, is_last](const Job &) {
        read();
        if (is_last) {
          engine.stop();
        } else {
          withdraw_permission();
        }
        return true;
      };
      std::shared_ptr<Callback> callback;
      EXPECT_TRUE(engine.add_callback(callback_options, group, &callback).ok());
      engine.notify(*callback);
    };
    add("urgent", fifo(5), false);
    add("plain", {}, true);
    (void)engine.spin();
    read();
    std::fprintf(stderr, "%s\n", had.c_str());
    std::_Exit(0);
  };
  const std::string why = refusal(fifo(5));
  if (!why.empty()) {
    GTEST_SKIP() << why;
  }
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "fifo; other; other; \n");
}

}  // namespace
}  // namespace rclrt_core
