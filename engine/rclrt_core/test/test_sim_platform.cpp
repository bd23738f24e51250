// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Who runs when on the virtual CPUs.

#include <cerrno>

#include "sim_platform_test.hpp"

namespace rclrt_core
{
namespace
{

TEST_F(SimScenes, time_and_priorities)
{
  expect_scenes(
    {{"time passes only in work and sleep", "",
      "main: say a, work 2, say b, sleep 3, say c, work 0.25, say d",
      "0-2ms cpu0 main, 5-5.25ms cpu0 main", "a at 0, b at 2, c at 5, d at 5.25"},
     {"a more urgent thread preempts and the other goes on afterwards", "",
      "low 10: meter, work 5, seen; high 20: at 2, meter, work 1, seen",
      "0-2ms cpu0 low, 2-3ms cpu0 high, 3-6ms cpu0 low",
      "high 0 times preempted, low 1 times preempted"},
     {"an equally urgent thread does not preempt", "", "a 10: work 5; b 10: at 1, work 1",
      "0-5ms cpu0 a, 5-6ms cpu0 b"},
     {"equally urgent threads run in the order of becoming runnable", "",
      "a 10: at 2, work 1; b 10: at 1, work 1; main: sleep 0.5, work 2.5",
      "0.5-3ms cpu0 main, 3-4ms cpu0 b, 4-5ms cpu0 a"},
     {"a preempted thread goes on before others of its priority", "",
      "a 10: work 4; b 10: work 1; high 20: at 1, work 1",
      "0-1ms cpu0 a, 1-2ms cpu0 high, 2-5ms cpu0 a, 5-6ms cpu0 b"},
     {"fair threads are ordered by nice and yield to real-time ones", "",
      "idle idle: work 1; nice nice: work 1; plain plain: work 1; fifo 1: work 1",
      "0-1ms cpu0 fifo, 1-2ms cpu0 plain, 2-3ms cpu0 nice, 3-4ms cpu0 idle"},
     // When main, which has CPU 0, is done, CPU 1 is high's until it sleeps.
     {"the m most urgent threads run on m CPUs", "cpus 2",
      "low 1: work 4; mid 2: work 4; high 3: at 1, work 2",
      "0-4ms cpu0 mid, 0-1ms cpu1 low, 1-3ms cpu1 high, 3-6ms cpu1 low"},
     {"affinity is honored even when another CPU is idle", "cpus 2",
      "a 2 on 1: work 2; b 1 on 1: work 2", "0-2ms cpu1 a, 2-4ms cpu1 b"},
     {"changing the affinity of a running thread moves it", "cpus 2",
      "a 2 on 0: work 1, move 1, work 1", "0-1ms cpu0 a, 1-2ms cpu1 a"},
     {"work that ends at the instant of a preemption has ended", "",
      "low 10: meter, work 5, say low, seen, work 1; high 20: at 5, work 2",
      "0-5ms cpu0 low, 5-7ms cpu0 high, 7-8ms cpu0 low", "low at 5, low 0 times preempted"},
     {"releases at an instant come before code of less urgent threads there", "",
      "low 10: work 5, say low; timer 20: at 5, say timer", "", "timer at 5, low at 5"},
     {"raising another thread preempts and lowering oneself yields",
      "",
      "b 20: at 1, apply a 30, say b; a 10: work 2, apply a 5, say a",
      "",
      "b at 2, a at 2",
      {2, 0, 0, 0, 0}}});
}

TEST_F(SimScenes, locks_whose_holder_is_not_preempted)
{
  expect_scenes(
    {{"the holder of a mutex keeps its CPU while it works", "",
      "low 10: with first 3; high 20: at 1, work 1; later 10: at 3, work 1",
      "0-3ms cpu0 low, 3-4ms cpu0 high, 4-5ms cpu0 later"},
     {"a wake-up preempts the waker at once unless it holds a mutex",
      "",
      "high 20: wait w, say woken, wait w, say woken; "
      "low 10: set w, wake w, say 1, lock first, set w, wake w, say 2, unlock first, say 3",
      "",
      "woken at 0, 1 at 0, 2 at 0, woken at 0, 3 at 0",
      {0, 2, 0, 0, 0}},
     {"preemption waits for the outermost of nested mutexes", "",
      "high 20: wait w, say high; low 10: lock first, lock second, set w, wake w, unlock second, "
      "say inner, unlock first, say outer",
      "", "inner at 0, high at 0, outer at 0"},
     {"waking a thread under a mutex displaces no third thread for the holder", "cpus 2",
      "high 30: wait w, work 1; mid 20: meter, work 3, seen; "
      "low 10: work 1, lock first, set w, wake w, unlock first",
      "", "mid 0 times preempted"},
     {"a mutex excludes across CPUs and goes to the most urgent", "cpus 2",
      "a 1: lock first, say a, work 2, unlock first; "
      "b 2: work 1, lock first, say b, work 2, unlock first, say end; "
      "c 3: at 1, lock first, say c, work 2, unlock first",
      "", "a at 0, c at 2, b at 4, end at 6"},
     {"a holder that must not be preempted needs no inheritance", "",
      "low 10: with first 3; mid 20: at 1, work 5; high 30: at 2, with first 1",
      "0-3ms cpu0 low, 3-4ms cpu0 high, 4-9ms cpu0 mid"}});
}

TEST_F(SimPlatformTest, refused_policies_become_findings_but_the_affinity_is_applied)
{
  duo.refuse({SchedulingPolicy::kFifo});
  expect_run(duo, [&] {
    start_on(duo, "worker", fifo(10, {1}), [&] {
      Attributes in_force;
      EXPECT_EQ(duo.read_back(duo.current_thread(), &in_force), 0);
      EXPECT_EQ(in_force.scheduling_policy, SchedulingPolicy::kOther);
      EXPECT_EQ(in_force.cpu_affinity, CpuSet({1}));
      EXPECT_EQ(duo.apply(duo.current_thread(), fifo(11)), EPERM);
    });
  });
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0], HasSubstr("worker: asked for fifo, priority 10, cpu_affinity 1"));
  EXPECT_THAT(findings[0], HasSubstr("Operation not permitted"));
}

TEST_F(SimPlatformTest, system_clock_runs_with_the_virtual_one_and_can_be_stepped)
{
  expect_run([&] {
    sim.set_system_now_ns(1000);
    EXPECT_EQ(sim.system_now_ns(), 1000);
    sim.sleep_for(milliseconds(1));
    EXPECT_EQ(sim.system_now_ns(), 1'001'000);
  });
}

}  // namespace
}  // namespace rclrt_core
