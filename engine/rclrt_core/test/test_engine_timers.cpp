// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Timers: nominal releases, overruns, cancel and reset, clocks.

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "scenes.hpp"

namespace rclrt_core
{
namespace
{

using ::testing::HasSubstr;

/// A timer called "timer": FIFO 10, every 10 ms, if nothing else is said.
struct Plan
{
  Duration work = milliseconds(1);
  OverrunRule rule = OverrunRule::kKeepLatest;
  uint32_t depth = 1;
  TimerOptions timer = every_ms(10);
};

TimerOptions on(ClockId clock, TimerOptions timer = every_ms(10))
{
  timer.clock = clock;
  return timer;
}

struct Timer : EngineOnSim
{
  explicit Timer(EngineOptions options = {}) : EngineOnSim(options) {}

  std::shared_ptr<Callback> with(const Plan & plan = {})
  {
    CallbackOptions options = callback_options("timer", plan.work);
    options.attributes = fifo(10);
    options.overrun_rule = plan.rule;
    options.depth = plan.depth;
    return add_timer(options, plan.timer);
  }
  std::shared_ptr<Callback> with_timer(const TimerOptions & timer)
  {
    Plan plan;
    plan.timer = timer;
    return with(plan);
  }
  void does(std::function<void()> body, const TimerOptions & timer, uint32_t depth = 1)
  {
    CallbackOptions options = EngineOnSim::does(callback_options("timer", {}), std::move(body));
    options.depth = depth;
    add_timer(options, timer);
  }
  ClockId add_told_clock()
  {
    return told_clock = engine.add_clock([this] { return ros_now_ns; });
  }
  void advance(int64_t ms)
  {
    ros_now_ns += ms * 1'000'000;
    engine.clock_changed(told_clock);
  }
  ClockId told_clock{};
  int64_t ros_now_ns = 1'000'000'000;
};

TEST(Timers, release_jobs_when_they_should)
{
  expect({
    {"on the grid of the period from their start", "until 35", "timer 1 10 every 10", "",
     "10-10-11 timer, 20-20-21 timer, 30-30-31 timer"},
    {"on it also if they were late", "until 35", "timer 1 10 every 10, blocker 7 90", "8 blocker",
     "8-8-15 blocker, 10-15-16 timer, 20-20-21 timer, 30-30-31 timer"},
    {"keep_latest leaves one job waiting, and it is the newest: 20, 30, then 50, 60 are replaced",
     "until 79", "timer 35 10 every 10 keep_latest", "", "10-10-45 timer, 40-45-80 timer",
     "timer released 7, timer skipped 4"},
    {"queue_all beyond the depth drops the oldest: 20 and 30 gave way to 40 and 50", "until 54",
     "timer 45 10 every 10 queue_all depth 2", "", "10-10-55 timer",
     "timer released 5, timer dropped 2"},
    {"skip drops releases while a job waits or runs: 20 and 30, 50 and 60", "until 69",
     "timer 25 10 every 10 skip", "", "10-10-35 timer, 40-40-65 timer", "timer skipped 4"},
    {"once, also when the executor was late", "until 100",
     "timer 1 10 every 10 once, blocker 50 99", "5 blocker", "5-5-55 blocker, 10-55-56 timer"},
    {"with a period of zero as soon as the job has ended", "until 25",
     "timer 10 10 every 0 keep_latest depth 1", "", "0-0-10 timer, 10-10-20 timer, 20-20-30 timer"},
    {"first at another time than one period", "until 25", "timer 1 10 every 10 first 3", "",
     "3-3-4 timer, 13-13-14 timer, 23-23-24 timer"},
    {"first at a time that is over, at -27, -17 and -7: at once, and the phase is kept", "until 15",
     "timer 1 10 every 10 first -27 keep_latest", "", "-7-0-1 timer, 3-3-4 timer, 13-13-14 timer",
     "timer skipped 2"},
    {"the same with queue_all", "until 15", "timer 1 10 every 10 first -27 queue_all", "",
     "-27-0-1 timer, -17-1-2 timer, -7-2-3 timer, 3-3-4 timer, 13-13-14 timer", "timer skipped 0"},
    {"only those with skip leave time to those below, in figures", "until 600",
     "timer 25 60 every 10 skip, below 4 50 every 30", "", "", "below executed 19"},
    {"the others do not", "until 600", "timer 25 60 every 10 keep_latest, below 4 50 every 30", "",
     "", "below executed 0"},
    {"the others do not", "until 600",
     "timer 25 60 every 10 queue_all depth 16, below 4 50 every 30", "", "", "below executed 0"},
    {"not when they are cancelled, nor the job that waits", "until 100",
     "timer 1 10 every 10 keep_latest depth 1, blocker 10 90", "15 blocker, 22 cancel timer",
     "10-10-11 timer, 15-15-25 blocker"},
    {"of which one is cancelled and reset, and the others stay on their grid", "until 80",
     "timer 1 10 every 10, other 1 0 every 25", "15 cancel timer, 52 reset timer",
     "10-10-11 timer, 25-25-26 other, 50-50-51 other, 62-62-63 timer, 72-72-73 timer, "
     "75-75-76 other"},
    {"and a change of the period counts from the release after the next", "until 60",
     "timer 1 10 every 10", "15 period timer 17",
     "10-10-11 timer, 20-20-21 timer, 37-37-38 timer, 54-54-55 timer"},
  });
}

TEST(TimerOverrun, queue_all_runs_every_release)
{
  Timer t;
  CallbackOptions options = t.callback_options("timer", {});
  options.overrun_rule = OverrunRule::kQueueAll;
  options.depth = 100;
  int runs = 0;
  options.run = [&](const Job &) {
    t.work(++runs == 1 ? 35 : 1);
    return true;
  };
  t.add_timer(options, every_ms(10));
  EXPECT_EQ(
    t.run(55),
    (Lines{
      "10-10-45 timer", "20-45-46 timer", "30-46-47 timer", "40-47-48 timer", "50-50-51 timer"}));
}

TEST(TimerOverrun, late_timer_releases_once_not_in_a_burst)
{
  // The executor sleeps through 95 periods: nobody drives the timers until run_one().
  for (const OverrunRule rule : {OverrunRule::kKeepLatest, OverrunRule::kSkip}) {
    Timer t;
    t.with({milliseconds(1), rule, 1, every_ms(10)});
    t.on_sim([&] {
      t.until(955);
      int ran = 0;
      while (t.engine.run_one(t.sim.now())) {
        ++ran;
      }
      EXPECT_EQ(ran, 1);
      EXPECT_TRUE(t.engine.run_one(at_ms(970)));
    });
    EXPECT_EQ(t.jobs(), (Lines{"950-955-956 timer", "960-960-961 timer"})) << to_string(rule);
  }
}

TEST(TimerOverrun, a_late_timer_stands_in_line_since_its_first_release_that_was_missed)
{
  Timer t;
  t.with();
  t.add(t.fifo_callback("message", 1, 10));
  t.on_sim([&] {
    t.until(12);
    t.notify("message", 1);
    t.until(955);  // since 950 the timer is due once more
    while (t.engine.run_one(t.sim.now())) {
    }
  });
  EXPECT_EQ(t.jobs(), (Lines{"950-955-956 timer", "12-956-957 message"}));
  EXPECT_EQ(t.statistics("timer").released, 95u);
  EXPECT_EQ(t.statistics("timer").skipped, 94u);
}

TEST(TimerOverrun, a_year_asleep_costs_no_more_than_the_depth)
{
  Timer t;
  t.with({microseconds(1), OverrunRule::kQueueAll, 3, every_ms(1)});
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

TEST(OneShot, reset_makes_it_release_once_more)
{
  Timer t;
  const auto callback = t.with_timer(every_ms(10, true));
  EXPECT_EQ(
    t.run(
      100, {},
      [&] {
        t.until(33);
        EXPECT_TRUE(t.engine.is_timer_cancelled(callback));
        EXPECT_TRUE(t.engine.reset_timer(callback).ok());
      }),
    (Lines{"10-10-11 timer", "43-43-44 timer"}));
}

TEST(Cancel, by_the_callback_itself_is_final)
{
  Timer t;
  t.does([&] { EXPECT_TRUE(t.engine.cancel_timer(t.callbacks.at("timer")).ok()); }, every_ms(10));
  EXPECT_EQ(t.run(100), (Lines{"10-10-10 timer"}));
}

TEST(Reset, may_have_another_first_release_than_one_period)
{
  Timer t;
  const auto callback = t.with();
  EXPECT_EQ(
    t.run(
      60, {},
      [&] {
        t.until(15);
        EXPECT_TRUE(t.engine.set_timer_period(callback, milliseconds(20)).ok());
        EXPECT_TRUE(t.engine.reset_timer(callback, milliseconds(2)).ok());
        t.until(40);
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

TEST(Period, of_zero_can_be_made_a_real_one_by_the_callback)
{
  Timer t;
  const auto change = [&] {
    t.work(1);
    EXPECT_TRUE(t.engine.set_timer_period(t.callbacks.at("timer"), milliseconds(10)).ok());
  };
  t.does(change, {}, 10);
  EXPECT_EQ(t.run(25), (Lines{"0-0-1 timer", "11-11-12 timer", "21-21-22 timer"}));
}

TEST(Period, of_zero_reset_by_the_callback_still_releases_one_at_a_time)
{
  Timer t;
  const auto reset = [&] {
    EXPECT_TRUE(t.engine.reset_timer(t.callbacks.at("timer")).ok());
    t.work(10);
  };
  t.does(reset, {}, 10);
  t.run(95);
  EXPECT_LE(t.statistics("timer").released, t.statistics("timer").executed + 1);
}

TEST(FirstRelease, that_is_overdue_does_not_wait_for_a_clock_that_stands_still)
{
  Timer t;
  TimerOptions timer = every_ms(10);
  timer.clock = t.engine.add_clock([] { return int64_t{1000000000}; });
  timer.first = milliseconds(-7);
  const auto callback = t.with_timer(timer);
  EXPECT_EQ(t.run(50), (Lines{"-7-0-1 timer"}));
  EXPECT_EQ(t.engine.time_until_release(callback), milliseconds(3));
}

TEST(Autostart, off_means_the_timer_waits_for_reset)
{
  Timer t;
  TimerOptions timer = every_ms(10);
  timer.autostart = false;
  const auto callback = t.with_timer(timer);
  EXPECT_TRUE(t.engine.is_timer_cancelled(callback));
  EXPECT_EQ(t.engine.time_until_release(callback), Duration::max());
  EXPECT_FALSE(t.engine.set_timer_period(callback, milliseconds(-1)).ok());
  EXPECT_EQ(
    t.run(
      60, {},
      [&] {
        t.until(42);
        EXPECT_TRUE(t.engine.reset_timer(callback).ok());
        EXPECT_FALSE(t.engine.is_timer_cancelled(callback));
      }),
    (Lines{"52-52-53 timer"}));
}

TEST(Clock, an_external_clock_releases_when_it_is_advanced_and_not_before)
{
  Timer t;
  const TimerOptions timer = on(t.add_told_clock());
  t.with({milliseconds(1), OverrunRule::kQueueAll, 10, timer});
  EXPECT_EQ(
    t.run(
      100, {},
      [&] {
        t.until(50);
        t.advance(9);
        t.until(60);
        t.advance(3);  // at 12: the release at 10 is 2 ms old
        t.until(70);
        t.advance(19);  // at 31: those at 20 and 30 are 11 and 1 ms old
      }),
    (Lines{"58-60-61 timer", "59-70-71 timer", "69-71-72 timer"}));
}

TEST(Clock, a_jump_over_many_releases_drops_those_that_waited_before)
{
  Timer t;
  const TimerOptions timer = on(t.add_told_clock());
  const auto callback = t.with({milliseconds(1), OverrunRule::kQueueAll, 4, timer});
  t.on_sim([&] {
    t.advance(30);  // three wait
    t.advance(20);  // two more: one has to go
    EXPECT_EQ(t.statistics("timer").released, 5u);
    EXPECT_EQ(t.statistics("timer").dropped, 1u);
    t.advance(60);  // six: none that waited stays, nor do two of these
    EXPECT_EQ(t.statistics("timer").released, 11u);
    EXPECT_EQ(t.statistics("timer").dropped, 7u);
  });
}

TEST(Clock, a_jump_backwards_restarts_the_period_from_there)
{
  Timer t;
  const TimerOptions timer = on(t.add_told_clock());
  const auto callback = t.with_timer(timer);
  t.run(100, {}, [&] {
    t.until(20);
    t.ros_now_ns = 500000000;
    t.engine.clock_changed(timer.clock);
    EXPECT_EQ(t.engine.time_until_release(callback), milliseconds(10));
    t.advance(10);
  });
  EXPECT_EQ(t.statistics("timer").executed, 1u);
}

TEST(Clock, can_be_removed_when_it_drives_no_timer)
{
  Timer t;
  auto held = std::make_shared<int>(0);
  TimerOptions timer;
  timer.clock = t.engine.add_clock([held] { return int64_t{0}; });
  const auto callback = t.with_timer(timer);
  EXPECT_THAT(
    t.engine.remove_clock(timer.clock).message(), HasSubstr("still drives timer 'timer'"));
  t.engine.remove(callback);
  EXPECT_TRUE(t.engine.remove_clock(timer.clock).ok());
  EXPECT_EQ(held.use_count(), 1) << "nothing of it is kept";
  EXPECT_THAT(t.engine.remove_clock(timer.clock).message(), HasSubstr("was not added"));
  EXPECT_FALSE(t.engine.remove_clock(kSteadyClock).ok());
  EXPECT_FALSE(t.engine.set_timer_clock(t.with_timer(every_ms(20)), timer.clock).ok());
  EXPECT_EQ(t.engine.add_clock([] { return int64_t{0}; }), timer.clock)
    << "its place is used again";
}

TEST(Clock, of_a_timer_can_be_changed_and_its_period_starts_again)
{
  Timer t;
  const ClockId ros_clock = t.add_told_clock();
  const auto callback = t.with();
  EXPECT_EQ(
    t.run(
      100, {},
      [&] {
        t.until(25);
        EXPECT_FALSE(t.engine.set_timer_clock(callback, ros_clock + 1).ok());
        EXPECT_TRUE(t.engine.set_timer_clock(callback, ros_clock).ok());
        t.until(50);  // nothing, unless that clock advances
        t.advance(10);
        t.until(63);
        EXPECT_TRUE(t.engine.set_timer_clock(callback, kSteadyClock).ok());
        t.until(75);
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
  const TimerOptions timer = on(kSystemClock, every_ms(60000, true));
  t.with_timer(timer);
  t.run(1000, {}, [&] {
    t.until(450);
    t.sim.set_system_now_ns(1000000000000 + 61000000000);
    t.sim.sleep_for(milliseconds(101));
    EXPECT_EQ(t.statistics("timer").executed, 1u);
  });
}

TEST(TimerThread, waits_for_reservations_which_nothing_is_above)
{
  Timer t(with_model(ExecutionModel::kIsolated));
  t.with();
  CallbackOptions reserved = t.callback_options("reserved", milliseconds(7));
  reserved.attributes = os_deadline(7, 20);
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
    clock.queue_priority = 99;
    clock.sets_clock = true;
    t.add(clock, [&] {
      t.work(2);
      ros_now_ns += 15000000;
      t.engine.clock_changed(timer.clock);
    });
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
  TimerOptions timer = every_ms(10);
  timer.clock = t.engine.add_clock([] { return int64_t{0}; });
  timer.period = milliseconds(10);
  t.add_timer(t.callback_options("timer", milliseconds(1)), timer);
  CallbackOptions clock = t.callback_options("clock", milliseconds(4));
  clock.depth = 1;
  clock.queue_priority = 1;
  clock.sets_clock = true;
  t.add(clock);
  CallbackOptions message = t.callback_options("message", microseconds(100));
  message.queue_priority = 2;
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
    t.until(46);
    EXPECT_GE(t.statistics("message").executed, 30u);
    t.remove("clock");
  });
  const CallbackStatistics statistics = t.statistics("message");
  EXPECT_EQ(statistics.executed + statistics.dropped, 139u);
}

}  // namespace
}  // namespace rclrt_core
