// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "name_pattern.hpp"

namespace rclrt_config
{
namespace
{

struct Case
{
  const char * pattern;
  const char * name;
  bool matches;
};

TEST(NamePattern, stars_stand_for_whole_parts_as_in_parameters_files)
{
  const Case cases[] = {
    {"/a/timer/x", "/a/timer/x", true},
    {"/a/timer/x", "/a/timer/xx", false},
    {"/a/timer/x", "/a/timer", false},
    {"/a/timer", "/a/timer/x", false},
    {"/a/timer/*", "/a/timer/100ms", true},
    {"/a/timer/*", "/a/timer/100ms#2", true},
    {"/a/timer/*", "/a/timer/deep/name", false},
    {"/a/timer/*", "/a/timer", false},
    {"/*/timer/*", "/a/timer/x", true},
    {"/*/timer/*", "/ns/a/timer/x", false},
    {"/**", "/a", true},
    {"/**", "/a/b/c", true},
    {"/**/timer/*", "/timer/x", true},  // ** is also none
    {"/**/timer/*", "/a/timer/x", true},
    {"/**/timer/*", "/ns/a/timer/x", true},
    {"/**/timer/*", "/a/timer/timer/x", true},
    {"/**/timer/*", "/a/timer/x/y", false},
    {"/a/**", "/a", true},
    {"/a/**", "/a/b/c", true},
    {"/a/**", "/ab/c", false},
    {"/a/**/scan", "/a/subscription/front/scan", true},
    {"/a/**/scan", "/a/subscription/front/scans", false},
    {"/**/a/**/b", "/x/a/y/a/b/c/b", true},
    {"/**/a/**/b", "/x/a/y/c", false},
    {"/**/*", "/a", true},
    {"/**/*/*/*", "/a/b", false},
  };
  for (const Case & c : cases) {
    EXPECT_EQ(NamePattern(c.pattern).matches(c.name), c.matches) << c.pattern << " " << c.name;
  }
}

TEST(NamePattern, many_stars_against_a_long_name_end_soon)
{
  std::string pattern;
  std::string name;
  for (int i = 0; i < 40; ++i) {
    pattern += "/**/a";
  }
  for (int i = 0; i < 2000; ++i) {
    name += "/a";
  }
  EXPECT_FALSE(NamePattern(pattern + "/b").matches(name));
  EXPECT_TRUE(NamePattern(pattern).matches(name));
}

TEST(NamePattern, a_node_is_named_only_part_by_part)
{
  EXPECT_TRUE(NamePattern("/ns/a/timer/x").names_node("/ns/a"));
  EXPECT_TRUE(NamePattern("/*/a/timer/x").names_node("/ns/a"));
  EXPECT_FALSE(NamePattern("/ns/b/timer/x").names_node("/ns/a"));
  EXPECT_FALSE(NamePattern("/**/timer/x").names_node("/ns/a"));
  EXPECT_FALSE(NamePattern("/ns").names_node("/ns/a"));
}

TEST(NamePattern, what_is_no_pattern_is_told)
{
  EXPECT_EQ(NamePattern::problem_with("/a/*/**/b#2"), "");
  EXPECT_NE(NamePattern::problem_with(""), "");
  EXPECT_NE(NamePattern::problem_with("a/b"), "");
  EXPECT_NE(NamePattern::problem_with("/"), "");
  EXPECT_NE(NamePattern::problem_with("/a//b"), "");
  EXPECT_NE(NamePattern::problem_with("/a/"), "");
  EXPECT_NE(NamePattern::problem_with("/a/sc*"), "");
  EXPECT_NE(NamePattern::problem_with("/a/***"), "");
}

}  // namespace
}  // namespace rclrt_config
