// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What an instance of a chain is, when it misses, and what becomes of data that do not come out. That the numbers are
// those of ./rclrt watch is tested in see/rclrt_tools/test/test_watch_inside.py.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "assumptions.hpp"
#include "chain_watch.hpp"

namespace rclrt_front_end
{
namespace
{

using rclrt_config::ChainSemantics;
using rclrt_core::Duration;
using std::chrono::milliseconds;

constexpr int64_t kMs = 1'000'000;

/// look, a timer of 10 ms, then act, which its message releases.
rclrt_config::Chain look_and_act()
{
  rclrt_config::Chain chain;
  chain.name = "grab";
  chain.links = {{"/look/timer/10ms", false}, {"/act/subscription/a", false}};
  chain.semantics = ChainSemantics::kLatency;
  chain.deadline = milliseconds(6);
  chain.silent_after = milliseconds(25);
  return chain;
}

JobKey key(uint64_t sequence) { return {1, 1, sequence}; }

/// A job of look at `start_ms`, 2 ms long.
void look(ChainWatch & watch, uint64_t sequence, int64_t start_ms)
{
  ChainWatch::Job job;
  job.key = key(sequence);
  job.release = job.start = start_ms * kMs;
  job.end = job.start + 2 * kMs;
  watch.add_job(0, job);
}

/// A job of act that the job `by` of look has released, and that ends at `end_ms`.
void act(ChainWatch & watch, uint64_t sequence, uint64_t by, int64_t end_ms, bool of_look = true)
{
  ChainWatch::Job job;
  job.key = key(sequence);
  job.by = key(by);
  job.by_link_before = of_look;
  job.start = job.release = (end_ms - 1) * kMs;
  job.end = end_ms * kMs;
  watch.add_job(1, job);
}

/// Both, so that the chain takes `ms`.
void instance(ChainWatch & watch, uint64_t number, int64_t ms)
{
  const auto start = static_cast<int64_t>(number) * 10;
  look(watch, 2 * number, start);
  act(watch, 2 * number + 1, 2 * number, start + ms);
}

TEST(ChainWatch, counts_what_lies_between_the_first_release_and_the_last_end)
{
  ChainWatch watch(look_and_act());
  watch.settle(0);
  EXPECT_EQ(watch.report().state, ChainState::kUnseen);
  for (uint64_t i = 1; i <= 4; ++i) {
    instance(watch, i, 3 + static_cast<int64_t>(i % 2));
  }
  EXPECT_EQ(watch.settle(100 * kMs - 60 * kMs), 0u) << "what has not ended by then waits";
  EXPECT_EQ(watch.report().instances, 2u) << "the first output only begins the count";
  watch.settle(45 * kMs);
  const ChainReport report = watch.report();
  EXPECT_EQ(report.instances, 3u);
  EXPECT_EQ(report.state, ChainState::kOk);
  EXPECT_EQ(report.last, milliseconds(3));
  EXPECT_EQ(report.worst, milliseconds(4));
  EXPECT_FALSE(report.p99.has_value()) << "of 3 values";
}

TEST(ChainWatch, p99_is_the_smallest_value_that_99_of_100_do_not_exceed)
{
  ChainWatch watch(look_and_act());
  for (uint64_t i = 1; i <= 101; ++i) {
    instance(watch, i, i == 50 ? 9 : i == 60 ? 5 : 4);
  }
  watch.settle(1020 * kMs);
  EXPECT_EQ(watch.report().instances, 100u);
  EXPECT_EQ(watch.report().p99, milliseconds(5));
  EXPECT_EQ(watch.report().worst, milliseconds(9));
}

TEST(ChainWatch, misses_in_a_row_are_a_warning_then_an_error_and_one_in_time_ends_them)
{
  rclrt_config::Chain chain = look_and_act();
  chain.warn_after = 2;
  chain.error_after = 3;
  ChainWatch watch(chain);
  std::string states;
  uint64_t number = 1;
  for (const int64_t ms : {4, 7, 7, 7, 4, 7}) {
    instance(watch, number, ms);
    watch.settle(static_cast<int64_t>(number++) * 10 * kMs + 8 * kMs);
    states += std::string(to_string(watch.report().state)) + " ";
  }
  EXPECT_EQ(states, "UNSEEN OK WARN ERROR OK OK ");
  EXPECT_EQ(watch.report().misses, 4u);
  EXPECT_EQ(watch.report().most_misses_in_a_row, 3u);
  EXPECT_EQ(watch.take_peak(), 3u) << "what is over is not lost";
  EXPECT_EQ(watch.take_peak(), 1u) << "the one that lasts";
}

TEST(ChainWatch, without_on_miss_one_miss_is_a_warning)
{
  ChainWatch watch(look_and_act());
  instance(watch, 1, 4);
  instance(watch, 2, 7);
  EXPECT_EQ(watch.settle(30 * kMs), 1u);
  EXPECT_EQ(watch.report().state, ChainState::kWarn);
}

TEST(ChainWatch, a_chain_that_brings_out_nothing_is_silent_and_has_missed_once)
{
  ChainWatch watch(look_and_act());
  watch.settle(0);
  EXPECT_EQ(watch.settle(25 * kMs), 0u);
  EXPECT_EQ(watch.settle(26 * kMs), 1u);
  EXPECT_EQ(watch.settle(500 * kMs), 0u) << "one silence";
  EXPECT_EQ(watch.report().state, ChainState::kSilent);
  instance(watch, 50, 4);
  instance(watch, 51, 4);
  watch.settle(520 * kMs);
  EXPECT_EQ(watch.report().state, ChainState::kOk);
  EXPECT_EQ(watch.report().silences, 1u);
}

TEST(ChainWatch, data_that_newer_ones_have_overtaken_end_with_those)
{
  ChainWatch watch(look_and_act());
  instance(watch, 1, 4);
  look(watch, 4, 20);  // its message is dropped
  look(watch, 6, 30);
  act(watch, 7, 6, 34);
  act(watch, 8, 4, 36);  // comes too late to be news
  watch.settle(40 * kMs);
  EXPECT_EQ(watch.report().instances, 2u);
  EXPECT_EQ(watch.report().worst, milliseconds(14));
  EXPECT_EQ(watch.report().overtaken, 1u);
  EXPECT_EQ(watch.report().misses, 1u);
}

TEST(ChainWatch, an_output_waits_for_the_end_of_the_job_that_has_published_for_it)
{
  ChainWatch watch(look_and_act());
  instance(watch, 1, 4);
  act(watch, 5, 4, 23);  // look's job 4 goes on
  watch.settle(30 * kMs);
  EXPECT_EQ(watch.report().instances, 0u);
  look(watch, 4, 20);
  watch.settle(31 * kMs);
  EXPECT_EQ(watch.report().instances, 1u);
}

TEST(ChainWatch, what_reads_uses_the_newest_that_had_ended_when_it_began)
{
  rclrt_config::Chain chain = look_and_act();
  chain.links[1] = {"/act/timer/20ms", false};
  ChainWatch watch(chain);
  const auto sample = [&](uint64_t sequence, int64_t start_ms) {
    ChainWatch::Job job;
    job.key = key(sequence);
    job.start = job.release = start_ms * kMs;
    job.end = job.start + kMs;
    watch.add_job(1, job);
  };
  look(watch, 1, 10);
  sample(2, 15);
  look(watch, 3, 20);
  sample(4, 21);  // look's job 3 ends at 22
  sample(5, 22);
  watch.settle(40 * kMs);
  EXPECT_EQ(watch.report().instances, 1u);
  EXPECT_EQ(watch.report().last, milliseconds(3));
}

TEST(ChainWatch, a_subscription_that_something_else_releases_uses_the_chain_only_if_it_reads)
{
  for (const bool reads : {false, true}) {
    rclrt_config::Chain chain = look_and_act();
    chain.links[1].reads = reads;
    ChainWatch watch(chain);
    for (uint64_t i = 1; i <= 3; ++i) {
      look(watch, 2 * i, static_cast<int64_t>(i) * 10);
      act(watch, 2 * i + 1, 1000 + i, static_cast<int64_t>(i) * 10 + 4, false);
    }
    watch.settle(10'000 * kMs);
    EXPECT_EQ(watch.report().instances, reads ? 2u : 0u);
  }
}

TEST(ChainWatch, messages_lead_from_one_process_to_another)
{
  ChainWatch watch(look_and_act());
  for (uint64_t i = 1; i <= 2; ++i) {
    const auto start = static_cast<int64_t>(i) * 10;
    watch.add_publication({77, i}, key(i), start * kMs + 1);
    look(watch, i, start);
    ChainWatch::Job job;
    job.key = {2, 1, i};
    job.message = MessageKey(77, i);
    job.release = job.start = start * kMs + 2 * kMs;
    job.end = start * kMs + 5 * kMs;
    watch.add_job(1, job);
  }
  watch.settle(40 * kMs);
  EXPECT_EQ(watch.report().instances, 1u);
  EXPECT_EQ(watch.report().last, milliseconds(5));
}

TEST(ChainWatch, a_reaction_begins_with_the_job_before_and_an_age_lasts_until_newer_data)
{
  for (const auto semantics : {ChainSemantics::kReaction, ChainSemantics::kAge}) {
    rclrt_config::Chain chain = look_and_act();
    chain.semantics = semantics;
    ChainWatch watch(chain);
    instance(watch, 1, 4);
    instance(watch, 2, 5);
    watch.settle(40 * kMs);
    EXPECT_EQ(watch.report().last, milliseconds(15)) << to_string(semantics);
  }
}

/// A job of the join's input, released by a job of look or (0) of something else.
void input(ChainWatch & watch, uint64_t sequence, uint64_t number, uint64_t by, int64_t end_ms)
{
  ChainWatch::Job job;
  job.key = key(sequence);
  job.input = number;
  job.by = key(by != 0 ? by : 1000 + sequence);
  job.by_link_before = by != 0;
  job.start = job.release = (end_ms - 1) * kMs;
  job.end = end_ms * kMs;
  watch.add_job(1, job);
}

TEST(ChainWatch, a_job_that_only_keeps_its_message_for_a_join_is_no_output)
{
  for (const bool last_only : {false, true}) {
    rclrt_config::Chain chain = look_and_act();
    chain.links[1].inputs = 2;
    chain.last_only = last_only;
    ChainWatch watch(chain);
    look(watch, 1, 10);
    input(watch, 2, 7, 1, 13);  // kept
    input(watch, 3, 8, 0, 18);  // the last: 8 ms
    input(watch, 4, 8, 0, 21);
    look(watch, 5, 20);
    input(watch, 6, 7, 5, 23);  // the last: 3 ms
    look(watch, 7, 30);
    input(watch, 8, 7, 7, 33);
    input(watch, 9, 7, 7, 34);
    watch.settle(19 * kMs);
    // With data that came through, but not last, something was seen of the chain.
    EXPECT_EQ(watch.report().state, last_only ? ChainState::kNotLast : ChainState::kUnseen);
    EXPECT_EQ(watch.report().left_out, last_only ? 1u : 0u);
    watch.settle(40 * kMs);
    EXPECT_EQ(watch.report().instances, 1u) << last_only;
    EXPECT_EQ(watch.report().last, milliseconds(3));
    input(watch, 10, 8, 0, 49);
    watch.settle(50 * kMs);
    EXPECT_EQ(watch.report().instances, last_only ? 1u : 2u);
    EXPECT_EQ(watch.report().worst, milliseconds(last_only ? 3 : 19));
  }
}

TEST(ChainWatch, of_a_join_that_publishes_only_jobs_that_did_so_had_all)
{
  rclrt_config::Chain chain = look_and_act();
  chain.links[1].inputs = 2;
  ChainWatch watch(chain);
  for (uint64_t i = 0; i < 2; ++i) {
    const auto at = static_cast<int64_t>(10 * i);
    look(watch, 10 * i + 1, at);
    input(watch, 10 * i + 2, 7, 10 * i + 1, at + 3);
    input(watch, 10 * i + 3, 8, 0, at + 5);  // what came does not fit together
    watch.add_publication({5, i}, key(10 * i + 4), at * kMs + 8 * kMs);
    input(watch, 10 * i + 4, 8, 0, at + 8);
    watch.settle((at + 9) * kMs);
  }
  EXPECT_EQ(watch.report().instances, 1u);
  EXPECT_EQ(watch.report().last, milliseconds(8));
}

TEST(ChainWatch, forgets_what_is_old)
{
  ChainWatch watch(look_and_act());
  look(watch, 1, 0);
  watch.settle(60'000 * kMs);
  act(watch, 2, 1, 60'001);
  watch.settle(70'000 * kMs);
  look(watch, 3, 70'000);
  act(watch, 4, 3, 70'004);
  watch.settle(70'010 * kMs);
  EXPECT_EQ(watch.report().instances, 0u) << "job 1 was forgotten, so job 2 is no output";
}

// ---- What a proof takes for granted, held against jobs and threads: each thing is told once, with the chains it breaks.

using rclrt_core::Attributes;
using rclrt_core::SchedulingPolicy;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

class AssumptionsTest : public ::testing::Test
{
protected:
  static rclrt_config::Configuration configuration()
  {
    rclrt_config::Machine machine;
    machine.cpu_count = 2;
    rclrt_config::Configuration parsed;
    const auto status = parsed.parse(
      "/**:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
      "        /a/timer/x: {scheduling_policy: fifo, priority: 7, cpu_affinity: [0], wcet: 3ms, "
      "min_period: 10ms, response_bound: 5ms}\n"
      "        /b/timer/x: {cpu_affinity: [1], wcet: 1ms}\n"
      "        /d/timer/x: {scheduling_policy: deadline, runtime: 3ms, deadline: 9ms, period: 9ms, "
      "wcet: 3ms}\n"
      "      chains:\n"
      "        of a: {callbacks: [/a/timer/x], bound: 5ms}\n"
      "        of b: {callbacks: [/b/timer/x], bound: 5ms}\n",
      "f", machine);
    EXPECT_TRUE(status.ok()) << status.message();
    return parsed;
  }

  /// A job of /a/timer/x as the file says it is.
  static rclrt_job_record job()
  {
    rclrt_job_record record{};
    record.release_ns = record.ready_ns = record.start_ns = 100 * kMs;
    record.end_ns = 103 * kMs;
    record.cpu_ns = 3 * kMs;
    record.callback = 1;
    record.thread = 77;
    record.policy = RCLRT_POLICY_FIFO;
    record.priority = 7;
    record.jobs = 1;
    return record;
  }
  template <typename Change>
  static rclrt_job_record but(Change change)
  {
    rclrt_job_record record = job();
    change(record);
    return record;
  }
  void add(const std::vector<rclrt_job_record> & records)
  {
    assumptions_.add({{1, "/a/timer/x"}, {2, "/b/timer/x"}, {3, "/c/timer/x"}}, records);
    assumptions_.settle(INT64_MAX);
  }
  void look(SchedulingPolicy policy, int priority, rclrt_core::ThreadId id = 77, int times = 3)
  {
    rclrt_core::ThreadReport thread;
    thread.id = id;
    thread.name = "worker";
    thread.in_force.policy = policy;
    thread.in_force.priority = priority;
    for (int i = 0; i < times; ++i) {
      assumptions_.look_at_threads({thread}, [this](const Attributes & attributes) {
        asked_.push_back(attributes.priority);
        return outranked_;
      });
    }
  }
  std::vector<std::string> told() const
  {
    std::vector<std::string> lines;
    for (const Broken & broken : broken_) {
      std::string line = broken.who + " " + broken.text + " |";
      for (const std::string & chain : broken.chains) {
        line += " " + chain;
      }
      lines.push_back(line);
    }
    return lines;
  }

  const rclrt_config::Configuration configuration_ = configuration();
  std::vector<Broken> broken_;
  std::vector<std::string> outranked_;
  std::vector<int> asked_;
  Assumptions assumptions_{
    configuration_, [this](const Broken & broken) { broken_.push_back(broken); }};
};

TEST_F(AssumptionsTest, nothing_is_told_of_what_is_as_the_file_says)
{
  EXPECT_TRUE(assumptions_.has_proof());
  add({job(), but([](auto & r) {
         r.release_ns += 10 * kMs;
         r.end_ns += 10 * kMs;
       })});
  add({but([](auto & r) {
    r.cpu_ns = RCLRT_TRACE_UNKNOWN;
    r.release_ns += 20 * kMs;
    r.end_ns += 20 * kMs;
  })});
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(AssumptionsTest, each_kind_is_told_once_with_the_chains_on_the_same_cpu)
{
  const auto longer = but([](auto & r) {
    r.cpu_ns = 4 * kMs;
    r.release_ns = 0;
  });
  add({longer});
  add({longer});
  EXPECT_THAT(
    told(), ElementsAre(
              "/a/timer/x took 103 ms; its bound is 5 ms | of a",
              "/a/timer/x runs for 4 ms; the file says 3 ms | of a",
              "/a/timer/x is released 0 ms after the last time; the file says 10 ms | of a"));
}

TEST_F(AssumptionsTest, releases_that_come_closer_are_told_also_if_their_records_come_late)
{
  const auto at = [](int64_t ms) {
    return but([ms](auto & r) {
      r.release_ns = r.start_ns = ms * kMs;
      r.end_ns = r.start_ns + 1;
    });
  };
  assumptions_.add({{1, "/a/timer/x"}}, {at(120)});
  assumptions_.settle(110 * kMs);
  assumptions_.add({{1, "/a/timer/x"}}, {at(100), at(110)});
  assumptions_.settle(130 * kMs);
  EXPECT_THAT(told(), IsEmpty());
  assumptions_.add({{1, "/a/timer/x"}}, {at(129)});
  assumptions_.settle(140 * kMs);
  EXPECT_THAT(
    told(),
    ElementsAre("/a/timer/x is released 9 ms after the last time; the file says 10 ms | of a"));
}

TEST_F(AssumptionsTest, what_is_in_force_is_held_against_the_file)
{
  add({but([](auto & r) { r.policy = RCLRT_POLICY_OTHER; })});
  add({but([](auto & r) {
    r.priority = 6;
    r.release_ns += 10 * kMs;
    r.end_ns += 10 * kMs;
  })});
  add({but([](auto & r) {
    r.cpu = 1;
    r.release_ns += 20 * kMs;
    r.end_ns += 20 * kMs;
  })});
  EXPECT_THAT(
    told(), ElementsAre(
              "/a/timer/x runs under other, which any program may preempt | of a",
              "/a/timer/x runs under fifo 6; the file says 7 | of a",
              "/a/timer/x runs on CPU 1; the file says 0 | of a"));
}

TEST_F(AssumptionsTest, a_reservation_is_held_against_the_file)
{
  const auto job_of_d = [](uint8_t policy) {
    return but([policy](auto & r) {
      r.callback = 4;
      r.policy = policy;
    });
  };
  assumptions_.add({{4, "/d/timer/x"}}, {job_of_d(RCLRT_POLICY_DEADLINE)});
  EXPECT_THAT(told(), IsEmpty());
  assumptions_.add({{4, "/d/timer/x"}}, {job_of_d(RCLRT_POLICY_FIFO)});
  EXPECT_THAT(
    told(), ElementsAre(StartsWith("/d/timer/x runs under fifo; the file says deadline")));
}

TEST_F(AssumptionsTest, jobs_that_did_not_run_and_callbacks_that_are_not_planned_are_told)
{
  add({but([](auto & r) {
    r.outcome = RCLRT_JOB_DROPPED;
    r.jobs = 4;
  })});
  add({but([](auto & r) {
    r.callback = 3;
    r.policy = RCLRT_POLICY_OTHER;
  })});
  add({but([](auto & r) { r.callback = 3; })});
  EXPECT_THAT(
    told(), ElementsAre(
              "/a/timer/x 4 of its jobs did not run | of a",
              "/c/timer/x is not in the plan, and runs in real time | of a of b"));
}

TEST_F(AssumptionsTest, a_thread_that_has_lost_its_priority_is_told_at_the_third_look)
{
  add({job()});
  look(SchedulingPolicy::kFifo, 7);
  look(SchedulingPolicy::kFifo, 80);
  look(SchedulingPolicy::kOther, 0, 77, 2);
  EXPECT_THAT(told(), IsEmpty()) << "lent is more, and one look may be in the middle of a change";
  look(SchedulingPolicy::kOther, 0, 77, 1);
  look(SchedulingPolicy::kFifo, 6, 77, 3);
  EXPECT_THAT(
    told(), ElementsAre("/a/timer/x thread 77 has other 0, which no job asked for | of a"));
}

/// It lowers itself for a job before it takes it, and another thread may take that job.
TEST_F(AssumptionsTest, a_thread_may_have_what_a_job_of_another_thread_has_asked_for)
{
  add({job(), but([](auto & r) {
         r.thread = 78;
         r.priority = 60;
       })});
  std::vector<rclrt_core::ThreadReport> threads(2);
  threads[0].id = 77;
  threads[1].id = 78;
  const auto look_at_both = [&](int priority) {
    for (auto & thread : threads) {
      thread.in_force.policy = SchedulingPolicy::kFifo;
      thread.in_force.priority = priority;
    }
    for (int i = 0; i < 3; ++i) {
      assumptions_.look_at_threads(
        threads, [](const Attributes &) { return std::vector<std::string>(); });
    }
    const auto lines = told();
    return std::count_if(lines.begin(), lines.end(), [](const std::string & line) {
      return line.find("which no job asked for") != std::string::npos;
    });
  };
  EXPECT_EQ(look_at_both(7), 0);
  EXPECT_EQ(look_at_both(6), 2);
}

TEST_F(AssumptionsTest, a_thread_without_jobs_that_is_not_real_time_any_more_is_told)
{
  look(SchedulingPolicy::kOther, 0, 5);
  EXPECT_THAT(told(), IsEmpty());
  look(SchedulingPolicy::kFifo, 90, 5, 1);
  look(SchedulingPolicy::kOther, 0, 5);
  EXPECT_THAT(told(), ElementsAre(" thread 5 'worker' is not real-time any more | of a of b"));
}

TEST_F(AssumptionsTest, a_thread_of_the_middleware_below_its_readers_is_told)
{
  add({job()});
  outranked_ = {"dds.udp.7"};
  look(SchedulingPolicy::kFifo, 7);
  EXPECT_THAT(asked_, ElementsAre(7, 7, 7));
  EXPECT_THAT(
    told(),
    ElementsAre(
      "/a/timer/x the middleware's thread dds.udp.7 is not more urgent than this callback | of a"));
}

}  // namespace
}  // namespace rclrt_front_end
