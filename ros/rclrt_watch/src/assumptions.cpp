// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_watch/assumptions.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace rclrt_watch
{

using rclrt_core::Attributes;
using rclrt_core::Duration;
using rclrt_core::SchedulingPolicy;

namespace
{

constexpr int kLooksInARow = 3;
/// Releases of a callback that nobody has looked at yet: those of a burst.
constexpr std::size_t kMaxReleases = 100'000;
constexpr std::size_t kMaxThreads = 4096;
/// More are not told: the names are those of whatever runs.
constexpr std::size_t kMaxBroken = 10'000;

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
      add_job(*callback->second, record, source);
      if (record.cause == RCLRT_CAUSE_JOB && record.by_executor == executor) {
        check_trigger(*callback->second, record, known);
      }
    }
  }
}

void Assumptions::add_job(Callback & callback, const rclrt_job_record & record, std::size_t source)
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
  auto & threads = asked_[source];
  const bool is_new = threads.size() < kMaxThreads && record.thread != 0;
  if (record.policy != RCLRT_POLICY_UNKNOWN && (is_new || threads.count(record.thread) > 0)) {
    Asked & asked = threads[record.thread];
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
  const Threads & threads,
  const std::function<std::vector<std::string>(const Attributes &)> & outranked)
{
  // A thread lowers itself for a job before it takes it, and another thread may then take that job: so it may have what
  // any job of the executor has asked for.
  std::map<uint32_t, std::tuple<Asked, Asked, std::string>>
    asked_here;  // by it, and by its executor
  for (const std::size_t source : threads.sources) {
    std::map<uint32_t, Asked> those;
    Asked all{true, std::numeric_limits<int>::max(), ""};
    for (const rclrt_core::ThreadReport & thread : threads.all) {
      if (auto asked = asked_[source].extract(static_cast<uint32_t>(thread.id))) {
        all.is_real_time = all.is_real_time && asked.mapped().is_real_time;
        all.least = std::min(all.least, asked.mapped().least);
        those.insert(std::move(asked));
      }
    }
    asked_[source] = std::move(those);  // the others have ended
    for (const auto & [thread, asked] : asked_[source]) {
      asked_here[thread] = {asked, all, "thread " + std::to_string(source)};
    }
  }
  const std::size_t process = threads.sources.empty() ? SIZE_MAX : threads.sources.front();
  std::set<rclrt_core::ThreadId> & were_urgent = urgent_[process];
  std::set<rclrt_core::ThreadId> urgent;  // without those that have ended: numbers are given again
  const bool is_outside = !threads.who.empty();  // then one for each executor is told, not each
  Attributes most_urgent;
  std::string whose;
  for (const rclrt_core::ThreadReport & thread : threads.all) {
    const Attributes & now = thread.in_force;
    const std::string what = "thread " + std::to_string(thread.id);
    const auto found = asked_here.find(static_cast<uint32_t>(thread.id));
    if (found == asked_here.end()) {
      if (threads.workers.count(thread.id) > 0) {
        continue;
      }
      if (is_fixed_priority(now) || were_urgent.count(thread.id) > 0) {
        urgent.insert(thread.id);
      }
      if (is_odd(what, urgent.count(thread.id) > 0 && !is_fixed_priority(now))) {
        tell(
          threads.who, is_outside ? "thread" : what.c_str(),
          what + " '" + thread.name + "' is not real-time any more");
      }
      continue;
    }
    const auto & [asked, all, kind] = found->second;
    if (!all.is_real_time) {
      continue;
    }
    // What a job lends or inherits is more, never less than what was asked for.
    const bool is_less = !is_fixed_priority(now) || now.priority < all.least;
    if (is_odd(what, is_less)) {
      note(
        is_outside ? threads.who : asked.callback, is_outside ? kind : what,
        what + " has " + rclrt_core::to_string(now.scheduling_policy) + " " +
          std::to_string(now.priority) + ", which no job asked for",
        terms_.chains_beside(asked.callback), 1);
    }
    if (asked.least > most_urgent.priority) {
      most_urgent.scheduling_policy = SchedulingPolicy::kFifo;
      most_urgent.priority = asked.least;
      whose = asked.callback;
    }
  }
  were_urgent = std::move(urgent);
  const std::vector<std::string> below =
    whose.empty() || !outranked ? std::vector<std::string>() : outranked(most_urgent);
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
  if (broken_.size() == kMaxBroken && told_.count({who, kind}) == 0) {
    return;
  }
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

}  // namespace rclrt_watch
