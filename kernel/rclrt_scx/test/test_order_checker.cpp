// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "order_checker.hpp"

namespace
{

using rclrt_scx::check_order;
using Events = std::vector<rclrt_scx_event>;

constexpr uint64_t kBoundNs = 100;
constexpr uint64_t kBackground = RCLRT_SCX_RUNS_BACKGROUND;

rclrt_scx_event event(
  uint64_t time_ns, rclrt_scx_event_type type, uint32_t tid, uint64_t key, uint16_t cpu = 0,
  uint64_t allowed = 3)
{
  return {time_ns, key, allowed, tid, cpu, static_cast<uint16_t>(type)};
}

/// Thread 1 (deadline 1000) runs from 10 to 1000; thread 2 (deadline 2000) waits from 20 and follows.
Events good()
{
  return {event(0, RCLRT_SCX_QUEUED, 1, 1000),   event(10, RCLRT_SCX_RUNS, 1, 1000),
          event(20, RCLRT_SCX_QUEUED, 2, 2000),  event(1000, RCLRT_SCX_STOPS, 1, 1000),
          event(1000, RCLRT_SCX_LEFT, 1, 1000),  event(1010, RCLRT_SCX_RUNS, 2, 2000),
          event(1500, RCLRT_SCX_STOPS, 2, 2000), event(1500, RCLRT_SCX_LEFT, 2, 2000)};
}

TEST(OrderChecker, accepts_order_and_counts_what_it_saw)
{
  const auto result = check_order(good(), kBoundNs);
  EXPECT_TRUE(result.violations.empty());
  EXPECT_EQ(result.waits, 2U);
  EXPECT_EQ(result.switches, 2U);
}

TEST(OrderChecker, finds_an_earlier_thread_that_waits_while_a_later_one_runs)
{
  Events events = good();
  events[2].key = 500;  // Earlier than the one that runs.
  const auto result = check_order(events, kBoundNs);
  ASSERT_EQ(result.violations.size(), 1U);
  EXPECT_EQ(result.violations[0].waiting, 2U);
  EXPECT_EQ(result.violations[0].running, 1U);
  EXPECT_EQ(result.violations[0].from_ns, 20U);
  EXPECT_EQ(result.violations[0].until_ns, 1000U);
}

TEST(OrderChecker, forgives_an_inversion_as_long_as_the_bound_and_tells_the_longest)
{
  Events events = good();
  events[2].key = 500;
  EXPECT_TRUE(check_order(events, 980).violations.empty());
  EXPECT_EQ(check_order(events, 980).longest_ns, 980U);
  EXPECT_EQ(check_order(events, 979).violations.size(), 1U);
}

TEST(OrderChecker, finds_background_that_runs_while_a_deadline_waits)
{
  const Events events = {
    event(0, RCLRT_SCX_RUNS, 9, kBackground), event(10, RCLRT_SCX_QUEUED, 1, 1000),
    event(500, RCLRT_SCX_STOPS, 9, kBackground)};
  EXPECT_EQ(check_order(events, kBoundNs).violations.size(), 1U);
}

TEST(OrderChecker, allows_a_turn_of_the_reserve)
{
  const Events events = {
    event(0, RCLRT_SCX_RESERVE, 9, kBackground), event(10, RCLRT_SCX_QUEUED, 1, 1000),
    event(500, RCLRT_SCX_STOPS, 9, kBackground), event(510, RCLRT_SCX_RUNS, 1, 1000)};
  EXPECT_TRUE(check_order(events, kBoundNs).violations.empty());
}

TEST(OrderChecker, looks_at_every_cpu_but_only_at_those_where_the_thread_may_run)
{
  const auto on_two_cpus = [](uint64_t allowed) {
    return Events{
      event(0, RCLRT_SCX_RUNS, 1, 1000, 0), event(0, RCLRT_SCX_RUNS, 2, 5000, 1),
      event(10, RCLRT_SCX_QUEUED, 3, 3000, 0, allowed), event(900, RCLRT_SCX_STOPS, 2, 5000, 1)};
  };
  EXPECT_EQ(check_order(on_two_cpus(3), kBoundNs).violations.size(), 1U);
  EXPECT_EQ(check_order(on_two_cpus(2), kBoundNs).violations.size(), 1U);
  EXPECT_TRUE(check_order(on_two_cpus(1), kBoundNs).violations.empty());
}

TEST(OrderChecker, follows_a_deadline_that_changes_while_the_thread_waits)
{
  Events events = good();
  // Promoted above the running one at 300, and still not run.
  events.insert(events.begin() + 3, event(300, RCLRT_SCX_QUEUED, 2, 500));
  const auto result = check_order(events, kBoundNs);
  ASSERT_EQ(result.violations.size(), 1U);
  EXPECT_EQ(result.violations[0].from_ns, 300U);
}

TEST(OrderChecker, lets_go_of_one_that_waits_without_a_deadline_now)
{
  const Events events = {
    event(0, RCLRT_SCX_RUNS, 1, 1000), event(10, RCLRT_SCX_QUEUED, 2, 500),
    event(50, RCLRT_SCX_QUEUED, 2, kBackground), event(5000, RCLRT_SCX_STOPS, 1, 1000)};
  const auto result = check_order(events, kBoundNs);
  EXPECT_TRUE(result.violations.empty());
  EXPECT_EQ(result.waits, 1U);
  EXPECT_EQ(result.longest_ns, 40U);
}

TEST(OrderChecker, sees_an_inversion_that_never_ends)
{
  const Events events = {
    event(0, RCLRT_SCX_RUNS, 1, 1000), event(10, RCLRT_SCX_QUEUED, 2, 500),
    event(5000, RCLRT_SCX_QUEUED, 3, 9000)};
  EXPECT_EQ(check_order(events, kBoundNs).violations.size(), 1U);
}

TEST(OrderChecker, sorts_events_that_cpus_delivered_out_of_order)
{
  Events events = good();
  std::swap(events[0], events[5]);
  std::swap(events[1], events[3]);
  EXPECT_TRUE(check_order(events, kBoundNs).violations.empty());
}

TEST(OrderChecker, reads_what_it_wrote)
{
  std::stringstream file;
  rclrt_scx::write_events(file, good(), 0);
  Events events;
  EXPECT_EQ(rclrt_scx::read_events(file, events), "");
  ASSERT_EQ(events.size(), good().size());
  EXPECT_EQ(events[5].time_ns, 1010U);
  EXPECT_EQ(events[5].allowed, 3U);
  EXPECT_EQ(events[5].type, RCLRT_SCX_RUNS);
}

TEST(OrderChecker, refuses_records_with_losses_other_files_and_bad_lines)
{
  Events events;
  std::stringstream lossy;
  rclrt_scx::write_events(lossy, good(), 3);
  EXPECT_THAT(rclrt_scx::read_events(lossy, events), testing::HasSubstr("events were lost"));
  std::stringstream other("hello\n");
  EXPECT_THAT(rclrt_scx::read_events(other, events), testing::HasSubstr("line 1"));
  std::stringstream bad("rclrt_scx events 1 lost 0\n1 2 3 4 5 2\n1 2 3 4 5 9\n");
  EXPECT_THAT(rclrt_scx::read_events(bad, events), testing::HasSubstr("line 3"));
}

}  // namespace
