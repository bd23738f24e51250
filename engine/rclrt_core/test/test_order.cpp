// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Attributes and priorities of callbacks, and how many of their jobs wait.

#include <gmock/gmock.h>

#include <cerrno>
#include <deque>
#include <functional>
#include <random>
#include <vector>

#include "../src/order/ready.hpp"
#include "engine_on_sim.hpp"
#include "rclrt_core/attributes.hpp"
#include "rclrt_core/policy.hpp"
#include "rclrt_core/status.hpp"

namespace rclrt_core
{
namespace
{

Attributes other(int nice)
{
  Attributes attributes = with_policy(SchedulingPolicy::kOther);
  attributes.nice = nice;
  return attributes;
}

Attributes deadline(Duration runtime, Duration deadline, Duration period)
{
  Attributes attributes = with_policy(SchedulingPolicy::kDeadline);
  attributes.runtime = runtime;
  attributes.deadline = deadline;
  attributes.period = period;
  return attributes;
}

std::string complaint(const Attributes & attributes)
{
  return validate(attributes, 4, "callback 'a'").message();
}

TEST(CpuSet, text_is_as_in_configuration_files)
{
  EXPECT_EQ(CpuSet().to_string(), "");
  EXPECT_EQ(CpuSet({3}).to_string(), "3");
  EXPECT_EQ(CpuSet({3, 0, 2}).to_string(), "0,2-3");
  EXPECT_EQ(CpuSet({63, 64, 65, 1023}).to_string(), "63-65,1023");
}

TEST(CpuSet, numbers_out_of_range_are_no_members_but_are_not_forgotten)
{
  const CpuSet set({5, 1024});
  EXPECT_EQ(set.cpus(), std::vector<int>({5}));
  EXPECT_FALSE(set.contains(1024));
  EXPECT_EQ(set.to_string(), "5,1024");
  EXPECT_NE(set, CpuSet({5}));
  EXPECT_FALSE(CpuSet({-1}).contains(-1));
  EXPECT_FALSE(CpuSet({-1}).empty());  // empty would mean: do not touch the affinity
}

TEST(CpuSet, equality_is_of_the_members)
{
  EXPECT_EQ(CpuSet({1, 2}), CpuSet({2, 1, 1}));
  EXPECT_NE(CpuSet({1}), CpuSet({1, 1000}));
  EXPECT_TRUE(CpuSet().empty());
  EXPECT_FALSE(CpuSet({1000}).empty());
}

TEST(Attributes, urgency_orders_all_policies_strictly)
{
  const std::vector<Attributes> most_urgent_first = {
    deadline(milliseconds(1), milliseconds(5), milliseconds(10)),
    deadline(milliseconds(1), milliseconds(6), milliseconds(7)),
    fifo(99),
    fifo(1),
    other(-20),
    other(0),
    other(19),
    with_policy(SchedulingPolicy::kIdle),
  };
  for (std::size_t i = 0; i < most_urgent_first.size(); ++i) {
    for (std::size_t j = 0; j < most_urgent_first.size(); ++j) {
      EXPECT_EQ(more_urgent(most_urgent_first[i], most_urgent_first[j]), i < j) << i << " " << j;
    }
  }
}

TEST(Attributes, equality_is_of_every_field)
{
  const std::vector<std::function<void(Attributes &)>> changes = {
    [](Attributes & a) { a.scheduling_policy = SchedulingPolicy::kFifo; },
    [](Attributes & a) { a.priority = 1; },
    [](Attributes & a) { a.nice = 1; },
    [](Attributes & a) { a.runtime = Duration(1); },
    [](Attributes & a) { a.deadline = Duration(1); },
    [](Attributes & a) { a.period = Duration(1); },
    [](Attributes & a) { a.cpu_affinity = CpuSet({0}); },
    [](Attributes & a) { a.inherited_by_children = true; },
  };
  for (const auto & change : changes) {
    Attributes changed;
    change(changed);
    EXPECT_TRUE(changed != Attributes()) << &change - changes.data();
    Attributes same;
    change(same);
    EXPECT_TRUE(changed == same) << &change - changes.data();
  }
}

TEST(Attributes, fifo_and_rr_are_equally_urgent_and_unchanged_counts_as_nice_0)
{
  Attributes rr = with_policy(SchedulingPolicy::kRoundRobin);
  rr.priority = 7;
  EXPECT_FALSE(more_urgent(rr, fifo(7)));
  EXPECT_FALSE(more_urgent(fifo(7), rr));
  EXPECT_FALSE(more_urgent(Attributes(), other(0)));
  EXPECT_FALSE(more_urgent(other(0), Attributes()));
  EXPECT_TRUE(more_urgent(Attributes(), other(1)));
}

TEST(Attributes, text_says_policy_parameters_and_cpus)
{
  Attributes pinned = fifo(50);
  pinned.cpu_affinity = CpuSet({0, 1});
  EXPECT_EQ(to_string(pinned), "fifo, priority 50, cpu_affinity 0-1");
  EXPECT_EQ(to_string(other(-3)), "other, nice -3");
  EXPECT_EQ(to_string(Attributes()), "unchanged");
  EXPECT_EQ(
    to_string(deadline(milliseconds(1), milliseconds(2), milliseconds(3))),
    "deadline, runtime 1000000 ns, deadline 2000000 ns, period 3000000 ns");
}

TEST(Attributes, sensible_values_are_valid)
{
  EXPECT_EQ(complaint(Attributes()), "");
  EXPECT_EQ(complaint(fifo(1)), "");
  EXPECT_EQ(complaint(fifo(99)), "");
  EXPECT_EQ(complaint(other(-20)), "");
  EXPECT_EQ(complaint(other(19)), "");
  EXPECT_EQ(complaint(with_policy(SchedulingPolicy::kIdle)), "");
  EXPECT_EQ(complaint(deadline(milliseconds(1), milliseconds(1), milliseconds(1))), "");
  Attributes pinned;
  pinned.cpu_affinity = CpuSet({0, 3});
  EXPECT_EQ(complaint(pinned), "");
}

TEST(Attributes, complaint_names_subject_field_value_and_range)
{
  EXPECT_EQ(
    complaint(fifo(0)), "callback 'a': priority is 0, must be 1 to 99 (scheduling_policy fifo)");
  EXPECT_EQ(
    complaint(fifo(100)),
    "callback 'a': priority is 100, must be 1 to 99 (scheduling_policy fifo)");
  EXPECT_EQ(
    complaint(other(20)), "callback 'a': nice is 20, must be -20 to 19 (scheduling_policy other)");
  Attributes pinned;
  pinned.cpu_affinity = CpuSet({1, 4});
  EXPECT_EQ(
    complaint(pinned),
    "callback 'a': cpu_affinity names CPU 4, but this machine has CPUs 0 to 3 "
    "(scheduling_policy unchanged)");
}

TEST(Attributes, cpus_that_no_machine_has_are_refused_too)
{
  for (const int cpu : {-1, 1024, 5000}) {
    Attributes pinned;
    pinned.cpu_affinity = CpuSet({0, cpu});
    EXPECT_EQ(
      complaint(pinned), "callback 'a': cpu_affinity names CPU " + std::to_string(cpu) +
                           ", but this machine has CPUs 0 to 3 (scheduling_policy unchanged)");
  }
}

TEST(Attributes, runtime_deadline_and_period_must_not_decrease)
{
  EXPECT_EQ(
    complaint(deadline(Duration(1023), milliseconds(1), milliseconds(1))),
    "callback 'a': runtime is 1023 ns, must be at least 1024 ns "
    "(scheduling_policy deadline)");
  EXPECT_EQ(
    complaint(deadline(milliseconds(2), milliseconds(1), milliseconds(3))),
    "callback 'a': deadline is 1000000 ns, must be at least the runtime, 2000000 ns "
    "(scheduling_policy deadline)");
  EXPECT_EQ(
    complaint(deadline(milliseconds(1), milliseconds(2), Duration(0))),
    "callback 'a': period is 0 ns, must be at least the deadline, 2000000 ns "
    "(scheduling_policy deadline)");
}

TEST(Attributes, parameters_of_another_policy_are_refused_not_ignored)
{
  Attributes attributes = other(0);
  attributes.priority = 5;
  EXPECT_THAT(complaint(attributes), ::testing::HasSubstr("priority is 5, but only"));
  attributes = fifo(1);
  attributes.nice = 5;
  EXPECT_THAT(complaint(attributes), ::testing::HasSubstr("nice is 5, but only"));
  attributes = fifo(1);
  attributes.period = milliseconds(5);
  EXPECT_THAT(complaint(attributes), ::testing::HasSubstr("period is 5000000 ns, but only"));
}

TEST(Finding, text_has_subject_what_errno_and_fix)
{
  EXPECT_EQ(
    to_string(Finding{"worker", "asked for fifo", EPERM, "Do this"}),
    "worker: asked for fifo (Operation not permitted). Do this");
  EXPECT_EQ(to_string(Finding{"machine", "no swap", 0, ""}), "machine: no swap");
}

PriorityTask timer(const char * name, int period_ms, int deadline_ms = 0)
{
  PriorityTask task;
  task.name = name;
  task.period = milliseconds(period_ms);
  task.relative_deadline = milliseconds(deadline_ms);
  return task;
}

PriorityTask subscription(const char * name, std::vector<std::size_t> upstream)
{
  PriorityTask task;
  task.name = name;
  task.upstream = std::move(upstream);
  return task;
}

std::vector<int> priorities(const std::vector<PriorityTask> & tasks)
{
  std::vector<int> result;
  for (const PriorityTask & task : tasks) {
    result.push_back(task.priority);
  }
  return result;
}

TEST(RateMonotonic, shorter_periods_get_higher_priorities_and_equal_ones_share)
{
  std::vector<PriorityTask> tasks{timer("a", 100), timer("b", 25), timer("c", 100), timer("d", 60)};
  ASSERT_TRUE(assign_priorities(PriorityKey::kRateMonotonic, 1, 50, &tasks).ok());
  EXPECT_EQ(priorities(tasks), (std::vector<int>{48, 50, 48, 49}));
}

TEST(DeadlineMonotonic, shorter_relative_deadlines_get_higher_priorities)
{
  std::vector<PriorityTask> tasks{timer("a", 100, 10), timer("b", 25), timer("c", 50, 40)};
  ASSERT_TRUE(assign_priorities(PriorityKey::kDeadlineMonotonic, 1, 50, &tasks).ok());
  EXPECT_EQ(priorities(tasks), (std::vector<int>{50, 49, 48}));
}

TEST(Inheritance, a_subscription_gets_the_highest_priority_of_everything_upstream)
{
  std::vector<PriorityTask> tasks{
    timer("slow", 100),
    timer("fast", 10),
    subscription("after slow", {0}),
    subscription("join", {2, 4}),
    subscription("after fast", {1}),
    subscription("end", {3})};
  ASSERT_TRUE(assign_priorities(PriorityKey::kRateMonotonic, 1, 50, &tasks).ok());
  EXPECT_EQ(priorities(tasks), (std::vector<int>{49, 50, 49, 50, 50, 50}));
}

TEST(Inheritance, a_given_priority_is_kept_and_passed_on)
{
  std::vector<PriorityTask> tasks{
    timer("t", 100), subscription("own", {0}), subscription("end", {1})};
  tasks[1].priority = 80;
  ASSERT_TRUE(assign_priorities(PriorityKey::kRateMonotonic, 1, 50, &tasks).ok());
  EXPECT_EQ(priorities(tasks), (std::vector<int>{50, 80, 80}));
}

TEST(Inheritance, a_cycle_that_a_timer_feeds_settles)
{
  std::vector<PriorityTask> tasks{
    timer("t", 100), subscription("a", {0, 2}), subscription("b", {1})};
  ASSERT_TRUE(assign_priorities(PriorityKey::kRateMonotonic, 1, 50, &tasks).ok());
  EXPECT_EQ(priorities(tasks), (std::vector<int>{50, 50, 50}));
}

TEST(Range, more_keys_than_priorities_share_the_lowest)
{
  std::vector<PriorityTask> tasks{timer("a", 1), timer("b", 2), timer("c", 3), timer("d", 4)};
  ASSERT_TRUE(assign_priorities(PriorityKey::kRateMonotonic, 10, 11, &tasks).ok());
  EXPECT_EQ(priorities(tasks), (std::vector<int>{11, 10, 10, 10}));
}

TEST(Errors, name_the_task_and_the_reason)
{
  const auto message = [](std::vector<PriorityTask> tasks, int lowest = 1, int highest = 50) {
    return assign_priorities(PriorityKey::kRateMonotonic, lowest, highest, &tasks).message();
  };
  EXPECT_NE(message({subscription("lone", {})}).find("'lone': has no period"), std::string::npos);
  EXPECT_NE(
    message({subscription("a", {1}), subscription("b", {0})}).find("cycle"), std::string::npos);
  EXPECT_NE(message({subscription("a", {9})}).find("index 9"), std::string::npos);
  EXPECT_NE(message({timer("neg", -1)}).find("'neg': period is negative"), std::string::npos);
  EXPECT_NE(message({timer("a", 1)}, 0, 50).find("1-99"), std::string::npos);
  EXPECT_NE(message({timer("a", 1)}, 60, 50).find("1-99"), std::string::npos);
}

// ---- Jobs that are counted, not stored: many at once are as many one by one.

Job numbered(uint64_t sequence)
{
  Job stamp;
  stamp.sequence = sequence;
  return stamp;
}

TEST(Backlog, of_many_jobs_counts_all_and_their_numbers_never_go_back)
{
  std::mt19937 random(7);
  for (const uint32_t depth : {1U, 3U, 6U, 7U, 20U, 1000U}) {
    Backlog backlog(depth);
    std::deque<uint64_t> waiting;  // the true numbers
    uint64_t next = 0;
    uint64_t popped = 0;
    for (int step = 0; step < 20000; ++step) {
      if (random() % 3 == 0) {
        const uint32_t count = 1 + static_cast<uint32_t>(random()) % depth;
        uint32_t dropped = 0;
        for (uint32_t i = 0; i < count; ++i) {
          dropped += waiting.size() == depth ? 1 : 0;
          if (waiting.size() == depth) {
            waiting.pop_front();
          }
          waiting.push_back(next + i);
        }
        ASSERT_EQ(backlog.push(numbered(next), count), dropped);
        next += count;
      }
      for (uint32_t n = static_cast<uint32_t>(random()) % 8; n > 0 && !waiting.empty(); --n) {
        const uint64_t front = backlog.front().sequence;
        ASSERT_EQ(backlog.front().sequence, front);
        backlog.pop();
        ASSERT_GE(front, popped) << "depth " << depth;
        ASSERT_LT(front, next);
        if (depth <= Backlog::kMaxRuns) {
          ASSERT_EQ(front, waiting.front());
        }
        popped = front;
        waiting.pop_front();
      }
      ASSERT_EQ(backlog.size(), waiting.size());
      ASSERT_EQ(backlog.empty(), waiting.empty());
    }
  }
}

TEST(Backlog, keeps_the_stamp_of_the_oldest_and_goes_forward_in_an_overload)
{
  const auto made_at = [](int64_t ns) {
    Job job;
    job.release = job.deadline = time_point_of(ns);
    return job;
  };
  const auto popped = [](Backlog & backlog) {
    const int64_t release_ns = nanoseconds_of(backlog.front().release);
    backlog.pop();
    return release_ns;
  };

  Backlog slow(100);
  for (int64_t ns = 0; ns < 6; ++ns) {
    slow.push(made_at(ns));
  }
  for (const int64_t ns : {0, 1, 2, 3, 3, 3}) {
    EXPECT_EQ(popped(slow), ns);
  }

  Backlog behind(100);
  behind.push(made_at(0), 10);
  for (int64_t ns = 1; ns < 20; ++ns) {
    behind.push(made_at(ns));
    EXPECT_EQ(popped(behind), std::max<int64_t>(0, ns - 3));
  }

  Backlog full(2);
  full.push(made_at(1));
  full.push(made_at(2));
  full.pop();
  EXPECT_EQ(nanoseconds_of(full.earliest_deadline()), 2) << "that of the other one went with it";
}

TEST(Backlog, takes_as_many_as_there_are_numbers_without_a_step_for_each)
{
  Backlog backlog(UINT32_MAX);
  for (int i = 0; i < 1000; ++i) {  // this many times 4 billion steps would take hours
    EXPECT_EQ(backlog.push(numbered(0), UINT32_MAX), i == 0 ? 0 : UINT32_MAX);
  }
  EXPECT_EQ(backlog.size(), UINT32_MAX);
}

}  // namespace
}  // namespace rclrt_core
