// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Timers, over all executors.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "executor_types.hpp"

namespace rclrt_rcl
{
namespace
{

using namespace std::chrono_literals;

template <typename T>
class Timers : public ExecutorSuite<T>
{
};
TYPED_TEST_SUITE(Timers, ExecutorTypes, ExecutorTypeNames);

TYPED_TEST(Timers, a_cancelled_timer_stops_and_the_others_go_on)
{
  std::atomic<int> first_runs{0};
  std::atomic<int> second_runs{0};
  auto first = this->node->create_wall_timer(1ms, [&] { ++first_runs; });
  auto second = this->node->create_wall_timer(1ms, [&] { ++second_runs; });
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  EXPECT_TRUE(wait_for([&] { return first_runs > 3 && second_runs > 3; }));
  first->cancel();
  EXPECT_TRUE(first->is_canceled());
  std::this_thread::sleep_for(2ms);
  const int at_cancel = first_runs;
  const int goes_on = second_runs + 10;
  EXPECT_TRUE(wait_for([&] { return second_runs > goes_on; }));
  EXPECT_EQ(first_runs, at_cancel);
  second->cancel();
  first->reset();
  EXPECT_FALSE(first->is_canceled());
  EXPECT_TRUE(wait_for([&] { return first_runs > at_cancel + 10; }));
}

TYPED_TEST(Timers, a_timer_may_cancel_itself_and_the_executor)
{
  int runs = 0;
  auto timer = this->node->create_wall_timer(1ms, [&](Timer & self) {
    ++runs;
    self.cancel();
    this->executor->cancel();
  });
  this->executor->add_node(this->node);
  this->executor->spin();
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(timer->is_canceled());
}

TYPED_TEST(Timers, one_shot_runs_once_and_again_after_reset)
{
  std::atomic<int> runs{0};
  TimerOptions options;
  options.one_shot = true;
  auto timer = this->node->create_wall_timer(1ms, [&] { ++runs; }, options);
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  EXPECT_TRUE(wait_for([&] { return runs == 1; }));
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(timer->is_canceled());
  timer->reset();
  EXPECT_TRUE(wait_for([&] { return runs == 2; }));
}

TYPED_TEST(Timers, a_one_shot_that_is_reset_when_its_job_has_been_picked_runs_again)
{
  int runs = 0;
  const auto & clock = this->node->clock();
  clock->set_simulated_time(1000s);
  TimerOptions options;
  options.one_shot = true;
  auto timer = this->node->create_timer(10ms, [&] { ++runs; }, options);
  this->executor->add_node(this->node);
  timer->reset();
  EXPECT_TRUE(timer->take_and_run({}, timer->stay()));  // as the thread does that had picked it
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(timer->is_canceled());
  clock->set_simulated_time(1000s + 10ms);
  this->executor->spin_some();
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(timer->is_canceled());
}

TYPED_TEST(Timers, a_reset_moves_no_other_timer)
{
  const auto & clock = this->node->clock();
  clock->set_simulated_time(1000s);
  std::vector<int> runs(4);
  std::vector<std::shared_ptr<Timer>> timers;
  for (int & count : runs) {
    timers.push_back(this->node->create_timer(20s, [&count] { ++count; }));
  }
  this->executor->add_node(this->node);
  const auto runs_at = [&](std::chrono::milliseconds now) {
    clock->set_simulated_time(1000s + now);
    this->executor->spin_some();
    return runs;
  };
  EXPECT_EQ(runs_at(6600ms), (std::vector<int>{0, 0, 0, 0}));
  timers[1]->reset();
  EXPECT_EQ(runs_at(20s), (std::vector<int>{1, 0, 1, 1}));
  EXPECT_EQ(runs_at(26600ms), (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(runs_at(40s), (std::vector<int>{2, 1, 2, 2}));
}

TYPED_TEST(Timers, without_autostart_it_waits_for_reset)
{
  std::atomic<int> runs{0};
  TimerOptions options;
  options.autostart = false;
  auto timer = this->node->create_wall_timer(1ms, [&] { ++runs; }, options);
  EXPECT_TRUE(timer->is_canceled());
  EXPECT_EQ(timer->time_until_trigger(), std::chrono::nanoseconds::max());
  this->executor->add_node(this->node);
  EXPECT_TRUE(timer->is_canceled());
  const Spinning spinning(*this->executor);
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(runs, 0);
  timer->reset();
  EXPECT_TRUE(wait_for([&] { return runs > 2; }));
}

TYPED_TEST(Timers, period_zero_runs_again_and_again_without_starving_others)
{
  std::atomic<int> runs{0};
  std::atomic<int> others{0};
  auto timer = this->node->create_wall_timer(0ns, [&] { ++runs; });
  auto other = this->node->create_wall_timer(1ms, [&] { ++others; });
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  EXPECT_TRUE(wait_for([&] { return runs > 10 && others > 3; }));
}

TYPED_TEST(Timers, a_timer_that_is_due_before_the_executor_comes_runs_once)
{
  int runs = 0;
  auto timer = this->node->create_wall_timer(1ms, [&] { ++runs; });
  std::this_thread::sleep_for(10ms);
  EXPECT_LT(timer->time_until_trigger(), 0ns);
  timer->set_period(1h);
  this->executor->add_node(this->node);
  EXPECT_TRUE(spin_until(*this->executor, [&] { return runs > 0; }));
  this->executor->spin_some();
  EXPECT_EQ(runs, 1);
  EXPECT_GT(timer->time_until_trigger(), 0ns);
}

TYPED_TEST(Timers, late_timer_releases_once_not_in_a_burst)
{
  int runs = 0;
  auto timer = this->node->create_wall_timer(2ms, [&] { ++runs; });
  this->executor->add_node(this->node);
  std::this_thread::sleep_for(20ms);
  this->executor->spin_some();
  EXPECT_EQ(runs, 1);
}

TYPED_TEST(Timers, with_the_longest_period_there_is_it_never_fires)
{
  int runs = 0;
  auto timer = this->node->create_wall_timer(std::chrono::nanoseconds::max(), [&] { ++runs; });
  EXPECT_GT(timer->time_until_trigger(), 24h * 365 * 100);
  this->executor->add_node(this->node);
  EXPECT_GT(timer->time_until_trigger(), 24h * 365 * 100);
  this->executor->spin_some();
  timer->reset();
  this->executor->spin_some();
  EXPECT_EQ(runs, 0);
}

TYPED_TEST(Timers, with_queue_all_every_missed_release_runs)
{
  int runs = 0;
  TimerOptions options;
  options.scheduling.overrun_rule = rclrt_core::OverrunRule::kQueueAll;
  auto timer = this->node->create_wall_timer(2ms, [&] { ++runs; }, options);
  this->executor->add_node(this->node);
  std::this_thread::sleep_for(20ms);
  this->executor->spin_some();
  EXPECT_GE(runs, 9);
}

TYPED_TEST(Timers, the_phase_survives_a_change_of_executors)
{
  // A timer that started anew with every executor would never fire here.
  int runs = 0;
  auto timer = this->node->create_wall_timer(50ms, [&] { ++runs; });
  EXPECT_TRUE(wait_for([&] {
    auto one = this->make_executor();
    one->add_node(this->node);
    one->spin_once(1ms);
    return runs >= 2;
  }));
}

TYPED_TEST(Timers, a_new_period_holds_after_the_next_release)
{
  std::atomic<int> runs{0};
  auto timer = this->node->create_wall_timer(1ms, [&] { ++runs; });
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  EXPECT_TRUE(wait_for([&] { return runs > 3; }));
  timer->set_period(1h);
  EXPECT_EQ(timer->period(), 1h);
  EXPECT_TRUE(wait_for([&] { return timer->time_until_trigger() > 1min; }));
}

TYPED_TEST(Timers, the_callback_is_told_its_nominal_release)
{
  std::vector<rclrt_core::TimePoint> releases;
  bool late = true;
  auto timer = this->node->create_wall_timer(3ms, [&](Timer &, const TimerInfo & info) {
    releases.push_back(info.release);
    late = late && info.now >= info.release;
  });
  this->executor->add_node(this->node);
  EXPECT_TRUE(spin_until(*this->executor, [&] { return releases.size() > 4; }));
  EXPECT_TRUE(late);
  for (std::size_t i = 2; i < releases.size(); ++i) {
    EXPECT_EQ((releases[i] - releases[1]) % 3ms, 0ns) << "off the grid";
  }
}

TYPED_TEST(Timers, replaced_timers_run_after_spinning_again)
{
  std::atomic<int> first_runs{0};
  std::atomic<int> second_runs{0};
  this->executor->add_node(this->node);
  auto first = this->node->create_wall_timer(1ms, [&] { ++first_runs; });
  auto second = this->node->create_wall_timer(1ms, [&] { ++second_runs; });
  {
    const Spinning spinning(*this->executor);
    EXPECT_TRUE(wait_for([&] { return first_runs > 3 && second_runs > 3; }));
  }
  first = this->node->create_wall_timer(1ms, [&] { ++first_runs; });
  second = this->node->create_wall_timer(1ms, [&] { ++second_runs; });
  const int more = first_runs + second_runs + 20;
  const Spinning spinning(*this->executor);
  EXPECT_TRUE(wait_for([&] { return first_runs + second_runs > more; }));
}

TYPED_TEST(Timers, a_reentrant_timer_is_not_released_twice_for_one_period)
{
  std::atomic<int> runs{0};
  TimerOptions options;
  options.group = this->node->create_callback_group(CallbackGroupType::kReentrant);
  auto timer = this->node->create_wall_timer(2ms, [&] { ++runs; }, options);
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  EXPECT_TRUE(wait_for([&] { return runs > 10; }));
  std::vector<int64_t> releases;
  this->executor->read_trace([&](const rclrt_job_record & record) {
    if (rclrt_job_ran(&record)) {
      releases.push_back(record.release_ns);
    }
  });
  std::sort(releases.begin(), releases.end());
  EXPECT_EQ(std::unique(releases.begin(), releases.end()), releases.end());
}

// ---- Simulated time

TYPED_TEST(Timers, ros_time_timers_follow_simulated_time)
{
  int runs = 0;
  auto timer = this->node->create_timer(10ms, [&] { ++runs; });
  this->executor->add_node(this->node);
  const auto & clock = this->node->clock();
  clock->set_simulated_time(1000s);
  EXPECT_EQ(this->node->now(), 1000s);
  std::this_thread::sleep_for(15ms);
  this->executor->spin_some();
  EXPECT_EQ(runs, 0) << "time stands still";
  clock->set_simulated_time(1000s + 9ms);
  this->executor->spin_some();
  EXPECT_EQ(runs, 0);
  clock->set_simulated_time(1000s + 10ms);
  this->executor->spin_some();
  EXPECT_EQ(runs, 1);
  clock->set_simulated_time(1000s + 45ms);
  this->executor->spin_some();
  EXPECT_EQ(runs, 2) << "missed releases come once";
  clock->set_simulated_time(1000s + 50ms);
  this->executor->spin_some();
  EXPECT_EQ(runs, 3) << "and the phase is kept";
}

TYPED_TEST(Timers, one_that_is_overdue_when_its_node_is_added_runs_once_and_keeps_its_phase)
{
  int runs = 0;
  const auto & clock = this->node->clock();
  clock->set_simulated_time(1000s);
  auto timer = this->node->create_timer(10ms, [&] { ++runs; });
  clock->set_simulated_time(1000s + 37ms);
  this->executor->add_node(this->node);
  this->executor->spin_some();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(timer->time_until_trigger(), 3ms);
}

TYPED_TEST(Timers, a_one_shot_that_was_released_and_did_not_run_is_not_lost_with_its_executor)
{
  int runs = 0;
  const auto & clock = this->node->clock();
  clock->set_simulated_time(1000s);
  TimerOptions options;
  options.one_shot = true;
  auto timer = this->node->create_timer(10ms, [&] { ++runs; }, options);
  this->executor->add_node(this->node);
  clock->set_simulated_time(1001s);  // now it waits
  this->executor->remove_node(this->node);
  auto second = this->make_executor();
  second->add_node(this->node);
  second->spin_some();
  EXPECT_EQ(runs, 1);
  second->remove_node(this->node);
  EXPECT_TRUE(timer->is_canceled());
  auto third = this->make_executor();
  third->add_node(this->node);
  third->spin_some();
  EXPECT_EQ(runs, 1) << "it has run";
}

TYPED_TEST(Timers, start_a_period_when_their_clock_went_back_while_they_were_in_no_executor)
{
  int runs = 0;
  auto timer = this->node->create_timer(10ms, [&] { ++runs; });  // by the system clock as yet
  const auto & clock = this->node->clock();
  clock->set_simulated_time(5s);
  this->executor->add_node(this->node);
  clock->set_simulated_time(5s + 10ms);
  this->executor->spin_some();
  EXPECT_EQ(runs, 1);
}

TYPED_TEST(Timers, that_are_gone_leave_their_clock_to_its_end)
{
  auto other = this->make_node("other");
  auto timer = other->create_timer(10ms, [] {});
  this->executor->add_node(other);
  this->executor->spin_some();
  const std::weak_ptr<Clock> clock = other->clock();
  timer.reset();
  this->executor->remove_node(other);
  other.reset();
  EXPECT_TRUE(clock.expired());
}

TYPED_TEST(Timers, simulated_time_may_jump_back)
{
  int runs = 0;
  const auto & clock = this->node->clock();
  clock->set_simulated_time(1000s);
  auto timer = this->node->create_timer(10ms, [&] { ++runs; });
  this->executor->add_node(this->node);
  clock->set_simulated_time(1s);
  this->executor->spin_some();
  EXPECT_EQ(runs, 0);
  clock->set_simulated_time(1s + 10ms);
  this->executor->spin_some();
  EXPECT_EQ(runs, 1) << "one period after the jump";
}

TYPED_TEST(Timers, back_from_simulated_time_timers_follow_the_system_clock)
{
  std::atomic<int> runs{0};
  const auto & clock = this->node->clock();
  clock->set_simulated_time(1000s);
  auto timer = this->node->create_timer(1ms, [&] { ++runs; });
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  clock->clear_simulated_time();
  EXPECT_FALSE(clock->is_simulated());
  EXPECT_TRUE(wait_for([&] { return runs > 3; }));
}

TYPED_TEST(Timers, cancel_and_reset_hold_under_simulated_time)
{
  std::atomic<int> first_runs{0};
  std::atomic<int> second_runs{0};
  const auto & clock = this->node->clock();
  clock->set_simulated_time(1s);
  auto first = this->node->create_timer(1ms, [&] { ++first_runs; });
  auto second = this->node->create_timer(1ms, [&] { ++second_runs; });
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  auto now = 1s + 0ns;
  const auto advance = [&](const std::function<bool()> & condition) {
    return wait_for([&] {
      now += 1ms;
      clock->set_simulated_time(now);
      return condition();
    });
  };
  EXPECT_TRUE(advance([&] { return first_runs > 5 && second_runs > 5; }));
  first->cancel();
  second->cancel();
  second->reset();
  const int at_cancel = first_runs;
  const int goes_on = second_runs + 10;
  EXPECT_TRUE(advance([&] { return second_runs > goes_on; }));
  EXPECT_LE(first_runs, at_cancel + 1);
}

}  // namespace
}  // namespace rclrt_rcl
