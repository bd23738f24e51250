// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A chain of three callbacks every 60 ms beside callbacks that take all CPU time they get, in one process, under one
// executor. In some ways a callback runs away, with a priority above the chain's, for kRunaway of CPU time again and
// again. Writes JSON: instances, misses, and what the best effort got done. See budget.py.
//
//   chain_beside_best_effort --way WAY --cpus N --seconds S
//
// Exits with 77, and says why, where SCHED_FIFO is not permitted, or what a way needs besides.

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <builtin_interfaces/msg/time.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "harness.hpp"
#include "on_rcl.hpp"
#include "rclrt_baselines/baselines.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace
{

using harness::become_fifo;
using harness::fifo;

using builtin_interfaces::msg::Time;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

constexpr unsigned kMostMore = 30;  ///< seconds that a process may take besides
constexpr int kChain = 50;
constexpr int kAbove = 80;
constexpr int kProcess = 50;
constexpr int kBestEffort = 4;
constexpr std::size_t kThreads = 3;  ///< of a wait set
constexpr milliseconds kPeriod{60};
constexpr milliseconds kStage{4};
constexpr milliseconds kTurn{5};        ///< of the best effort
constexpr milliseconds kAgain{1};       ///< how often it asks for the CPU
constexpr milliseconds kRunaway{100};   ///< far below what the kernel leaves to SCHED_FIFO
constexpr milliseconds kRunsAway{300};  ///< how often
constexpr milliseconds kBudget{5};      ///< of the one that runs away
constexpr milliseconds kBudgetPeriod{50};
constexpr microseconds kUnit{50};

template <typename Done>
void work(nanoseconds length, Done && done)
{
  const nanoseconds begin(harness::thread_cpu_ns());
  nanoseconds unit_ends = begin + kUnit;
  while (true) {
    const nanoseconds now(harness::thread_cpu_ns());
    if (now >= begin + length) {
      return;
    }
    if (now >= unit_ends) {
      unit_ends += kUnit;
      done();
    }
  }
}

/// The kernel's own budget, and before all of SCHED_FIFO.
rclrt_rcl::Scheduling deadline()
{
  rclrt_rcl::Scheduling scheduling;
  scheduling.attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kDeadline;
  scheduling.attributes.runtime = kBudget;
  scheduling.attributes.deadline = kBudgetPeriod;
  scheduling.attributes.period = kBudgetPeriod;
  return scheduling;
}

bool is_in(const std::string & way, const std::vector<std::string> & ways)
{
  return std::find(ways.begin(), ways.end(), way) != ways.end();
}

const std::vector<std::string> kOfThePool{"shared", "fifo", "runaway", "budget"};
/// All others have no priorities for callbacks, or are told none.
const std::vector<std::string> kWithPriorities{"fifo",     "runaway", "budget", "priority_events",
                                               "isolated", "deadline"};
const std::vector<std::string> kWays{
  "shared",   "fifo",        "runaway",        "budget",          "priority_events", "deadline",
  "isolated", "events_fifo", "wait_set_multi", "wait_set_single", "process_fifo"};

std::unique_ptr<rclrt_rcl::Executor> executor_of(const std::string & way)
{
  const bool is_pool = is_in(way, kOfThePool);
  return rclrt_baselines::executor_by_name(
    is_pool                 ? "preemptive"
    : way == "process_fifo" ? "wait_set_multi"
    : way == "deadline"     ? "isolated"
                            : way,
    kThreads);
}

class Process
{
public:
  explicit Process(const std::string & way)
  : node_(std::make_shared<rclrt_rcl::Node>("mixed")), executor_(executor_of(way))
  {
    const auto scheduling = is_in(way, kWithPriorities) ? fifo(kChain) : rclrt_rcl::Scheduling();
    const auto second = node_->create_publisher<Time>("second", 10);
    const auto third = node_->create_publisher<Time>("third", 10);
    subscribe("second", scheduling, [third](const Time & released) {
      work(kStage, [] {});
      third->publish(released);
    });
    subscribe("third", scheduling, [this](const Time & released) {
      work(kStage, [] {});
      end(nanoseconds(std::chrono::seconds(released.sec)) + nanoseconds(released.nanosec));
    });
    for (int i = 0; i < kBestEffort; ++i) {
      add_timer(kAgain, {}, [this] {
        work(kTurn, [this] { units_.fetch_add(1, std::memory_order_relaxed); });
      });
    }
    if (is_in(way, {"runaway", "budget", "deadline"})) {
      auto above = way == "deadline" ? deadline() : fifo(kAbove);
      above.overrun_rule = rclrt_core::OverrunRule::kSkip;
      if (way == "budget") {
        above.budget.runtime = kBudget;
        above.budget.period = kBudgetPeriod;
      }
      add_timer(kRunsAway, above, [] { work(kRunaway, [] {}); });
    }
    began_ = Clock::now();
    add_timer(kPeriod, scheduling, [this, second] {
      const auto release = released_last().count();
      work(kStage, [] {});
      Time message;
      message.sec = static_cast<int32_t>(release / 1'000'000'000);
      message.nanosec = static_cast<uint32_t>(release % 1'000'000'000);
      second->publish(message);
    });
    executor_->add_node(node_);
  }

  nlohmann::json run(nanoseconds length)
  {
    harness::Spinning spinning(*executor_);
    // Above all that works, or nobody could end a process whose threads have SCHED_FIFO and never sleep.
    become_fifo(kAbove + 1);
    std::this_thread::sleep_for(2 * kPeriod);
    const auto begin = Clock::now();
    const int64_t units = units_.load();
    counts_.store(true);
    std::this_thread::sleep_for(length);
    counts_.store(false);
    const std::chrono::duration<double> took = Clock::now() - begin;
    const int64_t done = units_.load() - units;
    spinning.end();
    // Releases that were left out, and what has not ended after two periods, are misses, too.
    const auto due = static_cast<int64_t>(took.count() / 0.060);
    const int64_t missing = std::max<int64_t>(0, due - instances_.load() - 2);
    return {
      {"instances", instances_.load() + missing},
      {"misses", misses_.load() + missing},
      {"worst_ms", static_cast<double>(worst_ns_.load()) / 1e6},
      {"units_per_s", static_cast<double>(done) / took.count()}};
  }

private:
  template <typename Then>
  void subscribe(const std::string & topic, const rclrt_rcl::Scheduling & scheduling, Then then)
  {
    const auto options = harness::in_own_group<rclrt_rcl::SubscriptionOptions>(*node_, scheduling);
    entities_.push_back(node_->create_subscription<Time>(topic, 10, std::move(then), options));
  }

  template <typename Then>
  void add_timer(milliseconds period, const rclrt_rcl::Scheduling & scheduling, Then then)
  {
    const auto options = harness::in_own_group<rclrt_rcl::TimerOptions>(*node_, scheduling);
    entities_.push_back(node_->create_wall_timer(period, std::move(then), options));
  }

  /// When the chain's timer was due last, by the clock: a callback is not told, and may run much later.
  nanoseconds released_last() const
  {
    const nanoseconds since = Clock::now() - began_;
    return began_.time_since_epoch() + since / kPeriod * nanoseconds(kPeriod);
  }

  /// Ends an instance of the chain. Called by one job at a time.
  void end(nanoseconds released)
  {
    if (!counts_.load()) {
      return;
    }
    const nanoseconds latency = Clock::now().time_since_epoch() - released;
    worst_ns_.store(std::max(worst_ns_.load(), int64_t{latency.count()}));
    misses_ += latency > kPeriod ? 1 : 0;
    ++instances_;
  }

  const std::shared_ptr<rclrt_rcl::Node> node_;
  std::vector<std::shared_ptr<void>> entities_;
  Clock::time_point began_;
  // Numbers by themselves, written by one job at a time but for units_; read after the executor has ended, or soon.
  std::atomic<bool> counts_{false};
  std::atomic<int64_t> units_{0};
  std::atomic<int64_t> instances_{0};
  std::atomic<int64_t> misses_{0};
  std::atomic<int64_t> worst_ns_{0};
  const std::unique_ptr<rclrt_rcl::Executor> executor_;
};

/// The threads of the process from now on. Returns false if there are fewer.
bool use_cpus(std::size_t count)
{
  const auto usable = rclrt_core::LinuxPlatform().usable_cpu_set().cpus();
  if (usable.size() < count) {
    return false;
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  for (std::size_t i = 0; i < count; ++i) {
    CPU_SET(usable[i], &set);
  }
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

/// Not with fewer CPUs than the machine has: the kernel admits SCHED_DEADLINE to all of them only.
bool may_become_deadline()
{
  bool may = false;
  std::thread([&] {
    struct  // sched_attr of the kernel, which the headers of some C libraries lack
    {
      uint32_t size, policy;
      uint64_t flags;
      int32_t nice;
      uint32_t priority;
      uint64_t runtime, deadline, period;
    } attributes{};
    constexpr uint32_t kDeadlinePolicy = 6;
    attributes.size = sizeof(attributes);
    attributes.policy = kDeadlinePolicy;
    attributes.runtime = static_cast<uint64_t>(nanoseconds(kBudget).count());
    attributes.deadline = attributes.period =
      static_cast<uint64_t>(nanoseconds(kBudgetPeriod).count());
    may = syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
  }).join();
  return may;
}

bool may_become_fifo(int priority)
{
  bool may = true;
  std::thread([&] {
    try {
      become_fifo(priority);
    } catch (const std::runtime_error &) {
      may = false;
    }
  }).join();
  return may;
}

}  // namespace

int main(int argc, char ** argv)
{
  std::string way;
  std::size_t cpus = 1;
  double seconds = 1;
  CLI::App app("A chain beside best effort in one process.");
  app.add_option("--way", way)->required()->check(CLI::IsMember(kWays));
  app.add_option("--cpus", cpus)->check(CLI::Range(1, 1024));
  app.add_option("--seconds", seconds)->check(CLI::Range(0.1, 3600.0));
  CLI11_PARSE(app, argc, argv);
  if (!may_become_fifo(kAbove + 1)) {
    std::cerr << "SCHED_FIFO is not permitted\n";
    return harness::kNotPermitted;
  }
  alarm(static_cast<unsigned>(seconds) + kMostMore);  // whatever happens
  try {
    if (!use_cpus(cpus)) {
      throw std::runtime_error("there are not " + std::to_string(cpus) + " CPUs");
    }
    if (way == "deadline" && !may_become_deadline()) {
      std::cerr << "SCHED_DEADLINE is not permitted with " << cpus << " CPUs\n";
      return harness::kNotPermitted;
    }
    if (way == "process_fifo") {
      become_fifo(kProcess);  // before the middleware starts its threads, as with chrt
    }
    rclrt_rcl::init(0, nullptr);
    const auto length = std::chrono::duration<double>(seconds);
    const auto result = Process(way).run(std::chrono::duration_cast<nanoseconds>(length));
    rclrt_rcl::shutdown();
    std::cout << result << '\n';
    return 0;
  } catch (const std::exception & error) {
    std::cerr << "chain_beside_best_effort: " << error.what() << '\n';
    return 1;
  }
}
