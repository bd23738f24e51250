// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Which deadline a job has: its own, inherited, carried by a message, or of several inputs.

#include "engine_on_sim.hpp"

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
    const std::string & group = "")
  {
    options.run = [this, notifies, carried](const Job &) {
      if (carried != time_point_of(0)) {
        inherit_deadline(carried);
      }
      engine_.work(1);
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
  GroupOptions group_options;
  group_options.name = "g";
  std::shared_ptr<Group> group;
  ASSERT_TRUE(other.add_group(group_options, &group).ok());
  CallbackOptions sink;
  sink.name = "sink";
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

}  // namespace
}  // namespace rclrt_core
