// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Which deadline a job has: its own, inherited, carried by a message, of several inputs, or from when a message was made.

#include <limits>
#include <random>

#include "engine_on_sim.hpp"
#include "rclrt_core/message_stamp.hpp"

namespace rclrt_core
{
namespace
{

class Deadlines : public ::testing::Test
{
protected:
  /// Works for 1 ms a job, with messages that carry these one after the other.
  void add_taker(std::vector<std::optional<TimePoint>> carried)
  {
    CallbackOptions taker = options("taker", Duration{0});
    taker.run = [this, carried = std::move(carried), next = std::size_t{0}](const Job &) mutable {
      engine_.work(1);
      inherit_deadline(carried.at(next++));
      return true;
    };
    engine_.add(std::move(taker));
  }

  explicit Deadlines(EngineOptions options = {}) : engine_(1, std::move(options)) {}

  CallbackOptions options(const std::string & name, Duration relative_deadline)
  {
    CallbackOptions options = engine_.callback_options(name, milliseconds(1));
    options.attributes.policy = SchedulingPolicy::kExt;
    options.relative_deadline = relative_deadline;
    return options;
  }

  /// Works, then notifies; `carried`: what the message says that it takes first.
  void add(
    CallbackOptions options, const std::string & notifies, TimePoint carried,
    const std::string & group = "", int64_t work_ms = 1)
  {
    options.run = [this, notifies, carried, work_ms](const Job &) {
      if (carried != time_point_of(0)) {
        inherit_deadline(carried);
      }
      engine_.work(work_ms);
      if (!notifies.empty()) {
        engine_.notify(notifies);
      }
      return true;
    };
    engine_.add(std::move(options), group);
  }

  /// A callback that works for 8 ms, between the others.
  void add_middle()
  {
    CallbackOptions middle = options("middle", milliseconds(40));
    engine_.add(middle, [this] { engine_.work(8); });
  }

  /// "ended name deadline", in order of end.
  Lines run(const std::vector<Arrival> & arrivals)
  {
    Lines lines;
    engine_.run(100, arrivals, [&] {
      engine_.until(90);
      auto records = engine_.records();
      std::sort(records.begin(), records.end(), [](const auto & a, const auto & b) {
        return a.end_ns < b.end_ns;
      });
      for (const rclrt_job_record & record : records) {
        lines.push_back(
          std::to_string(record.end_ns / 1'000'000) + " " + engine_.name_of(record.callback) + " " +
          (record.deadline_ns == RCLRT_TRACE_NO_DEADLINE
             ? "none"
             : std::to_string(record.deadline_ns / 1'000'000)));
      }
    });
    return lines;
  }

  static constexpr TimePoint kNothing = time_point_of(0);
  EngineOnSim engine_;
};

TEST_F(Deadlines, of_a_message_counts_for_the_job_and_for_what_it_triggers)
{
  add(options("first", Duration{0}), "second", at_ms(40));
  add(options("second", Duration{0}), "", kNothing);
  EXPECT_EQ(run({{10, "first"}}), (Lines{"11 first 40", "12 second 40"}));
}

TEST_F(Deadlines, of_a_message_counts_against_others_from_when_it_is_known)
{
  CallbackOptions taker = options("taker", Duration{0});
  engine_.add(taker, [this] {
    inherit_deadline(at_ms(80));
    engine_.work(3);
  });
  add(options("earlier", milliseconds(49)), "", kNothing);
  add(options("later", milliseconds(79)), "", kNothing);
  // Without a deadline it would be preempted by both.
  EXPECT_EQ(
    run({{10, "taker"}, {11, "later"}, {11, "earlier"}}),
    (Lines{"12 earlier 60", "14 taker 80", "15 later 90"}));
}

TEST_F(Deadlines, of_the_next_message_is_expected_as_far_away_as_that_of_the_last)
{
  add(options("carried", Duration{0}), "", at_ms(14));  // 4 ms after its first release
  add(options("other", milliseconds(5)), "", kNothing);
  // The second time it goes first before it has taken its message: expected until 34, "other" has 35.
  EXPECT_EQ(
    run({{10, "carried"}, {30, "other"}, {30, "carried"}}),
    (Lines{"11 carried 14", "31 carried 14", "32 other 35"}));
}

TEST_F(Deadlines, of_the_callback_itself_prevails)
{
  add(options("own", milliseconds(20)), "", at_ms(12));
  add(options("later", milliseconds(20)), "", at_ms(60));
  EXPECT_EQ(run({{10, "own"}, {30, "later"}}), (Lines{"11 own 30", "31 later 50"}));
}

TEST_F(Deadlines, fan_in_takes_the_earliest_of_what_was_not_handed_on_yet)
{
  add(options("left", Duration{0}), "", at_ms(30), "fusion");
  add(options("right", Duration{0}), "sink", at_ms(50), "fusion");
  add(options("sink", Duration{0}), "", kNothing);
  // The second time "left" has brought nothing new.
  EXPECT_EQ(
    run({{10, "left"}, {12, "right"}, {20, "right"}}),
    (Lines{"11 left 30", "13 right 30", "14 sink 30", "21 right 50", "22 sink 50"}));
}

TEST_F(Deadlines, fan_in_has_handed_on_what_was_published_to_whomever)
{
  add(options("left", Duration{0}), "", at_ms(30), "fusion");
  CallbackOptions right = options("right", Duration{0});
  engine_.add(
    right,
    [this] {
      inherit_deadline(at_ms(50));
      engine_.work(1);
      note_published(1, RCLRT_TRACE_NO_MESSAGE);  // nobody in this process is told
    },
    "fusion");
  EXPECT_EQ(
    run({{10, "left"}, {12, "right"}, {20, "right"}}),
    (Lines{"11 left 30", "13 right 30", "21 right 50"}));
}

TEST_F(Deadlines, fan_in_of_three_keeps_what_each_of_them_has_brought)
{
  // "middle" first brings the earliest of all, then something later: "left" counts again.
  const std::vector<TimePoint> brought = {at_ms(20), at_ms(60)};
  std::size_t next = 0;
  add(options("left", Duration{0}), "", at_ms(30), "fusion");
  CallbackOptions middle = options("middle", Duration{0});
  engine_.add(
    middle,
    [&] {
      inherit_deadline(brought.at(next++));
      engine_.work(1);
    },
    "fusion");
  add(options("right", Duration{0}), "sink", at_ms(70), "fusion");
  add(options("sink", Duration{0}), "", kNothing);
  EXPECT_EQ(
    run({{10, "left"}, {12, "middle"}, {14, "middle"}, {16, "right"}, {18, "right"}}),
    (Lines{
      "11 left 30", "13 middle 20", "15 middle 30", "17 right 30", "18 sink 30", "19 right 70",
      "20 sink 70"}));
}

TEST_F(Deadlines, fan_in_does_not_take_for_its_own_what_another_has_brought)
{
  // "middle" runs by the deadline of "left", which then brings something later: that of "middle" itself is
  // the earliest.
  const std::vector<TimePoint> brought = {at_ms(30), at_ms(80)};
  std::size_t next = 0;
  CallbackOptions left = options("left", Duration{0});
  engine_.add(
    left,
    [&] {
      inherit_deadline(brought.at(next++));
      engine_.work(1);
    },
    "fusion");
  add(options("middle", Duration{0}), "", at_ms(50), "fusion");
  add(options("right", Duration{0}), "sink", at_ms(70), "fusion");
  add(options("sink", Duration{0}), "", kNothing);
  EXPECT_EQ(
    run({{10, "left"}, {12, "middle"}, {14, "left"}, {16, "right"}}),
    (Lines{"11 left 30", "13 middle 30", "15 left 50", "17 right 50", "18 sink 50"}));
}

TEST_F(Deadlines, fan_in_forgets_a_callback_that_is_gone)
{
  add(options("left", Duration{0}), "", at_ms(30), "fusion");
  add(options("right", Duration{0}), "sink", at_ms(50), "fusion");
  add(options("sink", Duration{0}), "", kNothing);
  CallbackOptions remover = options("remover", milliseconds(50));
  engine_.add(remover, [this] { engine_.remove("left"); });
  EXPECT_EQ(
    run({{10, "left"}, {12, "remover"}, {14, "right"}}),
    (Lines{"11 left 30", "12 remover 62", "15 right 50", "16 sink 50"}));
}

TEST_F(Deadlines, are_not_expected_any_more_after_a_message_without_one)
{
  add_taker({at_ms(14), kNever, kNever});
  add(options("other", milliseconds(6)), "", kNothing);
  // The second message is expected to have until 24, so it is taken before "other"; the third has none.
  EXPECT_EQ(
    run({{10, "taker"}, {20, "other"}, {20, "taker"}, {30, "other"}, {30, "taker"}}),
    (Lines{"11 taker 14", "21 taker none", "22 other 26", "31 other 36", "32 taker none"}));
}

/// As when the entry of a message in the table of deadlines is gone.
TEST_F(Deadlines, that_nobody_knows_are_those_of_who_published_in_this_process)
{
  CallbackOptions sink = options("sink", Duration{0});
  engine_.add(sink, [this] {
    inherit_deadline(std::nullopt);
    engine_.work(2);
  });
  add(options("source", milliseconds(10)), "sink", kNothing);
  add(options("other", milliseconds(30)), "", kNothing);
  // "other" does not get between. The last message comes from elsewhere, and nothing is expected of it.
  EXPECT_EQ(
    run({{10, "source"}, {12, "other"}, {40, "source"}, {60, "sink"}, {61, "other"}}),
    (Lines{
      "11 source 20", "13 sink 20", "14 other 42", "41 source 50", "43 sink 50", "62 other 91",
      "63 sink none"}));
}

TEST_F(Deadlines, expected_of_a_message_are_forgotten_when_nobody_knows_it)
{
  add_taker({at_ms(14), std::nullopt, std::nullopt});
  add(options("other", milliseconds(6)), "", kNothing);
  EXPECT_EQ(
    run({{10, "taker"}, {20, "other"}, {20, "taker"}, {30, "other"}, {30, "taker"}}),
    (Lines{"11 taker 14", "21 taker none", "22 other 26", "31 other 36", "32 taker none"}));
}

TEST_F(Deadlines, of_who_published_do_not_count_for_a_message_that_has_none)
{
  CallbackOptions sink = options("sink", Duration{0});
  engine_.add(sink, [this] {
    inherit_deadline(kNever);
    engine_.work(2);
  });
  add(options("source", milliseconds(10)), "sink", kNothing);
  add(options("other", milliseconds(30)), "", kNothing);
  EXPECT_EQ(
    run({{10, "source"}, {12, "other"}}), (Lines{"11 source 20", "13 other 42", "14 sink none"}));
}

TEST_F(Deadlines, are_inherited_by_the_jobs_of_another_engine_of_the_process)
{
  EngineOptions other_options;
  other_options.policy = &edf_policy();
  Engine other(engine_.sim, other_options);
  std::shared_ptr<Group> group;
  ASSERT_TRUE(other.add_group({}, &group).ok());
  CallbackOptions sink = options("sink", Duration{0});
  TimePoint deadline{};
  sink.run = [&](const Job & job) {
    deadline = job.deadline;
    return true;
  };
  std::shared_ptr<Callback> callback;
  ASSERT_TRUE(other.add_callback(sink, group, &callback).ok());
  CallbackOptions source = options("source", milliseconds(20));
  engine_.add(source, [&] { other.notify(*callback); });
  engine_.run(50, {{10, "source"}}, [&] {
    engine_.until(40);
    EXPECT_TRUE(other.run_one(engine_.sim.now()));
  });
  EXPECT_EQ(deadline, at_ms(30));
}

TEST_F(Deadlines, a_sink_does_not_fan_in_with_itself)
{
  add(options("sink", Duration{0}), "", kNothing, "g");
  CallbackOptions source = options("source", milliseconds(10));
  add(std::move(source), "sink", kNothing);
  EXPECT_EQ(
    run({{10, "source"}, {20, "source"}}),
    (Lines{"11 source 20", "12 sink 20", "21 source 30", "22 sink 30"}));
}

TEST_F(Deadlines, a_job_that_takes_a_late_message_keeps_what_a_waiting_job_lends_it)
{
  // "owner" learns that it has time, but "urgent" of its group waits: "middle" must not get between.
  CallbackOptions owner = options("owner", Duration{0});
  engine_.add(
    owner,
    [this] {
      engine_.work(2);
      inherit_deadline(at_ms(80));
      engine_.work(2);
    },
    "g");
  add(options("urgent", milliseconds(5)), "", kNothing, "g");
  add(options("middle", milliseconds(20)), "", kNothing);
  EXPECT_EQ(
    run({{10, "owner"}, {11, "urgent"}, {11, "middle"}}),
    (Lines{"14 owner 80", "15 urgent 16", "16 middle 31"}));
}

/// With a thread a group: who waits is ordered by the OS alone.
class DeadlinesOfThreads : public Deadlines
{
protected:
  DeadlinesOfThreads() : Deadlines(isolated()) {}

  static EngineOptions isolated()
  {
    EngineOptions options;
    options.model = ExecutionModel::kIsolated;
    return options;
  }
};

TEST_F(DeadlinesOfThreads, of_a_later_message_are_lent_to_the_one_before_it)
{
  add(options("late", milliseconds(80)), "sink", kNothing);
  add(options("urgent", milliseconds(20)), "sink", kNothing);
  add(options("sink", Duration{0}), "", kNothing);
  add_middle();
  EXPECT_EQ(
    run({{10, "late"}, {11, "urgent"}, {11, "middle"}}),
    (Lines{"11 late 90", "12 urgent 31", "13 sink 90", "14 sink 31", "22 middle 51"}));
}

TEST_F(DeadlinesOfThreads, that_others_have_taken_are_nothing_to_who_hands_nothing_on)
{
  add(options("left", Duration{0}), "", at_ms(30), "group");
  add(options("right", Duration{0}), "", kNothing, "group");
  add_middle();
  EXPECT_EQ(
    run({{8, "left"}, {60, "middle"}, {61, "right"}}),
    (Lines{"9 left 30", "68 middle 100", "69 right 30"}));
}

// An intra-process message that also came over the network is two jobs, and the second finds nothing.
TEST_F(Deadlines, fan_in_gets_nothing_from_a_job_that_found_nothing)
{
  CallbackOptions source = options("source", milliseconds(10));
  engine_.add(source, [this] { engine_.notify("left", 2); });
  CallbackOptions left = options("left", Duration{0});
  left.run = [this, found = 0](const Job &) mutable {
    if (found++ > 0) {
      return false;
    }
    engine_.work(1);
    engine_.notify("sink");
    return true;
  };
  engine_.add(std::move(left), "group");
  add(options("right source", milliseconds(40)), "right", kNothing);
  add(options("right", Duration{0}), "", kNothing, "group");
  add(options("sink", Duration{0}), "", kNothing);
  const Lines lines = run({{10, "source"}, {40, "right source"}});
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back(), "42 right 80");
}

// ---- Deadlines that count from when a message was made, whatever its stamp says.

constexpr int64_t kToday = 1'790'000'000'000'000'000;
constexpr int64_t kMs = 1'000'000;

/// Now, and the release: 1000 ms on the engine's clock. The relative deadline is 20 ms, the clock error 1 ms.
StampedDeadline at_1000_ms(int64_t stamp_ns)
{
  return deadline_from_stamp(
    stamp_ns, {at_ms(1000), kToday}, at_ms(1000), milliseconds(20), milliseconds(1));
}

TEST(MessageStamp, counts_from_when_the_message_was_made)
{
  EXPECT_EQ(at_1000_ms(kToday).deadline, at_ms(1020));
  EXPECT_EQ(at_1000_ms(kToday - 5 * kMs).deadline, at_ms(1015));
  EXPECT_EQ(at_1000_ms(kToday - 5 * kMs).fault, StampFault::kNone);
  EXPECT_EQ(at_1000_ms(kToday - 5 * kMs).age, milliseconds(5));
}

TEST(MessageStamp, ahead_by_no_more_than_the_clock_error_is_taken_for_now)
{
  for (const int64_t ahead : {int64_t{1}, kMs / 2, kMs}) {
    EXPECT_EQ(at_1000_ms(kToday + ahead).deadline, at_ms(1020)) << ahead;
    EXPECT_EQ(at_1000_ms(kToday + ahead).fault, StampFault::kNone) << ahead;
  }
}

TEST(MessageStamp, from_the_future_counts_from_the_release_and_is_a_fault)
{
  for (const int64_t ahead : {kMs + 1, 5 * kMs, 3600 * 1000 * kMs}) {
    EXPECT_EQ(at_1000_ms(kToday + ahead).deadline, at_ms(1020)) << ahead;
    EXPECT_EQ(at_1000_ms(kToday + ahead).fault, StampFault::kFuture) << ahead;
  }
}

TEST(MessageStamp, whose_deadline_is_over_is_believed_within_the_clock_error_only)
{
  EXPECT_EQ(at_1000_ms(kToday - 21 * kMs).deadline, at_ms(999));
  EXPECT_EQ(at_1000_ms(kToday - 21 * kMs).fault, StampFault::kNone);
  EXPECT_EQ(at_1000_ms(kToday - 21 * kMs - 1).deadline, at_ms(1020));
  EXPECT_EQ(at_1000_ms(kToday - 21 * kMs - 1).fault, StampFault::kPast);
}

TEST(MessageStamp, of_1970_of_a_simulation_or_out_of_all_range_counts_from_the_release)
{
  using Limits = std::numeric_limits<int64_t>;
  for (const int64_t stamp :
       {int64_t{0}, int64_t{123} * 1000 * kMs, int64_t{-1}, Limits::min() + 1, Limits::min()}) {
    EXPECT_EQ(at_1000_ms(stamp).deadline, at_ms(1020)) << stamp;
    EXPECT_EQ(at_1000_ms(stamp).fault, StampFault::kPast) << stamp;
  }
  EXPECT_EQ(at_1000_ms(Limits::max()).deadline, at_ms(1020));
  EXPECT_EQ(at_1000_ms(Limits::max()).fault, StampFault::kFuture);
}

TEST(MessageStamp, never_leads_out_of_its_bounds)
{
  std::mt19937_64 random(1);
  std::uniform_int_distribution<int64_t> anything(std::numeric_limits<int64_t>::min());
  std::uniform_int_distribution<int64_t> near(-100 * kMs, 100 * kMs);
  for (int i = 0; i < 100'000; ++i) {
    const int64_t stamp = i % 2 == 0 ? anything(random) : kToday + near(random);
    const TimePoint release = at_ms(1000) - Duration(std::abs(near(random)));
    const StampedDeadline found =
      deadline_from_stamp(stamp, {at_ms(1000), kToday}, release, milliseconds(20), milliseconds(1));
    ASSERT_GE(found.deadline, release - milliseconds(1)) << stamp;
    ASSERT_LE(found.deadline, release + milliseconds(20)) << stamp;
  }
}

TEST(MessageStamp, newer_than_the_release_makes_the_deadline_no_later)
{
  const StampedDeadline found = deadline_from_stamp(
    kToday, {at_ms(1007), kToday + 2 * kMs}, at_ms(1000), milliseconds(20), milliseconds(1));
  EXPECT_EQ(found.deadline, at_ms(1020));
  EXPECT_EQ(found.fault, StampFault::kNone);
}

class StampedMessages : public Deadlines
{
protected:
  StampedMessages() { engine_.sim.set_system_now_ns(kToday); }

  CallbackOptions taker(const std::string & name, Duration work)
  {
    CallbackOptions options = engine_.callback_options(name, work);
    options.kind = CallbackKind::kSubscription;
    options.attributes.policy = SchedulingPolicy::kExt;
    options.relative_deadline = milliseconds(20);
    options.deadline_from = DeadlineFrom::kHeaderStamp;
    options.clock_error = milliseconds(1);
    return options;
  }
  /// Its jobs take messages with these stamps in milliseconds after kToday, which is the begin of the run, and then
  /// work for 2 ms. `carried`: what the table says of each.
  void add_taker(
    const std::string & name, std::vector<int64_t> stamps_ms,
    std::vector<std::optional<TimePoint>> carried = {})
  {
    CallbackOptions options = taker(name, Duration{0});
    options.run = [this, stamps_ms, carried, next = std::size_t{0}](const Job &) mutable {
      EXPECT_EQ(deadline_counts_from(), DeadlineFrom::kHeaderStamp);
      const auto known = next < carried.size() ? carried[next] : std::nullopt;
      inherit_deadline(known, kToday + stamps_ms.at(next++) * kMs);
      engine_.work(2);
      return true;
    };
    engine_.add(std::move(options));
  }
  Lines told()
  {
    Lines lines;
    for (const Finding & finding : engine_.engine.findings()) {
      lines.push_back(to_string(finding));
    }
    return lines;
  }
};

TEST_F(StampedMessages, order_jobs_by_when_they_were_made)
{
  add_taker("slow_way", {10, 34});  // 5 and 6 ms old when they come
  add(options("local", milliseconds(17)), "", kNothing, "", 2);
  // The first time its age is not known before it is taken: "local" (until 32) goes first and is not preempted, the
  // other has 30. The second time it is expected to be as old: until 55 against 57.
  EXPECT_EQ(
    run({{15, "local"}, {15, "slow_way"}, {40, "local"}, {40, "slow_way"}}),
    (Lines{"17 local 32", "19 slow_way 30", "42 slow_way 54", "44 local 57"}));
  EXPECT_EQ(told(), Lines{});
}

TEST_F(StampedMessages, preempt_others_from_when_they_are_known)
{
  add_taker("slow_way", {0});
  add(options("local", milliseconds(9)), "", kNothing, "", 2);
  // The message is 12 ms old: 8 are left, of which the job knows when it runs. "local" has until 22.
  EXPECT_EQ(run({{12, "slow_way"}, {13, "local"}}), (Lines{"14 slow_way 20", "16 local 22"}));
}

TEST_F(StampedMessages, that_are_not_believed_go_as_if_they_had_no_stamp_and_are_told_once)
{
  add_taker("liar", {-1'790'000'000'000, 90'000, -1'790'000'000'000, 40});
  add(options("local", milliseconds(15)), "", kNothing, "", 2);
  EXPECT_EQ(
    run({{10, "liar"}, {10, "local"}, {20, "liar"}, {30, "liar"}, {45, "liar"}}),
    (Lines{"12 local 25", "14 liar 30", "22 liar 40", "32 liar 50", "47 liar 60"}));
  EXPECT_EQ(engine_.statistics("liar").stamps_refused, 3U);
  const auto lines = told();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(
    lines[0].find("liar: counts the deadline of a message from its arrival"), std::string::npos);
  EXPECT_NE(lines[0].find("use deadline_from: release"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("89980 ms in the future"), std::string::npos) << lines[1];
}

TEST_F(StampedMessages, of_this_machine_go_by_the_deadline_of_their_publisher)
{
  add_taker("known", {10, 10}, {at_ms(33), std::nullopt});
  EXPECT_EQ(run({{15, "known"}, {45, "known"}}), (Lines{"17 known 33", "47 known 65"}));
}

TEST_F(StampedMessages, of_a_job_of_this_process_go_by_its_deadline)
{
  add_taker("reader", {10});
  add(options("writer", milliseconds(50)), "reader", kNothing, "", 2);
  EXPECT_EQ(run({{15, "writer"}}), (Lines{"17 writer 65", "19 reader 65"}));
}

TEST_F(StampedMessages, of_a_job_without_deadline_count_from_the_stamp)
{
  add_taker("reader", {10});
  add(options("writer", Duration{0}), "reader", kNothing, "", 2);
  EXPECT_EQ(run({{15, "writer"}}), (Lines{"17 writer none", "19 reader 30"}));
}

TEST_F(StampedMessages, on_their_way_while_the_clock_steps_are_the_only_ones_that_it_counts_against)
{
  // Set back by an hour at 30 ms. What was stamped before is from the future then; what is stamped after is right.
  add_taker("steps", {10, 28, 55 - 3'600'000});
  engine_.run(100, {{12, "steps"}, {32, "steps"}, {60, "steps"}}, [&] {
    engine_.until(30);
    engine_.sim.set_system_now_ns(kToday + (30 - 3'600'000) * kMs);
  });
  Lines deadlines;
  for (const rclrt_job_record & record : engine_.ran) {
    deadlines.push_back(std::to_string(record.deadline_ns / kMs));
  }
  EXPECT_EQ(deadlines, (Lines{"30", "52", "75"}));
  EXPECT_EQ(engine_.statistics("steps").stamps_refused, 1U);
}

TEST_F(StampedMessages, need_a_subscription_a_relative_deadline_and_a_clock_error_below_it)
{
  struct Wrong
  {
    std::function<void(CallbackOptions &)> change;
    const char * says;
  };
  const Wrong cases[] = {
    {[](auto & o) { o.kind = CallbackKind::kService; }, "for subscriptions only"},
    {[](auto & o) { o.relative_deadline = Duration{0}; }, "give relative_deadline"},
    {[](auto & o) { o.clock_error = Duration{-1}; }, "Give clock_error"},
    {[](auto & o) { o.clock_error = milliseconds(20); }, "stamps order nothing"},
    {[](auto & o) { o.deadline_from = DeadlineFrom::kRelease; }, "remove clock_error"},
  };
  for (const Wrong & wrong : cases) {
    CallbackOptions options = taker("wrong", milliseconds(1));
    wrong.change(options);
    std::shared_ptr<Callback> callback;
    const Status status =
      engine_.engine.add_callback(std::move(options), engine_.group("g"), &callback);
    EXPECT_NE(status.message().find(wrong.says), std::string::npos) << status.message();
    EXPECT_NE(status.message().find("'wrong'"), std::string::npos) << status.message();
  }
  CallbackOptions exact = taker("exact", milliseconds(1));
  exact.clock_error = Duration{0};
  std::shared_ptr<Callback> callback;
  EXPECT_TRUE(engine_.engine.add_callback(std::move(exact), engine_.group("g"), &callback).ok());
}

}  // namespace
}  // namespace rclrt_core
