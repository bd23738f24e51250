// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Locks and calls of the simulated platform that are like the real ones: a thread can lose its CPU
/// inside them.

#include <atomic>
#include <string>

#include "sim_platform_test.hpp"

namespace rclrt_core
{
namespace
{

TEST_F(SimScenes, locks_as_those_of_Linux)
{
  const std::string three =
    "low 10: with first 3; mid 20: at 1, work 5; high 30: at 2, with first 1";
  expect_scenes(
    {{"a thread can be preempted while it holds a mutex", "locks",
      "low 10: with first 3; high 20: at 1, work 1",
      "0-1ms cpu0 low, 1-2ms cpu0 high, 2-4ms cpu0 low"},
     {"the holder is as urgent as the thread that waits for it, and no longer", "locks", three,
      "0-1ms cpu0 low, 1-2ms cpu0 mid, 2-4ms cpu0 low, 4-5ms cpu0 high, 5-9ms cpu0 mid"},
     {"without inheritance the most urgent waits for the one in the middle", "no_inheritance",
      three, "0-1ms cpu0 low, 1-6ms cpu0 mid, 6-8ms cpu0 low, 8-9ms cpu0 high"},
     {"urgency is lent through a chain of mutexes", "locks",
      "low 10: with first 3; chain 15: at 1, lock second, with first 1, unlock second; "
      "mid 20: at 2, work 5; high 30: at 2, with second 1",
      "0-3ms cpu0 low, 3-4ms cpu0 chain, 4-5ms cpu0 high, 5-10ms cpu0 mid"},
     {"urgency is lent but not a CPU", "cpus 2 locks",
      "low 10 on 1: with first 2; mid 20 on 1: at 1, work 2; high 30 on 0: at 2, with first 2",
      "0-1ms cpu1 low, 1-2ms cpu1 mid, 2-3ms cpu1 low, 3-5ms cpu0 high, 3-4ms cpu1 mid"},
     {"a wake-up under a mutex preempts the waker at once", "locks",
      "high 20: wait w, say high; low 10: lock first, set w, wake w, say low, unlock first", "",
      "high at 0, low at 0"},
     {"a thread that releases one of two mutexes keeps what the other lends", "locks",
      "low 10: lock first, with second 2, work 2, unlock first, work 1; mid 20: at 1, work 3; "
      "high 30: at 1, with first 1; higher 40: at 1, with second 1",
      "0-2ms cpu0 low, 2-3ms cpu0 higher, 3-5ms cpu0 low, 5-6ms cpu0 high, 6-9ms cpu0 mid, "
      "9-10ms cpu0 low"},
     // "first" is lowered while it has the mutex, and "second", which is more urgent then, waits for it.
     {"a thread that gets the mutex inherits from those that still wait for it", "locks",
      "low 10: with first 2; first 40: at 1, lock first, apply first 5, work 2, unlock first; "
      "second 30: at 1, with first 1; mid 20: at 1, work 3",
      "0-2ms cpu0 low, 2-4ms cpu0 first, 4-5ms cpu0 second, 5-8ms cpu0 mid"},
     // "hog" keeps the CPU from "woken".
     {"a thread that takes it before the one that was woken inherits too", "cpus 2 locks",
      "holder 20 on 0: with first 4; woken 40 on 1: at 2, with first 1; hog 90 on 1: at 3, work 9; "
      "waits 30 on 0: at 1, with first 1; low 10 on 0: at 1, with first 2; mid 25 on 0: at 5, work "
      "2",
      "0-4ms cpu0 holder, 3-12ms cpu1 hog, 4-6ms cpu0 low, 6-7ms cpu0 waits, 7-9ms cpu0 mid, "
      "12-13ms cpu1 woken"},
     {"of equally urgent ones the longest waiting is woken", "cpus 2 locks",
      "later 30 on 1: at 2, lock first, say later, unlock first; "
      "sooner 30 on 1: at 1, lock first, say sooner, unlock first; low 10 on 0: with first 3",
      "", "sooner at 3, later at 3"},
     {"a thread that waits and is raised lends what it has then", "locks",
      "low 10: with first 3; waiter 15: at 1, with first 0; mid 20: at 1, work 5; "
      "main: at 2, apply waiter 30",
      "0-1ms cpu0 low, 1-2ms cpu0 mid, 2-4ms cpu0 low, 4-8ms cpu0 mid"},
     {"a thread that waits for a CPU keeps its place while others lock", "locks",
      "later 10: at 2, work 1; sooner 10: at 1, work 1; main: sleep 0.5, work 2, with first 1",
      "0.5-3.5ms cpu0 main, 3.5-4.5ms cpu0 sooner, 4.5-5.5ms cpu0 later"},
     {"a thread that is raised comes after its new equals", "locks",
      "holder 10: with first 2; waiter 15: at 1, with first 0; peer 30: at 2, work 1; "
      "main: at 1.5, work 2, apply waiter 30",
      "0-1.5ms cpu0 holder, 1.5-3.5ms cpu0 main, 3.5-4.5ms cpu0 peer, 4.5-5ms cpu0 holder"},
     {"a thread that is lowered comes before its new equals", "locks",
      "holder 10: with first 2; waiter 15: at 1, with first 0; peer 10: at 2, work 1; "
      "main: at 1.5, work 2, apply waiter 30, apply waiter 5",
      "0-1.5ms cpu0 holder, 1.5-3.5ms cpu0 main, 3.5-4ms cpu0 holder, 4-5ms cpu0 peer"},
     {"what is read back is not what was lent", "locks",
      "low 10: with first 3; high 30: at 1, with first 1; main: at 2, read low", "", "low has 10"},
     {"a lock section takes the time it is told and can be preempted in it", "locks lock 2",
      "low 10: lock first, say low, unlock first, say low; mid 20: at 1, work 1",
      "0-1ms cpu0 low, 1-2ms cpu0 mid, 2-3ms cpu0 low", "low at 0, low at 3"},
     {"a waker can lose its CPU before it wakes", "locks wake 2",
      "high 30: wait w, say high; low 10: set w, wake w; mid 20: at 1, work 3", "", "high at 5"},
     {"a word that changes on the way into wait is seen there", "locks wait 2",
      "low 10: wait w, say low; main: at 1, set w", "", "low at 2"},
     {"attributes are in force when the call has taken its time", "locks apply 2",
      "low 10: apply low 30, work 1; mid 20: at 1, work 3",
      "0-1ms cpu0 low, 1-4ms cpu0 mid, 4-6ms cpu0 low"},
     {"a lock section that has to wait is counted once",
      "locks",
      "low 10: with first 2; high 30: at 1, with first 1; main: with second 0",
      "",
      "",
      {0, 0, 0, 3, 0}}});
}

using Point = SimPlatform::Point;

std::string name_of(Point point)
{
  switch (point) {
    case Point::kLocked:
      return "locked";
    case Point::kUnlock:
      return "unlock";
    case Point::kApply:
      return "apply";
    case Point::kWakeOne:
      return "wake_one";
    case Point::kWait:
      return "wait";
  }
  return "?";
}

class SimPlatformHooks : public SimPlatformTest
{
protected:
  SimPlatformHooks() { sim.set_locks({true, true}); }
  void cost_a_lock_section(Duration time)
  {
    SimPlatform::Costs costs;
    costs.lock_section = time;
    sim.set_costs(costs);
  }
  void lock_and_unlock(Mutex & one)
  {
    one.lock();
    one.unlock();
  }

  const std::unique_ptr<Mutex> mutex = sim.make_mutex();
  const std::unique_ptr<Mutex> second = sim.make_mutex();
  std::atomic<uint32_t> word{0};
};

TEST_F(SimPlatformHooks, a_hook_is_called_by_name_at_every_point_but_not_inside_itself)
{
  cost_a_lock_section(milliseconds(1));
  sim.set_hook([&](Point point, const std::string & thread) {
    events.push_back(thread + " " + name_of(point));
    lock_and_unlock(*second);
  });
  expect_run([&] {
    start("worker", fifo(10), [&] {
      lock_and_unlock(*mutex);
      EXPECT_EQ(sim.apply(sim.current_thread(), fifo(11)), 0);
      sim.wake_one(word);
      sim.wait(word, 1, kNever);
    });
  });
  EXPECT_THAT(
    events, ElementsAre(
              "worker locked", "worker unlock", "worker apply", "worker wake_one", "worker wait"));
  EXPECT_EQ(sim.now(), at_ms(1));
  sim.set_hook({});
  expect_run([&] { lock_and_unlock(*mutex); });
  EXPECT_EQ(events.size(), 5u);
}

TEST_F(SimPlatformHooks, a_hook_can_release_somebody_who_preempts_there)
{
  sim.set_hook([&](Point point, const std::string & thread) {
    if (thread == "low" && point == Point::kUnlock) {
      word.store(1);
      sim.wake_one(word);
    }
  });
  expect_run([&] {
    start("mid", fifo(20), [&] {
      sim.wait(word, 0, kNever);
      sim.work(milliseconds(2));
      events.push_back("mid");
    });
    start("low", fifo(10), [&] {
      lock_and_unlock(*mutex);
      events.push_back("low has unlocked");
    });
  });
  EXPECT_THAT(events, ElementsAre("mid", "low has unlocked"));
}

TEST_F(SimPlatformHooks, outside_a_run_nothing_takes_time_and_no_hook_is_called)
{
  cost_a_lock_section(milliseconds(1));
  sim.set_hook([&](Point point, const std::string &) { events.push_back(name_of(point)); });
  lock_and_unlock(*mutex);
  EXPECT_EQ(sim.now(), at_ms(0));
  EXPECT_THAT(events, ::testing::IsEmpty());
}

}  // namespace
}  // namespace rclrt_core
