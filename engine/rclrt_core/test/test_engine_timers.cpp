// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Timers: nominal releases, overruns, cancel and reset, clocks.

#include <gmock/gmock.h>
#include <algorithm>

#include "engine_on_sim.hpp"

namespace rclrt_core
{
namespace
{

using ::testing::HasSubstr;

struct Timer : EngineOnSim
{
  explicit Timer(EngineOptions options = {}, int cpus = 1) : EngineOnSim(options, cpus) {}

  std::shared_ptr<Callback> every(
    int64_t period_ms, Duration work, OverrunRule rule = OverrunRule::kKeepLatest,
    uint32_t depth = 1, TimerOptions timer = {})
  {
    CallbackOptions options = callback_options("timer", work);
    options.attributes = fifo(10);
    options.overrun_rule = rule;
    options.depth = depth;
    timer.period = milliseconds(period_ms);
    return add_timer(options, timer);
  }
};

TEST(TimerRelease, lies_on_the_grid_of_the_period_from_its_start)
{
  Timer t;
  t.every(10, milliseconds(1));
  EXPECT_EQ(t.run(35), (Lines{"10-10-11 timer", "20-20-21 timer", "30-30-31 timer"}));
}

TEST(TimerRelease, lateness_never_shifts_the_phase)
{
  Timer t;
  t.every(10, milliseconds(1));
  CallbackOptions blocker = t.callback_options("blocker", milliseconds(7));
  blocker.attributes = fifo(90);
  t.add(blocker);
  EXPECT_EQ(
    t.run(35, {{8, "blocker"}}),
    (Lines{"8-8-15 blocker", "10-15-16 timer", "20-20-21 timer", "30-30-31 timer"}));
}

TEST(TimerOverrun, keep_latest_leaves_one_job_waiting_and_it_is_the_newest)
{
  Timer t;
  t.every(10, milliseconds(35), OverrunRule::kKeepLatest);
  EXPECT_EQ(t.run(79), (Lines{"10-10-45 timer", "40-45-80 timer"}));
  EXPECT_EQ(t.statistics("timer").released, 7u);
  EXPECT_EQ(t.statistics("timer").skipped, 4u);  // 20, 30, then 50, 60 replaced
}

TEST(TimerOverrun, queue_all_runs_every_release)
{
  Timer t;
  CallbackOptions options = t.callback_options("timer", {});
  options.overrun_rule = OverrunRule::kQueueAll;
  options.depth = 100;
  int runs = 0;
  options.run = [&](const Job &) {
    t.sim.work(milliseconds(++runs == 1 ? 35 : 1));
    return true;
  };
  TimerOptions timer;
  timer.period = milliseconds(10);
  t.add_timer(options, timer);
  EXPECT_EQ(
    t.run(55),
    (Lines{
      "10-10-45 timer", "20-45-46 timer", "30-46-47 timer", "40-47-48 timer", "50-50-51 timer"}));
}

TEST(TimerOverrun, queue_all_beyond_the_depth_drops_the_oldest)
{
  Timer t;
  t.every(10, milliseconds(45), OverrunRule::kQueueAll, 2);
  t.run(54);
  EXPECT_EQ(t.statistics("timer").released, 5u);
  EXPECT_EQ(t.statistics("timer").dropped, 2u);  // 20 and 30 gave way to 40 and 50
}

TEST(TimerOverrun, skip_drops_releases_while_a_job_waits_or_runs)
{
  Timer t;
  t.every(10, milliseconds(25), OverrunRule::kSkip);
  EXPECT_EQ(t.run(69), (Lines{"10-10-35 timer", "40-40-65 timer"}));
  EXPECT_EQ(t.statistics("timer").skipped, 4u);  // 20 and 30, 50 and 60
}

/// What each rule is for, in figures: a timer of 10 ms whose job takes 25 ms for a while, and a less urgent one of
/// 30 ms on the same CPU. How often the neighbour ran within the first 600 ms, and how old its oldest release
/// was when it began.
TEST(TimerOverrun, skip_leaves_time_to_those_below_and_the_others_do_not)
{
  struct Row
  {
    OverrunRule rule;
    uint64_t runs;
  };
  for (const Row & row :
       {Row{OverrunRule::kSkip, 19}, Row{OverrunRule::kKeepLatest, 0},
        Row{OverrunRule::kQueueAll, 0}}) {
    Timer t;
    CallbackOptions options = t.callback_options("timer", milliseconds(25));
    options.overrun_rule = row.rule;
    options.depth = 16;
    options.attributes = fifo(60);
    TimerOptions timer;
    timer.period = milliseconds(10);
    t.add_timer(options, timer);
    CallbackOptions neighbour = t.callback_options("neighbour", milliseconds(4));
    neighbour.attributes = fifo(50);
    timer.period = milliseconds(30);
    t.add_timer(neighbour, timer);
    t.run(600);
    EXPECT_EQ(t.statistics("neighbour").executed, row.runs) << to_string(row.rule);
  }
}

TEST(TimerOverrun, late_timer_releases_once_not_in_a_burst)
{
  // The executor sleeps through 95 periods: nobody drives the timers until run_one().
  for (const OverrunRule rule : {OverrunRule::kKeepLatest, OverrunRule::kSkip}) {
    Timer t;
    t.every(10, milliseconds(1), rule);
    const Status status = t.sim.run([&] {
      t.sim.sleep_until(at_ms(955));
      int ran = 0;
      while (t.engine.run_one(t.sim.now())) {
        ++ran;
      }
      EXPECT_EQ(ran, 1);
      EXPECT_TRUE(t.engine.run_one(at_ms(970)));
    });
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(t.jobs(), (Lines{"950-955-956 timer", "960-960-961 timer"})) << to_string(rule);
  }
}

TEST(TimerOverrun, a_late_timer_stands_in_line_since_its_first_release_that_was_missed)
{
  Timer t;
  t.every(10, milliseconds(1));
  CallbackOptions message = t.callback_options("message", milliseconds(1));
  message.attributes = fifo(10);
  t.add(message);
  const Status status = t.sim.run([&] {
    t.sim.sleep_until(at_ms(12));
    t.engine.notify(*t.callbacks["message"], 1);
    t.sim.sleep_until(at_ms(955));  // since 950 the timer is due once more
    while (t.engine.run_one(t.sim.now())) {
    }
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(t.jobs(), (Lines{"950-955-956 timer", "12-956-957 message"}));
  EXPECT_EQ(t.statistics("timer").released, 95u);
  EXPECT_EQ(t.statistics("timer").skipped, 94u);
}

TEST(TimerOverrun, a_year_asleep_costs_no_more_than_the_depth)
{
  Timer t;
  t.every(1, microseconds(1), OverrunRule::kQueueAll, 3);
  const Status status = t.sim.run(
    [&] {
      t.sim.sleep_until(TimePoint(std::chrono::hours(24 * 365)));
      int ran = 0;
      while (t.engine.run_one(t.sim.now())) {
        ++ran;
      }
      EXPECT_EQ(ran, 3);
    },
    std::chrono::hours(24 * 366));
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(t.statistics("timer").released, uint64_t{365} * 24 * 3600 * 1000);
}

TEST(OneShot, releases_once_also_when_the_executor_was_late)
{
  Timer t;
  TimerOptions timer;
  timer.one_shot = true;
  t.every(10, milliseconds(1), OverrunRule::kKeepLatest, 1, timer);
  CallbackOptions blocker = t.callback_options("blocker", milliseconds(50));
  blocker.attributes = fifo(99);
  t.add(blocker);
  EXPECT_EQ(t.run(100, {{5, "blocker"}}), (Lines{"5-5-55 blocker", "10-55-56 timer"}));
  EXPECT_TRUE(t.engine.is_timer_cancelled(t.callbacks.at("timer")));
}

TEST(OneShot, reset_makes_it_release_once_more)
{
  Timer t;
  TimerOptions timer;
  timer.one_shot = true;
  const auto callback = t.every(10, milliseconds(1), OverrunRule::kKeepLatest, 1, timer);
  EXPECT_EQ(
    t.run(
      100, {},
      [&] {
        t.sim.sleep_until(at_ms(33));
        EXPECT_TRUE(t.engine.reset_timer(callback).ok());
      }),
    (Lines{"10-10-11 timer", "43-43-44 timer"}));
}

TEST(Cancel, drops_the_waiting_job_and_later_releases)
{
  Timer t;
  const auto callback = t.every(10, milliseconds(1));
  CallbackOptions blocker = t.callback_options("blocker", milliseconds(10));
  blocker.attributes = fifo(90);
  t.add(blocker);
  EXPECT_EQ(
    t.run(
      100, {{15, "blocker"}},
      [&] {
        t.sim.sleep_until(at_ms(22));
        EXPECT_TRUE(t.engine.cancel_timer(callback).ok());
        EXPECT_EQ(t.engine.time_until_release(callback), Duration::max());
      }),
    (Lines{"10-10-11 timer", "15-15-25 blocker"}));
}

TEST(Cancel, by_the_callback_itself_is_final)
{
  Timer t;
  CallbackOptions options = t.callback_options("timer", {});
  options.run = [&](const Job &) {
    EXPECT_TRUE(t.engine.cancel_timer(t.callbacks.at("timer")).ok());
    return true;
  };
  TimerOptions timer;
  timer.period = milliseconds(10);
  t.add_timer(options, timer);
  EXPECT_EQ(t.run(100), (Lines{"10-10-10 timer"}));
}

TEST(Cancel, of_one_timer_leaves_the_others_on_their_grid)
{
  Timer t;
  const auto callback = t.every(10, milliseconds(1));
  CallbackOptions options = t.callback_options("other", milliseconds(1));
  TimerOptions timer;
  timer.period = milliseconds(25);
  t.add_timer(options, timer);
  EXPECT_EQ(
    t.run(
      80, {},
      [&] {
        t.sim.sleep_until(at_ms(15));
        EXPECT_TRUE(t.engine.cancel_timer(callback).ok());
        t.sim.sleep_until(at_ms(52));
        EXPECT_TRUE(t.engine.reset_timer(callback).ok());
      }),
    (Lines{
      "10-10-11 timer", "25-25-26 other", "50-50-51 other", "62-62-63 timer", "72-72-73 timer",
      "75-75-76 other"}));
}

TEST(Reset, may_have_another_first_release_than_one_period)
{
  Timer t;
  const auto callback = t.every(10, milliseconds(1));
  EXPECT_EQ(
    t.run(
      60, {},
      [&] {
        t.sim.sleep_until(at_ms(15));
        EXPECT_TRUE(t.engine.set_timer_period(callback, milliseconds(20)).ok());
        EXPECT_TRUE(t.engine.reset_timer(callback, milliseconds(2)).ok());
        t.sim.sleep_until(at_ms(40));
        EXPECT_TRUE(t.engine.reset_timer(callback, milliseconds(-5)).ok());
      }),
    (Lines{
      "10-10-11 timer", "17-17-18 timer", "37-37-38 timer", "35-40-41 timer", "55-55-56 timer"}));
}

TEST(Reset, many_times_in_any_order_keeps_the_queue_in_order)
{
  // Resetting reorders the queue under the sleeping timer thread.
  Timer t;
  std::vector<std::shared_ptr<Callback>> timers;
  for (int i = 0; i < 10; ++i) {
    CallbackOptions options = t.callback_options("t" + std::to_string(i), {});
    TimerOptions timer;
    timer.period = milliseconds(50 + i);
    timers.push_back(t.add_timer(options, timer));
  }
  Lines lines = t.run(160, {}, [&] {
    for (int round = 0; round < 40; ++round) {
      t.sim.sleep_for(milliseconds(1));
      EXPECT_TRUE(t.engine.reset_timer(timers[static_cast<std::size_t>(round * 7 % 10)]).ok());
    }
  });
  // The last reset of a timer is in one of the rounds 30 to 39, at 31 to 40 ms.
  Lines expected;
  for (int round = 30; round < 40; ++round) {
    const int i = round * 7 % 10;
    for (int ms = round + 1 + 50 + i; ms < 160; ms += 50 + i) {
      const std::string at = std::to_string(ms);
      expected.push_back(at + "-" + at + "-" + at + " t" + std::to_string(i));
    }
  }
  std::sort(lines.begin(), lines.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(lines, expected);
}

TEST(Period, a_change_counts_from_the_release_after_the_next)
{
  Timer t;
  const auto callback = t.every(10, milliseconds(1));
  EXPECT_EQ(
    t.run(
      60, {},
      [&] {
        t.sim.sleep_until(at_ms(15));
        EXPECT_TRUE(t.engine.set_timer_period(callback, milliseconds(17)).ok());
        EXPECT_FALSE(t.engine.set_timer_period(callback, milliseconds(-1)).ok());
      }),
    (Lines{"10-10-11 timer", "20-20-21 timer", "37-37-38 timer", "54-54-55 timer"}));
}

TEST(Period, of_zero_releases_again_as_soon_as_the_job_has_ended)
{
  Timer t;
  t.every(0, milliseconds(10));
  EXPECT_EQ(t.run(25), (Lines{"0-0-10 timer", "10-10-20 timer", "20-20-30 timer"}));
}

TEST(Period, of_zero_can_be_made_a_real_one_by_the_callback)
{
  Timer t;
  CallbackOptions options = t.callback_options("timer", {});
  options.run = [&](const Job &) {
    t.sim.work(milliseconds(1));
    EXPECT_TRUE(t.engine.set_timer_period(t.callbacks.at("timer"), milliseconds(10)).ok());
    return true;
  };
  t.add_timer(options, {});
  EXPECT_EQ(t.run(25), (Lines{"0-0-1 timer", "11-11-12 timer", "21-21-22 timer"}));
}

TEST(Period, of_zero_reset_by_the_callback_still_releases_one_at_a_time)
{
  Timer t;
  CallbackOptions options = t.callback_options("timer", {});
  options.depth = 10;
  options.run = [&](const Job &) {
    EXPECT_TRUE(t.engine.reset_timer(t.callbacks.at("timer")).ok());
    t.sim.work(milliseconds(10));
    return true;
  };
  t.add_timer(options, {});
  t.run(95);
  EXPECT_LE(t.statistics("timer").released, t.statistics("timer").executed + 1);
}

TEST(FirstRelease, may_be_another_time_than_one_period)
{
  Timer t;
  TimerOptions timer;
  timer.first = milliseconds(3);
  t.every(10, milliseconds(1), OverrunRule::kKeepLatest, 1, timer);
  EXPECT_EQ(t.run(25), (Lines{"3-3-4 timer", "13-13-14 timer", "23-23-24 timer"}));
}

TEST(FirstRelease, that_is_overdue_comes_at_once_and_keeps_the_phase)
{
  for (const OverrunRule rule : {OverrunRule::kKeepLatest, OverrunRule::kQueueAll}) {
    Timer t;
    TimerOptions timer;
    timer.first = milliseconds(-27);  // due at -27, -17 and -7
    t.every(10, milliseconds(1), rule, 5, timer);
    const Lines expected =
      rule == OverrunRule::kQueueAll
        ? Lines{"-27-0-1 timer", "-17-1-2 timer", "-7-2-3 timer", "3-3-4 timer", "13-13-14 timer"}
        : Lines{"-7-0-1 timer", "3-3-4 timer", "13-13-14 timer"};
    EXPECT_EQ(t.run(15), expected);
    EXPECT_EQ(t.statistics("timer").skipped, rule == OverrunRule::kQueueAll ? 0u : 2u);
  }
}

TEST(FirstRelease, that_is_overdue_does_not_wait_for_a_clock_that_stands_still)
{
  Timer t;
  TimerOptions timer;
  timer.clock = t.engine.add_clock([] { return int64_t{1000000000}; });
  timer.first = milliseconds(-7);
  const auto callback = t.every(10, milliseconds(1), OverrunRule::kKeepLatest, 1, timer);
  EXPECT_EQ(t.run(50), (Lines{"-7-0-1 timer"}));
  EXPECT_EQ(t.engine.time_until_release(callback), milliseconds(3));
}

TEST(Autostart, off_means_the_timer_waits_for_reset)
{
  Timer t;
  TimerOptions timer;
  timer.autostart = false;
  const auto callback = t.every(10, milliseconds(1), OverrunRule::kKeepLatest, 1, timer);
  EXPECT_TRUE(t.engine.is_timer_cancelled(callback));
  EXPECT_EQ(
    t.run(
      60, {},
      [&] {
        t.sim.sleep_until(at_ms(42));
        EXPECT_TRUE(t.engine.reset_timer(callback).ok());
        EXPECT_FALSE(t.engine.is_timer_cancelled(callback));
      }),
    (Lines{"52-52-53 timer"}));
}

TEST(Clock, an_external_clock_releases_when_it_is_advanced_and_not_before)
{
  Timer t;
  int64_t ros_now_ns = 1000000000;
  TimerOptions timer;
  timer.clock = t.engine.add_clock([&] { return ros_now_ns; });
  t.every(10, milliseconds(1), OverrunRule::kQueueAll, 10, timer);
  const auto advance_ms = [&](int64_t ms) {
    ros_now_ns += ms * 1000000;
    t.engine.clock_changed(timer.clock);
  };
  EXPECT_EQ(
    t.run(
      100, {},
      [&] {
        t.sim.sleep_until(at_ms(50));
        advance_ms(9);
        t.sim.sleep_until(at_ms(60));
        advance_ms(3);  // at 12: the release at 10 is 2 ms old
        t.sim.sleep_until(at_ms(70));
        advance_ms(19);  // at 31: those at 20 and 30 are 11 and 1 ms old
      }),
    (Lines{"58-60-61 timer", "59-70-71 timer", "69-71-72 timer"}));
}

TEST(Clock, a_jump_over_many_releases_drops_those_that_waited_before)
{
  Timer t;
  int64_t ros_now_ns = 1000000000;
  TimerOptions timer;
  timer.clock = t.engine.add_clock([&] { return ros_now_ns; });
  const auto callback = t.every(10, milliseconds(1), OverrunRule::kQueueAll, 4, timer);
  const auto advance_ms = [&](int64_t ms) {
    ros_now_ns += ms * 1000000;
    t.engine.clock_changed(timer.clock);
  };
  const Status status = t.sim.run([&] {
    advance_ms(30);  // three wait
    advance_ms(20);  // two more: one has to go
    EXPECT_EQ(t.statistics("timer").released, 5u);
    EXPECT_EQ(t.statistics("timer").dropped, 1u);
    advance_ms(60);  // six: none that waited stays, nor do two of these
    EXPECT_EQ(t.statistics("timer").released, 11u);
    EXPECT_EQ(t.statistics("timer").dropped, 7u);
  });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Clock, a_jump_backwards_restarts_the_period_from_there)
{
  Timer t;
  int64_t ros_now_ns = 1000000000;
  TimerOptions timer;
  timer.clock = t.engine.add_clock([&] { return ros_now_ns; });
  const auto callback = t.every(10, milliseconds(1), OverrunRule::kKeepLatest, 1, timer);
  t.run(100, {}, [&] {
    t.sim.sleep_until(at_ms(20));
    ros_now_ns = 500000000;
    t.engine.clock_changed(timer.clock);
    EXPECT_EQ(t.engine.time_until_release(callback), milliseconds(10));
    ros_now_ns += 10000000;
    t.engine.clock_changed(timer.clock);
  });
  EXPECT_EQ(t.statistics("timer").executed, 1u);
}

TEST(Clock, can_be_removed_when_it_drives_no_timer)
{
  Timer t;
  auto held = std::make_shared<int>(0);
  TimerOptions timer;
  timer.clock = t.engine.add_clock([held] { return int64_t{0}; });
  const auto callback = t.every(10, milliseconds(1), OverrunRule::kKeepLatest, 1, timer);
  EXPECT_THAT(
    t.engine.remove_clock(timer.clock).message(), HasSubstr("still drives timer 'timer'"));
  t.engine.remove(callback);
  EXPECT_TRUE(t.engine.remove_clock(timer.clock).ok());
  EXPECT_EQ(held.use_count(), 1) << "nothing of it is kept";
  EXPECT_THAT(t.engine.remove_clock(timer.clock).message(), HasSubstr("was not added"));
  EXPECT_FALSE(t.engine.remove_clock(kSteadyClock).ok());
  EXPECT_FALSE(t.engine.set_timer_clock(t.every(20, milliseconds(1)), timer.clock).ok());
  EXPECT_EQ(t.engine.add_clock([] { return int64_t{0}; }), timer.clock)
    << "its place is used again";
}

TEST(Clock, of_a_timer_can_be_changed_and_its_period_starts_again)
{
  Timer t;
  int64_t ros_now_ns = 1000000000;
  const ClockId ros_clock = t.engine.add_clock([&] { return ros_now_ns; });
  const auto callback = t.every(10, milliseconds(1));
  EXPECT_EQ(
    t.run(
      100, {},
      [&] {
        t.sim.sleep_until(at_ms(25));
        EXPECT_FALSE(t.engine.set_timer_clock(callback, ros_clock + 1).ok());
        EXPECT_TRUE(t.engine.set_timer_clock(callback, ros_clock).ok());
        t.sim.sleep_until(at_ms(50));  // nothing, unless that clock advances
        ros_now_ns += 10000000;
        t.engine.clock_changed(ros_clock);
        t.sim.sleep_until(at_ms(63));
        EXPECT_TRUE(t.engine.set_timer_clock(callback, kSteadyClock).ok());
        t.sim.sleep_until(at_ms(75));
        EXPECT_TRUE(t.engine.cancel_timer(callback).ok());
        EXPECT_TRUE(t.engine.set_timer_clock(callback, ros_clock).ok());
        EXPECT_TRUE(t.engine.is_timer_cancelled(callback));
      }),
    (Lines{"10-10-11 timer", "20-20-21 timer", "50-50-51 timer", "73-73-74 timer"}));
}

TEST(Clock, the_system_clock_follows_a_step_within_a_tenth_of_a_second)
{
  Timer t;
  t.sim.set_system_now_ns(1000000000000);
  TimerOptions timer;
  timer.clock = kSystemClock;
  timer.one_shot = true;
  t.every(60000, milliseconds(1), OverrunRule::kKeepLatest, 1, timer);
  t.run(1000, {}, [&] {
    t.sim.sleep_until(at_ms(450));
    t.sim.set_system_now_ns(1000000000000 + 61000000000);
    t.sim.sleep_for(milliseconds(101));
    EXPECT_EQ(t.statistics("timer").executed, 1u);
  });
}

TEST(TimerThread, waits_for_reservations_which_nothing_is_above)
{
  EngineOptions options;
  options.model = ExecutionModel::kIsolated;
  Timer t(options);
  t.every(10, milliseconds(1));
  CallbackOptions reserved = t.callback_options("reserved", milliseconds(7));
  reserved.attributes.policy = SchedulingPolicy::kDeadline;
  reserved.attributes.runtime = milliseconds(7);
  reserved.attributes.deadline = reserved.attributes.period = milliseconds(20);
  t.add(reserved);
  EXPECT_EQ(
    t.run(25, {{8, "reserved"}}), (Lines{"8-8-15 reserved", "10-15-16 timer", "20-20-21 timer"}));
}

TEST(TimerThread, ten_thousand_timers_all_fire_in_order)
{
  Timer t;
  std::vector<Duration> fired;
  for (int i = 0; i < 10000; ++i) {
    TimerOptions timer;
    timer.period = microseconds(100 * (1 + i * 7919 % 10000));
    timer.one_shot = true;
    CallbackOptions options = t.callback_options("t" + std::to_string(i), {});
    options.run = [&fired, period = timer.period](const Job &) {
      fired.push_back(period);
      return true;
    };
    t.add_timer(options, timer, "one group");
  }
  t.run(1100);
  ASSERT_EQ(fired.size(), 10000u);
  for (int i = 0; i < 10000; ++i) {
    ASSERT_EQ(fired[static_cast<std::size_t>(i)], microseconds(100 * (1 + i)));
  }
}

}  // namespace
}  // namespace rclrt_core
