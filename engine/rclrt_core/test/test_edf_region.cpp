// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What one process tells the others: whole, or not at all.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "edf/edf_region.hpp"

namespace rclrt_core
{
namespace
{

constexpr int32_t kHighest = 49;

class Region : public ::testing::Test
{
protected:
  /// `count` jobs, all with the same numbers.
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
