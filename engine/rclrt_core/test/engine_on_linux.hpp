// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What tests of the engine on real threads share.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "rclrt_core/engine.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace rclrt_core
{

inline std::shared_ptr<Group> add_group(
  Engine & engine, const std::string & name, uint32_t parallelism = 1)
{
  GroupOptions options;
  options.name = name;
  options.parallelism = parallelism;
  std::shared_ptr<Group> group;
  EXPECT_TRUE(engine.add_group(options, &group).ok());
  return group;
}

inline CallbackOptions doing(const std::string & name, std::function<void()> body)
{
  CallbackOptions options;
  options.name = name;
  options.depth = 1'000'000;
  options.run = [body = std::move(body)](const Job &) {
    body();
    return true;
  };
  return options;
}

/// In a group of its own if none is given.
inline std::shared_ptr<Callback> add(
  Engine & engine, const CallbackOptions & options, std::shared_ptr<Group> group = nullptr)
{
  std::shared_ptr<Callback> callback;
  const Status status = engine.add_callback(
    options, group ? group : add_group(engine, "group of " + options.name), &callback);
  EXPECT_TRUE(status.ok()) << status.message();
  return callback;
}

/// Wait, without a verdict on speed: only a hang fails.
template <typename Condition>
bool eventually(const Condition & condition)
{
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition() && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return condition();
}

}  // namespace rclrt_core
