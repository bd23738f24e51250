// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Jobs that are counted, not stored: many at once are as many one by one.

#include "../src/order/backlog.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace rclrt_core
{
namespace
{

ReleaseStamp numbered(uint64_t sequence)
{
  ReleaseStamp stamp;
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
        ASSERT_EQ(backlog.pop().sequence, front);
        ASSERT_GE(front, popped) << "depth " << depth;
        ASSERT_LT(front, next);
        if (depth <= Backlog::kMaxStamps) {
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
