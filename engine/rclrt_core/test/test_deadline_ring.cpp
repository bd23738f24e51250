// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/deadline_ring.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <ctime>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "platform/linux/roll.hpp"

namespace rclrt_core
{
namespace
{

DeadlineRing::PublisherId publisher(uint8_t last)
{
  DeadlineRing::PublisherId id{};
  id[15] = last;
  return id;
}

class Ring : public ::testing::Test
{
protected:
  std::unique_ptr<DeadlineRing> open()
  {
    std::unique_ptr<DeadlineRing> ring;
    const Status status = DeadlineRing::open(name_, &ring);
    EXPECT_TRUE(status.ok()) << status.message();
    return ring;
  }

  /// The file that others find it by.
  std::vector<linux_platform::RollEntry> entries() const
  {
    linux_platform::Roll roll;
    const auto places = linux_platform::OwnDirectory::places();
    EXPECT_TRUE(linux_platform::Roll::open(name_, 4, places, &roll).ok());
    return roll.entries();
  }

  const std::string name_ = "rclrt_test_ring_" + std::to_string(getpid());
};

TEST_F(Ring, hands_a_deadline_to_another_process)
{
  const auto ring = open();
  const pid_t child = fork();
  if (child == 0) {
    open()->put(publisher(1), 7, time_point_of(4711));
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(ring->find(publisher(1), 7), time_point_of(4711));
  EXPECT_EQ(ring->find(publisher(1), 8), std::nullopt);
  EXPECT_EQ(ring->find(publisher(2), 7), std::nullopt);
}

/// A stamp every millisecond, and some.
uint64_t stamp(uint64_t i) { return 1'700'000'000'000'000'000 + i * 1'000'000 + i * i % 999'983; }

TEST_F(Ring, keeps_a_message_while_a_thousand_others_come)
{
  const auto ring = open();
  constexpr uint64_t kBetween = 1000;
  constexpr uint64_t kAll = 100'000;
  const auto one_of_7 = [](uint64_t i) { return publisher(static_cast<uint8_t>(i % 7)); };
  uint64_t lost = 0;
  for (uint64_t i = 1; i <= kAll; ++i) {
    ring->put(one_of_7(i), stamp(i), time_point_of(static_cast<int64_t>(i)));
    if (i > kBetween) {
      const uint64_t before = i - kBetween;
      const auto found = ring->find(one_of_7(before), stamp(before));
      ASSERT_EQ(
        found.value_or(time_point_of(static_cast<int64_t>(before))),
        time_point_of(static_cast<int64_t>(before)));
      lost += found ? 0 : 1;
    }
  }
  EXPECT_LE(lost, kAll / 10'000);
  EXPECT_EQ(ring->find(publisher(1), stamp(1)), std::nullopt) << "it is no memory of everything";
}

TEST_F(Ring, forgets_what_was_stamped_before_the_clock_was_set)
{
  const auto ring = open();
  for (const uint64_t base :
       {uint64_t{100'000}, uint64_t{0}, uint64_t{200'000}}) {  // there, back, ahead
    for (uint64_t i = 1; i <= 20'000; ++i) {
      ring->put(publisher(1), stamp(base + i), time_point_of(1));
    }
    uint64_t kept = 0;
    for (uint64_t i = 19'001; i <= 20'000; ++i) {
      kept += ring->find(publisher(1), stamp(base + i)) ? 1 : 0;
    }
    EXPECT_GE(kept, 995U) << base;
  }
}

TEST_F(Ring, an_empty_or_damaged_one_has_no_entries)
{
  const auto ring = open();
  EXPECT_EQ(ring->find(publisher(0), 0), std::nullopt);
  ASSERT_EQ(entries().size(), 1u);
  const std::string path = "/proc/self/fd/" + std::to_string(entries()[0].descriptors[0]);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  constexpr std::size_t kWords = DeadlineRing::kEntries * 8;
  auto * const words = static_cast<uint64_t *>(
    mmap(nullptr, kWords * 8, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0));
  close(descriptor);
  std::mt19937_64 random(1);
  for (uint64_t i = 1; i <= 1000; ++i) {
    ring->put(publisher(1), i, time_point_of(1));
  }
  for (std::size_t i = 0; i < kWords; ++i) {
    words[i] ^= uint64_t{1} << (random() % 64);  // one bit of every word
  }
  for (uint64_t i = 1; i <= 1000; ++i) {
    EXPECT_EQ(ring->find(publisher(1), i), std::nullopt);
  }
  munmap(words, kWords * 8);
}

TEST_F(Ring, writers_of_one_place_never_make_a_third_deadline)
{
  const auto ring = open();
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> newest[2] = {{1}, {2}};
  // Both in all places at once.
  const auto write = [&](std::size_t which) {
    for (uint64_t i = which + 1; !stop; i += 2) {
      ring->put(publisher(1), stamp(i), time_point_of(static_cast<int64_t>(i)));
      newest[which] = i;
    }
  };
  std::thread one(write, 0);
  std::thread other(write, 1);
  uint64_t found = 0;
  for (int i = 0; i < 300000; ++i) {
    for (const auto & last : newest) {
      const uint64_t wanted = last;
      if (const auto deadline = ring->find(publisher(1), stamp(wanted))) {
        ASSERT_EQ(*deadline, time_point_of(static_cast<int64_t>(wanted)));
        ++found;
      }
    }
  }
  stop = true;
  one.join();
  other.join();
  EXPECT_GT(found, 0u);
}

TEST_F(Ring, is_handed_on_by_any_process_that_has_it)
{
  auto ring = open();
  ring->put(publisher(1), 7, time_point_of(4711));
  const auto second = open();
  ring.reset();
  EXPECT_EQ(open()->find(publisher(1), 7), time_point_of(4711)) << "the first has gone";
  EXPECT_EQ(entries().size(), 1u);
}

TEST_F(Ring, cannot_be_cut_short)
{
  const auto ring = open();
  ASSERT_EQ(entries().size(), 1u);
  const std::string path = "/proc/self/fd/" + std::to_string(entries()[0].descriptors[0]);
  EXPECT_NE(truncate(path.c_str(), 0), 0);
  ring->put(publisher(1), 7, time_point_of(4711));
  EXPECT_EQ(ring->find(publisher(1), 7), time_point_of(4711));
}

TEST_F(Ring, impossible_names_are_an_error)
{
  std::unique_ptr<DeadlineRing> ring;
  for (const std::string & name : {std::string("a/b"), std::string("a~b"), std::string()}) {
    EXPECT_FALSE(DeadlineRing::open(name, &ring).ok()) << name;
  }
}

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

/// The service asks while the client learns the number and states its next request.
TEST_F(RequestDeadlines, are_found_while_the_client_goes_on)
{
  constexpr int64_t kRequests = 300'000;
  constexpr int64_t kLead = 50;
  std::array<std::atomic<int64_t>, kLead + 1> stamps{};
  std::atomic<int64_t> sent{0};
  std::atomic<int64_t> served{0};
  std::thread client([&] {
    for (int64_t number = 1; number <= kRequests; ++number) {
      while (number - served > kLead) {
        std::this_thread::yield();
      }
      const SentRequest request(table_.get(), kClient, at(number));
      stamps[static_cast<std::size_t>(number) % stamps.size()] = clock_ns();
      sent = number;
      request.is_sent(number);
    }
  });
  int64_t lost = 0;
  for (int64_t number = 1; number <= kRequests; served = number++) {
    while (sent < number) {
      std::this_thread::yield();
    }
    const int64_t stamp = stamps[static_cast<std::size_t>(number) % stamps.size()];
    lost += asked(number, stamp) == at(number) ? 0 : 1;
  }
  client.join();
  EXPECT_EQ(lost, 0);
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
