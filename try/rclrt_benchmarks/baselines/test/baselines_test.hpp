// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What the tests of baselines need: a context of their own, a node, and a record of what ran.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "builtin_interfaces/msg/time.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/executor.hpp"
#include "rclrt_rcl/node.hpp"

namespace rclrt_baselines
{

using Message = builtin_interfaces::msg::Time;

/// No test should ever wait that long.
constexpr std::chrono::seconds kPatience(20);

/// Names in the order in which callbacks ran.
class Record
{
public:
  void add(const std::string & name)
  {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      names_.push_back(name);
    }
    added_.notify_all();
  }
  std::vector<std::string> names() const
  {
    std::lock_guard<std::mutex> lock(mutex_);
    return names_;
  }
  bool wait_for_count(std::size_t count)
  {
    std::unique_lock<std::mutex> lock(mutex_);
    return added_.wait_for(lock, kPatience, [&] { return names_.size() >= count; });
  }

private:
  mutable std::mutex mutex_;
  std::condition_variable added_;
  std::vector<std::string> names_;
};

inline std::shared_ptr<rclrt_rcl::Context> make_context()
{
  rclrt_rcl::ContextOptions options;
  options.configure_logging = false;
  return rclrt_rcl::Context::make(0, nullptr, options);
}

inline std::shared_ptr<rclrt_rcl::Node> make_node(
  const std::shared_ptr<rclrt_rcl::Context> & context, const std::string & name)
{
  rclrt_rcl::NodeOptions options;
  options.context = context;
  options.enable_rosout = false;
  return std::make_shared<rclrt_rcl::Node>(name, options);
}

inline rclrt_rcl::SubscriptionOptions in_group(
  const std::shared_ptr<rclrt_rcl::CallbackGroup> & group)
{
  rclrt_rcl::SubscriptionOptions options;
  options.group = group;
  return options;
}

inline std::shared_ptr<rclrt_rcl::Waitable> make_waitable(
  rclrt_rcl::Node & node, const std::string & name, uint32_t depth, std::function<void()> callback,
  const std::shared_ptr<rclrt_rcl::CallbackGroup> & group = nullptr)
{
  rclrt_rcl::Scheduling scheduling;
  scheduling.name = name;
  scheduling.depth = depth;
  return node.create_waitable(scheduling, std::move(callback), group);
}

/// Spins on a thread of its own; stops and joins in the destructor.
class Spinner
{
public:
  explicit Spinner(rclrt_rcl::Executor & executor)
  : executor_(executor), thread_([this] { executor_.spin(); })
  {
  }
  ~Spinner()
  {
    executor_.cancel();
    thread_.join();
  }
  Spinner(const Spinner &) = delete;
  Spinner & operator=(const Spinner &) = delete;

private:
  rclrt_rcl::Executor & executor_;
  std::thread thread_;
};

}  // namespace rclrt_baselines
