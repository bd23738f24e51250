// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "watcher.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "milliseconds.hpp"

namespace rclrt_front_end
{

using rclrt_core::Finding;
using rclrt_core::Severity;

namespace
{

constexpr std::chrono::milliseconds kPause(50);
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kLooks = 500 * kMillisecond;
constexpr int64_t kSettles = 100 * kMillisecond;
/// Records are that old when they are judged: those of other threads and processes are there by then.
constexpr int64_t kAge = 300 * kMillisecond;
/// So long a chain may bring out jobs of its last callback, but no instance.
constexpr int64_t kUnseen = 5000 * kMillisecond;

}  // namespace

Watcher::Watcher(
  rclrt_core::Engine & engine, const rclrt_config::Configuration & configuration, Options options)
: engine_(engine),
  configuration_(configuration),
  options_(std::move(options)),
  executor_(engine.trace_source().executor),
  chains_(configuration.chains())
{
  rclrt_core::ThreadOptions thread;
  thread.name = "rclrt watch";
  thread.attributes.policy = rclrt_core::SchedulingPolicy::kOther;
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
    platform.wait(end_, 0, platform.now() + kPause);
  }
}

void Watcher::step(int64_t now)
{
  if (now >= next_look_) {
    next_look_ = now + kLooks;
    look();
  }
  uint64_t lost = lost_of_ended_;
  std::vector<rclrt_job_record> records;
  for (auto & [path, source] : sources_) {
    records.clear();
    if (!source.file.look()) {
      continue;  // somebody has written into it
    }
    const std::lock_guard<PiMutex> lock(mutex_);
    chains_.find_places(source);
    if (source.has_chains() && source.file.read(&records)) {
      chains_.feed(source, records);
      lost += source.file.lost();
    }
    lost_ = std::max(lost_, lost);
  }
  if (now >= next_settle_) {
    next_settle_ = now + kSettles;
    settle(now - kAge);
  }
}

/// Which files there are.
void Watcher::look()
{
  const std::vector<std::string> there = live_traces();
  for (auto source = sources_.begin(); source != sources_.end();) {
    const bool is_there = std::binary_search(there.begin(), there.end(), source->first);
    if (is_there && !source->second.file.has_ended()) {
      ++source;
      continue;
    }
    lost_of_ended_ += source->second.has_chains() ? source->second.file.lost() : 0;
    source = sources_.erase(source);
  }
  for (const std::string & path : there) {
    ChainSource source;
    if (sources_.count(path) == 0 && source.file.open(path)) {
      source.is_ours = source.file.process() == static_cast<uint32_t>(getpid()) &&
                       source.file.executor() == executor_;
      sources_.emplace(path, std::move(source));
    }
  }
}

void Watcher::settle(int64_t until)
{
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
      {subject, "nothing new for more than " + in_ms(*chain.watch.chain().silent_after), 0,
       "See whether its callbacks run: ./rclrt top"});
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
       0, "See where the time goes: ./rclrt trace record, ./rclrt explain"});
  }
}

ChainReport Watcher::report_of(const WatchedChain & chain) const
{
  ChainReport report = chain.watch.report();
  report.lost_records = lost_;
  const bool is_met = report.bound && (!report.deadline || *report.bound <= *report.deadline);
  const bool is_kept = report.worst && (!report.bound || *report.worst <= *report.bound);
  report.proved = is_met && is_kept && lost_ == 0;
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
