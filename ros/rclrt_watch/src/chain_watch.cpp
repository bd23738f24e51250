// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_watch/chain_watch.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace rclrt_watch
{

using rclrt_config::ChainSemantics;
using rclrt_core::Duration;

namespace
{

constexpr int64_t kSecond = 1'000'000'000;
/// A job that is older than this releases nothing any more.
constexpr int64_t kRemembered = 20 * kSecond;
/// How long after the end of a job its publisher may go on.
constexpr int64_t kPatience = 2 * kSecond;
/// Instances of which percentiles are made: the newest.
constexpr std::size_t kKept = 10'000;
/// With so many inputs or less it is found out what was kept before the first record.
constexpr uint32_t kFewInputs = 8;

int64_t ns_of(const std::optional<Duration> & duration) { return duration ? duration->count() : 0; }

std::optional<Duration> duration_of(const std::optional<int64_t> & ns)
{
  return ns ? std::optional<Duration>(Duration(*ns)) : std::nullopt;
}

}  // namespace

const char * to_string(ChainState state)
{
  constexpr const char * words[] = {"UNSEEN", "OK", "WARN", "ERROR", "SILENT", "NOT LAST"};
  return words[static_cast<std::size_t>(state)];
}

JoinWatch::JoinWatch(uint32_t inputs, bool is_whole) : inputs_(inputs)
{
  if (!is_whole) {
    possible_.clear();
    for (uint32_t kept = 0; inputs <= kFewInputs && kept + 1 < 1U << inputs; ++kept) {
      possible_.insert(kept);
    }
  }
}

std::vector<ChainJob> JoinWatch::add(const ChainJob & job, bool published)
{
  newest_[job.input] = job;
  kept_.erase(
    std::remove_if(
      kept_.begin(), kept_.end(), [&job](const ChainJob & one) { return one.input == job.input; }),
    kept_.end());
  kept_.push_back(job);
  publishes_ = publishes_ || published;
  if (!is_known()) {
    find_out(job.input);
  }
  // What publishes shows itself when it works; what never does works once all have come.
  if (kept_.size() < inputs_ || (publishes_ && !published)) {
    return {};
  }
  std::vector<ChainJob> found = std::move(kept_);
  kept_.clear();
  if (!is_known()) {
    std::swap(found, before_);
  }
  return found;
}

void JoinWatch::find_out(uint64_t input)
{
  if (possible_.empty()) {
    return;
  }
  const auto next = static_cast<uint32_t>(number_.size()) % inputs_;
  const uint32_t bit = 1U << number_.emplace(input, next).first->second;
  const uint32_t full = (1U << inputs_) - 1;
  std::set<uint32_t> possible;
  for (const uint32_t kept : possible_) {
    possible.insert((kept | bit) == full ? 0 : kept | bit);
  }
  possible_ = std::move(possible);
  if (possible_.size() != 1) {
    return;
  }
  const uint32_t kept = *possible_.begin() != 0 ? *possible_.begin() : full;
  kept_.clear();
  for (const auto & [of, job] : newest_) {
    if ((kept >> number_.at(of) & 1) != 0) {
      kept_.push_back(job);
    }
  }
}

ChainWatch::ChainWatch(const rclrt_config::Chain & chain)
: chain_(chain),
  by_timer_(chain.links.front().is_timer()),
  last_only_(
    chain.last_only && std::any_of(
                         chain.links.begin() + 1, chain.links.end(),
                         [](const auto & link) { return link.inputs > 0; })),
  links_(chain.links.size())
{
  for (std::size_t i = 0; i < links_.size(); ++i) {
    links_[i].inputs = chain.links[i].inputs;
  }
  for (std::size_t i = 1; i < links_.size(); ++i) {
    links_[i].samples =
      chain.links[i].reads || chain.links[i].is_timer() || chain.links[i].inputs > 0;
  }
}

void ChainWatch::add_publication(const MessageKey & message, const JobKey & by, int64_t time)
{
  sent_[message] = {by, time};
  sent_in_order_.emplace_back(time, message);
  sent_at_.emplace(by, time);
}

void ChainWatch::add_job(std::size_t link, const Job & job)
{
  Link & to = links_[link];
  if (to.inputs < 2 || job.input == 0) {
    take(link, job);
    return;
  }
  if (!to.join) {
    to.join.emplace(to.inputs, job.is_whole);
  }
  to.jobs[job.key] = job;
  to.to_join.emplace(job.end, job);
}

void ChainWatch::take(std::size_t link, const Job & job)
{
  Link & to = links_[link];
  to.jobs[job.key] = job;
  // Its message is what others read; without numbers it may leave until the end.
  const auto sent = sent_at_.find(job.key);
  to.unsorted.push_back({sent != sent_at_.end() ? sent->second : job.end, job.key});
  if (link == links_.size() - 1) {
    outputs_.emplace(job.end, job);
  }
}

void ChainWatch::join(std::size_t link, int64_t until)
{
  Link & here = links_[link];
  if (!here.join) {
    return;
  }
  JoinWatch & jobs = *here.join;
  const auto done = here.to_join.upper_bound(until);
  for (auto next = here.to_join.begin(); next != done; ++next) {
    const Job & job = next->second;
    std::vector<Job> used = jobs.add(job, sent_at_.count(job.key) > 0);
    // At the begin of a chain it is the job itself that counts.
    if (!used.empty() && (link > 0 || jobs.is_known())) {
      here.used[job.key] = std::move(used);
      take(link, job);
    } else {
      here.unsorted.push_back({job.end, job.key});  // to be forgotten in time
    }
  }
  here.to_join.erase(here.to_join.begin(), done);
}

uint64_t ChainWatch::settle(int64_t until)
{
  const uint64_t misses = seen_.misses;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    join(i, until);
  }
  for (Link & link : links_) {
    std::sort(link.unsorted.begin(), link.unsorted.end());
    for (const End & end : link.unsorted) {  // most of them are the newest
      link.ends.insert(std::upper_bound(link.ends.begin(), link.ends.end(), end), end);
    }
    link.unsorted.clear();
  }
  auto done = outputs_.begin();
  for (; done != outputs_.end() && done->first <= until; ++done) {
    const Datum datum = datum_of(done->second);
    if (datum.is_late && done->first > until - kPatience) {
      break;
    }
    if (!datum.path.empty()) {
      output(datum, done->first);
    }
  }
  outputs_.erase(outputs_.begin(), done);
  listen(until);
  forget(until - std::max(kRemembered, 4 * ns_of(chain_.deadline)));
  return seen_.misses - misses;
}

ChainWatch::Datum ChainWatch::datum_of(const Job & output) const
{
  const Job * job = &output;
  Datum datum{{output.key}, false, true};
  for (std::size_t i = links_.size() - 1; i > 0; --i) {
    const Source source = source_of(i, *job);
    if (!source.job) {
      return {{}, source.is_late, false};
    }
    datum.is_last = datum.is_last && source.is_last;
    job = source.job;
    datum.path.push_back(job->key);
  }
  std::reverse(datum.path.begin(), datum.path.end());
  return datum;
}

ChainWatch::Source ChainWatch::source_of(std::size_t link, const Job & job) const
{
  const Link & here = links_[link];
  const auto joined = here.used.find(job.key);
  const Job * const begin = joined != here.used.end() ? joined->second.data() : &job;
  const Job * const end = begin + (joined != here.used.end() ? joined->second.size() : 1);
  Source source;
  bool is_late = false;
  for (const Job * one = begin; one != end; ++one) {
    const Job * const by = releaser(link - 1, *one);
    is_late = is_late || (!by && one->by_link_before);  // it has published, and still runs
    if (by && (!source.job || source.job->key < by->key)) {
      source = {by, false, here.inputs == 0 || one->key == job.key};
    }
  }
  if (source.job || is_late) {
    return {source.job, !source.job, source.is_last};
  }
  const bool is_unknown = !(job.by || job.message);
  if (here.samples || is_unknown) {
    // Where nobody has said what released it, it may have been the last.
    return {newest(link - 1, job.start), false, here.inputs == 0 || is_unknown};
  }
  return {};
}

const ChainWatch::Job * ChainWatch::releaser(std::size_t link_before, const Job & job) const
{
  const Job * source = job.by ? find(link_before, *job.by) : nullptr;
  if (!source && job.message) {
    const auto sent = sent_.find(*job.message);
    source = sent != sent_.end() ? find(link_before, sent->second.by) : nullptr;
  }
  return source;
}

const ChainWatch::Job * ChainWatch::find(std::size_t link, const JobKey & key) const
{
  const auto found = links_[link].jobs.find(key);
  return found != links_[link].jobs.end() ? &found->second : nullptr;
}

const ChainWatch::Job * ChainWatch::newest(std::size_t link, int64_t before) const
{
  const std::deque<End> & ends = links_[link].ends;
  const auto after = std::upper_bound(
    ends.begin(), ends.end(), before,
    [](int64_t time, const End & end) { return time < end.time; });
  for (auto at = std::make_reverse_iterator(after); at != ends.rend(); ++at) {
    if (!links_[link].join || links_[link].used.count(at->key) > 0) {
      return find(link, at->key);
    }
  }
  return nullptr;
}

/// The last callback has ended a job with these data.
void ChainWatch::output(const Datum & found, int64_t end)
{
  const JobKey datum = found.path.front();
  const std::optional<JobKey> last = answered_;
  if (last && datum <= *last) {
    return;  // nothing new
  }
  if (last_only_ && found.is_last) {
    if (const Job * const first = find(0, datum)) {
      count(end - first->release, end, found.path);
    }
  }
  seen_.left_out += last_only_ && !found.is_last ? 1 : 0;
  const bool same_executor =
    last && std::get<0>(*last) == std::get<0>(datum) && std::get<1>(*last) == std::get<1>(datum);
  if (same_executor) {
    const std::map<JobKey, Job> & first = links_.front().jobs;
    std::vector<JobKey> begun;
    for (auto job = first.upper_bound(*last); job != first.end() && job->first <= datum; ++job) {
      begun.push_back(job->first);
    }
    seen_.overtaken += begun.empty() ? 0 : begun.size() - 1;
    if (last_only_) {
      begun.clear();
    } else if (chain_.semantics == ChainSemantics::kAge) {
      begun = {*last};
    } else if (chain_.semantics == ChainSemantics::kReaction && by_timer_) {
      // An event that job k has just missed is answered by k + 1 or a later one.
      begun.insert(begun.begin(), *last);
      begun.resize(std::max<std::size_t>(1, begun.size() - 1));
    }
    const bool from_start = by_timer_ && chain_.semantics != ChainSemantics::kLatency;
    for (const JobKey & key : begun) {
      if (const Job * job = find(0, key)) {
        std::vector<JobKey> path = found.path;
        if (key != datum) {
          path.insert(path.begin(), key);
        }
        count(end - (from_start ? job->start : job->release), end, std::move(path));
      }
    }
  }
  answered_ = datum;
  newest_output_ = end;
  silent_ = false;
}

void ChainWatch::count(int64_t value, int64_t end, std::vector<JobKey> path)
{
  ++seen_.count;
  seen_.last = value;
  if (!seen_.worst || value > *seen_.worst) {
    seen_.worst = value;
    seen_.worst_end = end;
    seen_.worst_path = std::move(path);
  }
  seen_.above_bound += chain_.bound && value > chain_.bound->count() ? 1 : 0;
  seen_.instances.push_back({value, end});
  if (seen_.instances.size() > kKept) {
    seen_.instances.pop_front();
  }
  if (chain_.deadline) {
    judge(value > chain_.deadline->count());
  }
}

void ChainWatch::judge(bool missed)
{
  seen_.misses += missed ? 1 : 0;
  seen_.in_a_row = missed ? seen_.in_a_row + 1 : 0;
  seen_.most_in_a_row = std::max(seen_.most_in_a_row, seen_.in_a_row);
  seen_.peak = std::max(seen_.peak, seen_.in_a_row);
}

void ChainWatch::listen(int64_t now)
{
  begin_ = begin_.value_or(now);
  const int64_t last = newest_output_.value_or(*begin_);
  if (chain_.silent_after && !silent_ && now - last > chain_.silent_after->count()) {
    silent_ = true;
    ++seen_.silences;
    judge(true);
  }
}

void ChainWatch::forget(int64_t before)
{
  for (Link & link : links_) {
    while (!link.ends.empty() && link.ends.front().time <= before) {
      link.jobs.erase(link.ends.front().key);
      link.used.erase(link.ends.front().key);
      link.ends.pop_front();
    }
  }
  for (; !sent_in_order_.empty() && sent_in_order_.front().first < before;
       sent_in_order_.pop_front()) {
    const auto sent = sent_.find(sent_in_order_.front().second);
    if (sent != sent_.end()) {
      sent_at_.erase(sent->second.by);
      sent_.erase(sent);
    }
  }
}

uint64_t ChainWatch::take_peak()
{
  const uint64_t peak = std::max(seen_.peak, seen_.in_a_row);
  seen_.peak = seen_.in_a_row;
  return peak;
}

ChainState ChainWatch::state_after(uint64_t row) const
{
  if (seen_.count == 0 && !silent_) {
    return seen_.left_out == 0 ? ChainState::kUnseen : ChainState::kNotLast;
  }
  if (chain_.error_after && row >= *chain_.error_after) {
    return ChainState::kError;
  }
  const uint64_t warn_after = chain_.warn_after.value_or(chain_.error_after ? UINT32_MAX : 1);
  return row > 0 && row >= warn_after ? ChainState::kWarn : ChainState::kOk;
}

std::optional<Duration> ChainWatch::percentile(unsigned percent) const
{
  const std::size_t size = seen_.instances.size();
  if (size * (100 - percent) < 100) {
    return std::nullopt;
  }
  std::vector<int64_t> sorted;
  for (const Instance & one : seen_.instances) {
    sorted.push_back(one.took);
  }
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>((percent * size + 99) / 100 - 1);
  std::nth_element(sorted.begin(), at, sorted.end());
  return Duration(*at);
}

std::size_t ChainWatch::remembered() const
{
  std::size_t jobs = 0;
  for (const Link & link : links_) {
    jobs += link.jobs.size() + link.used.size() + link.ends.size();
  }
  return jobs;
}

ChainReport ChainWatch::report() const
{
  ChainReport report;
  report.name = chain_.name;
  report.state = silent_ ? ChainState::kSilent : state_after(seen_.in_a_row);
  report.deadline = chain_.deadline;
  report.bound = chain_.bound;
  report.last = duration_of(seen_.last);
  report.worst = duration_of(seen_.worst);
  report.p99 = percentile(99);
  report.instances = seen_.count;
  report.left_out = seen_.left_out;
  report.misses = seen_.misses;
  report.misses_in_a_row = seen_.in_a_row;
  report.most_misses_in_a_row = seen_.most_in_a_row;
  report.silences = seen_.silences;
  report.overtaken = seen_.overtaken;
  report.not_run = seen_.not_run;
  return report;
}

}  // namespace rclrt_watch
