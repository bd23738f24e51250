// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What a client does where no scheduler is; what it does with one is tested in the virtual machine.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "rclrt_scx/client.hpp"

namespace
{

TEST(Client, says_how_to_load_a_scheduler_where_there_is_none)
{
  std::string why;
  EXPECT_EQ(rclrt_scx::Client::open(&why, "/nowhere/rclrt_scx"), nullptr);
  EXPECT_THAT(why, testing::HasSubstr("no EDF scheduler is loaded"));
  EXPECT_THAT(why, testing::HasSubstr("rclrt scx load"));
  EXPECT_EQ(rclrt_scx::Client::open(nullptr, "/nowhere/rclrt_scx"), nullptr);
}

TEST(Client, refuses_a_directory_that_holds_something_else)
{
  std::string why;
  EXPECT_EQ(rclrt_scx::Client::open(&why, "/dev"), nullptr);
  EXPECT_THAT(why, testing::HasSubstr("/dev/state"));
}

TEST(Slot, an_empty_one_takes_no_deadline_and_does_nothing)
{
  rclrt_scx::Slot slot;
  EXPECT_FALSE(slot);
  EXPECT_FALSE(slot.set_deadline(1));
  EXPECT_EQ(slot.deadline(), RCLRT_SCX_NO_DEADLINE);
  slot.clear_deadline();
  slot.settle();
  slot.release();
  EXPECT_EQ(slot.lend(1), 0);
  EXPECT_NE(slot.reconsider(), 0);
  rclrt_scx::Slot other(std::move(slot));
  EXPECT_FALSE(other);
}

}  // namespace
