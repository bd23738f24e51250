// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include <initializer_list>
#include <vector>

#include "executor_choice.hpp"
#include "report.hpp"

namespace rclrt_reference_system
{

namespace
{

using rclrt_core::Duration;
using rclrt_core::SchedulingPolicy;
using testing::HasSubstr;

constexpr Window kWindow{1000, 2000};

JobLog released_at(std::initializer_list<int64_t> times)
{
  JobLog log(times.size());
  for (const int64_t time : times) {
    JobSample job;
    job.release_ns = time;
    job.start_ns = time;
    job.end_ns = time + 10;
    log.add(job);
  }
  return log;
}

JobLog numbered(std::initializer_list<uint64_t> numbers, int64_t first_ns = 1000)
{
  JobLog log(numbers.size());
  for (const uint64_t number : numbers) {
    JobSample job;
    job.release_ns = first_ns++;
    job.in_sequence = number;
    log.add(job);
  }
  return log;
}

TEST(LostReleases, none_when_every_period_has_its_job)
{
  EXPECT_EQ(
    lost_releases(
      released_at({900, 1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900}), Duration(100),
      kWindow),
    0u);
}

TEST(LostReleases, gaps_count_also_when_nominal_times_are_a_little_off)
{
  EXPECT_EQ(lost_releases(released_at({1000, 1500, 1900}), Duration(100), kWindow), 4u + 3u);
  EXPECT_EQ(
    lost_releases(released_at({1002, 1099, 1301, 1398, 1900}), Duration(100), kWindow), 1u + 4u);
}

TEST(LostReleases, those_missing_at_the_end_count_but_for_the_one_that_may_wait)
{
  EXPECT_EQ(lost_releases(released_at({1000, 1100}), Duration(100), kWindow), 8u);
  EXPECT_EQ(lost_releases(released_at({1810}), Duration(100), kWindow), 0u);
  EXPECT_EQ(lost_releases(released_at({}), Duration(100), kWindow), 9u);
}

TEST(LostReleases, what_happened_before_the_window_does_not_count)
{
  EXPECT_EQ(lost_releases(released_at({100, 900, 1000, 1900}), Duration(900), kWindow), 0u);
}

TEST(LostSamples, gaps_in_the_numbers_count)
{
  EXPECT_EQ(lost_samples(numbered({1, 2, 3}), 0, 1, kWindow), 0u);
  EXPECT_EQ(lost_samples(numbered({1, 2, 5, 6, 8}), 0, 1, kWindow), 3u);
  EXPECT_EQ(lost_samples(numbered({5, 6}), 0, 1, kWindow), 0u)
    << "nothing is known before the first";
}

TEST(LostSamples, gaps_before_the_window_do_not_count_but_one_across_its_begin_does)
{
  JobLog log(3);
  for (const auto & [time, number] :
       std::initializer_list<std::pair<int64_t, uint64_t>>{{100, 1}, {200, 5}, {1100, 8}}) {
    JobSample job;
    job.release_ns = time;
    job.in_sequence = number;
    log.add(job);
  }
  EXPECT_EQ(lost_samples(log, 0, 1, kWindow), 2u);
}

TEST(LostSamples, what_the_publisher_sent_since_counts_but_for_what_may_still_wait)
{
  EXPECT_EQ(lost_samples(numbered({1, 2}), 2, 1, kWindow), 0u);
  EXPECT_EQ(lost_samples(numbered({1, 2}), 3, 1, kWindow), 0u);
  EXPECT_EQ(lost_samples(numbered({1, 2}), 7, 1, kWindow), 4u);
  EXPECT_EQ(lost_samples(numbered({1, 2}), 7, 10, kWindow), 0u);
  EXPECT_EQ(lost_samples(numbered({}), 7, 1, kWindow), 6u) << "starved all along";
}

TEST(MissedDeadlines, counts_jobs_of_the_window_that_end_too_late)
{
  const JobLog log = released_at({900, 1000, 1100});
  EXPECT_EQ(missed_deadlines(log, Duration(10), kWindow), 0u);
  EXPECT_EQ(missed_deadlines(log, Duration(9), kWindow), 2u);
}

TEST(Summary, has_the_middle_and_the_longest_of_many)
{
  std::vector<int64_t> times_ns;
  for (int64_t i = 200; i > 0; --i) {
    times_ns.push_back(i * 1'000'000);
  }
  const nlohmann::json seen = summary_of(times_ns);
  EXPECT_EQ(seen["count"], 200);
  EXPECT_EQ(seen["median_ms"], 101.0);
  EXPECT_EQ(seen["p99_ms"], 199.0);
  EXPECT_EQ(seen["longest_ms"], 200.0);
  EXPECT_TRUE(summary_of({})["longest_ms"].is_null());
}

TEST(HotPathSample, its_clock_starts_when_the_first_of_its_data_was_received)
{
  HotPathSample sample;
  sample.origins[0].sequence = 3;
  sample.origins[0].received_ns = 70;
  sample.origins[1].sequence = 3;
  sample.origins[1].received_ns = 50;
  EXPECT_EQ(received_ns(sample), 50);
}

ExecutorChoice chosen(const std::string & name, const std::string & policy = "")
{
  ExecutorChoice choice;
  const rclrt_core::Status status = choose_executor(name, policy, "", &choice);
  EXPECT_TRUE(status.ok()) << status.message();
  return choice;
}

std::string refusal(
  const std::string & name, const std::string & policy = "", const std::string & file = "")
{
  ExecutorChoice choice;
  return choose_executor(name, policy, file, &choice).message();
}

PlannedCallback urgent()
{
  PlannedCallback callback;
  callback.priority = 42;
  callback.deadline = std::chrono::milliseconds(7);
  return callback;
}

TEST(ExecutorChoice, every_name_can_be_chosen)
{
  for (const std::string & name : executor_names()) {
    EXPECT_EQ(chosen(name).name, name);
  }
}

TEST(ExecutorChoice, an_unknown_name_is_refused_and_the_known_ones_listed)
{
  EXPECT_THAT(refusal("preemtive"), HasSubstr("unknown executor 'preemtive'. Use one of: "));
  EXPECT_THAT(refusal(""), HasSubstr("wait_set_single, wait_set_multi, static, events_fifo, "));
  EXPECT_THAT(refusal("preemptive", "lifo"), HasSubstr("unknown policy 'lifo'"));
  EXPECT_THAT(refusal("static", "rm"), HasSubstr("executor 'static' has no policy 'rm'"));
  EXPECT_THAT(refusal("static", "", "x.yaml"), HasSubstr("takes no parameters file"));
}

TEST(ExecutorChoice, the_pool_and_the_isolated_threads_ask_the_os_for_the_priority)
{
  for (const char * name : {"preemptive", "isolated", "preemptive_hot"}) {
    const rclrt_rcl::Scheduling asked = scheduling_for(chosen(name), urgent(), {});
    EXPECT_EQ(asked.attributes.scheduling_policy, SchedulingPolicy::kFifo) << name;
    EXPECT_EQ(asked.attributes.priority, 42) << name;
  }
}

TEST(ExecutorChoice, where_the_executor_orders_jobs_all_callbacks_share_one_os_priority)
{
  const rclrt_rcl::Scheduling asked = scheduling_for(chosen("priority_events"), urgent(), {});
  EXPECT_EQ(asked.attributes.scheduling_policy, SchedulingPolicy::kFifo);
  EXPECT_EQ(asked.attributes.priority, 50);
  EXPECT_EQ(asked.queue_priority, 42);
  EXPECT_EQ(asked.relative_deadline, std::chrono::milliseconds(7));
}

TEST(ExecutorChoice, under_preemptive_edf_the_os_orders_by_deadline)
{
  const rclrt_rcl::Scheduling asked = scheduling_for(chosen("preemptive_edf"), urgent(), {});
  EXPECT_EQ(asked.attributes.scheduling_policy, SchedulingPolicy::kExt);
  EXPECT_EQ(asked.attributes.priority, 0);
  EXPECT_EQ(asked.relative_deadline, std::chrono::milliseconds(7));
}

TEST(ExecutorChoice, a_baseline_asks_for_nothing)
{
  ScenarioNode node;
  node.cpu_affinity = rclrt_core::CpuSet({0});
  for (const char * name : {"wait_set_single", "wait_set_multi", "static", "events_fifo"}) {
    const rclrt_rcl::Scheduling asked = scheduling_for(chosen(name), urgent(), node);
    EXPECT_EQ(asked.attributes, rclrt_core::Attributes()) << name;
  }
}

}  // namespace

}  // namespace rclrt_reference_system
