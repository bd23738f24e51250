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
  return is_fixed_priority(attributes.scheduling_policy);
}

}  // namespace

Terms terms_of(const rclrt_config::Configuration & configuration)
{
  Terms terms;
  const auto & chains = configuration.chains();
  terms.has_proof = std::any_of(
    chains.begin(), chains.end(), [](const auto & chain) { return chain.bound.has_value(); });
  terms.of = [&configuration](const std::string & name) {
    Expected expected;
    expected.name = name;
    expected.assumed = configuration.assumption(name);
    expected.is_known = expected.assumed.wcet.has_value();
    return expected;
  };
  terms.chains_beside = [&configuration](const std::string & name) {
    return configuration.chains_beside(name);
  };
  return terms;
}

Assumptions::Assumptions(Terms terms, Tell tell)
: terms_(std::move(terms)), tell_(std::move(tell)), has_assumptions_(terms_.has_all)
{
}

void Assumptions::add(
  const std::map<uint32_t, std::string> & names, const std::vector<rclrt_job_record> & records,
  std::size_t source, uint32_t executor)
{
  Known & known = sources_[source];
  const bool is_one_new = known.size() != names.size();  // none is forgotten
  for (auto entry = names.begin(); is_one_new && entry != names.end(); ++entry) {
    const auto [place, is_new] = known.emplace(entry->first, nullptr);
    if (is_new) {
      Expected expected = terms_.of(entry->second);
      has_assumptions_ = has_assumptions_ || expected.is_known;
      const std::string name = expected.name;
      place->second = &callbacks_.emplace(name, Callback{std::move(expected)}).first->second;
    }
  }
  for (const rclrt_job_record & record : records) {
    const auto callback = known.find(record.callback);
    if (callback != known.end() && record.outcome != RCLRT_PUBLISHED) {
      add_job(*callback->second, record);
      if (record.cause == RCLRT_CAUSE_JOB && record.by_executor == executor) {
        check_trigger(*callback->second, record, known);
      }
    }
  }
}

void Assumptions::add_job(Callback & callback, const rclrt_job_record & record)
{
  const Expected & expected = callback.expected;
  const rclrt_config::Assumption & assumed = expected.assumed;
  if (rclrt_job_ran(&record) == 0) {
    callback.not_run += record.jobs;
    if (expected.is_known) {
      tell(
        expected.name, "lost", std::to_string(callback.not_run) + " of its jobs did not run",
        static_cast<int64_t>(callback.not_run));
    }
    return;
  }
  ++callback.jobs;
  if (!terms_.has_all && record.thread != 0 && record.policy != RCLRT_POLICY_UNKNOWN) {
    Asked & asked = asked_[record.thread];
    asked.is_real_time = asked.is_real_time && is_fixed_priority(record.policy);
    asked.least = std::min<int>(asked.least, record.priority);
    asked.callback = expected.name;
  }
  const Duration response(record.end_ns - record.release_ns);
  callback.worst = std::max(callback.worst.value_or(response), response);
  callback.misses += expected.deadline && response > *expected.deadline ? 1 : 0;
  if (assumed.bound && response > *assumed.bound) {
    tell(
      expected.name, "bound", "took " + in_ms(response) + "; its bound is " + in_ms(*assumed.bound),
      response.count());
  }
  if (record.cpu_ns >= 0) {
    const Duration ran(record.cpu_ns);
    callback.longest = std::max(callback.longest.value_or(ran), ran);
  }
  if (assumed.wcet && Duration(record.cpu_ns) > *assumed.wcet) {
    tell(
      expected.name, "wcet",
      "runs for " + in_ms(Duration(record.cpu_ns)) + says() + in_ms(*assumed.wcet), record.cpu_ns);
  }
  if (assumed.min_period && callback.releases.size() < kMaxReleases) {
    callback.releases.push_back(record.release_ns);
    if (callback.releases.size() == 2) {  // one stays, to be compared with the next
      released_.push_back(&callback);
    }
  }
  if (terms_.has_proof) {
    check_attributes(callback, record);
  }
}

void Assumptions::check_attributes(const Callback & callback, const rclrt_job_record & record)
{
  const Expected & expected = callback.expected;
  const Attributes & wanted = expected.assumed.attributes;
  const bool is_urgent = record.policy >= RCLRT_POLICY_FIFO;
  if (!expected.is_known) {
    if (has_assumptions_ && is_urgent) {
      tell(
        expected.name, "stranger",
        std::string("is not in the ") + terms_.where + ", and runs in real time");
    }
    return;
  }
  const std::string now = to_string(policy_of(record.policy));
  const bool is_by_deadline = wanted.scheduling_policy == SchedulingPolicy::kDeadline ||
                              wanted.scheduling_policy == SchedulingPolicy::kExt;
  const auto policy =
    static_cast<uint8_t>(wanted.scheduling_policy);  // the numbers are those of records
  if (is_by_deadline && record.policy != RCLRT_POLICY_UNKNOWN && record.policy != policy) {
    tell(expected.name, "policy", "runs under " + now + says() + to_string(policy_of(policy)));
  }
  if (is_fixed_priority(wanted) && record.policy != RCLRT_POLICY_UNKNOWN) {
    if (!is_fixed_priority(record.policy)) {
      tell(expected.name, "policy", "runs under " + now + ", which any program may preempt");
    } else if (wanted.priority != 0 && record.priority != wanted.priority) {
      tell(
        expected.name, "priority",
        "runs under " + now + " " + std::to_string(record.priority) + says() +
          std::to_string(wanted.priority));
    }
  }
  const std::vector<int> cpus = wanted.cpu_affinity.cpus();
  if (!cpus.empty() && std::find(cpus.begin(), cpus.end(), record.cpu) == cpus.end()) {
    tell(
      expected.name, "cpu",
      "runs on CPU " + std::to_string(record.cpu) + says() + wanted.cpu_affinity.to_string());
  }
}

/// An input that was always the first of two to come may be the last one, and then publish.
void Assumptions::check_trigger(
  const Callback & callback, const rclrt_job_record & record, const Known & known)
{
  const auto & expected = callback.expected.released_by;
  const auto by = known.find(record.by_callback);
  if (
    !expected || by == known.end() || rclrt_job_ran(&record) == 0 ||
    !by->second->expected.is_known) {
    return;
  }
  const std::string & name = by->second->expected.name;
  if (std::find(expected->begin(), expected->end(), name) == expected->end()) {
    std::string all;
    for (const std::string & one : *expected) {
      all += (all.empty() ? "'" : ", '") + one + "'";
    }
    tell(
      callback.expected.name, "trigger",
      "is released by '" + name + "'" + says() + (all.empty() ? "nothing" : all));
  }
}

void Assumptions::settle(int64_t until)
{
  for (Callback * callback : released_) {
    std::vector<int64_t> & releases = callback->releases;
    const Expected & expected = callback->expected;
    const Duration least = expected.assumed.min_period.value_or(Duration(0));
    std::sort(releases.begin(), releases.end());
    const auto done = std::upper_bound(releases.begin(), releases.end(), until);
    for (auto next = releases.begin(); next != done && next + 1 < done; ++next) {
      const Duration distance(next[1] - next[0]);
      if (distance < least) {
        tell(
          expected.name, "period",
          "is released " + in_ms(distance) + " after the last time" + says() + in_ms(least),
          (least - distance).count());
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
        what + " has " + rclrt_core::to_string(now.scheduling_policy) + " " +
          std::to_string(now.priority) + ", which no job asked for");
    }
    if (asked->second.least > most_urgent.priority) {
      most_urgent.scheduling_policy = SchedulingPolicy::kFifo;
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

void Assumptions::tell(
  const std::string & callback, const char * kind, const std::string & text, int64_t size)
{
  const auto told = told_.find({callback, kind});
  note(
    callback, kind, text,
    told == told_.end() ? terms_.chains_beside(callback) : std::vector<std::string>(), size);
}

void Assumptions::note(
  const std::string & who, const std::string & kind, const std::string & text,
  std::vector<std::string> chains, int64_t size)
{
  const auto [place, is_new] = told_.emplace(std::make_pair(who, kind), broken_.size());
  if (is_new) {
    broken_.push_back({who, kind, text, std::move(chains)});
  }
  Broken & broken = broken_[place->second];
  ++broken.times;
  if (size > broken.worst) {
    broken.worst = size;
    broken.text = text;
  }
  if (is_new && tell_) {
    tell_(broken);
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
