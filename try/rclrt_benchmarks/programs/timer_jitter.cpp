// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// When the callbacks of timers begin, under one executor; SCHED_FIFO 50. Writes JSON to standard output: of each
// timer the times in ns, and the policies that were in force.

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
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

using harness::now_ns;

constexpr int kPriority = 50;
constexpr std::chrono::seconds kPatience(30);

struct Options
{
  std::string executor;
  std::size_t timers = 1;
  int64_t period_us = 10'000;
  std::size_t samples = 1000;
  std::size_t warm_up = 10;
};

/// One timer's starts. One thread at a time adds to it: its mutually exclusive group orders them.
struct alignas(64) Series
{
  std::size_t seen = 0;
  std::vector<int64_t> starts_ns;
};

/// What the calling thread has, e.g. "fifo 50".
std::string in_force()
{
  rclrt_core::LinuxPlatform platform;
  rclrt_core::Attributes found;
  if (platform.read_back(platform.current_thread(), &found) != 0) {
    return "unknown";
  }
  return rclrt_core::to_string(found.scheduling_policy) + std::string(" ") +
         std::to_string(found.priority);
}

nlohmann::json measure(const Options & options)
{
  rclrt_rcl::NodeOptions node_options;
  node_options.enable_rosout = false;
  const auto node = std::make_shared<rclrt_rcl::Node>("timer_jitter", node_options);
  std::vector<Series> series(options.timers);
  std::vector<std::string> policies(options.timers);
  std::vector<std::shared_ptr<rclrt_rcl::Timer>> timers;
  // Counts the timers that have all of their samples; release and acquire hand those over.
  std::atomic<std::size_t> complete{0};
  const auto executor = rclrt_baselines::executor_by_name(options.executor, options.timers);
  const bool is_ours = dynamic_cast<rclrt_rcl::EngineExecutor *>(executor.get()) != nullptr;
  for (std::size_t i = 0; i < options.timers; ++i) {
    series[i].starts_ns.reserve(options.samples);
    timers.push_back(node->create_wall_timer(
      std::chrono::microseconds(options.period_us),
      [&, i] {
        const int64_t now = now_ns();
        Series & mine = series[i];
        if (++mine.seen <= options.warm_up || mine.starts_ns.size() == options.samples) {
          return;
        }
        if (mine.starts_ns.empty()) {
          policies[i] = in_force();
        }
        mine.starts_ns.push_back(now);
        if (mine.starts_ns.size() == options.samples) {
          complete.fetch_add(1, std::memory_order_release);
        }
      },
      harness::in_own_group<rclrt_rcl::TimerOptions>(
        *node, is_ours ? harness::fifo(kPriority) : rclrt_rcl::Scheduling())));
  }
  executor->add_node(node);
  harness::Spinning spinning(*executor, [is_ours] {
    if (!is_ours) {
      harness::become_fifo(kPriority);
    }
  });
  const auto expected =
    std::chrono::microseconds(options.period_us) * (options.samples + options.warm_up);
  const auto until = std::chrono::steady_clock::now() + 3 * expected + kPatience;
  while (complete.load(std::memory_order_acquire) < options.timers && !spinning.has_failed() &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  spinning.end();
  nlohmann::json starts = nlohmann::json::array();
  for (const Series & mine : series) {
    if (mine.starts_ns.size() < options.samples) {
      throw std::runtime_error(options.executor + ": timers stopped coming");
    }
    starts.push_back(mine.starts_ns);
  }
  return {{"starts_ns", starts}, {"in_force", policies}};
}

}  // namespace

int main(int argc, char ** argv)
{
  Options options;
  CLI::App app("When the callbacks of timers begin, under one executor");
  app.add_option("--executor", options.executor)->required();
  app.add_option("--timers", options.timers)->check(CLI::Range(1, 100));
  app.add_option("--period-us", options.period_us)->check(CLI::Range(50, 10'000'000));
  app.add_option("--samples", options.samples)->check(CLI::Range(2, 1'000'000));
  app.add_option("--warm-up", options.warm_up)->check(CLI::Range(0, 1'000'000));
  CLI11_PARSE(app, argc, argv);
  return harness::print_result("timer_jitter", [&] {
    rclrt_rcl::ContextOptions context;
    context.configure_logging = false;
    rclrt_rcl::init(0, nullptr, context);
    nlohmann::json result = measure(options);
    rclrt_rcl::shutdown();
    return result;
  });
}
