// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Threads that interrupt their CPUs again and again.

#include <map>

#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

/// How often each thread whose name begins with "rclrt beat" has gone to sleep in 10 ms.
std::map<std::string, int> beats(EngineOptions options, int cpus = 2)
{
  EngineOnSim test(std::move(options), cpus);
  std::map<std::string, int> counts;
  test.sim.set_hook([&](SimPlatform::Point point, const std::string & thread) {
    if (point == SimPlatform::Point::kWait && thread.rfind("rclrt beat", 0) == 0) {
      ++counts[thread];
      Attributes in_force;
      test.sim.read_back(test.sim.current_thread(), &in_force);
      EXPECT_EQ(in_force.policy, SchedulingPolicy::kFifo);
      EXPECT_EQ(in_force.priority, 1) << "below all jobs";
    }
  });
  test.add(test.callback_options("a", milliseconds(3)));
  EXPECT_EQ(test.run(10, {{2, "a"}}), (std::vector<std::string>{"2-2-5 a"}));
  return counts;
}

EngineOptions every(Duration period)
{
  EngineOptions options;
  options.waiting.beat = period;
  return options;
}

TEST(Beat, interrupts_each_cpu_once_a_period_while_the_engine_spins)
{
  const auto counts = beats(every(milliseconds(1)));
  ASSERT_EQ(counts.size(), 2U);
  for (const char * name : {"rclrt beat 0", "rclrt beat 1"}) {
    EXPECT_GE(counts.at(name), 9) << name;
    EXPECT_LE(counts.at(name), 12) << name;
  }
}

TEST(Beat, is_not_there_unless_it_is_asked_for) { EXPECT_TRUE(beats({}).empty()); }

TEST(Beat, is_not_there_without_real_time_threads)
{
  EngineOptions options = every(milliseconds(1));
  options.timer_thread.policy = SchedulingPolicy::kOther;
  SimPlatform sim(2);
  Engine engine(sim, options);
  bool any = false;
  sim.set_hook([&](SimPlatform::Point, const std::string & thread) {
    any = any || thread.rfind("rclrt beat", 0) == 0;
  });
  const Status status = sim.run([&] {
    std::unique_ptr<Thread> spinner;
    ASSERT_TRUE(sim.start_thread({}, [&] { EXPECT_TRUE(engine.spin().ok()); }, {}, &spinner).ok());
    sim.sleep_until(at_ms(10));
    engine.stop();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(any);
}

TEST(Beat, is_not_faster_than_20_000_a_second_whatever_is_asked_for)
{
  const auto counts = beats(every(Duration(1)), 1);
  ASSERT_EQ(counts.size(), 1U);
  EXPECT_LE(counts.begin()->second, 202);
}

TEST(Beat, ends_with_the_engine_however_long_a_period_is)
{
  for (const Duration period : {Duration(std::chrono::hours(1)), Duration::max()}) {
    EngineOnSim test(every(period), 2);
    int waits = 0;
    test.sim.set_hook([&](SimPlatform::Point point, const std::string & thread) {
      const bool is_beat = thread.rfind("rclrt beat", 0) == 0;
      waits += point == SimPlatform::Point::kWait && is_beat ? 1 : 0;
      ASSERT_LT(waits, 100) << "it does not sleep";
    });
    TimePoint ended;
    test.on_sim([&] {
      std::unique_ptr<Thread> spinner;
      test.until(1);  // that much after the clock's zero the longest one is too long
      test.start("spinner", {}, [&] { EXPECT_TRUE(test.engine.spin().ok()); }, &spinner);
      test.until(10);
      test.engine.stop();
      spinner->join();
      ended = test.sim.now();
    });
    EXPECT_EQ(ended, at_ms(10));
  }
}

}  // namespace
}  // namespace rclrt_core
