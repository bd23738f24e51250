// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "watcher.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <utility>

#include "rclrt_front_end/named_threads.hpp"

namespace rclrt_front_end
{

using rclrt_core::Severity;
using rclrt_watch::Broken;
using rclrt_watch::in_ms;
using rclrt_watch::WatchedChain;

namespace
{

constexpr std::chrono::milliseconds kReadAfter(50);
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kLookAfter = 500 * kMillisecond;
/// What was no live trace is looked at again.
constexpr int64_t kForgets = 10'000 * kMillisecond;
/// Files that are open: this process needs descriptors for other things.
constexpr std::size_t kMaxSources = 256;
constexpr int64_t kSettles = 100 * kMillisecond;
/// Records are that old when they are judged: those of other threads and processes are there by then.
constexpr int64_t kAge = 300 * kMillisecond;
/// How long a chain may bring out jobs of its last callback, but no instance.
constexpr int64_t kUnseen = 5000 * kMillisecond;
/// What a status lists of broken assumptions: a message is sent once a second.
constexpr std::size_t kMostBroken = 20;
/// The time between two messages of diagnostics.
constexpr int64_t kPeriod = 1000 * kMillisecond;

}  // namespace

Watcher::Watcher(
  rclrt_core::Engine & engine, const rclrt_config::Configuration & configuration, Options options)
: engine_(engine),
  configuration_(configuration),
  options_(std::move(options)),
  executor_(engine.trace_source(UINT32_MAX).executor),
  chains_(configuration.chains()),
  assumptions_(
    rclrt_watch::terms_of(configuration), [this](const Broken & broken) { tell_broken(broken); })
{
  rclrt_core::ThreadOptions thread;
  thread.name = "rclrt watch";
  thread.attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kOther;
  const rclrt_core::Status started =
    engine_.platform().start_thread(thread, [this] { run(); }, options_.tell, &thread_);
  if (!started.ok()) {
    options_.tell(
      {"chains", "are not watched: " + started.message(), 0, "Let the process have more threads"});
  }
}

Watcher::~Watcher()
{
  end_.store(1, std::memory_order_release);
  engine_.platform().wake_one(end_);
  thread_.reset();
}

void Watcher::run()
{
  rclrt_core::Platform & platform = engine_.platform();
  while (end_.load(std::memory_order_acquire) == 0) {
    step(rclrt_core::nanoseconds_of(platform.now()));
    platform.wait(end_, 0, platform.now() + kReadAfter);
  }
}

void Watcher::step(int64_t now)
{
  if (now >= next_look_ && configuration_.is_watched()) {
    next_look_ = now + kLookAfter;
    look(now);
    look_at_threads();
  }
  uint64_t lost = lost_of_ended_;
  std::vector<rclrt_job_record> records;
  for (auto & [path, source] : sources_) {
    records.clear();
    bool is_good = !source.is_spoilt && source.file.look();
    if (is_good && source.executor == 0) {
      // Its maker names the file before it writes the number: it may have been opened between.
      source.executor = source.file.executor();
      source.is_ours = source.file.is_of_this_process() && source.executor == executor_;
    }
    std::unique_lock<PiMutex> lock(mutex_);
    if (is_good) {
      chains_.find_places(source, source.file.callbacks());
    }
    const bool matters = source.is_ours || source.has_chains();
    if (is_good && matters) {
      is_good = source.file.read(&records);
      if (is_good) {
        chains_.feed(source, records);
      }
    }
    lost += matters ? source.file.lost() : 0;
    lost_ = std::max(lost_, lost);
    lock.unlock();
    if (!is_good && !source.is_spoilt) {
      give_up(path, source);
    } else if (is_good && source.is_ours) {
      assumptions_.add(source.file.callbacks(), records);
    }
  }
  if (now >= next_settle_) {
    next_settle_ = now + kSettles;
    settle(now - kAge);
  }
  if (options_.publish && now >= next_publication_) {
    next_publication_ = now + kPeriod;
    publish();
  }
}

/// Which files there are. Ours stays open: somebody may remove it, but the engine goes on writing into it.
void Watcher::look(int64_t now)
{
  for (auto source = sources_.begin(); source != sources_.end();) {
    const Source & one = source->second;
    if (one.is_ours || (!one.file.is_removed() && !one.file.has_ended())) {
      ++source;
      continue;
    }
    lost_of_ended_ += one.has_chains() ? one.file.lost() : 0;
    source = sources_.erase(source);
  }
  if (now >= next_forgetting_) {
    next_forgetting_ = now + kForgets;
    refused_.clear();
  }
  std::vector<std::string> there = rclrt_watch::live_traces();
  // Live traces of this process come first: there may be too many.
  const std::string ours = "-" + std::to_string(getpid()) + "-";
  std::partition(there.begin(), there.end(), [&ours](const std::string & path) {
    return path.find(ours) != std::string::npos;
  });
  for (const std::string & path : there) {
    if (sources_.count(path) == 0 && refused_.count(path) == 0) {
      open(path);
    }
  }
}

void Watcher::open(const std::string & path)
{
  if (sources_.size() >= kMaxSources) {
    options_.tell(
      {"chains",
       "there are more than " + std::to_string(kMaxSources) + " live traces: not all are watched",
       0, "See rclrt trace list; remove from /dev/shm/rclrt-<uid> what is not ours"});
    refused_.insert(path);
    return;
  }
  Source source;
  if (!source.file.open(path)) {
    refused_.insert(path);
    return;
  }
  source.process = source.file.process();
  sources_.emplace(path, std::move(source));
}

/// Nothing is proved any more of what is in a spoilt file.
void Watcher::give_up(const std::string & path, Source & source)
{
  source.is_spoilt = true;
  if (!source.is_ours && !source.has_chains()) {
    return;
  }
  ++lost_of_ended_;
  options_.tell(
    {"'" + path + "'",
     "somebody else has written into it: what its executor does is not seen any more", 0,
     "Find out who; start the program anew"});
}

void Watcher::settle(int64_t until)
{
  assumptions_.settle(until);
  std::vector<ChainReport> missed;
  {
    const std::lock_guard<PiMutex> lock(mutex_);
    for (WatchedChain & chain : chains_.chains()) {
      // A chain that ends elsewhere is forgotten here as it goes.
      const uint64_t misses = chain.watch.settle(until);
      if (chain.is_ours) {
        tell_of(chain, until);
      }
      if (chain.is_ours && misses > 0) {
        missed.push_back(report_of(chain));
      }
    }
  }
  for (const ChainReport & report : missed) {
    if (options_.on_miss) {
      options_.on_miss(report);
    }
  }
}

void Watcher::publish()
{
  std::vector<DiagnosticStatus> statuses;
  {
    const std::lock_guard<PiMutex> lock(mutex_);
    for (WatchedChain & chain : chains_.chains()) {
      if (chain.is_ours) {
        const uint64_t peak = chain.watch.take_peak();
        statuses.push_back(status_of(chain.watch, report_of(chain), peak));
      }
    }
    if (assumptions_.has_proof()) {
      statuses.push_back(status_of_proof());
    }
  }
  std::map<std::string, rclrt_core::CallbackStatistics> callbacks;
  for (const auto & callback : engine_.callbacks()) {
    if (callback->was_released()) {  // thousands may never be
      callbacks[callback->name()] = engine_.statistics(*callback);
    }
  }
  for (DiagnosticStatus & status : rclrt_watch::statuses_of(callbacks, &published_)) {
    statuses.push_back(std::move(status));
  }
  for (DiagnosticStatus & status : statuses) {
    status.hardware_id = program_invocation_short_name;
  }
  const rclrt_core::Status published = options_.publish(statuses);
  if (!published.ok()) {
    options_.tell(
      {"diagnostics", "cannot be published: " + published.message(), 0,
       "Mend that, or write diagnostics: false"});
  }
}

void Watcher::look_at_threads()
{
  if (engine_.is_spinning() && assumptions_.has_proof()) {
    assumptions_.look_at_threads(
      {engine_.threads(), {0}}, [](const rclrt_core::Attributes & attributes) {
        return MiddlewareThreads::instance().outranked_by(attributes);
      });
  }
}

void Watcher::tell_broken(const Broken & broken)
{
  std::string text = broken.text;
  {
    const std::lock_guard<PiMutex> lock(mutex_);
    unproved_.insert(broken.chains.begin(), broken.chains.end());
    if (broken_.size() < kMostBroken) {
      broken_.emplace_back(broken.who.empty() ? "threads" : broken.who, broken.text);
    }
    if (assumptions_.has_proof() && !broken.chains.empty()) {
      text += has_missed() ? ": deadlines missed, no longer proved:"
                           : ": deadlines met so far, no longer proved:";
      for (std::size_t i = 0; i < broken.chains.size(); ++i) {
        text += (i == 0 ? " " : ", ") + broken.chains[i];
      }
    }
  }
  options_.tell(
    {broken.who.empty() ? "threads" : "'" + broken.who + "'", text, 0,
     "See docs/how-to/watch.md; change the model, and plan again"});
}

bool Watcher::has_missed() const
{
  const std::vector<WatchedChain> & chains = chains_.chains();
  return std::any_of(chains.begin(), chains.end(), [](const WatchedChain & chain) {
    return chain.is_ours && chain.watch.report().misses > 0;
  });
}

DiagnosticStatus Watcher::status_of_proof() const
{
  DiagnosticStatus status;
  status.name = std::string("rclrt: proof of ") + program_invocation_short_name +
                (executor_ > 1 ? " (executor " + std::to_string(executor_) + ")" : "");
  bool is_proved = !configuration_.proof_is_void() && broken_.empty();
  std::string unseen;
  for (const WatchedChain & chain : chains_.chains()) {
    if (chain.is_ours) {
      const ChainReport report = report_of(chain);
      is_proved = is_proved && report.proved;
      const bool came = report.instances + report.left_out > 0;
      unseen = unseen.empty() && !came ? report.name : unseen;
    }
  }
  status.message = has_missed() ? "deadlines missed" : "deadlines met so far";
  if (!unseen.empty()) {
    status.message = "nothing came out of '" + unseen + "'";
  } else if (lost_ > 0) {
    status.message += ", " + std::to_string(lost_) + " records are missing";
  }
  status.message += is_proved         ? ", proved"
                    : broken_.empty() ? ", not proved"
                                      : ", no longer proved";
  status.level = is_proved ? DiagnosticLevel::kOk : DiagnosticLevel::kWarn;
  status.values = broken_;
  return status;
}

/// Each text once, which the executor sees to.
void Watcher::tell_of(const WatchedChain & chain, int64_t now)
{
  const ChainReport report = chain.watch.report();
  const std::string subject = "chain '" + report.name + "'";
  if (report.state == ChainState::kUnseen) {
    if (chain.first_output != 0 && now - chain.first_output > kUnseen) {
      const std::string first = "'" + chain.watch.chain().links.front().pattern + "'";
      options_.tell(
        {subject,
         chain.has_first ? "no data were seen to come from " + first + " to its end"
                         : first + " is in no executor of this user on this machine",
         0, "Then nothing can be said of the chain: see docs/how-to/watch.md", Severity::kNote});
    }
    return;
  }
  if (chain.watch.is_silent()) {
    options_.tell(
      {subject,
       "nothing new for more than " +
         in_ms(chain.watch.chain().silent_after.value_or(rclrt_core::Duration(0))),
       0, "See whether its callbacks run: rclrt top"});
  }
  const rclrt_core::Duration longest = report.worst.value_or(rclrt_core::Duration(0));
  const rclrt_core::Duration bound = report.bound.value_or(longest);
  if (longest > bound && above_bound_.insert(report.name).second) {
    options_.tell(
      {subject, "took " + in_ms(longest) + "; its bound is " + in_ms(bound) + ": no longer proved",
       0, "See which assumption does not hold: rclrt watch"});
  }
  const ChainState worst = chain.watch.state_after(report.most_misses_in_a_row);
  if (report.deadline && (worst == ChainState::kWarn || worst == ChainState::kError)) {
    const auto & asked = chain.watch.chain();
    const uint32_t row =
      worst == ChainState::kError ? asked.error_after.value_or(1) : asked.warn_after.value_or(1);
    options_.tell(
      {subject,
       "missed its deadline of " + in_ms(*report.deadline) +
         (row > 1 ? " " + std::to_string(row) + " times in a row" : ""),
       0, "See where the time goes: rclrt trace record, rclrt model explain"});
  }
}

ChainReport Watcher::report_of(const WatchedChain & chain) const
{
  ChainReport report = chain.watch.report();
  report.lost_records = lost_;
  const bool is_met = report.bound && (!report.deadline || *report.bound <= *report.deadline);
  const bool is_kept = !report.bound || !report.worst || *report.worst <= *report.bound;
  report.proved = is_met && is_kept && lost_ == 0 && report.instances + report.left_out > 0 &&
                  unproved_.count(report.name) == 0 && !configuration_.proof_is_void();
  return report;
}

std::vector<ChainReport> Watcher::chains() const
{
  const std::lock_guard<PiMutex> lock(mutex_);
  std::vector<ChainReport> reports;
  for (const WatchedChain & chain : chains_.chains()) {
    if (chain.is_ours) {
      reports.push_back(report_of(chain));
    }
  }
  return reports;
}

}  // namespace rclrt_front_end
