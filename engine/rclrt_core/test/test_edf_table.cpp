// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The table alone, against a host that keeps priorities and counts changes.

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "edf/edf_region.hpp"
#include "edf/edf_table.hpp"

namespace rclrt_core
{
namespace
{

constexpr int32_t kRun = 49;
constexpr uint32_t kOthers = 1;  // another process

class FakeHost : public EdfHost
{
public:
  int set_priority(int32_t thread, int32_t priority) noexcept override
  {
    ++changes;
    if (dead.count(thread) > 0) {
      return ESRCH;
    }
    if (refused.count(thread) > 0) {
      return EPERM;
    }
    priorities[thread] = priority;
    return 0;
  }
  void is_wrong(uint32_t process) noexcept override { wrong.insert(process); }

  int changes = 0;
  std::set<int32_t> dead;
  std::set<int32_t> refused;
  std::map<int32_t, int32_t> priorities;
  std::set<uint32_t> wrong;
};

class Table : public ::testing::Test
{
protected:
  void use(uint32_t runners)
  {
    table_ = std::make_unique<EdfTable>(runners, kRun);
    kept_.clear();
  }

  int start(int32_t thread, int64_t deadline)
  {
    if (!table_->put(thread, deadline, ++arrivals_, kept_[thread])) {
      return ENOSPC;
    }
    return settle(thread);
  }
  void stop(int32_t thread)
  {
    table_->remove(thread, &kept_[thread]);
    settle(thread);
  }
  int settle(int32_t thread)
  {
    host_.wrong.clear();
    return table_->settle(host_, thread, &kept_[thread]);
  }
  /// Deadlines and priorities of another process.
  void others(const std::vector<std::pair<int64_t, int32_t>> & jobs)
  {
    EdfCopy copy;
    for (const auto & [deadline, priority] : jobs) {
      copy.jobs[copy.count++] = {deadline, ++arrivals_, priority};
    }
    table_->replace_others(kOthers, copy);
  }
  int32_t priority_of(int32_t thread) { return host_.priorities[thread]; }

  /// Whatever others claim: an own job with an earlier deadline has no lower priority.
  void expect_own_order(const std::string & where)
  {
    int32_t before = kRun;
    uint32_t index = 0;
    for (const EdfJob & job : table_->jobs()) {
      if (job.thread != 0) {
        ASSERT_EQ(job.priority, host_.priorities[job.thread]) << where;
        ASSERT_LE(job.priority, before) << where << ", place " << index;
        ASSERT_GE(job.priority, 1) << where;
        ASSERT_EQ(job.priority == kRun, index < table_->runners()) << where;
        before = job.priority;
      }
      ++index;
    }
  }

  FakeHost host_;
  uint64_t arrivals_ = 0;
  std::map<int32_t, int32_t> kept_;
  std::unique_ptr<EdfTable> table_;
};

TEST_F(Table, the_m_earliest_have_the_run_priority_and_an_event_changes_at_most_two)
{
  for (const uint32_t runners : {1u, 2u, 4u}) {
    use(runners);
    host_.priorities.clear();
    std::mt19937 random(runners);
    std::map<int32_t, int64_t> active;
    for (int event = 0; event < 4000; ++event) {
      const auto thread = static_cast<int32_t>(random() % 40 + 1);
      host_.changes = 0;
      if (random() % 2 == 0) {
        active[thread] = static_cast<int64_t>(random() % 1000);
        ASSERT_EQ(start(thread, active[thread]), 0);
      } else {
        active.erase(thread);
        stop(thread);
      }
      ASSERT_LE(host_.changes, 2) << "event " << event;
      ASSERT_EQ(table_->jobs().size(), active.size());
      int64_t before = 0;
      for (const EdfJob & job : table_->jobs()) {
        ASSERT_EQ(job.deadline_ns, active[job.thread]);
        ASSERT_GE(job.deadline_ns, before);
        before = job.deadline_ns;
      }
      expect_own_order("event " + std::to_string(event));
    }
  }
}

TEST_F(Table, those_that_wait_are_in_order_while_there_is_room)
{
  use(1);
  // Latest first, earliest first and in no order: what arrives fits between its neighbours.
  for (const std::vector<int> & order :
       {std::vector<int>{8, 7, 6, 5, 4, 3, 2, 1},
        {1, 2, 3, 4, 5, 6, 7, 8},
        {4, 8, 2, 6, 1, 7, 3, 5}}) {
    use(1);
    ASSERT_EQ(start(100, 0), 0);
    for (const int thread : order) {
      ASSERT_EQ(start(thread, thread * 10), 0);
    }
    for (std::size_t i = 2; i < table_->jobs().size(); ++i) {
      EXPECT_LT(table_->jobs()[i].priority, table_->jobs()[i - 1].priority) << "place " << i;
    }
  }
}

TEST_F(Table, a_full_house_is_an_error_and_not_an_overflow)
{
  use(2);
  for (int32_t thread = 1; thread <= static_cast<int32_t>(EdfTable::kMaxJobs); ++thread) {
    ASSERT_EQ(start(thread, thread), 0);
  }
  EXPECT_EQ(start(5000, 1), ENOSPC);
  EXPECT_EQ(start(7, 99999), 0);  // one that is in already may change
  EXPECT_EQ(table_->jobs().size(), EdfTable::kMaxJobs);
}

TEST_F(Table, who_is_refused_has_no_job)
{
  use(1);
  host_.refused = {3};
  ASSERT_EQ(start(1, 50), 0);
  EXPECT_EQ(start(3, 10), EPERM);
  EXPECT_EQ(table_->jobs().size(), 1u);
  EXPECT_EQ(priority_of(1), kRun);
}

TEST_F(Table, one_found_dead_when_it_is_demoted_makes_room)
{
  use(1);
  ASSERT_EQ(start(10, 50), 0);
  host_.dead = {10};
  ASSERT_EQ(start(1, 10), 0);
  EXPECT_EQ(table_->jobs().size(), 1u);
}

TEST_F(Table, own_threads_give_way_to_earlier_jobs_of_others)
{
  use(1);
  ASSERT_EQ(start(1, 50), 0);
  EXPECT_EQ(priority_of(1), kRun);
  others({{10, kRun}});
  EXPECT_EQ(settle(0), 0);
  EXPECT_LT(priority_of(1), kRun);
  EXPECT_TRUE(host_.wrong.empty()) << "it has what it should have";
  table_->remove_others(kOthers);
  settle(0);
  EXPECT_EQ(priority_of(1), kRun);
}

TEST_F(Table, a_process_is_told_when_its_job_has_to_cross_the_line)
{
  use(1);
  others({{50, kRun}});
  ASSERT_EQ(start(1, 10), 0);
  EXPECT_EQ(host_.wrong, std::set<uint32_t>{kOthers}) << "it has to give way";
  others({{50, 20}});
  settle(0);
  EXPECT_TRUE(host_.wrong.empty());
  stop(1);
  EXPECT_EQ(host_.wrong, std::set<uint32_t>{kOthers}) << "it is the first now";
  EXPECT_EQ(host_.priorities.size(), 1u) << "its threads are its own affair";
}

TEST_F(Table, jobs_that_wait_go_between_those_of_others_that_wait)
{
  use(1);
  others({{1, kRun}, {20, 30}, {40, 10}});
  ASSERT_EQ(start(1, 30), 0);
  EXPECT_LT(priority_of(1), 30);
  EXPECT_GT(priority_of(1), 10);
  ASSERT_EQ(start(2, 10), 0);
  EXPECT_GT(priority_of(2), 30);
}

TEST_F(Table, jobs_of_others_that_wait_leave_room_for_own_ones)
{
  for (const int32_t theirs : {0, 1, 2, 24, 47, 48}) {
    use(1);
    others({{1, kRun}, {5, theirs}, {100, theirs}});
    for (int32_t thread = 1; thread <= 8; ++thread) {
      ASSERT_EQ(start(thread, 10 * thread), 0);
    }
    for (int32_t thread = 2; thread <= 8; ++thread) {
      EXPECT_LT(priority_of(thread), priority_of(thread - 1)) << theirs;
    }
  }
}

TEST_F(Table, names_a_process_in_the_way_only_if_it_is)
{
  use(2);
  others({{1, kRun}, {2, kRun}});
  ASSERT_EQ(start(1, 10), 0);
  EXPECT_EQ(table_->process_in_the_way_of(1, 0), kOthers);
  EXPECT_EQ(table_->process_in_the_way_of(1, 1), kOthers);
  EXPECT_EQ(table_->process_in_the_way_of(2, 0), 0u);
  ASSERT_EQ(start(1, 0), 0);
  EXPECT_EQ(table_->process_in_the_way_of(1, 0), 0u);
}

/// Every value that a copy may hold: own jobs stay in their order, and nothing is written elsewhere.
TEST_F(Table, whatever_others_claim_own_jobs_stay_in_order)
{
  std::mt19937_64 random(1);
  const int64_t deadlines[] = {INT64_MIN, -1, 0, 1, 50, 500, INT64_MAX - 1, INT64_MAX};
  const auto any_deadline = [&] {
    return random() % 2 == 0 ? deadlines[random() % 8] : static_cast<int64_t>(random() % 1000);
  };
  for (const uint32_t runners : {1u, 2u, 4u}) {
    use(runners);
    host_.priorities.clear();
    for (int event = 0; event < 4000; ++event) {
      const auto thread = static_cast<int32_t>(random() % 12 + 1);
      switch (random() % 4) {
        case 0: {
          EdfCopy copy;
          copy.count = static_cast<uint32_t>(random() % 3 == 0 ? EdfCopy::kMaxJobs : random() % 6);
          for (uint32_t i = 0; i < copy.count; ++i) {
            copy.jobs[i] = {
              any_deadline(), random() % 3 == 0 ? UINT64_MAX : random() % 100,
              static_cast<int32_t>(random() % (kRun + 1))};
          }
          table_->replace_others(static_cast<uint32_t>(random() % 20 + 1), copy);
          settle(0);
          break;
        }
        case 1:
          stop(thread);
          break;
        default:
          ASSERT_EQ(start(thread, any_deadline()), 0);
      }
      table_->set_runners(random() % 50 == 0 ? static_cast<uint32_t>(random()) : runners);
      settle(0);
      ASSERT_LE(table_->jobs().size(), std::size_t{2} * EdfTable::kMaxJobs);
      expect_own_order("event " + std::to_string(event));
      if (HasFatalFailure()) {
        return;
      }
    }
  }
}

// ---- What one process tells the others: whole, or not at all.

constexpr int32_t kHighest = 49;

class Region : public ::testing::Test
{
protected:
  void tell(uint32_t count, int64_t value)
  {
    EdfPublished jobs[EdfCopy::kMaxJobs];
    for (uint32_t i = 0; i < count; ++i) {
      jobs[i] = {value, static_cast<uint64_t>(value), static_cast<int32_t>(value % 50)};
    }
    publish(*region_, jobs, count);
  }

  const std::unique_ptr<EdfRegion> region_ = std::make_unique<EdfRegion>();
  EdfCopy copy_;
};

TEST_F(Region, tells_nothing_before_anything_was_published)
{
  ASSERT_TRUE(read(*region_, kHighest, &copy_));
  EXPECT_EQ(copy_.count, 0u);
}

TEST_F(Region, tells_what_was_published_last)
{
  tell(3, 10);
  tell(2, 20);
  ASSERT_TRUE(read(*region_, kHighest, &copy_));
  EXPECT_EQ(copy_.count, 2u);
  EXPECT_EQ(copy_.jobs[1].deadline_ns, 20);
  EXPECT_EQ(copy_.jobs[1].arrival, 20u);
  EXPECT_EQ(copy_.jobs[1].priority, 20);
}

/// A writer that was stopped or killed at any word leaves what it had published before.
TEST_F(Region, of_a_writer_that_stopped_half_way_tells_what_it_told_before)
{
  tell(2, 10);
  EdfRegion::Buffer & other = region_->buffers[(region_->sequence + 1) % 2];
  other.count = 1;
  other.jobs[0].deadline_ns = 77;
  ASSERT_TRUE(read(*region_, kHighest, &copy_));
  ASSERT_EQ(copy_.count, 2u);
  EXPECT_EQ(copy_.jobs[0].deadline_ns, 10);
}

TEST_F(Region, is_never_read_torn)
{
  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (int64_t value = 1; !over; ++value) {
      tell(static_cast<uint32_t>(value % 20), value);
      std::this_thread::yield();
    }
  });
  uint64_t whole = 0;
  for (int i = 0; i < 100000 || (whole == 0 && i < 10000000); ++i) {
    if (!read(*region_, kHighest, &copy_)) {
      continue;
    }
    whole += copy_.count > 0 ? 1 : 0;
    for (uint32_t n = 0; n < copy_.count; ++n) {
      ASSERT_EQ(copy_.jobs[n].deadline_ns, static_cast<int64_t>(copy_.sequence));
      ASSERT_EQ(copy_.jobs[n].arrival, copy_.sequence);
    }
    ASSERT_EQ(copy_.count, copy_.sequence % 20);
  }
  over = true;
  writer.join();
  EXPECT_GT(whole, 0u);
}

TEST_F(Region, of_more_jobs_than_there_may_be_is_not_read)
{
  tell(2, 10);
  for (const uint64_t count : {uint64_t{EdfCopy::kMaxJobs + 1}, UINT64_MAX}) {
    region_->buffers[1].count = count;
    EXPECT_FALSE(read(*region_, kHighest, &copy_)) << count;
  }
}

TEST_F(Region, has_no_priority_that_a_thread_cannot_have)
{
  tell(1, 10);
  for (const int64_t priority : {INT64_MIN, int64_t{-1}, int64_t{50}, INT64_MAX}) {
    region_->buffers[1].jobs[0].priority = priority;
    ASSERT_TRUE(read(*region_, kHighest, &copy_));
    EXPECT_EQ(copy_.jobs[0].priority, priority < 0 ? 0 : kHighest);
  }
}

}  // namespace
}  // namespace rclrt_core
