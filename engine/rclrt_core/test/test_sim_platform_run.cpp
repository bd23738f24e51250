// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// How a run of the simulated platform begins and ends, also when the program is wrong.

#include <atomic>
#include <memory>
#include <stdexcept>

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

}  // namespace
}  // namespace rclrt_core
