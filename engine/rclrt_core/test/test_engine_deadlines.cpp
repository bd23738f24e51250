// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Which deadline a job has: its own, inherited, carried by a message, of several inputs, or from when a message was made.

#include <limits>
#include <random>

#include "rclrt_core/message_stamp.hpp"
#include "scenes.hpp"

namespace rclrt_core
{
namespace
{

constexpr int64_t kToday = 1'790'000'000'000'000'000;
constexpr int64_t kMs = 1'000'000;

class Deadlines : public ::testing::Test
{
protected:
  explicit Deadlines(EngineOptions options = {}) : engine_(1, std::move(options))
  {
    engine_.sim.set_system_now_ns(kToday);
  }

  /// Callbacks, separated by ", ": NAME DEADLINE_MS (0: none of its own) WORK_MS, then words of
  ///
  ///   in GROUP; then NAME (which it notifies when it has worked); publishes (to nobody that is told); removes NAME
  ///   carries MS...  the deadlines that the messages of its jobs carry, the last one for all that follow; none: it is
  ///                  known that there is none; ?: nobody knows
  ///   after MS       of its work it takes its message; 0 unless given
  ///   stamped MS...  its deadline counts from when its messages were made: these times after the begin of the run, to 1 ms
  void add(const std::string & callbacks)
  {
    for (std::istringstream & words : parts_of(callbacks)) {
      add_one(words);
    }
  }

  /// "ended name deadline", in order of end.
  Lines run(const std::string & arrivals)
  {
    std::vector<Arrival> all;
    for (std::istringstream & words : parts_of(arrivals)) {
      const auto time_ms = next<int64_t>(words);
      all.push_back({time_ms, next<std::string>(words)});
    }
    Lines lines;
    engine_.run(100, all, [&] {
      engine_.until(90);
      auto records = engine_.records();
      std::sort(records.begin(), records.end(), [](const auto & a, const auto & b) {
        return a.end_ns < b.end_ns;
      });
      for (const rclrt_job_record & record : records) {
        lines.push_back(
          std::to_string(record.end_ns / kMs) + " " + engine_.name_of(record.callback) + " " +
          (record.deadline_ns == RCLRT_TRACE_NO_DEADLINE
             ? "none"
             : std::to_string(record.deadline_ns / kMs)));
      }
    });
    return lines;
  }

  struct Case
  {
    const char * promise;
    const char * callbacks;
    const char * arrivals;
    const char * ended;
  };
  static void expect(const std::vector<Case> & cases, const EngineOptions & options = {})
  {
    for (const Case & c : cases) {
      SCOPED_TRACE(c.promise);
      struct Place : Deadlines
      {
        explicit Place(const EngineOptions & options) : Deadlines(options) {}
        void TestBody() override {}
        using Deadlines::add, Deadlines::run, Deadlines::engine_;
      } place(options);
      place.add(c.callbacks);
      std::string ended;
      for (const std::string & line : place.run(c.arrivals)) {
        ended += (ended.empty() ? "" : ", ") + line;
      }
      EXPECT_EQ(ended, c.ended);
      EXPECT_EQ(place.engine_.told(), Lines{});
    }
  }

  CallbackOptions stamped(CallbackOptions options)
  {
    options.kind = CallbackKind::kSubscription;
    options.deadline_from = DeadlineFrom::kHeaderStamp;
    options.clock_error = milliseconds(1);
    return options;
  }

  EngineOnSim engine_;

private:
  using Carried = std::optional<TimePoint>;

  void add_one(std::istringstream & words)
  {
    const auto name = next<std::string>(words);
    const auto deadline_ms = next<int64_t>(words);
    const auto work_ms = next<int64_t>(words);
    CallbackOptions options = engine_.ext_callback(name, deadline_ms, work_ms);
    std::string group, then, removed;
    std::vector<Carried> carried;
    std::vector<int64_t> stamps_ms;
    int64_t after_ms = 0;
    bool publishes = false;
    std::string last;
    for (std::string word; words >> word;) {
      const bool is_number = word.find_first_not_of("-0123456789") == std::string::npos;
      if (word == "in") {
        group = next<std::string>(words);
      } else if (word == "then") {
        then = next<std::string>(words);
      } else if (word == "removes") {
        removed = next<std::string>(words);
      } else if (word == "after") {
        after_ms = next<int64_t>(words);
      } else if (word == "publishes") {
        publishes = true;
      } else if (last == "stamped" && is_number) {
        stamps_ms.push_back(std::stoll(word));
      } else if (last == "carries" && (is_number || word == "none" || word == "?")) {
        carried.push_back(
          is_number        ? Carried(at_ms(std::stoll(word)))
          : word == "none" ? Carried(kNever)
                           : std::nullopt);
      } else {
        EXPECT_TRUE(word == "carries" || word == "stamped") << word;
        last = word;
      }
    }
    options = stamps_ms.empty() ? options : stamped(options);
    options.run = [=, job = std::size_t{0}](const Job &) mutable {
      engine_.work(after_ms);
      const std::size_t which = job++;
      const Carried known =
        carried.empty() ? std::nullopt : carried[std::min(which, carried.size() - 1)];
      if (!stamps_ms.empty()) {
        EXPECT_EQ(deadline_counts_from(), DeadlineFrom::kHeaderStamp);
        inherit_deadline(known, kToday + stamps_ms.at(which) * kMs);
      } else if (!carried.empty()) {
        inherit_deadline(known);
      }
      if (work_ms > after_ms) {  // to work for no time would let others go first
        engine_.work(work_ms - after_ms);
      }
      if (!then.empty()) {
        engine_.notify(then);
      }
      if (publishes) {
        note_published(1, RCLRT_TRACE_NO_MESSAGE);
      }
      if (!removed.empty()) {
        engine_.remove(removed);
      }
      return true;
    };
    engine_.add(std::move(options), group);
  }
};

TEST_F(Deadlines, are_carried_by_messages)
{
  expect({
    {"it counts for the job and for what that triggers",
     "first 0 1 carries 40 then second, second 0 1", "10 first", "11 first 40, 12 second 40"},
    // Without a deadline it would be preempted by both.
    {"it counts against others from when it is known",
     "taker 0 3 carries 80, earlier 49 1, later 79 1", "10 taker, 11 later, 11 earlier",
     "12 earlier 60, 14 taker 80, 15 later 90"},
    // 4 ms after the first release. The second time it goes first before it has taken its message: expected until 34,
    // "other" has 35.
    {"that of the next message is expected as far away as that of the last",
     "carried 0 1 carries 14, other 5 1", "10 carried, 30 other, 30 carried",
     "11 carried 14, 31 carried 14, 32 other 35"},
    {"that of the callback itself prevails", "own 20 1 carries 12, later 20 1 carries 60",
     "10 own, 30 later", "11 own 30, 31 later 50"},
    // The second message is expected to have until 24, so it is taken before "other"; the third has none.
    {"none is expected any more after a message without one",
     "taker 0 1 carries 14 none after 1, other 6 1",
     "10 taker, 20 other, 20 taker, 30 other, 30 taker",
     "11 taker 14, 21 taker none, 22 other 26, 31 other 36, 32 taker none"},
    {"nor after one of which nobody knows", "taker 0 1 carries 14 ? after 1, other 6 1",
     "10 taker, 20 other, 20 taker, 30 other, 30 taker",
     "11 taker 14, 21 taker none, 22 other 26, 31 other 36, 32 taker none"},
    // As when the entry of a message in the table of deadlines is gone. "other" does not get between. The last message
    // comes from elsewhere, and nothing is expected of it.
    {"of which nobody knows it is that of the job that published in this process",
     "sink 0 2 carries ?, source 10 1 then sink, other 30 1",
     "10 source, 12 other, 40 source, 60 sink, 61 other",
     "11 source 20, 13 sink 20, 14 other 42, 41 source 50, 43 sink 50, 62 other 91, 63 sink none"},
    {"that of the job that published does not count for a message that has none",
     "sink 0 2 carries none, source 10 1 then sink, other 30 1", "10 source, 12 other",
     "11 source 20, 13 other 42, 14 sink none"},
    // "owner" learns that it has time, but "urgent" of its group waits: "middle" must not get between.
    {"a job that takes a late message keeps what a waiting job lends it",
     "owner 0 4 carries 80 after 2 in g, urgent 5 1 in g, middle 20 1",
     "10 owner, 11 urgent, 11 middle", "14 owner 80, 15 urgent 16, 16 middle 31"},
  });
}

TEST_F(Deadlines, of_several_inputs_are_the_earliest_of_what_was_not_handed_on_yet)
{
  expect({
    // The second time "left" has brought nothing new.
    {"each counts once",
     "left 0 1 carries 30 in fusion, right 0 1 carries 50 in fusion then sink, sink 0 1",
     "10 left, 12 right, 20 right", "11 left 30, 13 right 30, 14 sink 30, 21 right 50, 22 sink 50"},
    {"what was published to whomever has been handed on",
     "left 0 1 carries 30 in fusion, right 0 1 carries 50 in fusion publishes",
     "10 left, 12 right, 20 right", "11 left 30, 13 right 30, 21 right 50"},
    // "middle" first brings the earliest of all, then something later: "left" counts again.
    {"of three, each keeps what it has brought",
     "left 0 1 carries 30 in fusion, middle 0 1 carries 20 60 in fusion, "
     "right 0 1 carries 70 in fusion then sink, sink 0 1",
     "10 left, 12 middle, 14 middle, 16 right, 18 right",
     "11 left 30, 13 middle 20, 15 middle 30, 17 right 30, 18 sink 30, 19 right 70, 20 sink 70"},
    // "middle" runs by the deadline of "left", which then brings something later: that of "middle" itself is the earliest.
    {"what another has brought is not one's own",
     "left 0 1 carries 30 80 in fusion, middle 0 1 carries 50 in fusion, "
     "right 0 1 carries 70 in fusion then sink, sink 0 1",
     "10 left, 12 middle, 14 left, 16 right",
     "11 left 30, 13 middle 30, 15 left 50, 17 right 50, 18 sink 50"},
    {"a callback that is gone is forgotten",
     "left 0 1 carries 30 in fusion, right 0 1 carries 50 in fusion then sink, sink 0 1, "
     "remover 50 0 removes left",
     "10 left, 12 remover, 14 right", "11 left 30, 12 remover 62, 15 right 50, 16 sink 50"},
    {"a sink does not fan in with itself", "sink 0 1 in g, source 10 1 then sink",
     "10 source, 20 source", "11 source 20, 12 sink 20, 21 source 30, 22 sink 30"},
  });
}

TEST_F(Deadlines, of_threads_that_the_os_alone_orders_are_lent_as_well)
{
  expect(
    {{"those of a later message to the one before it",
      "late 80 1 then sink, urgent 20 1 then sink, sink 0 1, middle 40 8",
      "10 late, 11 urgent, 11 middle",
      "11 late 90, 12 urgent 31, 13 sink 90, 14 sink 31, 22 middle 51"},
     {"those that others have taken are nothing to a callback that hands nothing on",
      "left 0 1 carries 30 in group, right 0 1 in group, middle 40 8",
      "8 left, 60 middle, 61 right", "9 left 30, 68 middle 100, 69 right 30"}},
    with_model(ExecutionModel::kIsolated));
}

TEST_F(Deadlines, are_inherited_by_the_jobs_of_another_engine_of_the_process)
{
  EngineOptions other_options;
  other_options.policy = &edf_policy();
  Engine other(engine_.sim, other_options);
  std::shared_ptr<Group> group;
  ASSERT_TRUE(other.add_group({}, &group).ok());
  CallbackOptions sink = engine_.ext_callback("sink", 0, 1);
  TimePoint deadline{};
  sink.run = [&](const Job & job) {
    deadline = job.deadline;
    return true;
  };
  std::shared_ptr<Callback> callback;
  ASSERT_TRUE(other.add_callback(sink, group, &callback).ok());
  engine_.add(engine_.ext_callback("source", 20, 1), [&] { other.notify(*callback); });
  engine_.run(50, {{10, "source"}}, [&] {
    engine_.until(40);
    EXPECT_TRUE(other.run_one(engine_.sim.now()));
  });
  EXPECT_EQ(deadline, at_ms(30));
}

// An intra-process message that also came over the network is two jobs, and the second finds nothing.
TEST_F(Deadlines, fan_in_gets_nothing_from_a_job_that_found_nothing)
{
  add("right_source 40 1 then right, right 0 1 in group, sink 0 1");
  engine_.add(engine_.ext_callback("source", 10, 0), [this] { engine_.notify("left", 2); });
  CallbackOptions left = engine_.ext_callback("left", 0, 0);
  left.run = [this, found = 0](const Job &) mutable {
    if (found++ > 0) {
      return false;
    }
    engine_.work(1);
    engine_.notify("sink");
    return true;
  };
  engine_.add(std::move(left), "group");
  const Lines lines = run("10 source, 40 right_source");
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines.back(), "42 right 80");
}

// ---- Deadlines that count from when a message was made, whatever its stamp says.

/// Now, and the release: 1000 ms on the engine's clock. The relative deadline is 20 ms, the clock error 1 ms.
StampedDeadline at_1000_ms(int64_t stamp_ns)
{
  return deadline_from_stamp(
    stamp_ns, {at_ms(1000), kToday}, at_ms(1000), milliseconds(20), milliseconds(1));
}

TEST(MessageStamp, is_believed_within_the_clock_error_and_else_the_release_counts)
{
  using Limits = std::numeric_limits<int64_t>;
  const struct
  {
    const char * promise;
    int64_t stamp_ns;
    int64_t deadline_ms;
    StampFault fault = StampFault::kNone;
  } cases[] = {
    {"from when it was made", kToday, 1020},
    {"from when it was made", kToday - 5 * kMs, 1015},
    {"ahead by no more than the clock error: now", kToday + 1, 1020},
    {"ahead by no more than the clock error: now", kToday + kMs / 2, 1020},
    {"ahead by no more than the clock error: now", kToday + kMs, 1020},
    {"from the future", kToday + kMs + 1, 1020, StampFault::kFuture},
    {"from the future", kToday + 5 * kMs, 1020, StampFault::kFuture},
    {"from the future", kToday + 3600 * 1000 * kMs, 1020, StampFault::kFuture},
    {"its deadline is over, but not by more than the clock error", kToday - 21 * kMs, 999},
    {"its deadline is over", kToday - 21 * kMs - 1, 1020, StampFault::kPast},
    {"of 1970", 0, 1020, StampFault::kPast},
    {"of a simulation", 123 * 1000 * kMs, 1020, StampFault::kPast},
    {"out of all range", -1, 1020, StampFault::kPast},
    {"out of all range", Limits::min() + 1, 1020, StampFault::kPast},
    {"out of all range", Limits::min(), 1020, StampFault::kPast},
    {"out of all range", Limits::max(), 1020, StampFault::kFuture}};
  for (const auto & c : cases) {
    EXPECT_EQ(at_1000_ms(c.stamp_ns).deadline, at_ms(c.deadline_ms)) << c.promise << c.stamp_ns;
    EXPECT_EQ(at_1000_ms(c.stamp_ns).fault, c.fault) << c.promise << c.stamp_ns;
  }
  EXPECT_EQ(at_1000_ms(kToday - 5 * kMs).age, milliseconds(5));
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

using StampedMessages = Deadlines;

TEST_F(StampedMessages, order_jobs_by_when_they_were_made)
{
  expect({
    // 5 and 6 ms old when they come. The first time its age is not known before it is taken: "local" (until 32) goes
    // first and is not preempted, the other has 30. The second time it is expected to be as old: until 55 against 57.
    {"it is expected to be as old as the last", "slow_way 20 2 stamped 10 34, local 17 2",
     "15 local, 15 slow_way, 40 local, 40 slow_way",
     "17 local 32, 19 slow_way 30, 42 slow_way 54, 44 local 57"},
    // The message is 12 ms old: 8 are left, of which the job knows when it runs. "local" has until 22.
    {"it preempts others from when it is known", "slow_way 20 2 stamped 0, local 9 2",
     "12 slow_way, 13 local", "14 slow_way 20, 16 local 22"},
    {"of this machine it goes by the deadline of its publisher",
     "known 20 2 stamped 10 40 carries 33 ?", "15 known, 45 known", "17 known 33, 47 known 60"},
    {"of a job of this process it goes by its deadline",
     "reader 20 2 stamped 10, writer 50 2 then reader", "15 writer", "17 writer 65, 19 reader 65"},
    {"of a job without deadline it counts from the stamp",
     "reader 20 2 stamped 10, writer 0 2 then reader", "15 writer", "17 writer none, 19 reader 30"},
  });
}

TEST_F(StampedMessages, that_are_not_believed_go_as_if_they_had_no_stamp_and_are_told_once)
{
  add("liar 20 2 stamped -1790000000000 90000 -1790000000000 40, local 15 2");
  EXPECT_EQ(
    run("10 liar, 10 local, 20 liar, 30 liar, 45 liar"),
    (Lines{"12 local 25", "14 liar 30", "22 liar 40", "32 liar 50", "47 liar 60"}));
  EXPECT_EQ(engine_.statistics("liar").stamps_refused, 3U);
  EXPECT_EQ(engine_.engine.findings().size(), 2U);
  EXPECT_EQ(
    engine_.findings_with(
      {"liar: counts the deadline of a message from its arrival", "use deadline_from: release"}),
    1);
  EXPECT_EQ(engine_.findings_with({"89980 ms in the future"}), 1);
}

TEST_F(StampedMessages, on_their_way_while_the_clock_steps_are_the_only_ones_that_it_counts_against)
{
  // Set back by an hour at 30 ms. What was stamped before is from the future then; what is stamped after is right.
  add("steps 20 2 stamped 10 28 " + std::to_string(55 - 3'600'000));
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
  const CallbackOptions good = stamped(engine_.ext_callback("wrong", 20, 1));
  for (const Wrong & wrong : cases) {
    CallbackOptions options = good;
    wrong.change(options);
    const std::string refusal = engine_.refusal(std::move(options));
    EXPECT_NE(refusal.find(wrong.says), std::string::npos) << refusal;
    EXPECT_NE(refusal.find("'wrong'"), std::string::npos) << refusal;
  }
  CallbackOptions exact = good;
  exact.clock_error = Duration{0};
  EXPECT_EQ(engine_.refusal(std::move(exact)), "");
}

}  // namespace
}  // namespace rclrt_core
