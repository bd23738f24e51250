// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/deadline_ring.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <random>
#include <thread>

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
  Ring()
  : name_("rclrt_test_ring_" + std::to_string(getpid())),
    path_("/dev/shm/" + name_ + "." + std::to_string(geteuid()))
  {
    unlink(path_.c_str());
  }
  ~Ring() override { unlink(path_.c_str()); }

  std::unique_ptr<DeadlineRing> open()
  {
    std::unique_ptr<DeadlineRing> ring;
    const Status status = DeadlineRing::open(name_, &ring);
    EXPECT_TRUE(status.ok()) << status.message();
    return ring;
  }

  std::string name_;
  std::string path_;
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

TEST_F(Ring, keeps_the_last_messages_of_a_publisher_and_forgets_those_before)
{
  const auto ring = open();
  for (uint64_t i = 1; i <= 2 * DeadlineRing::kEntries; ++i) {
    ring->put(publisher(1), i, time_point_of(static_cast<int64_t>(i)));
  }
  EXPECT_EQ(ring->find(publisher(1), DeadlineRing::kEntries), std::nullopt);
  for (uint64_t i = DeadlineRing::kEntries + 1; i <= 2 * DeadlineRing::kEntries; ++i) {
    ASSERT_EQ(ring->find(publisher(1), i), time_point_of(static_cast<int64_t>(i)));
  }
}

TEST_F(Ring, an_empty_or_damaged_one_has_no_entries)
{
  const auto ring = open();
  EXPECT_EQ(ring->find(publisher(0), 0), std::nullopt);
  const int descriptor = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
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

TEST_F(Ring, writers_of_one_entry_never_make_a_third)
{
  const auto ring = open();
  std::atomic<bool> stop{false};
  // Numbers that lie in the same entry.
  const auto write = [&](uint64_t number) {
    while (!stop) {
      ring->put(publisher(1), number, time_point_of(static_cast<int64_t>(number)));
    }
  };
  std::thread one(write, 1);
  std::thread other(write, 1 + DeadlineRing::kEntries);
  uint64_t found = 0;
  for (int i = 0; i < 300000; ++i) {
    for (const uint64_t number : {uint64_t{1}, 1 + DeadlineRing::kEntries}) {
      if (const auto deadline = ring->find(publisher(1), number)) {
        ASSERT_EQ(*deadline, time_point_of(static_cast<int64_t>(number)));
        ++found;
      }
    }
  }
  stop = true;
  one.join();
  other.join();
  EXPECT_GT(found, 0u);
}

TEST_F(Ring, a_file_of_another_size_is_an_error_that_names_it)
{
  std::ofstream(path_) << "x";
  ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  std::unique_ptr<DeadlineRing> ring;
  const Status status = DeadlineRing::open(name_, &ring);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find(path_ + ": 1 bytes"), std::string::npos) << status.message();
  EXPECT_FALSE(DeadlineRing::open("a/b", &ring).ok());
}

TEST_F(Ring, a_file_that_others_may_open_is_an_error_with_a_remedy)
{
  open();
  ASSERT_EQ(chmod(path_.c_str(), 0644), 0);
  std::unique_ptr<DeadlineRing> ring;
  const Status status = DeadlineRing::open(name_, &ring);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("chmod 600"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace rclrt_core
