// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The table alone, against a host that keeps priorities and counts changes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "edf/edf_table.hpp"

namespace rclrt_core
{
namespace
{

constexpr int32_t kRun = 49;
constexpr int32_t kUs = 1;
constexpr int32_t kOthers = 2;

class FakeHost : public EdfHost
{
public:
  int set_priority(const EdfThread & who, int32_t priority) noexcept override
  {
    const int32_t thread = who.thread;
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
  bool is_alive(const EdfThread & who) noexcept override { return dead.count(who.thread) == 0; }

  int changes = 0;
  std::set<int32_t> dead;
  std::set<int32_t> refused;
  std::map<int32_t, int32_t> priorities;
};

class Table : public ::testing::Test
{
protected:
  void use(uint32_t runners) { clear(*table_, runners, kRun); }

  /// Of our process unless said otherwise.
  int start(int32_t thread, int64_t deadline, int32_t process = kUs)
  {
    return rclrt_core::start(*table_, host_, {process, thread, 7}, deadline, &kept_[thread]);
  }
  void stop(int32_t thread, int32_t process = kUs)
  {
    rclrt_core::stop(*table_, host_, {process, thread, 7}, &kept_[thread]);
  }

  FakeHost host_;
  std::map<int32_t, int32_t> kept_;
  std::unique_ptr<EdfTable> table_ = std::make_unique<EdfTable>();
};

TEST_F(Table, the_m_earliest_have_the_run_priority_and_an_event_changes_at_most_two)
{
  for (const uint32_t runners : {1u, 2u, 4u}) {
    use(runners);
    host_.priorities.clear();
    kept_.clear();
    std::mt19937 random(runners);
    std::map<int32_t, int64_t> active;
    for (int event = 0; event < 20000; ++event) {
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
      ASSERT_TRUE(is_sound(*table_));
      ASSERT_EQ(table_->count, active.size());
      for (uint32_t i = 0; i < table_->count; ++i) {
        const EdfJob & job = table_->jobs[i];
        ASSERT_EQ(job.deadline_ns, active[job.who.thread]);
        ASSERT_EQ(job.priority, host_.priorities[job.who.thread]);
        ASSERT_EQ(job.priority == kRun, i < runners) << "event " << event << ", place " << i;
        ASSERT_GE(job.priority, 1);
      }
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
    kept_.clear();
    ASSERT_EQ(start(100, 0), 0);
    for (const int thread : order) {
      ASSERT_EQ(start(thread, thread * 10), 0);
    }
    for (uint32_t i = 2; i < table_->count; ++i) {
      EXPECT_LT(table_->jobs[i].priority, table_->jobs[i - 1].priority) << "place " << i;
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
  EXPECT_EQ(start(7, 99999), 0);  // who is in already may change
  EXPECT_TRUE(is_sound(*table_));
}

TEST_F(Table, who_is_refused_has_no_job)
{
  use(1);
  host_.refused = {3};
  ASSERT_EQ(start(1, 50), 0);
  EXPECT_EQ(start(3, 10), EPERM);
  EXPECT_EQ(table_->count, 1u);
  EXPECT_EQ(host_.priorities[1], kRun);
}

TEST_F(Table, a_dead_process_does_not_keep_a_cpu)
{
  use(2);
  ASSERT_EQ(start(10, 1, kOthers), 0);
  ASSERT_EQ(start(11, 2, kOthers), 0);
  host_.dead = {10, 11};
  // Each event that finds no CPU looks at one of those that have one.
  ASSERT_EQ(start(1, 100), 0);
  ASSERT_EQ(start(2, 200), 0);
  ASSERT_EQ(start(3, 300), 0);
  EXPECT_EQ(host_.priorities[1], kRun);
  EXPECT_EQ(host_.priorities[2], kRun);
  EXPECT_LT(host_.priorities[3], kRun);
  EXPECT_EQ(table_->count, 3u);
}

TEST_F(Table, one_found_dead_when_it_is_demoted_makes_room)
{
  use(1);
  ASSERT_EQ(start(10, 50, kOthers), 0);
  host_.dead = {10};
  ASSERT_EQ(start(1, 10), 0);
  EXPECT_EQ(table_->count, 1u);
}

TEST_F(Table, a_thread_that_is_there_twice_is_not_sound)
{
  use(2);
  ASSERT_EQ(start(1, 10), 0);
  ASSERT_EQ(start(2, 20), 0);
  ASSERT_EQ(start(3, 30), 0);
  ASSERT_TRUE(is_sound(*table_));
  table_->jobs[2].who = table_->jobs[0].who;
  EXPECT_FALSE(is_sound(*table_));
  // The same numbers in a process that began at another time are another thread.
  ++table_->jobs[2].who.born;
  EXPECT_TRUE(is_sound(*table_));
}

TEST_F(Table, any_bytes_are_recognised_or_harmless)
{
  std::mt19937 random(1);
  auto * const words = reinterpret_cast<uint32_t *>(table_.get());
  for (int round = 0; round < 2000; ++round) {
    use(2);
    for (int32_t thread = 1; thread <= 10; ++thread) {
      ASSERT_EQ(start(thread, thread), 0);
    }
    for (int i = 0; i < 5; ++i) {
      words[random() % (40 + 10 * 8)] = static_cast<uint32_t>(random() % 2 == 0 ? random() : 0);
    }
    if (is_usable(*table_)) {
      start(3, 77);
      stop(4);
      remove_dead(*table_, host_, {kUs, 0, 0});
      EXPECT_LE(table_->count, EdfTable::kMaxJobs);
    }
  }
}

}  // namespace
}  // namespace rclrt_core
