// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "relative_deadlines.hpp"

#include <gtest/gtest.h>

namespace rclrt_probe
{
namespace
{

TEST(RelativeDeadlines, are_of_the_topics_named_in_milliseconds)
{
  RelativeDeadlines deadlines;
  EXPECT_EQ(deadlines.parse("/scan=20,/imu/data=0.5"), "");
  EXPECT_EQ(deadlines.of("/scan"), 20'000'000);
  EXPECT_EQ(deadlines.of("/imu/data"), 500'000);
  EXPECT_EQ(deadlines.of("/imu"), 0);
  EXPECT_EQ(deadlines.of("/scan "), 0);
  EXPECT_EQ(deadlines.parse(""), "");
  EXPECT_EQ(deadlines.of("/scan"), 0) << "of the text before";
}

TEST(RelativeDeadlines, that_are_none_are_an_error_that_shows_them_and_no_topic_has_one)
{
  for (const char * wrong :
       {"scan=20", "/scan", "/scan=", "/scan=x", "/scan=20ms", "/scan=0", "/scan=-1", "/scan=nan",
        "/scan=inf", "/scan=3600001", "/scan=1e300", "/scan=20,,/imu=5", "=5", ",",
        "/scan=20,/scan=30"}) {
    RelativeDeadlines deadlines;
    const std::string problem = deadlines.parse(std::string("/good=1,") + wrong);
    EXPECT_NE(problem, "") << wrong;
    EXPECT_EQ(problem.front(), '\'') << wrong;
    EXPECT_EQ(deadlines.of("/good"), 0) << wrong;
  }
  RelativeDeadlines deadlines;
  EXPECT_LT(deadlines.parse(std::string(10'000'000, 'x')).size(), 400U);
}

}  // namespace
}  // namespace rclrt_probe
