// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What /diagnostics says about a callback.

#include <gtest/gtest.h>

#include "statuses.hpp"

namespace rclrt_front_end
{
namespace
{

TEST(Statuses, warn_of_a_callback_in_the_second_in_which_it_was_over_its_budget)
{
  std::map<std::string, rclrt_core::CallbackStatistics> callbacks;
  std::map<std::string, rclrt_core::CallbackStatistics> last;
  const auto status = [&] { return statuses_of(callbacks, &last).at(0); };
  callbacks["/a/timer/1ms"].executed = 5;
  EXPECT_EQ(status().level, DiagnosticLevel::kOk);
  callbacks["/a/timer/1ms"].over_budget = 3;
  const DiagnosticStatus over = status();
  EXPECT_EQ(over.level, DiagnosticLevel::kWarn);
  EXPECT_EQ(over.message, "needed more than its budget in 3 periods");
  EXPECT_EQ(over.values.at(6), (std::pair<std::string, std::string>("over_budget", "3")));
  EXPECT_EQ(status().level, DiagnosticLevel::kOk) << "nothing new";
  callbacks["/a/timer/1ms"].over_budget = 4;
  callbacks["/a/timer/1ms"].dropped = 1;
  EXPECT_NE(status().message.find("dropped"), std::string::npos);
}

TEST(Statuses, warn_of_a_callback_in_the_second_in_which_it_had_no_room)
{
  std::map<std::string, rclrt_core::CallbackStatistics> callbacks;
  std::map<std::string, rclrt_core::CallbackStatistics> last;
  callbacks["/a/timer/1ms"].without_room = 3;
  const DiagnosticStatus without = statuses_of(callbacks, &last).at(0);
  EXPECT_EQ(without.level, DiagnosticLevel::kWarn);
  EXPECT_EQ(without.message, "ran 3 jobs in the background: its budget does not fit");
  EXPECT_EQ(without.values.at(7), (std::pair<std::string, std::string>("without_room", "3")));
  EXPECT_EQ(statuses_of(callbacks, &last).at(0).level, DiagnosticLevel::kOk) << "nothing new";
}

TEST(Statuses, warn_of_a_callback_in_the_second_in_which_it_missed_deadlines)
{
  std::map<std::string, rclrt_core::CallbackStatistics> callbacks;
  std::map<std::string, rclrt_core::CallbackStatistics> last;
  const auto status = [&] { return statuses_of(callbacks, &last).at(0); };
  callbacks["/a/timer/1ms"].deadline_misses = 2;
  EXPECT_EQ(status().message, "ended after its deadline 2 times");
  EXPECT_EQ(status().level, DiagnosticLevel::kOk) << "nothing new";
  callbacks["/a/timer/1ms"].deadline_misses = 3;
  EXPECT_EQ(status().level, DiagnosticLevel::kWarn);
  callbacks["/a/timer/1ms"].deadline_misses = 4;
  callbacks["/a/timer/1ms"].over_budget = 1;
  EXPECT_NE(status().message.find("budget"), std::string::npos) << "what may be the cause";
}

TEST(Statuses, of_a_callback_that_came_again_begin_anew)
{
  std::map<std::string, rclrt_core::CallbackStatistics> last;
  std::map<std::string, rclrt_core::CallbackStatistics> callbacks;
  callbacks["a"].over_budget = 9;
  statuses_of(callbacks, &last);
  callbacks["a"].over_budget = 0;
  EXPECT_EQ(statuses_of(callbacks, &last).at(0).level, DiagnosticLevel::kOk);
  EXPECT_TRUE(statuses_of({}, &last).empty());
  EXPECT_TRUE(last.empty()) << "what is gone is forgotten";
}

}  // namespace
}  // namespace rclrt_front_end
