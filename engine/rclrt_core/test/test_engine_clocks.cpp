// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What arrives behind a message of a simulated clock; the rest is in test_engine_timers.cpp.

#include <algorithm>
#include <array>

#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

// Also where the callback that hears the clock takes its time, and others could run beside it.
TEST(ToldClock, what_a_message_of_it_makes_due_comes_before_what_arrives_after_the_message)
{
  for (int variant = 0; variant < 4 * 2 * 4; ++variant) {
    EngineOptions options;
    options.model = static_cast<ExecutionModel>(std::min(variant / 8, 2));
    options.release_and_execute = variant / 8 == 3;
    const bool has_busy_group = variant / 4 % 2 == 1;
    const int64_t message_ms = std::array<int64_t, 4>{9, 10, 11, 13}[variant % 4];
    EngineOnSim t(options, 2);
    int64_t ros_now_ns = 1000000000;
    TimerOptions timer;
    timer.clock = t.engine.add_clock([&] { return ros_now_ns; });
    timer.period = milliseconds(10);
    CallbackOptions clock = t.callback_options("clock", {});
    clock.priority = 99;
    clock.sets_clock = true;
    clock.run = [&](const Job &) {
      t.sim.work(milliseconds(2));
      ros_now_ns += 15000000;
      t.engine.clock_changed(timer.clock);
      return true;
    };
    t.add(clock);
    t.add_timer(t.callback_options("timer", milliseconds(1)), timer, "shared");
    t.add(t.callback_options("message", milliseconds(1)), "shared");
    t.add(t.callback_options("busy", milliseconds(7)), "shared");
    std::vector<Arrival> arrivals = {{10, "clock"}, {message_ms, "message"}};
    if (has_busy_group) {
      arrivals.push_back({8, "busy"});
    }
    std::stable_sort(arrivals.begin(), arrivals.end(), [](const auto & a, const auto & b) {
      return a.time_ms < b.time_ms;
    });
    std::string order;
    for (const std::string & line : t.run(40, arrivals)) {
      const std::string name = line.substr(line.find(' ') + 1);
      order += name == "timer" || name == "message" ? name + ' ' : "";
    }
    EXPECT_EQ(order, message_ms < 10 ? "message timer " : "timer message ")
      << to_string(options.model) << (options.release_and_execute ? " (executes)" : "")
      << (has_busy_group ? ", busy, " : ", ") << message_ms;
  }
}

// A clock that is told again and again does not hold others for ever, nor does one that nobody hears any more.
TEST(ToldClock, holds_nothing_for_longer_than_its_message)
{
  EngineOptions options;
  EngineOnSim t(options, 1);
  TimerOptions timer;
  timer.clock = t.engine.add_clock([] { return int64_t{0}; });
  timer.period = milliseconds(10);
  t.add_timer(t.callback_options("timer", milliseconds(1)), timer);
  CallbackOptions clock = t.callback_options("clock", milliseconds(4));
  clock.depth = 1;
  clock.priority = 1;
  clock.sets_clock = true;
  t.add(clock);
  CallbackOptions message = t.callback_options("message", microseconds(100));
  message.priority = 2;
  t.add(message);
  std::vector<Arrival> arrivals;
  for (int64_t ms = 1; ms < 40; ++ms) {
    arrivals.push_back({ms, "clock"});
    arrivals.push_back({ms, "message"});
  }
  arrivals.push_back({45, "clock"});
  for (int i = 0; i < 100; ++i) {
    arrivals.push_back({45, "message"});
  }
  t.run(70, arrivals, [&] {
    t.sim.sleep_until(at_ms(46));
    EXPECT_GE(t.statistics("message").executed, 30u);
    t.engine.remove(t.callbacks.at("clock"));
  });
  const CallbackStatistics statistics = t.statistics("message");
  EXPECT_EQ(statistics.executed + statistics.dropped, 139u);
}

}  // namespace
}  // namespace rclrt_core
