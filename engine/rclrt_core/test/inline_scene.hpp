// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Inline callbacks on the simulated platform, and the thread that brings their work.
#ifndef INLINE_SCENE_HPP_
#define INLINE_SCENE_HPP_

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine_on_sim.hpp"

namespace rclrt_core
{

/// Callbacks that write down where and when they begin and end, in microseconds.
struct Scene
{
  explicit Scene(EngineOptions options = {}, int cpus = 2)
  : sim(cpus), engine(sim, std::move(options))
  {
  }

  struct One
  {
    std::string name;
    Duration work;
    Duration bound = milliseconds(1);  // 0: not inline
    Attributes attributes{};
    std::string group{};  // empty: of its own
    std::function<void()> also{};
  };

  void add(const One & one)
  {
    std::shared_ptr<Group> & group = groups[one.group.empty() ? one.name : one.group];
    if (!group) {
      GroupOptions options;
      options.name = one.group.empty() ? one.name : one.group;
      ASSERT_TRUE(engine.add_group(options, &group).ok());
    }
    CallbackOptions options;
    options.name = one.name;
    options.depth = 100;
    options.attributes = one.attributes;
    options.inline_bound = one.bound;
    options.run = [this, one](const Job &) {
      const std::string where = sim.current_thread() == bringer ? " inline" : " queued";
      const auto now = [this] {
        return std::to_string(sim.now().time_since_epoch() / microseconds(1));
      };
      most = std::max(most, ++runs_now);
      const std::string from = now();
      if (one.also) {
        one.also();
      }
      sim.work(one.work);
      --runs_now;
      jobs.push_back(from + "-" + now() + " " + one.name + where);
      return true;
    };
    const Status added = engine.add_callback(std::move(options), group, &callbacks[one.name]);
    ASSERT_TRUE(added.ok()) << added.message();
  }

  void bring(const std::string & name, std::size_t count = 1)
  {
    const Delivery delivery(&has);
    engine.notify(*callbacks.at(name), count);
  }

  /// `script` on the thread that brings.
  void run(const std::function<void()> & script, Duration duration = milliseconds(50))
  {
    const Status status = sim.run([&] {
      std::unique_ptr<Thread> spinner;
      std::unique_ptr<Thread> middleware;
      start("spinner", {}, [this] { spun = engine.spin(); }, &spinner);
      start(
        "middleware", has,
        [&] {
          bringer = sim.current_thread();
          sim.sleep_until(TimePoint(milliseconds(1)));
          script();
        },
        &middleware);
      sim.sleep_until(TimePoint(duration));
      engine.stop();
    });
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(spun.ok()) << spun.message();
  }

  void start(
    const std::string & name, const Attributes & attributes, std::function<void()> body,
    std::unique_ptr<Thread> * thread)
  {
    ThreadOptions options;
    options.name = name;
    options.attributes = attributes;
    ASSERT_TRUE(sim.start_thread(options, std::move(body), {}, thread).ok());
  }

  CallbackStatistics statistics(const std::string & name)
  {
    return engine.statistics(*callbacks.at(name));
  }
  std::size_t findings_about(const std::string & text)
  {
    std::size_t count = 0;
    for (const Finding & finding : engine.findings()) {
      count += to_string(finding).find(text) != std::string::npos ? 1 : 0;
    }
    return count;
  }

  SimPlatform sim;
  Engine engine;
  Attributes has = fifo(98);
  std::map<std::string, std::shared_ptr<Group>> groups;
  std::map<std::string, std::shared_ptr<Callback>> callbacks;
  ThreadId bringer = 0;
  Lines jobs;
  int runs_now = 0;
  int most = 0;
  Status spun;
};

}  // namespace rclrt_core

#endif  // INLINE_SCENE_HPP_
