// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "stalls.hpp"

#include <algorithm>
#include <utility>

namespace rclrt_front_end
{

using rclrt_core::CallbackKind;
using rclrt_core::Finding;
using rclrt_core::WaitingReport;

namespace
{

/// More than a second.
constexpr int kOverload = 4;

bool is_kept_as_before(const WaitingReport & before, const WaitingReport & now)
{
  return !now.keepers.empty() &&
         std::all_of(now.keepers.begin(), now.keepers.end(), [&](const auto & keeper) {
           return std::any_of(
             before.keepers.begin(), before.keepers.end(), [&](const auto & other) {
               return other.job == keeper.job && other.callback == keeper.callback;
             });
         });
}

Finding waits_for_itself(const WaitingReport & client)
{
  const std::string keeper = "'" + client.keepers.front().callback + "'";
  return {
    "'" + client.callback + "'",
    "a response has come, but " + keeper + " keeps " +
      (client.is_group_busy ? "the group of both" : "the last thread") +
      " since then: if it waits for that response, both wait for ever",
    0,
    "Give the client a callback group of its own and the executor a thread for it, or do not wait "
    "in a callback"};
}

Finding is_full(const WaitingReport & waiting)
{
  return {
    "the pool",
    "none of its " + std::to_string(waiting.keepers.size()) +
      " threads has ended a job for a while, and others wait: '" + waiting.callback +
      "' for example, while '" + waiting.keepers.front().callback + "' keeps one of them",
    0, "Raise max_threads, or do not block in callbacks"};
}

Finding is_overloaded(const WaitingReport & waiting)
{
  const std::string others =
    waiting.keepers.empty()
      ? "threads that are more urgent keep the CPU from its thread"
      : "others go first, '" + waiting.keepers.front().callback + "' among them";
  return {
    "'" + waiting.callback + "'",
    "work waits, but no job of it has begun for more than a second (overload): " + others, 0,
    "Give what is more urgent less to do, or this callback a higher priority or an executor of its "
    "own"};
}

}  // namespace

std::vector<Finding> Stalls::look(std::vector<WaitingReport> waiting)
{
  std::vector<Finding> findings;
  std::map<std::string, Seen> now;
  for (WaitingReport & report : waiting) {
    Seen seen;
    const auto before = seen_.find(report.callback);
    if (before != seen_.end() && before->second.last.begun == report.begun) {
      seen = before->second;
      seen.is_kept = seen.is_kept && is_kept_as_before(seen.last, report);
    }
    ++seen.looks;
    if (seen.looks > 1 && seen.is_kept && report.kind == CallbackKind::kClient) {
      findings.push_back(waits_for_itself(report));
    } else if (
      seen.looks > 1 && seen.is_kept && !report.is_group_busy && report.keepers.size() > 1) {
      findings.push_back(is_full(report));
    } else if (seen.looks == kOverload && !seen.is_kept) {
      findings.push_back(is_overloaded(report));
    }
    seen.last = std::move(report);
    now.emplace(seen.last.callback, std::move(seen));
  }
  seen_ = std::move(now);
  const auto is_told = [this](const Finding & finding) {
    return !told_.insert(finding.subject).second;
  };
  findings.erase(std::remove_if(findings.begin(), findings.end(), is_told), findings.end());
  return findings;
}

}  // namespace rclrt_front_end
