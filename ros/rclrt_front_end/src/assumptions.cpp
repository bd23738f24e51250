// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "assumptions.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace rclrt_front_end
{

using rclrt_core::Attributes;
using rclrt_core::Duration;
using rclrt_core::SchedulingPolicy;

namespace
{

constexpr int kLooksInARow = 3;
/// Releases of a callback that nobody has looked at yet: those of a burst.
constexpr std::size_t kMaxReleases = 100'000;

/// What a record says may be of another version, or damaged.
SchedulingPolicy policy_of(uint8_t number)
{
  return number < std::size(rclrt_core::kPolicies) ? SchedulingPolicy(number)
                                                   : SchedulingPolicy::kUnchanged;
}

bool is_fixed_priority(uint8_t policy) { return is_fixed_priority(policy_of(policy)); }

bool is_fixed_priority(const Attributes & attributes)
{
  return is_fixed_priority(attributes.policy);
}

}  // namespace

Assumptions::Assumptions(const rclrt_config::Configuration & configuration, Tell tell)
: configuration_(configuration),
  tell_(std::move(tell)),
  has_proof_(std::any_of(
    configuration.chains().begin(), configuration.chains().end(),
    [](const rclrt_config::Chain & chain) { return chain.bound.has_value(); }))
{
}

void Assumptions::add(
  const std::map<uint32_t, std::string> & names, const std::vector<rclrt_job_record> & records)
{
  const bool is_one_new = callbacks_.size() != names.size();  // none is forgotten
  for (auto entry = names.begin(); is_one_new && entry != names.end(); ++entry) {
    const auto & [id, name] = *entry;
    const auto [callback, is_new] = callbacks_.emplace(id, Callback());
    if (is_new) {
      callback->second.name = name;
      callback->second.assumed = configuration_.assumption(name);
      callback->second.is_known = callback->second.assumed.wcet.has_value();
      has_assumptions_ = has_assumptions_ || callback->second.is_known;
    }
  }
  for (const rclrt_job_record & record : records) {
    const auto callback = callbacks_.find(record.callback);
    if (callback != callbacks_.end() && record.outcome != RCLRT_PUBLISHED) {
      add_job(callback->second, record);
    }
  }
}

void Assumptions::add_job(Callback & callback, const rclrt_job_record & record)
{
  const rclrt_config::Assumption & assumed = callback.assumed;
  if (rclrt_job_ran(&record) == 0) {
    callback.not_run += record.jobs;
    if (callback.is_known) {
      tell(callback.name, "lost", std::to_string(callback.not_run) + " of its jobs did not run");
    }
    return;
  }
  if (record.thread != 0 && record.policy != RCLRT_POLICY_UNKNOWN) {
    Asked & asked = asked_[record.thread];
    asked.is_real_time = asked.is_real_time && is_fixed_priority(record.policy);
    asked.least = std::min<int>(asked.least, record.priority);
    asked.callback = callback.name;
  }
  const Duration response(record.end_ns - record.release_ns);
  if (assumed.bound && response > *assumed.bound) {
    tell(
      callback.name, "bound",
      "took " + in_ms(response) + "; its bound is " + in_ms(*assumed.bound));
  }
  if (assumed.wcet && Duration(record.cpu_ns) > *assumed.wcet) {
    tell(
      callback.name, "wcet",
      "runs for " + in_ms(Duration(record.cpu_ns)) + "; the file says " + in_ms(*assumed.wcet));
  }
  if (assumed.min_period && callback.releases.size() < kMaxReleases) {
    callback.releases.push_back(record.release_ns);
    if (callback.releases.size() == 2) {  // one stays, to be compared with the next
      released_.push_back(&callback);
    }
  }
  if (has_proof_) {
    check_attributes(callback, record);
  }
}

void Assumptions::check_attributes(const Callback & callback, const rclrt_job_record & record)
{
  const Attributes & wanted = callback.assumed.attributes;
  const bool is_urgent = record.policy >= RCLRT_POLICY_FIFO;
  if (!callback.is_known) {
    if (has_assumptions_ && is_urgent) {
      tell(callback.name, "stranger", "is not in the plan, and runs in real time");
    }
    return;
  }
  const std::string now = to_string(policy_of(record.policy));
  const bool is_by_deadline =
    wanted.policy == SchedulingPolicy::kDeadline || wanted.policy == SchedulingPolicy::kExt;
  const auto policy = static_cast<uint8_t>(wanted.policy);  // the numbers are those of records
  if (is_by_deadline && record.policy != RCLRT_POLICY_UNKNOWN && record.policy != policy) {
    tell(
      callback.name, "policy",
      "runs under " + now + "; the file says " + to_string(policy_of(policy)));
  }
  if (is_fixed_priority(wanted) && record.policy != RCLRT_POLICY_UNKNOWN) {
    if (!is_fixed_priority(record.policy)) {
      tell(callback.name, "policy", "runs under " + now + ", which any program may preempt");
    } else if (record.priority != wanted.priority) {
      tell(
        callback.name, "priority",
        "runs under " + now + " " + std::to_string(record.priority) + "; the file says " +
          std::to_string(wanted.priority));
    }
  }
  const std::vector<int> cpus = wanted.cpu_affinity.cpus();
  if (!cpus.empty() && std::find(cpus.begin(), cpus.end(), record.cpu) == cpus.end()) {
    tell(
      callback.name, "cpu",
      "runs on CPU " + std::to_string(record.cpu) + "; the file says " +
        wanted.cpu_affinity.to_string());
  }
}

void Assumptions::settle(int64_t until)
{
  for (Callback * callback : released_) {
    std::vector<int64_t> & releases = callback->releases;
    const Duration least = callback->assumed.min_period.value_or(Duration(0));
    std::sort(releases.begin(), releases.end());
    const auto done = std::upper_bound(releases.begin(), releases.end(), until);
    for (auto next = releases.begin(); next != done && next + 1 < done; ++next) {
      const Duration distance(next[1] - next[0]);
      if (distance < least) {
        tell(
          callback->name, "period",
          "is released " + in_ms(distance) + " after the last time; the file says " + in_ms(least));
      }
    }
    if (done != releases.begin()) {
      releases.erase(releases.begin(), done - 1);  // the newest of them is compared with the next
    }
  }
  const auto is_done = [](const Callback * callback) { return callback->releases.size() < 2; };
  released_.erase(std::remove_if(released_.begin(), released_.end(), is_done), released_.end());
}

void Assumptions::look_at_threads(
  const std::vector<rclrt_core::ThreadReport> & threads,
  const std::function<std::vector<std::string>(const Attributes &)> & outranked)
{
  std::map<uint32_t, Asked> asked_of_those;
  for (const rclrt_core::ThreadReport & thread : threads) {
    if (auto asked = asked_.extract(static_cast<uint32_t>(thread.id))) {
      asked_of_those.insert(std::move(asked));
    }
  }
  asked_ = std::move(asked_of_those);  // the others have ended
  // A thread lowers itself for a job before it takes it, and another thread may then take that job: so it may have what
  // any job has asked for.
  bool all_are_real_time = true;
  int least = std::numeric_limits<int>::max();
  for (const auto & entry : asked_) {
    all_are_real_time = all_are_real_time && entry.second.is_real_time;
    least = std::min<int>(least, entry.second.least);
  }
  Attributes most_urgent;
  std::string whose;
  for (const rclrt_core::ThreadReport & thread : threads) {
    const Attributes & now = thread.in_force;
    const std::string what = "thread " + std::to_string(thread.id);
    const auto asked = asked_.find(static_cast<uint32_t>(thread.id));
    if (asked == asked_.end()) {
      if (is_fixed_priority(now)) {
        urgent_.insert(thread.id);
      }
      if (is_odd(what, urgent_.count(thread.id) > 0 && !is_fixed_priority(now))) {
        tell("", what.c_str(), what + " '" + thread.name + "' is not real-time any more");
      }
      continue;
    }
    urgent_.erase(thread.id);
    if (!all_are_real_time) {
      continue;
    }
    // What a job lends or inherits is more, never less than what was asked for.
    const bool is_less = !is_fixed_priority(now) || now.priority < least;
    if (is_odd(what, is_less)) {
      tell(
        asked->second.callback, what.c_str(),
        what + " has " + rclrt_core::to_string(now.policy) + " " + std::to_string(now.priority) +
          ", which no job asked for");
    }
    if (asked->second.least > most_urgent.priority) {
      most_urgent.policy = SchedulingPolicy::kFifo;
      most_urgent.priority = asked->second.least;
      whose = asked->second.callback;
    }
  }
  const std::vector<std::string> below =
    whose.empty() ? std::vector<std::string>() : outranked(most_urgent);
  if (is_odd("middleware", !below.empty())) {
    tell(
      whose, "middleware",
      "the middleware's thread " + below.front() + " is not more urgent than this callback");
  }
}

bool Assumptions::is_odd(const std::string & what, bool now)
{
  int & looks = odd_[what];
  looks = now ? looks + 1 : 0;
  return looks == kLooksInARow;
}

void Assumptions::tell(const std::string & callback, const char * kind, const std::string & text)
{
  if (told_.emplace(callback, kind).second) {
    tell_({callback, text, configuration_.chains_beside(callback)});
  }
}

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
