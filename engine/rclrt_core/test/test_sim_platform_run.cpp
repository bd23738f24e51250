// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// How a run of the simulated platform begins and ends, also when the program is wrong.

#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "rclrt_core/sim_platform.hpp"
#include "sim_platform_test.hpp"

namespace rclrt_core
{
namespace
{

using SimPlatformRun = SimPlatformTest;

TEST_F(SimPlatformRun, join_takes_virtual_time_until_the_thread_ends)
{
  expect_run([&] {
    start("worker", fifo(1), [&] { sim.work(milliseconds(3)); });
    threads[0]->join();
    EXPECT_EQ(sim.now(), at_ms(3));
    threads[0]->join();
  });
}

TEST_F(SimPlatformRun, what_a_body_captured_is_destroyed_by_its_thread_in_virtual_time)
{
  expect_run([&] {
    std::shared_ptr<void> captured(nullptr, [&](void *) { sim.work(milliseconds(1)); });
    start("worker", fifo(1), [captured] {});
    captured.reset();
  });
  EXPECT_THAT(sim.schedule(), ElementsAre("0-1ms cpu0 worker"));
}

TEST_F(SimPlatformRun, a_second_run_goes_on_where_the_first_ended)
{
  expect_run([&] { sim.work(milliseconds(1)); });
  expect_run([&] { sim.work(milliseconds(1)); });
  EXPECT_THAT(sim.schedule(), ElementsAre("0-1ms cpu0 main", "1-2ms cpu0 main"));
}

TEST_F(SimPlatformRun, an_exception_of_main_is_thrown_by_run_after_the_others_have_ended)
{
  EXPECT_THROW(
    (void)sim.run([&] {
      start("worker", fifo(1), [&] { sim.work(milliseconds(3)); });
      throw std::runtime_error("broken");
    }),
    std::runtime_error);
  EXPECT_EQ(sim.now(), at_ms(3));
}

TEST_F(SimPlatformRun, what_does_not_block_works_before_run)
{
  EXPECT_EQ(sim.now(), at_ms(0));
  EXPECT_EQ(sim.current_thread(), 0);
  const auto mutex = sim.make_mutex();
  mutex->lock();
  mutex->unlock();
  const std::atomic<uint32_t> word{0};
  sim.wake_one(word);
  sim.wait(word, 1, kNever);
  std::unique_ptr<Thread> thread;
  const Status status = sim.start_thread({}, [] {}, nullptr, &thread);
  EXPECT_THAT(status.message(), HasSubstr("outside run()"));
}

TEST_F(SimPlatformRun, deadlock_is_an_error_that_says_what_each_thread_waits_for)
{
  std::atomic<uint32_t> word{0};
  const auto mutex = sim.make_mutex();
  const Status status = sim.run([&] {
    start("waiter", fifo(3), [&] {
      mutex->lock();
      sim.work(milliseconds(2));
      sim.wait(word, 0, kNever);
    });
    start("locker", fifo(2), [&] { mutex->lock(); });
    threads[0]->join();
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(
    status.message(),
    "SimPlatform: nothing can happen any more at 2ms: 'main' joins 'waiter'; 'waiter' waits on a "
    "word; 'locker' locks a mutex held by 'waiter'");
  EXPECT_FALSE(sim.run([] {}).ok()) << "the sim has stopped";
}

TEST_F(SimPlatformRun, a_run_beyond_the_limit_is_an_error)
{
  const Status status = sim.run(
    [&] {
      for (;;) {
        sim.sleep_for(std::chrono::seconds(1));
      }
    },
    std::chrono::minutes(1));
  EXPECT_EQ(
    status.message(),
    "SimPlatform: not over after the limit of 60000ms of virtual time at 60000ms: 'main' sleeps "
    "until 61000ms");
}

TEST_F(SimPlatformRun, a_loop_in_which_no_virtual_time_passes_is_an_error)
{
  const Status status = sim.run([&] {
    while (sim.now() == at_ms(0)) {
    }
  });
  EXPECT_THAT(status.message(), HasSubstr("no virtual time passes"));
  EXPECT_THAT(status.message(), HasSubstr("'main'"));
}

TEST_F(SimPlatformRun, blocking_outside_run_ends_the_process_with_a_message)
{
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::atomic<uint32_t> word{0};
  EXPECT_DEATH(sim.wait(word, 0, kNever), "wait\\(\\) would block.*inside run\\(\\)");
  EXPECT_DEATH(sim.work(milliseconds(1)), "work\\(\\) would block");
}

using std::chrono::milliseconds;

struct Task
{
  int64_t period_ms;
  int64_t work_ms;
};

// Highest priority first. Small numbers on purpose: many things happen at the same instant.
std::vector<Task> random_tasks(std::mt19937 & random)
{
  const auto between = [&](int low, int high) {
    return low + static_cast<int64_t>(random() % static_cast<unsigned>(high - low + 1));
  };
  std::vector<Task> tasks(static_cast<std::size_t>(between(2, 4)));
  for (Task & task : tasks) {
    task.period_ms = between(4, 20);
    task.work_ms = between(1, 4);
  }
  return tasks;
}

// [Joseph and Pandya 1986]: the response time of the job released together with one of each more
// urgent task, which no other job exceeds. -1 when it is longer than the period.
int64_t worst_response_ms(const std::vector<Task> & tasks, std::size_t index)
{
  int64_t response = tasks[index].work_ms;
  for (;;) {
    int64_t next = tasks[index].work_ms;
    for (std::size_t other = 0; other < index; ++other) {
      next +=
        (response + tasks[other].period_ms - 1) / tasks[other].period_ms * tasks[other].work_ms;
    }
    if (next > tasks[index].period_ms) {
      return -1;
    }
    if (next == response) {
      return response;
    }
    response = next;
  }
}

TEST(SimPlatformProperties, response_times_are_those_of_the_analysis)
{
  std::mt19937 random(1);
  int tasks_compared = 0;
  for (int round = 0; round < 100; ++round) {
    const std::vector<Task> tasks = random_tasks(random);
    std::vector<std::vector<int64_t>> responses_ms(tasks.size());
    SimPlatform sim(1);
    const auto run_task = [&](std::size_t index) {
      TimePoint release;
      for (int job = 0; job < 10; ++job) {
        sim.sleep_until(release);
        sim.work(milliseconds(tasks[index].work_ms));
        responses_ms[index].push_back((sim.now() - release) / milliseconds(1));
        release += milliseconds(tasks[index].period_ms);
      }
    };
    const Status status = sim.run([&] {
      std::vector<std::unique_ptr<Thread>> threads(tasks.size());
      for (std::size_t index = 0; index < tasks.size(); ++index) {
        ThreadOptions options;
        options.name = std::to_string(index);
        options.attributes = fifo(90 - static_cast<int>(index));
        EXPECT_TRUE(
          sim.start_thread(
               options, [&, index] { run_task(index); }, nullptr, &threads[index])
            .ok());
      }
    });
    ASSERT_TRUE(status.ok()) << status.message();
    for (std::size_t index = 0; index < tasks.size(); ++index) {
      const int64_t worst = worst_response_ms(tasks, index);
      if (worst < 0) {
        break;  // It and all less urgent ones are late for ever.
      }
      EXPECT_EQ(responses_ms[index].front(), worst) << "round " << round << " task " << index;
      EXPECT_THAT(responses_ms[index], ::testing::Each(::testing::Le(worst)));
      ++tasks_compared;
    }
  }
  EXPECT_GT(tasks_compared, 100);
}

// Eight threads on two CPUs that do everything the platform offers, at random.
std::vector<std::string> chaos(unsigned seed, bool real_locks)
{
  SimPlatform sim(2);
  if (real_locks) {
    sim.set_locks({true, true});
    const Duration cost = std::chrono::microseconds(50);
    sim.set_costs({cost, cost, cost, cost});
  }
  const auto mutex = sim.make_mutex();
  int inside = 0;
  std::atomic<uint32_t> words[2] = {{0}, {0}};
  const auto run_thread = [&](unsigned number) {
    std::mt19937 random(seed * 100 + number);
    for (int step = 0; step < 30; ++step) {
      const std::chrono::microseconds time(random() % 4 * 250);
      std::atomic<uint32_t> & word = words[random() % 2];
      switch (random() % 6) {
        case 0:
          sim.work(time);
          break;
        case 1:
          sim.sleep_for(time);
          break;
        case 2:
          mutex->lock();
          EXPECT_EQ(++inside, 1);
          sim.work(time);
          --inside;
          mutex->unlock();
          break;
        case 3:
          sim.wait(word, word.load(), sim.now() + time);
          break;
        case 4:
          word.fetch_add(1);
          sim.wake_one(word);
          break;
        default: {
          Attributes attributes = fifo(1 + static_cast<int>(random() % 5));
          const uint64_t cpus = 1 + random() % 3;
          attributes.cpu_affinity = CpuSet::from_words({cpus});
          EXPECT_EQ(sim.apply(sim.current_thread(), attributes), 0);
        }
      }
    }
  };
  const Status status = sim.run([&] {
    std::vector<std::unique_ptr<Thread>> threads(8);
    for (unsigned number = 0; number < threads.size(); ++number) {
      ThreadOptions options;
      options.name = std::to_string(number);
      EXPECT_TRUE(
        sim.start_thread(
             options, [&, number] { run_thread(number); }, nullptr, &threads[number])
          .ok());
    }
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return sim.schedule();
}

TEST(SimPlatformProperties, the_same_program_has_the_same_schedule_every_time)
{
  for (const bool real_locks : {false, true}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      const std::vector<std::string> schedule = chaos(seed, real_locks);
      EXPECT_GT(schedule.size(), 10u);
      EXPECT_EQ(chaos(seed, real_locks), schedule) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace rclrt_core
