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

struct Numbered
{
  int64_t release_ns;
  uint64_t number;
};

JobLog numbered(const std::vector<Numbered> & jobs)
{
  JobLog log(jobs.size());
  for (const Numbered & one : jobs) {
    JobSample job;
    job.release_ns = one.release_ns;
    job.in_sequence = one.number;
    log.add(job);
  }
  return log;
}

TEST(LostReleases, are_the_periods_of_the_window_that_have_no_job)
{
  const struct
  {
    const char * about;
    std::initializer_list<int64_t> releases;
    int64_t period;
    uint64_t lost;
  } rows[] = {
    {"all", {900, 1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900}, 100, 0},
    {"gaps", {1000, 1500, 1900}, 100, 4 + 3},
    {"nominal times that are a little off", {1002, 1099, 1297, 1398, 1900}, 100, 1 + 4},
    {"those missing at the end, but for one that may wait", {1000, 1100}, 100, 8},
    {"the one that may wait", {1810}, 100, 0},
    {"none has run", {}, 100, 9},
    {"what happened before the window", {100, 900, 1000, 1900}, 900, 0},
  };
  for (const auto & row : rows) {
    EXPECT_EQ(lost_releases(released_at(row.releases), Duration(row.period), kWindow), row.lost)
      << row.about;
  }
}

TEST(LostSamples, are_gaps_in_the_numbers_and_what_the_publisher_sent_since)
{
  const struct
  {
    const char * about;
    std::vector<Numbered> jobs;
    uint64_t published;
    uint32_t depth;
    uint64_t lost;
  } rows[] = {
    {"no gap", {{1000, 1}, {1001, 2}, {1002, 3}}, 0, 1, 0},
    {"gaps", {{1000, 1}, {1001, 2}, {1002, 5}, {1003, 6}, {1004, 8}}, 0, 1, 3},
    {"nothing is known before the first", {{1000, 5}, {1001, 6}}, 0, 1, 0},
    {"a gap across the begin of the window", {{100, 1}, {200, 5}, {1100, 8}}, 0, 1, 2},
    {"nothing since", {{1000, 1}, {1001, 2}}, 2, 1, 0},
    {"one since, which may wait", {{1000, 1}, {1001, 2}}, 3, 1, 0},
    {"more since", {{1000, 1}, {1001, 2}}, 7, 1, 4},
    {"more since, which may all wait", {{1000, 1}, {1001, 2}}, 7, 10, 0},
    {"starved all along", {}, 7, 1, 6},
  };
  for (const auto & row : rows) {
    EXPECT_EQ(lost_samples(numbered(row.jobs), row.published, row.depth, kWindow), row.lost)
      << row.about;
  }
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

TEST(ExecutorChoice, decides_what_a_callback_asks_of_the_os_and_what_of_its_queue)
{
  PlannedCallback urgent;
  urgent.priority = 42;
  urgent.deadline = std::chrono::milliseconds(7);
  ScenarioNode node;
  node.cpu_affinity = rclrt_core::CpuSet({0});
  const struct
  {
    const char * name;
    SchedulingPolicy policy;
    int priority;
  } ours[] = {
    {"preemptive", SchedulingPolicy::kFifo, 42},
    {"isolated", SchedulingPolicy::kFifo, 42},
    {"preemptive_hot", SchedulingPolicy::kFifo, 42},
    {"priority_events", SchedulingPolicy::kFifo, 50},
    {"preemptive_edf", SchedulingPolicy::kExt, 0},
  };
  for (const auto & row : ours) {
    const rclrt_rcl::Scheduling asked = scheduling_for(chosen(row.name), urgent, {});
    EXPECT_EQ(asked.attributes.scheduling_policy, row.policy) << row.name;
    EXPECT_EQ(asked.attributes.priority, row.priority) << row.name;
  }
  const rclrt_rcl::Scheduling queued = scheduling_for(chosen("priority_events"), urgent, {});
  EXPECT_EQ(queued.queue_priority, 42);
  for (const char * name : {"priority_events", "preemptive_edf"}) {
    const rclrt_rcl::Scheduling asked = scheduling_for(chosen(name), urgent, {});
    EXPECT_EQ(asked.relative_deadline, urgent.deadline) << name;
  }
  for (const char * baseline : {"wait_set_single", "wait_set_multi", "static", "events_fifo"}) {
    const rclrt_rcl::Scheduling asked = scheduling_for(chosen(baseline), urgent, node);
    EXPECT_EQ(asked.attributes, rclrt_core::Attributes()) << baseline;
  }
}

}  // namespace

}  // namespace rclrt_reference_system
