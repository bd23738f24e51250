// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What preemptive global EDF must do, once for all backends: jobs that arrive and work, and who must
/// end before whom whatever the exact times. On the simulated platform, also every instant.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rclrt_core/job.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_core
{

struct EdfScenarioJob
{
  std::string name;
  int64_t arrival_ms;
  int64_t deadline_ms;  ///< absolute, from the start; that of the arrival: none of its own
  int64_t work_ms;
  std::string group;  ///< exclusive; empty: one of its own
  struct Message
  {
    int64_t after_ms;  ///< of the job's work
    int64_t deadline_ms;
  };
  std::vector<Message> takes = {};  ///< the deadline of the last one counts
  // On real threads only, where others may take a CPU for any time.
  /// It goes on to work until these have done their work, and then keeps its place until those have. So
  /// whoever must end first is given the CPUs that are left, however few they are.
  std::vector<std::string> works_until = {};
  std::vector<std::string> stays_for = {};
  /// It arrives no sooner than that one works and has taken all its messages; those after it as much later.
  std::string comes_after = {};
};

/// A job as it runs: `work` uses the CPU for as many ms.
template <typename Work>
void run_job(const EdfScenarioJob & job, TimePoint start, const Work & work)
{
  int64_t done_ms = 0;
  for (const auto & message : job.takes) {
    work(message.after_ms - done_ms);
    done_ms = message.after_ms;
    inherit_deadline(start + std::chrono::milliseconds(message.deadline_ms));
  }
  work(job.work_ms - done_ms);
}

struct EdfScenario
{
  std::string name;
  int cpus;
  std::vector<EdfScenarioJob> jobs;
  /// The first must end before the second.
  std::vector<std::pair<std::string, std::string>> ends_before;
  /// "ended name", milliseconds, in order of end and name. (A thread may enter a callback and lose its
  /// CPU at the same instant, so starts say less.)
  std::vector<std::string> on_sim;
};

inline const std::vector<EdfScenario> & edf_scenarios()
{
  static const std::vector<EdfScenario> scenarios = {
    {"waiting_jobs_run_in_the_order_of_their_deadlines",
     1,
     {{"hog", 0, 20, 4, ""},
      {"a", 1, 60, 1, ""},
      {"b", 1, 30, 1, ""},
      {"c", 1, 40, 1, ""},
      {"d", 2, 90, 1, ""}},
     {{"hog", "b"}, {"b", "c"}, {"c", "a"}, {"a", "d"}},
     {"4 hog", "5 b", "6 c", "7 a", "8 d"}},
    {"an_earlier_deadline_preempts",
     1,
     {{"late", 0, 90, 6, ""}, {"early", 2, 20, 2, ""}},
     {{"early", "late"}},
     {"4 early", "8 late"}},
    {"a_later_deadline_does_not_preempt",
     1,
     {{"early", 0, 20, 5, ""}, {"late", 1, 90, 1, ""}},
     {{"early", "late"}},
     {"5 early", "6 late"}},
    {"preemptions_nest",
     1,
     {{"l", 0, 90, 3, ""}, {"m", 1, 60, 3, ""}, {"h", 2, 30, 3, ""}},
     {{"h", "m"}, {"m", "l"}},
     {"5 h", "7 m", "9 l"}},
    {"who_waits_behind_a_later_job_of_its_group_lends_it_its_deadline",
     1,
     {{"owner", 0, 900, 6, "g"},
      {"middle", 1, 600, 4, "", {}, {}, {}, "owner"},
      {"urgent", 2, 20, 1, "g"}},
     {{"owner", "urgent"}, {"urgent", "middle"}},
     {"7 owner", "8 urgent", "11 middle"}},
    {"two_cpus_run_the_two_earliest_of_all",
     2,
     {{"a", 0, 50, 6, "", {}, {"c"}},
      {"b", 0, 60, 8, "", {}, {}, {"a"}},
      {"c", 2, 30, 2, ""},
      {"d", 3, 90, 3, ""}},
     {{"c", "a"}, {"c", "b"}, {"a", "d"}},
     {"4 c", "6 a", "9 d", "10 b"}},
    {"on_two_cpus_the_later_of_two_is_preempted_and_the_earlier_is_not",
     2,
     {{"a", 0, 40, 8, "", {}, {"c"}, {"d"}},
      {"b", 0, 80, 8, ""},
      {"c", 2, 30, 3, ""},
      {"d", 2, 50, 3, "", {}, {}, {"a"}}},
     {{"c", "a"}, {"c", "b"}, {"d", "b"}, {"a", "b"}},
     {"5 c", "8 a", "8 d", "14 b"}},
    {"four_cpus_run_the_four_earliest_of_all",
     4,
     {{"a", 0, 50, 6, "", {}, {}, {"c", "e", "f"}},
      {"b", 0, 60, 6, "", {}, {}, {"a", "c", "e", "f"}},
      {"c", 0, 70, 6, "", {}, {}, {"a"}},
      {"d", 0, 80, 10, ""},
      {"e", 2, 30, 3, "", {}, {}, {"a", "c", "f"}},
      {"f", 3, 65, 3, "", {}, {}, {"e"}}},
     {{"e", "c"}, {"f", "c"}, {"c", "d"}, {"a", "d"}},
     {"5 e", "6 a", "6 b", "6 f", "8 c", "14 d"}},
    {"one_that_runs_and_learns_of_a_later_deadline_gives_way",
     1,
     {{"learns", 0, 0, 8, "", {{0, 20}, {4, 95}}}, {"first", 2, 90, 2, ""}, {"next", 3, 93, 2, ""}},
     {{"first", "next"}, {"next", "learns"}},
     {"6 first", "8 next", "12 learns"}},
    {"one_that_runs_and_learns_of_an_earlier_deadline_is_not_preempted",
     1,
     {{"learns", 0, 0, 8, "", {{2, 600}}},
      {"middle", 4, 900, 2, "", {}, {}, {}, "learns"},
      {"early", 5, 15, 1, ""}},
     {{"early", "learns"}, {"learns", "middle"}},
     {"6 early", "9 learns", "11 middle"}},
  };
  return scenarios;
}

}  // namespace rclrt_core
