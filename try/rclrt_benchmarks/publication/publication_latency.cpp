// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// From publication to start of the more urgent of two callbacks, when the reader of the other one was created
// first. Prints JSON lines. See publication.py.

#include <semaphore.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "builtin_interfaces/msg/time.hpp"
#include "rclcpp/experimental/executors/events_executor/events_executor.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rclrt_rclcpp/callback_isolated_executor.hpp"
#include "rclrt_rclcpp/preemptive_executor.hpp"
#include "rclrt_rclcpp/priority_events_executor.hpp"

namespace
{

using builtin_interfaces::msg::Time;
using Nodes = std::vector<rclcpp::Node::SharedPtr>;
using namespace std::chrono_literals;

constexpr int kLow = 10;
constexpr int kMid = 50;
constexpr int kHigh = 80;
constexpr auto kWork = 30ms;

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

rclrt_core::Attributes fifo(int priority)
{
  rclrt_core::Attributes attributes;
  attributes.policy = rclrt_core::SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

void apply_here(const rclrt_core::Attributes & attributes)
{
  rclrt_core::LinuxPlatform platform;
  if (const int error = platform.apply(platform.current_thread(), attributes)) {
    const auto finding = platform.explain("this experiment", attributes, error);
    std::fprintf(stderr, "%s\n", to_string(finding).c_str());
    std::exit(2);
  }
}

/// Executors that spin while it exists.
class Spinning
{
public:
  void add(std::unique_ptr<rclcpp::Executor> executor, const Nodes & nodes, int priority)
  {
    for (const auto & node : nodes) {
      executor->add_node(node);
    }
    rclcpp::Executor & spun = *executor;
    executors_.push_back(std::move(executor));
    threads_.emplace_back([&spun, priority] {
      if (priority > 0) {
        apply_here(fifo(priority));
      }
      spun.spin();
    });
  }
  ~Spinning()
  {
    for (const auto & executor : executors_) {
      executor->cancel();
    }
    for (auto & thread : threads_) {
      thread.join();
    }
  }

private:
  std::vector<std::unique_ptr<rclcpp::Executor>> executors_;
  std::vector<std::thread> threads_;
};

template <typename Executor, typename Options>
void spin_ours(Spinning & spinning, const Nodes & nodes)
{
  const auto registry = std::make_shared<rclrt_rclcpp::SchedulingRegistry>();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto group = nodes[i]->get_node_base_interface()->get_default_callback_group();
    registry->set(group, fifo(i == 0 ? kMid : kHigh));
  }
  Options options;
  options.scheduling = registry;
  spinning.add(std::make_unique<Executor>(rclcpp::ExecutorOptions(), options), nodes, 0);
}

struct Variant
{
  std::string name;
  std::function<void(Spinning &, const Nodes &)> spin;  // mid, high
};

std::vector<Variant> variants()
{
  using rclcpp::executors::MultiThreadedExecutor;
  using rclcpp::executors::SingleThreadedExecutor;
  using rclcpp::experimental::executors::EventsExecutor;
  return {
    {"rclcpp_single",
     [](Spinning & spinning, const Nodes & nodes) {
       spinning.add(std::make_unique<SingleThreadedExecutor>(), nodes, kMid);
     }},
    {"rclcpp_multi",
     [](Spinning & spinning, const Nodes & nodes) {
       spinning.add(
         std::make_unique<MultiThreadedExecutor>(rclcpp::ExecutorOptions(), 2), nodes, kMid);
     }},
    {"rclcpp_events",
     [](Spinning & spinning, const Nodes & nodes) {
       spinning.add(std::make_unique<EventsExecutor>(), nodes, kMid);
     }},
    {"rclcpp_by_hand",
     [](Spinning & spinning, const Nodes & nodes) {
       spinning.add(std::make_unique<SingleThreadedExecutor>(), {nodes[0]}, kMid);
       spinning.add(std::make_unique<SingleThreadedExecutor>(), {nodes[1]}, kHigh);
     }},
    {"preemptive",
     &spin_ours<rclrt_rclcpp::PreemptiveExecutor, rclrt_rclcpp::PreemptiveExecutorOptions>},
    {"isolated",
     &spin_ours<
       rclrt_rclcpp::CallbackIsolatedExecutor, rclrt_rclcpp::CallbackIsolatedExecutorOptions>},
    {"events",
     &spin_ours<rclrt_rclcpp::PriorityEventsExecutor, rclrt_rclcpp::PriorityEventsExecutorOptions>},
  };
}

void print(const std::string & name, const std::string & path, const std::vector<int64_t> & samples)
{
  const nlohmann::json line = {{"executor", name}, {"path", path}, {"ns", samples}};
  std::puts(line.dump().c_str());
  std::fflush(stdout);
}

void publish_at_low(int count, const std::function<void()> & publish)
{
  std::thread([&] {
    apply_here(fifo(kLow));
    for (int i = 0; i < count; ++i) {
      publish();
      std::this_thread::sleep_for(kWork + 10ms);
    }
  }).join();
}

/// Two threads that are woken by a third, in the right order.
void measure_floor(int count)
{
  std::vector<int64_t> latencies;
  latencies.reserve(static_cast<std::size_t>(count));
  std::atomic<int64_t> at{0};
  sem_t woken;
  sem_init(&woken, 0, 0);
  std::thread high([&] {
    apply_here(fifo(kHigh));
    for (int i = 0; i < count; ++i) {
      while (sem_wait(&woken) != 0) {
      }
      latencies.push_back(now_ns() - at);
    }
  });
  std::this_thread::sleep_for(20ms);
  publish_at_low(count, [&] {
    at = now_ns();
    sem_post(&woken);
  });
  high.join();
  sem_destroy(&woken);
  print("floor", "semaphore", latencies);
}

void measure(const Variant & variant, bool intra_process, int count)
{
  const auto options = rclcpp::NodeOptions()
                         .use_intra_process_comms(intra_process)
                         .enable_rosout(false)
                         .start_parameter_services(false);
  const Nodes nodes{
    std::make_shared<rclcpp::Node>("mid", options),
    std::make_shared<rclcpp::Node>("high", options)};
  const auto low = std::make_shared<rclcpp::Node>("low", options);
  const auto publisher = low->create_publisher<Time>("publication", 10);
  std::atomic<int64_t> at{0};
  std::vector<int64_t> latencies;
  latencies.reserve(static_cast<std::size_t>(count) * 2);
  std::atomic<bool> measures{false};
  const auto mid = nodes[0]->create_subscription<Time>("publication", 10, [](const Time &) {
    for (const int64_t until = now_ns() + std::chrono::nanoseconds(kWork).count();
         now_ns() < until;) {
    }
  });
  const auto high = nodes[1]->create_subscription<Time>("publication", 10, [&](const Time &) {
    if (measures) {
      latencies.push_back(now_ns() - at);
    }
  });
  while (publisher->get_subscription_count() < 2) {
    std::this_thread::sleep_for(1ms);
  }
  {
    Spinning spinning;
    variant.spin(spinning, nodes);
    std::this_thread::sleep_for(200ms);
    publish_at_low(2, [&] { publisher->publish(Time()); });
    measures = true;
    publish_at_low(count, [&] {
      at = now_ns();
      publisher->publish(Time());
    });
    std::this_thread::sleep_for(100ms);
  }
  print(variant.name, intra_process ? "intra-process" : "middleware", latencies);
}

}  // namespace

int main(int count, char ** arguments)
{
  CLI::App app("From publication to start of the more urgent callback");
  int publications = 20;
  app.add_option("--publications", publications, "of each executor")->check(CLI::Range(1, 10000));
  CLI11_PARSE(app, count, arguments);
  rclrt_core::Attributes one_cpu;
  rclrt_core::LinuxPlatform platform;
  rclrt_core::Attributes before;
  platform.read_back(platform.current_thread(), &before);
  one_cpu.cpu_affinity = rclrt_core::CpuSet({before.cpu_affinity.cpus().front()});
  apply_here(one_cpu);
  rclcpp::init(0, nullptr);
  measure_floor(publications);
  for (const Variant & variant : variants()) {
    for (const bool intra_process : {false, true}) {
      measure(variant, intra_process, publications);
    }
  }
  rclcpp::shutdown();
  return 0;
}
