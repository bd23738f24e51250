// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_watch/statuses.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "rclrt_watch/assumptions.hpp"
#include "rclrt_watch/chain_watch.hpp"

namespace rclrt_watch
{
namespace
{

DiagnosticLevel level_of(ChainState state)
{
  constexpr DiagnosticLevel levels[] = {DiagnosticLevel::kStale, DiagnosticLevel::kOk,
                                        DiagnosticLevel::kWarn,  DiagnosticLevel::kError,
                                        DiagnosticLevel::kWarn,  DiagnosticLevel::kOk};
  return levels[static_cast<std::size_t>(state)];
}

std::string text_of(const std::optional<rclrt_core::Duration> & duration)
{
  return duration ? milliseconds_of(*duration) : "-";
}

}  // namespace

DiagnosticStatus status_of(const ChainWatch & chain, const ChainReport & report, uint64_t peak)
{
  DiagnosticStatus status;
  status.name = "rclrt: chain " + report.name;
  status.level = level_of(chain.state_after(peak));
  if (chain.is_silent()) {
    status.level = std::max(status.level, DiagnosticLevel::kWarn);
    status.message = "nothing new for more than " +
                     in_ms(chain.chain().silent_after.value_or(rclrt_core::Duration(0)));
  } else if (status.level == DiagnosticLevel::kStale) {
    status.message = "not seen yet";
  } else if (report.state == ChainState::kNotLast) {
    status.message = "no instance: each time another input of a join came last";
  } else if (peak > 0) {
    status.message = "missed its deadline " + std::to_string(peak) + " times in a row";
  } else {
    status.message = report.deadline ? "in time" : "no deadline";
  }
  const auto count = [](uint64_t number) { return std::to_string(number); };
  status.values = {
    {"deadline_ms", text_of(report.deadline)},
    {"bound_ms", text_of(report.bound)},
    {"last_ms", text_of(report.last)},
    {"p99_ms", text_of(report.p99)},
    {"worst_ms", text_of(report.worst)},
    {"count", count(report.instances)},
    {"misses", count(report.misses)},
    {"most_in_a_row", count(report.most_misses_in_a_row)},
    {"silences", count(report.silences)},
    {"overtaken", count(report.overtaken)},
    {"not_run", count(report.not_run)},
    {"lost_records", count(report.lost_records)},
    {"proved", report.proved ? "true" : "false"},
  };
  return status;
}

std::vector<DiagnosticStatus> statuses_of(
  const std::map<std::string, rclrt_core::CallbackStatistics> & callbacks,
  std::map<std::string, rclrt_core::CallbackStatistics> * last)
{
  std::vector<DiagnosticStatus> statuses;
  for (const auto & [name, statistics] : callbacks) {
    // The counters of a callback that was removed and came again begin anew.
    const rclrt_core::CallbackStatistics before = (*last)[name];
    const auto more = [](uint64_t now, uint64_t then) { return now - std::min(then, now); };
    const uint64_t new_ones =
      more(statistics.dropped + statistics.exceptions, before.dropped + before.exceptions);
    const uint64_t over_budget = more(statistics.over_budget, before.over_budget);
    const uint64_t misses = more(statistics.deadline_misses, before.deadline_misses);
    DiagnosticStatus & status = statuses.emplace_back();
    status.name = "rclrt: callback " + name;
    status.message = "no jobs lost";
    if (new_ones > 0) {
      status.level = DiagnosticLevel::kWarn;
      status.message = std::to_string(new_ones) + " jobs were dropped, or ended by an exception";
    } else if (over_budget > 0) {
      status.level = DiagnosticLevel::kWarn;
      status.message = "needed more than its budget in " + std::to_string(over_budget) + " periods";
    } else if (misses > 0) {
      status.level = DiagnosticLevel::kWarn;
      status.message = "ended after its deadline " + std::to_string(misses) + " times";
    }
    const std::pair<const char *, uint64_t> counters[] = {
      {"executed", statistics.executed},       {"empty", statistics.empty},
      {"dropped", statistics.dropped},         {"skipped", statistics.skipped},
      {"exceptions", statistics.exceptions},   {"deadline_misses", statistics.deadline_misses},
      {"over_budget", statistics.over_budget}, {"stamps_refused", statistics.stamps_refused},
    };
    for (const auto & [key, number] : counters) {
      status.values.emplace_back(key, std::to_string(number));
    }
    status.values.emplace_back("max_response_ms", milliseconds_of(statistics.max_response));
  }
  *last = callbacks;
  return statuses;
}

}  // namespace rclrt_watch
