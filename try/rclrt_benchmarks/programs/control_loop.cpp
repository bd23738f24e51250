// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A control loop of 1 kHz in one process with callbacks that disturb it. Writes JSON to standard output: when each cycle
// began, ns, and how often the others ran. See control_loop.py.
//
//   control_loop --way WAY --beside KIND --name NAME --cycles N    the process with the loop
//   control_loop --disturb KIND --name NAME                        what makes the others run, until standard input ends

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "beside.hpp"
#include "harness.hpp"
#include "on_rcl.hpp"
#include "rclrt_baselines/baselines.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace
{

using harness::become_fifo;
using harness::now_ns;

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr milliseconds kPeriod{1};
constexpr microseconds kCycle{100};  ///< CPU time of a cycle
constexpr int kControl = 60;         ///< priority of the loop where something has priorities
constexpr int kProcess = 50;         ///< of a process that has one as a whole
constexpr std::size_t kThreads = 3;
constexpr std::chrono::seconds kPatience(30);

/// Pages that the process has waited for until they were read.
int64_t major_faults()
{
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_majflt;
}

/// Written by one cycle at a time; a thread that has read the full count with acquire may read the rest.
class Cycles
{
public:
  explicit Cycles(std::size_t count) : starts_ns_(count) {}

  /// From now on they count.
  void begin() noexcept { counts_.store(true, std::memory_order_relaxed); }
  void run() noexcept
  {
    const std::size_t number = count_.load(std::memory_order_relaxed);
    if (counts_.load(std::memory_order_relaxed) && number < starts_ns_.size()) {
      starts_ns_[number] = now_ns();
      count_.store(number + 1, std::memory_order_release);
    }
    harness::work(kCycle);
  }
  bool are_complete() const noexcept
  {
    return count_.load(std::memory_order_acquire) == starts_ns_.size();
  }
  const std::vector<int64_t> & starts_ns() const { return starts_ns_; }

private:
  std::vector<int64_t> starts_ns_;
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> counts_{false};
};

std::unique_ptr<rclrt_rcl::Executor> make_executor(const std::string & way)
{
  const bool is_multi = way == "process_fifo" || way == "by_hand";
  return rclrt_baselines::executor_by_name(is_multi ? "wait_set_multi" : way, kThreads);
}

/// A thread with a priority that sleeps until its next cycle, and knows no executor.
class LoopByHand
{
public:
  explicit LoopByHand(Cycles & cycles)
  : thread_([this, &cycles] {
      try {
        become_fifo(kControl);
      } catch (...) {
        failure_ = std::current_exception();
        return;
      }
      auto next = std::chrono::steady_clock::now();
      while (!stop_.load()) {
        const auto now = std::chrono::steady_clock::now();
        while (next <= now) {  // cycles that are over are left out, as timers do
          next += kPeriod;
        }
        std::this_thread::sleep_until(next);
        cycles.run();
      }
    })
  {
  }
  void end()
  {
    stop_.store(true);
    thread_.join();
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

private:
  std::atomic<bool> stop_{false};
  std::exception_ptr failure_;  // read after join()
  std::thread thread_;
};

nlohmann::json measure(
  const std::string & way, const std::string & kind, const std::string & name, std::size_t count)
{
  const bool has_priorities = way.rfind("preemptive", 0) == 0 || way == "isolated" ||
                              way == "priority_events" || way == "priority_events_re";
  const auto node = std::make_shared<rclrt_rcl::Node>("controller");
  Cycles cycles(count);
  std::shared_ptr<rclrt_rcl::Timer> control;
  if (way != "by_hand") {
    const auto options = harness::in_own_group<rclrt_rcl::TimerOptions>(
      *node, has_priorities ? harness::fifo(kControl) : rclrt_rcl::Scheduling());
    control = node->create_wall_timer(kPeriod, [&] { cycles.run(); }, options);
  }
  const control::Beside beside(*node, kind, name, [&] { cycles.begin(); });
  const auto executor = make_executor(way);
  executor->add_node(node);
  const int64_t faults = major_faults();
  harness::Spinning spinning(*executor);
  std::unique_ptr<LoopByHand> by_hand;
  if (way == "by_hand") {
    by_hand = std::make_unique<LoopByHand>(cycles);
  }
  const auto until = std::chrono::steady_clock::now() + 10 * kPeriod * count + kPatience;
  while (!cycles.are_complete() && !spinning.has_failed() &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  if (by_hand) {
    by_hand->end();
  }
  spinning.end();
  if (!cycles.are_complete()) {
    throw std::runtime_error(way + ": the loop stopped, or nobody was there to disturb it");
  }
  return {
    {"starts_ns", cycles.starts_ns()},
    {"others", beside.done()},
    {"faults", major_faults() - faults}};
}

void disturb(const std::string & kind, const std::string & name)
{
  std::atomic<bool> stop{false};
  std::thread waiting([&] {
    std::string line;
    while (std::getline(std::cin, line)) {
    }
    stop.store(true);
  });
  control::disturb(kind, name, stop);
  waiting.join();
}

}  // namespace

int main(int argc, char ** argv)
{
  std::string way;
  std::string kind = "service";
  std::string disturbed;
  std::string name = "control_loop";
  std::size_t cycles = 1000;
  bool locks = false;
  CLI::App app("A control loop of 1 kHz beside callbacks that disturb it");
  app.add_option("--way", way);
  app.add_option("--beside", kind)->check(CLI::IsMember(control::kinds()));
  app.add_option("--disturb", disturbed)->check(CLI::IsMember(control::kinds()));
  app.add_option("--name", name);
  app.add_option("--cycles", cycles)->check(CLI::Range(2, 10'000'000));
  app.add_flag("--lock-memory", locks);
  CLI11_PARSE(app, argc, argv);
  return harness::print_result("control_loop", [&] {
    if (locks && mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
      throw std::system_error(errno, std::generic_category(), "locking memory");
    }
    if (way == "process_fifo") {
      become_fifo(kProcess);  // before the middleware starts its threads, as with chrt
    }
    rclrt_rcl::init(0, nullptr);
    nlohmann::json result;
    if (!disturbed.empty()) {
      disturb(disturbed, name);
    } else {
      result = measure(way, kind, name, cycles);
    }
    rclrt_rcl::shutdown();
    return result;
  });
}
