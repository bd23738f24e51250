// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What an instance of a chain is, when it misses, and what becomes of data that do not come out. That the numbers are
// those of ./rclrt watch is tested in see/rclrt_tools/test/test_watch_inside.py.

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace rclrt_front_end
