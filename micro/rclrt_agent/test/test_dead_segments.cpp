// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Which shared memory of others is removed, and which is not.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "dead_segments.hpp"
#include "line_thread.hpp"

namespace
{
using rclrt_agent::Descriptor;
using rclrt_agent::remove_dead_segments;

class DeadSegments : public ::testing::Test
{
protected:
  DeadSegments() { EXPECT_NE(::mkdtemp(folder_.data()), nullptr); }
  ~DeadSegments() override { std::filesystem::remove_all(folder_); }

  void make(const std::string & name) const { std::ofstream(folder_ + "/" + name) << "x"; }
  std::set<std::string> names() const
  {
    std::set<std::string> found;
    for (const auto & entry : std::filesystem::directory_iterator(folder_)) {
      found.insert(entry.path().filename().string());
    }
    return found;
  }

  std::string folder_ = "/tmp/dead_segments_XXXXXX";
};

TEST_F(DeadSegments, go_if_nobody_holds_their_lock)
{
  const std::string dead = "fastdds_0123456789abcdef", lives = "fastdds_fedcba9876543210";
  for (const auto & name : {dead, dead + "_el", lives, lives + "_el"}) {
    make(name);
  }
  const Descriptor lock(::open((folder_ + "/" + lives + "_el").c_str(), O_RDONLY));
  ASSERT_EQ(::flock(lock.get(), LOCK_SH), 0);
  EXPECT_EQ(remove_dead_segments(folder_, std::chrono::seconds(0)), 1U);
  EXPECT_EQ(names(), (std::set<std::string>{lives, lives + "_el"}));
}

TEST_F(DeadSegments, that_are_young_stay_and_so_does_what_is_called_otherwise)
{
  const std::set<std::string> all = {"fastdds_0123456789abcdef",   "fastdds_0123456789abcdef_el",
                                     "fastdds_port7411_el",        "fastdds_0123456789abcdex_el",
                                     "fastdds_0123456789abcde_el", "sem.fastdds_port7411_mutex"};
  for (const auto & name : all) {
    make(name);
  }
  EXPECT_EQ(remove_dead_segments(folder_, std::chrono::seconds(60)), 0U);
  EXPECT_EQ(names(), all);
  EXPECT_EQ(remove_dead_segments(folder_, std::chrono::seconds(0)), 1U);
  EXPECT_EQ(names().size(), 4U);
  EXPECT_EQ(remove_dead_segments(folder_ + "/none"), 0U);
}
}  // namespace
