// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Deadlines that count from when a message was made, whatever its stamp says.

#include <limits>
#include <random>

#include "engine_on_sim.hpp"
#include "rclrt_core/message_stamp.hpp"

namespace rclrt_core
{
namespace
{

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

class StampedMessages : public ::testing::Test
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
  void add_other(const std::string & name, Duration relative_deadline, const std::string & notifies)
  {
    CallbackOptions options = engine_.callback_options(name, milliseconds(2));
    options.attributes.policy = SchedulingPolicy::kExt;
    options.relative_deadline = relative_deadline;
    if (!notifies.empty()) {
      options.run = [this, notifies](const Job &) {
        engine_.work(2);
        engine_.notify(notifies);
        return true;
      };
    }
    engine_.add(std::move(options));
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
          std::to_string(record.end_ns / kMs) + " " + engine_.name_of(record.callback) + " " +
          (record.deadline_ns == RCLRT_TRACE_NO_DEADLINE
             ? "none"
             : std::to_string(record.deadline_ns / kMs)));
      }
    });
    return lines;
  }

  std::vector<std::string> told()
  {
    std::vector<std::string> lines;
    for (const Finding & finding : engine_.engine.findings()) {
      lines.push_back(to_string(finding));
    }
    return lines;
  }

  EngineOnSim engine_{1, {}};
};

TEST_F(StampedMessages, order_jobs_by_when_they_were_made)
{
  add_taker("slow_way", {10, 34});  // 5 and 6 ms old when they come
  add_other("local", milliseconds(17), "");
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
  add_other("local", milliseconds(9), "");
  // The message is 12 ms old: 8 are left, of which the job knows when it runs. "local" has until 22.
  EXPECT_EQ(run({{12, "slow_way"}, {13, "local"}}), (Lines{"14 slow_way 20", "16 local 22"}));
}

TEST_F(StampedMessages, that_are_not_believed_go_as_if_they_had_no_stamp_and_are_told_once)
{
  add_taker("liar", {-1'790'000'000'000, 90'000, -1'790'000'000'000, 40});
  add_other("local", milliseconds(15), "");
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
  add_other("writer", milliseconds(50), "reader");
  EXPECT_EQ(run({{15, "writer"}}), (Lines{"17 writer 65", "19 reader 65"}));
}

TEST_F(StampedMessages, of_a_job_without_deadline_count_from_the_stamp)
{
  add_taker("reader", {10});
  add_other("writer", Duration{0}, "reader");
  EXPECT_EQ(run({{15, "writer"}}), (Lines{"17 writer none", "19 reader 30"}));
}

TEST_F(StampedMessages, on_their_way_while_the_clock_steps_are_the_only_ones_that_it_counts_against)
{
  // Set back by an hour at 30 ms. What was stamped before is from the future then; what is stamped after is right.
  add_taker("steps", {10, 28, 55 - 3'600'000});
  const Lines lines = [&] {
    Lines found;
    engine_.run(100, {{12, "steps"}, {32, "steps"}, {60, "steps"}}, [&] {
      engine_.until(30);
      engine_.sim.set_system_now_ns(kToday + (30 - 3'600'000) * kMs);
      engine_.until(90);
      for (const rclrt_job_record & record : engine_.records()) {
        found.push_back(std::to_string(record.deadline_ns / kMs));
      }
    });
    return found;
  }();
  EXPECT_EQ(lines, (Lines{"30", "52", "75"}));
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
