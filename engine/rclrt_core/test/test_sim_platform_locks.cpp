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

class SimPlatformLocks : public SimPlatformTest
{
protected:
  SimPlatformLocks()
  {
    sim.set_locks({true, true});
    duo.set_locks({true, true});
  }

  // At `from_ms`, use the CPU for `work_ms`, with the mutex if there is one.
  void start_job(
    const std::string & name, int priority, int from_ms, int work_ms, Mutex * used = nullptr)
  {
    start(name, fifo(priority), [=] {
      sim.sleep_until(at_ms(from_ms));
      if (used != nullptr) {
        used->lock();
      }
      sim.work(milliseconds(work_ms));
      if (used != nullptr) {
        used->unlock();
      }
    });
  }

  const std::unique_ptr<Mutex> mutex = sim.make_mutex();
  const std::unique_ptr<Mutex> second = sim.make_mutex();
};

TEST_F(SimPlatformLocks, decide_who_runs_when)
{
  const SimPlatform::Locks real{true, true};
  const char * const three = "low 10 0 3 with first, mid 20 1 5, high 30 2 1 with first";
  expect_schedule(
    "a thread can be preempted while it holds a mutex", 1, real,
    "low 10 0 3 with first, high 20 1 1", {"0-1ms cpu0 low", "1-2ms cpu0 high", "2-4ms cpu0 low"});
  expect_schedule(
    "the holder is as urgent as the thread that waits for it, and no longer", 1, real, three,
    {"0-1ms cpu0 low", "1-2ms cpu0 mid", "2-4ms cpu0 low", "4-5ms cpu0 high", "5-9ms cpu0 mid"});
  expect_schedule(
    "without inheritance the most urgent waits for the one in the middle", 1, {true, false}, three,
    {"0-1ms cpu0 low", "1-6ms cpu0 mid", "6-8ms cpu0 low", "8-9ms cpu0 high"});
  expect_schedule(
    "a holder that must not be preempted needs no inheritance", 1, {}, three,
    {"0-3ms cpu0 low", "3-4ms cpu0 high", "4-9ms cpu0 mid"});
  expect_schedule(
    "urgency is lent through a chain of mutexes", 1, real,
    "low 10 0 3 with first, chain 15 1 1 with second with first, mid 20 2 5, "
    "high 30 2 1 with second",
    {"0-3ms cpu0 low", "3-4ms cpu0 chain", "4-5ms cpu0 high", "5-10ms cpu0 mid"});
  expect_schedule(
    "urgency is lent but not a CPU", 2, real,
    "low 10 0 2 with first on 1, mid 20 1 2 on 1, high 30 2 2 with first on 0",
    {"0-1ms cpu1 low", "1-2ms cpu1 mid", "2-3ms cpu1 low", "3-5ms cpu0 high", "3-4ms cpu1 mid"});
}

TEST_F(SimPlatformLocks, a_wake_up_under_a_mutex_preempts_the_waker_at_once)
{
  std::atomic<uint32_t> word{0};
  expect_run([&] {
    start("high", fifo(20), [&] {
      sim.wait(word, 0, kNever);
      events.push_back("high");
    });
    start("low", fifo(10), [&] {
      mutex->lock();
      word.store(1);
      sim.wake_one(word);
      events.push_back("low after the wake-up");
      mutex->unlock();
    });
  });
  EXPECT_THAT(events, ElementsAre("high", "low after the wake-up"));
}

TEST_F(SimPlatformLocks, who_releases_one_of_two_mutexes_keeps_what_the_other_lends)
{
  expect_run([&] {
    start("low", fifo(10), [&] {
      mutex->lock();
      second->lock();
      sim.work(milliseconds(2));
      second->unlock();
      sim.work(milliseconds(2));
      mutex->unlock();
      sim.work(milliseconds(1));
    });
    start_job("mid", 20, 1, 3);
    start_job("high", 30, 1, 1, mutex.get());
    start_job("higher", 40, 1, 1, second.get());
  });
  EXPECT_THAT(
    sim.schedule(), ElementsAre(
                      "0-2ms cpu0 low", "2-3ms cpu0 higher", "3-5ms cpu0 low", "5-6ms cpu0 high",
                      "6-9ms cpu0 mid", "9-10ms cpu0 low"));
}

TEST_F(SimPlatformLocks, who_gets_the_mutex_inherits_from_those_that_still_wait_for_it)
{
  expect_run([&] {
    start_job("low", 10, 0, 2, mutex.get());
    // The next to get it has been lowered since, and one more urgent than it still waits.
    ThreadId first = 0;
    start("first", fifo(40), [&] {
      first = sim.current_thread();
      sim.sleep_until(at_ms(1));
      mutex->lock();
      EXPECT_EQ(sim.apply(first, fifo(5)), 0);
      sim.work(milliseconds(2));
      mutex->unlock();
    });
    start_job("second", 30, 1, 1, mutex.get());
    start_job("mid", 20, 1, 3);
    sim.sleep_until(at_ms(10));
  });
  EXPECT_THAT(
    sim.schedule(),
    ElementsAre("0-2ms cpu0 low", "2-4ms cpu0 first", "4-5ms cpu0 second", "5-8ms cpu0 mid"));
}

TEST_F(SimPlatformLocks, who_takes_it_before_the_one_that_was_woken_inherits_too)
{
  const auto lock = duo.make_mutex();
  const auto job = [&](int from_ms, int work_ms, bool locks) {
    return [&, from_ms, work_ms, locks] {
      duo.sleep_until(at_ms(from_ms));
      if (locks) {
        lock->lock();
      }
      duo.work(milliseconds(work_ms));
      if (locks) {
        lock->unlock();
      }
    };
  };
  expect_run(duo, [&] {
    start_on(duo, "holder", fifo(20, {0}), job(0, 4, true));
    start_on(duo, "woken", fifo(40, {1}), job(2, 1, true));
    start_on(duo, "hog", fifo(90, {1}), job(3, 9, false));  // keeps the CPU from it
    start_on(duo, "waits", fifo(30, {0}), job(1, 1, true));
    start_on(duo, "low", fifo(10, {0}), job(1, 2, true));
    start_on(duo, "mid", fifo(25, {0}), job(5, 2, false));
  });
  std::vector<std::string> on_cpu_0;
  for (const std::string & line : duo.schedule()) {
    if (line.find("cpu0") != std::string::npos) {
      on_cpu_0.push_back(line);
    }
  }
  EXPECT_THAT(
    on_cpu_0,
    ElementsAre("0-4ms cpu0 holder", "4-6ms cpu0 low", "6-7ms cpu0 waits", "7-9ms cpu0 mid"));
}

TEST_F(SimPlatformLocks, of_equally_urgent_ones_the_longest_waiting_is_woken)
{
  const auto lock = duo.make_mutex();
  const auto wait_from = [&](int from_ms, const char * event) {
    return [&, from_ms, event] {
      duo.sleep_until(at_ms(from_ms));
      lock->lock();
      events.push_back(event);
      lock->unlock();
    };
  };
  expect_run(duo, [&] {
    start_on(duo, "later", fifo(30, {1}), wait_from(2, "later"));
    start_on(duo, "sooner", fifo(30, {1}), wait_from(1, "sooner"));
    start_on(duo, "low", fifo(10, {0}), [&] {
      lock->lock();
      duo.work(milliseconds(3));
      lock->unlock();
    });
  });
  EXPECT_THAT(events, ElementsAre("sooner", "later"));
}

TEST_F(SimPlatformLocks, who_waits_and_is_raised_lends_what_it_has_then)
{
  ThreadId waiter = 0;
  expect_run([&] {
    start_job("low", 10, 0, 3, mutex.get());
    start("waiter", fifo(15), [&] {
      waiter = sim.current_thread();
      sim.sleep_until(at_ms(1));
      mutex->lock();
      mutex->unlock();
    });
    start_job("mid", 20, 1, 5);
    sim.sleep_until(at_ms(2));
    EXPECT_EQ(sim.apply(waiter, fifo(30)), 0);
  });
  EXPECT_THAT(
    sim.schedule(),
    ElementsAre("0-1ms cpu0 low", "1-2ms cpu0 mid", "2-4ms cpu0 low", "4-8ms cpu0 mid"));
}

TEST_F(SimPlatformLocks, who_waits_for_a_cpu_keeps_its_place_while_others_lock)
{
  expect_run([&] {
    start_job("later", 10, 2, 1);
    start_job("sooner", 10, 1, 1);
    sim.sleep_for(std::chrono::microseconds(500));
    sim.work(milliseconds(2));
    mutex->lock();
    mutex->unlock();
    sim.work(milliseconds(1));
  });
  EXPECT_THAT(
    sim.schedule(),
    ElementsAre("0.5-3.5ms cpu0 main", "3.5-4.5ms cpu0 sooner", "4.5-5.5ms cpu0 later"));
}

// As in Linux.
TEST_F(SimPlatformLocks, who_is_raised_comes_after_its_new_equals_and_who_is_lowered_before_them)
{
  for (const bool lowered : {false, true}) {
    SimPlatform one(1);
    one.set_locks({true, true});
    const auto lock = one.make_mutex();
    ThreadId waiter = 0;
    expect_run(one, [&] {
      const auto hold = [&] {
        lock->lock();
        one.work(milliseconds(2));
        lock->unlock();
      };
      const auto work_from_2 = [&] {
        one.sleep_until(at_ms(2));
        one.work(milliseconds(1));
      };
      start_on(one, "holder", fifo(10), hold);
      start_on(one, "waiter", fifo(15), [&] {
        waiter = one.current_thread();
        one.sleep_until(at_ms(1));
        lock->lock();
        lock->unlock();
      });
      start_on(one, "peer", fifo(lowered ? 10 : 30), work_from_2);
      one.sleep_until(TimePoint(std::chrono::microseconds(1500)));
      one.work(milliseconds(2));
      EXPECT_EQ(one.apply(waiter, fifo(30)), 0);
      if (lowered) {
        EXPECT_EQ(one.apply(waiter, fifo(5)), 0);
      }
    });
    const std::vector<std::string> schedule = one.schedule();
    ASSERT_EQ(schedule.size(), 4u);
    EXPECT_EQ(schedule[2], lowered ? "3.5-4ms cpu0 holder" : "3.5-4.5ms cpu0 peer");
  }
}

TEST_F(SimPlatformLocks, what_is_read_back_is_not_what_was_lent)
{
  ThreadId low = 0;
  expect_run([&] {
    start("low", fifo(10), [&] {
      low = sim.current_thread();
      mutex->lock();
      sim.work(milliseconds(3));
      mutex->unlock();
    });
    start_job("high", 30, 1, 1, mutex.get());
    sim.sleep_until(at_ms(2));
    Attributes in_force;
    EXPECT_EQ(sim.read_back(low, &in_force), 0);
    EXPECT_EQ(in_force.priority, 10);
  });
}

TEST_F(SimPlatformLocks, a_lock_section_takes_the_time_it_is_told_and_can_be_preempted_in_it)
{
  SimPlatform::Costs costs;
  costs.lock_section = milliseconds(2);
  sim.set_costs(costs);
  expect_run([&] {
    start("low", fifo(10), [&] {
      mutex->lock();
      EXPECT_EQ(sim.now(), at_ms(0));
      mutex->unlock();
      EXPECT_EQ(sim.now(), at_ms(3));
    });
    start_job("mid", 20, 1, 1);
  });
  EXPECT_THAT(sim.schedule(), ElementsAre("0-1ms cpu0 low", "1-2ms cpu0 mid", "2-3ms cpu0 low"));
}

TEST_F(SimPlatformLocks, a_waker_can_lose_its_cpu_before_it_wakes)
{
  SimPlatform::Costs costs;
  costs.wake_one = milliseconds(2);
  sim.set_costs(costs);
  std::atomic<uint32_t> word{0};
  expect_run([&] {
    start("high", fifo(30), [&] {
      sim.wait(word, 0, kNever);
      events.push_back(
        "high woken at " + std::to_string(sim.now().time_since_epoch() / milliseconds(1)));
    });
    start("low", fifo(10), [&] {
      word.store(1);
      sim.wake_one(word);
    });
    start_job("mid", 20, 1, 3);
  });
  EXPECT_THAT(events, ElementsAre("high woken at 5"));
}

TEST_F(SimPlatformLocks, a_word_that_changes_on_the_way_into_wait_is_seen_there)
{
  SimPlatform::Costs costs;
  costs.wait = milliseconds(2);
  sim.set_costs(costs);
  std::atomic<uint32_t> word{0};
  expect_run([&] {
    start("low", fifo(10), [&] {
      sim.wait(word, 0, kNever);
      EXPECT_EQ(sim.now(), at_ms(2));
    });
    sim.sleep_until(at_ms(1));
    word.store(1);  // Nobody is woken: it does not sleep yet.
  });
}

TEST_F(SimPlatformLocks, attributes_are_in_force_when_the_call_has_taken_its_time)
{
  SimPlatform::Costs costs;
  costs.apply = milliseconds(2);
  sim.set_costs(costs);
  expect_run([&] {
    start("low", fifo(10), [&] {
      EXPECT_EQ(sim.apply(sim.current_thread(), fifo(30)), 0);
      sim.work(milliseconds(1));
    });
    start_job("mid", 20, 1, 3);
  });
  EXPECT_THAT(sim.schedule(), ElementsAre("0-1ms cpu0 low", "1-4ms cpu0 mid", "4-6ms cpu0 low"));
}

TEST_F(SimPlatformLocks, a_hook_is_called_by_name_at_every_point_but_not_inside_itself)
{
  std::atomic<uint32_t> word{0};
  SimPlatform::Costs costs;
  costs.lock_section = milliseconds(1);
  sim.set_costs(costs);
  sim.set_hook([&](Point point, const std::string & thread) {
    events.push_back(thread + " " + name_of(point));
    second->lock();
    second->unlock();
  });
  expect_run([&] {
    start("worker", fifo(10), [&] {
      mutex->lock();
      mutex->unlock();
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
  expect_run([&] {
    mutex->lock();
    mutex->unlock();
  });
  EXPECT_EQ(events.size(), 5u);
}

TEST_F(SimPlatformLocks, a_hook_can_release_somebody_who_preempts_there)
{
  std::atomic<uint32_t> word{0};
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
      mutex->lock();
      mutex->unlock();
      events.push_back("low has unlocked");
    });
  });
  EXPECT_THAT(events, ElementsAre("mid", "low has unlocked"));
}

TEST_F(SimPlatformLocks, every_lock_section_is_counted)
{
  mutex->lock();
  mutex->unlock();
  expect_run([&] {
    start_job("low", 10, 0, 2, mutex.get());
    start_job("high", 30, 1, 1, mutex.get());  // waits, and counts once all the same
  });
  EXPECT_EQ(sim.counts().lock, 3);
}

TEST_F(SimPlatformLocks, outside_a_run_nothing_takes_time_and_no_hook_is_called)
{
  SimPlatform::Costs costs;
  costs.lock_section = milliseconds(1);
  sim.set_costs(costs);
  sim.set_hook([&](Point point, const std::string &) { events.push_back(name_of(point)); });
  mutex->lock();
  mutex->unlock();
  EXPECT_EQ(sim.now(), at_ms(0));
  EXPECT_THAT(events, ::testing::IsEmpty());
}

}  // namespace
}  // namespace rclrt_core
