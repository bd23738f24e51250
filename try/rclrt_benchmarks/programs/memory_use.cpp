// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Heap that an executor adds to entities that exist already, per callback. Writes JSON to standard output.
//
//   memory_use CALLBACKS

#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "builtin_interfaces/msg/time.hpp"
#include "harness.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace
{

using harness::check;

using MakeExecutor = std::function<std::unique_ptr<rclrt_rcl::Executor>()>;

struct Model
{
  std::string name;
  MakeExecutor make;
};

template <typename Executor, typename Options>
Model model(const std::string & name)
{
  return {name, [] { return std::make_unique<Executor>(Options()); }};
}

std::vector<Model> models()
{
  return {
    model<rclrt_rcl::PreemptiveExecutor, rclrt_rcl::PreemptiveExecutorOptions>("preemptive"),
    model<rclrt_rcl::PriorityEventsExecutor, rclrt_rcl::PriorityEventsExecutorOptions>(
      "priority_events"),
    model<rclrt_rcl::CallbackIsolatedExecutor, rclrt_rcl::CallbackIsolatedExecutorOptions>(
      "isolated")};
}

std::shared_ptr<rclrt_rcl::Node> make_node(const std::string & name)
{
  rclrt_rcl::NodeOptions options;
  options.enable_rosout = false;
  return std::make_shared<rclrt_rcl::Node>(name, options);
}

std::vector<std::shared_ptr<rclrt_rcl::Entity>> make_entities(
  rclrt_rcl::Node & node, const std::string & kind, std::size_t count)
{
  std::vector<std::shared_ptr<rclrt_rcl::Entity>> entities;
  for (std::size_t i = 0; i < count; ++i) {
    if (kind == "subscription") {
      entities.push_back(node.create_subscription<builtin_interfaces::msg::Time>(
        "memory_" + std::to_string(i), 10, [](const builtin_interfaces::msg::Time &) {}));
    } else if (kind == "timer") {
      entities.push_back(node.create_wall_timer(std::chrono::hours(1), [] {}));
    } else {
      rclrt_rcl::Scheduling scheduling;
      scheduling.name = "callback_" + std::to_string(i);
      entities.push_back(node.create_waitable(scheduling, [] {}));
    }
  }
  return entities;
}

/// Bytes of heap that `executor` takes for the node's entities.
double bytes_per_callback(const Model & model, const std::string & kind, std::size_t count)
{
  const auto node = make_node("memory_" + model.name + "_" + kind);
  const auto entities = make_entities(*node, kind, count);
  const auto executor = model.make();
  const int64_t before = memory::allocated_bytes();
  executor->add_node(node);
  return static_cast<double>(memory::allocated_bytes() - before) / static_cast<double>(count);
}

/// Measures an engine alone, with names and a run hook as executors have them.
double bytes_per_callback_of_engine(uint32_t depth, std::size_t count)
{
  rclrt_core::LinuxPlatform platform;
  rclrt_core::Engine engine(platform, {});
  std::shared_ptr<rclrt_core::Group> group;
  check(engine.add_group({"/memory/group/default", 1, {}}, &group));
  std::vector<std::shared_ptr<rclrt_core::Callback>> callbacks(count);
  const int64_t before = memory::allocated_bytes();
  for (std::size_t i = 0; i < count; ++i) {
    rclrt_core::CallbackOptions options;
    options.name = "/memory/waitable/callback_" + std::to_string(i);
    options.depth = depth;
    options.run = [keep = callbacks[0], more = callbacks[0]](const rclrt_core::Job &) {
      return true;
    };
    check(engine.add_callback(std::move(options), group, &callbacks[i]));
  }
  return static_cast<double>(memory::allocated_bytes() - before) / static_cast<double>(count);
}

nlohmann::json run(std::size_t callbacks)
{
  nlohmann::json result;
  for (const uint32_t depth : {1, 10}) {
    result["callbacks"].push_back(
      {{"executor", "engine"},
       {"kind", "depth " + std::to_string(depth)},
       {"callbacks", callbacks},
       {"bytes_per_callback", bytes_per_callback_of_engine(depth, callbacks)}});
  }
  for (const Model & model : models()) {
    for (const std::string kind : {"waitable", "timer", "subscription"}) {
      result["callbacks"].push_back(
        {{"executor", model.name},
         {"kind", kind},
         {"callbacks", callbacks},
         {"bytes_per_callback", bytes_per_callback(model, kind, callbacks)}});
    }
  }
  return result;
}

}  // namespace

int main(int argc, char ** argv)
{
  const long callbacks = argc == 2 ? std::strtol(argv[1], nullptr, 10) : 0;
  if (callbacks <= 0) {
    std::cerr << "usage: memory_use CALLBACKS\n";
    return 2;
  }
  return harness::print_result("memory_use", [&] {
    rclrt_rcl::ContextOptions options;
    options.configure_logging = false;
    rclrt_rcl::init(0, nullptr, options);
    auto result = run(static_cast<std::size_t>(callbacks));
    rclrt_rcl::shutdown();
    return result;
  });
}
