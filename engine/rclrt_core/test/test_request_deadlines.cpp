// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/deadline_ring.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <limits>

namespace rclrt_core
{
namespace
{

constexpr ClientId kClient{1, 2, 3};
constexpr ClientId kOther{1, 2, 4};

int64_t clock_ns()
{
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

TimePoint at(int64_t ns) { return time_point_of(ns); }

class RequestDeadlines : public ::testing::Test
{
protected:
  void SetUp() override
  {
    const Status status =
      DeadlineRing::open("rclrt_test_requests_" + std::to_string(getpid()), &table_);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  std::optional<TimePoint> asked(int64_t number, int64_t stamp) const
  {
    return deadline_of_request(table_.get(), kClient, number, stamp);
  }
  std::unique_ptr<DeadlineRing> table_;
};

TEST_F(RequestDeadlines, are_known_before_the_client_knows_the_number)
{
  const SentRequest sent(table_.get(), kClient, at(100));
  EXPECT_EQ(asked(1, clock_ns()), at(100));
  EXPECT_EQ(deadline_of_request(table_.get(), kOther, 1, clock_ns()), std::nullopt);
  sent.is_sent(1);
  EXPECT_EQ(asked(1, clock_ns()), at(100));
}

TEST_F(RequestDeadlines, of_requests_that_wait_are_their_own)
{
  int64_t stamps[4] = {};
  for (int64_t number = 1; number <= 3; ++number) {
    const SentRequest sent(table_.get(), kClient, at(100 * number));
    stamps[number] = clock_ns();
    sent.is_sent(number);
  }
  for (int64_t number = 1; number <= 3; ++number) {
    EXPECT_EQ(asked(number, stamps[number]), at(100 * number));
  }
}

TEST_F(RequestDeadlines, of_a_later_request_are_not_those_of_one_that_is_forgotten)
{
  const int64_t stamp = clock_ns();  // of a request whose entry has been overwritten since
  const SentRequest later(table_.get(), kClient, at(200));
  EXPECT_EQ(asked(1, stamp), std::nullopt);
}

TEST_F(RequestDeadlines, none_is_known_to_be_none)
{
  SentRequest(table_.get(), kClient, at(100)).is_sent(1);
  SentRequest(table_.get(), kClient, kNever).is_sent(2);
  EXPECT_EQ(asked(2, clock_ns()), kNever);
  EXPECT_EQ(asked(1, clock_ns()), at(100));
}

TEST_F(RequestDeadlines, of_replies_are_apart_from_those_of_requests)
{
  SentRequest(table_.get(), kClient, at(100)).is_sent(7);
  EXPECT_EQ(deadline_of_reply(table_.get(), kClient, 7), std::nullopt);
  state_deadline_of_reply(table_.get(), kClient, 7, at(300));
  EXPECT_EQ(deadline_of_reply(table_.get(), kClient, 7), at(300));
  EXPECT_EQ(asked(7, clock_ns()), at(100));
  state_deadline_of_reply(table_.get(), kClient, 8, kNever);
  EXPECT_EQ(deadline_of_reply(table_.get(), kClient, 8), std::nullopt);
}

TEST_F(RequestDeadlines, survive_a_thousand_messages_between)
{
  SentRequest(table_.get(), kClient, at(100)).is_sent(1);
  const auto now = static_cast<uint64_t>(clock_ns());
  for (uint64_t i = 0; i < 1000; ++i) {
    table_->put(kOther, now + i * 1'000'000, at(1));
  }
  EXPECT_EQ(asked(1, 0), at(100));
}

TEST_F(RequestDeadlines, of_numbers_and_stamps_that_cannot_be_are_none)
{
  SentRequest(table_.get(), kClient, at(100)).is_sent(1);
  EXPECT_EQ(asked(2, std::numeric_limits<int64_t>::min()), std::nullopt);
  EXPECT_EQ(asked(2, 0), std::nullopt);
  EXPECT_EQ(deadline_of_reply(table_.get(), kClient, -1), std::nullopt);
  EXPECT_EQ(deadline_of_request(nullptr, kClient, 1, clock_ns()), std::nullopt);
  EXPECT_EQ(deadline_of_reply(nullptr, kClient, 1), std::nullopt);
  SentRequest(nullptr, kClient, at(1)).is_sent(1);
  state_deadline_of_reply(nullptr, kClient, 1, at(1));
}

}  // namespace
}  // namespace rclrt_core
