// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What an executor costs a process whose N callbacks have a group each: system calls, context switches, memory. Says
// "ready" when messages flow, measures when it reads a line, and then writes JSON. See isolation_cost.py.

#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "builtin_interfaces/msg/time.hpp"
#include "harness.hpp"
#include "on_rcl.hpp"
#include "rclrt_baselines/baselines.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace
{

using builtin_interfaces::msg::Time;
using namespace std::chrono_literals;

constexpr auto kPeriod = 10ms;
constexpr auto kPatience = 60s;

struct Options
{
  std::string executor;
  std::string role = "both";
  std::string topic = "isolation";
  std::size_t callbacks = 1;
  double seconds = 1;
  bool in_phase = false;
  int event = -1;
};

/// Counts a tracepoint of the kernel in all threads that are started from now on, and in this one.
class Counter
{
public:
  /// Negative: counts nothing.
  explicit Counter(int event)
  {
    if (event < 0) {
      return;
    }
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_TRACEPOINT;
    attributes.size = sizeof(attributes);
    attributes.config = static_cast<uint64_t>(event);
    attributes.inherit = 1;
    file_ = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
    if (file_ < 0) {
      throw std::system_error(errno, std::generic_category(), "perf_event_open");
    }
  }
  ~Counter()
  {
    if (file_ >= 0) {
      close(file_);
    }
  }
  Counter(const Counter &) = delete;
  Counter & operator=(const Counter &) = delete;

  int64_t count() const
  {
    int64_t value = 0;
    return file_ >= 0 && read(file_, &value, sizeof(value)) == sizeof(value) ? value : -1;
  }

private:
  int file_ = -1;
};

int64_t context_switches()
{
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return use.ru_nvcsw + use.ru_nivcsw;
}

int64_t pss_kib()
{
  std::ifstream file("/proc/self/smaps_rollup");
  std::string word;
  while (file >> word) {
    int64_t value = 0;
    if (word == "Pss:" && file >> value) {
      return value;
    }
  }
  return -1;
}

std::unique_ptr<rclrt_rcl::Executor> make_executor(const std::string & name)
{
  const bool is_wait_set = name == "single" || name == "multi";
  return rclrt_baselines::executor_by_name(is_wait_set ? "wait_set_" + name : name);
}

/// The nodes of this process. The counts are statistics: relaxed.
class Nodes
{
public:
  explicit Nodes(const Options & options)
  : received_(options.callbacks), in_one_process_(options.role == "both")
  {
    if (options.role != "subscriber") {
      publish(options);
    }
    if (options.role != "publisher") {
      subscribe(options);
    }
  }

  void add_to(rclrt_rcl::Executor & executor) const
  {
    for (const auto & node : nodes_) {
      executor.add_node(node);
    }
  }
  /// Everything that is subscribed to has come once.
  bool is_ready() const
  {
    return subscriptions_.empty() ||
           std::all_of(received_.begin(), received_.end(), [](const auto & n) {
             return n.load(std::memory_order_relaxed) > 0;
           });
  }
  int64_t received() const
  {
    int64_t sum = 0;
    for (const auto & count : received_) {
      sum += count.load(std::memory_order_relaxed);
    }
    return sum;
  }

private:
  std::shared_ptr<rclrt_rcl::Node> make_node(const std::string & name)
  {
    rclrt_rcl::NodeOptions options;
    options.enable_rosout = false;
    options.use_intra_process = in_one_process_;
    nodes_.push_back(std::make_shared<rclrt_rcl::Node>(name, options));
    return nodes_.back();
  }
  void publish(const Options & options)
  {
    const auto node = make_node("isolation_publisher");
    for (std::size_t i = 0; i < options.callbacks; ++i) {
      const auto publisher =
        node->create_publisher<Time>(options.topic + "_" + std::to_string(i), 10);
      if (!options.in_phase) {
        // A timer counts its periods from when it was made: these are spread over a period.
        std::this_thread::sleep_for(kPeriod / options.callbacks);
      }
      timers_.push_back(node->create_wall_timer(
        kPeriod, [publisher] { publisher->publish(std::make_unique<Time>()); },
        harness::in_own_group<rclrt_rcl::TimerOptions>(*node)));
    }
  }
  void subscribe(const Options & options)
  {
    const auto node = make_node("isolation_subscriber");
    for (std::size_t i = 0; i < options.callbacks; ++i) {
      subscriptions_.push_back(node->create_subscription<Time>(
        options.topic + "_" + std::to_string(i), 10,
        [this, i](const Time &) { received_[i].fetch_add(1, std::memory_order_relaxed); },
        harness::in_own_group<rclrt_rcl::SubscriptionOptions>(*node)));
    }
  }

  std::vector<std::atomic<int64_t>> received_;
  const bool in_one_process_;
  std::vector<std::shared_ptr<rclrt_rcl::Node>> nodes_;
  std::vector<std::shared_ptr<rclrt_rcl::Timer>> timers_;
  std::vector<std::shared_ptr<rclrt_rcl::Subscription<Time>>> subscriptions_;
};

nlohmann::json measure(const Options & options, const Nodes & nodes, const Counter & calls)
{
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!nodes.is_ready()) {
    if (std::chrono::steady_clock::now() > until) {
      throw std::runtime_error("no messages come");
    }
    std::this_thread::sleep_for(20ms);
  }
  std::cout << "ready" << std::endl;  // NOLINT(performance-avoid-endl): it is waited for
  std::string line;
  if (!std::getline(std::cin, line)) {
    throw std::runtime_error("was not told to begin");
  }
  const auto began = std::chrono::steady_clock::now();
  const int64_t calls_before = calls.count();
  const int64_t switches_before = context_switches();
  const int64_t received_before = nodes.received();
  std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
  const int64_t switches = context_switches() - switches_before;
  const int64_t system_calls = calls.count() - calls_before;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  nlohmann::json result = {
    {"seconds", took.count()},
    {"context_switches", switches},
    {"received", nodes.received() - received_before},
    {"pss_kib", pss_kib()}};
  if (calls_before >= 0) {
    result["system_calls"] = system_calls;
  }
  return result;
}

int run(const Options & options)
{
  const Counter calls(options.event);
  rclrt_rcl::ContextOptions context;
  context.configure_logging = false;
  rclrt_rcl::init(0, nullptr, context);
  {
    const Nodes nodes(options);
    const auto executor = make_executor(options.executor);
    nodes.add_to(*executor);
    harness::Spinning spinning(*executor);
    const nlohmann::json result = measure(options, nodes, calls);
    spinning.end();
    std::cout << result << std::endl;  // NOLINT(performance-avoid-endl): what follows may hang
    harness::end_soon();
  }
  rclrt_rcl::shutdown();
  return 0;
}

}  // namespace

int main(int argc, char ** argv)
{
  Options options;
  CLI::App app("What an executor costs a process whose callbacks have a group each");
  app.add_option("--executor", options.executor)->required();
  app.add_option("--role", options.role)->check(CLI::IsMember({"both", "publisher", "subscriber"}));
  app.add_option("--topic", options.topic);
  app.add_option("--callbacks", options.callbacks)->check(CLI::Range(1, 200));
  app.add_option("--seconds", options.seconds)->check(CLI::Range(0.05, 3600.0));
  app.add_flag("--in-phase", options.in_phase, "All timers at once, not spread over the period");
  app.add_option("--event", options.event, "Number of the tracepoint raw_syscalls:sys_enter");
  CLI11_PARSE(app, argc, argv);
  try {
    return run(options);
  } catch (const std::exception & error) {
    std::cerr << "isolation_cost: " << error.what() << '\n';
    return 1;
  }
}
