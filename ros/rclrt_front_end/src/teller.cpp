// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/teller.hpp"

#include <algorithm>
#include <utility>

namespace rclrt_front_end
{
namespace
{

/// How long it may take until the log says that the scheduler of deadlines has gone, which tells nobody.
constexpr std::chrono::seconds kLookAtScheduler(1);

/// For a program whose nodes have a new name each time.
constexpr std::size_t kMostTold = 10'000;

}  // namespace

Told & Told::of_process()
{
  static auto & one = *new Told;  // never destroyed: executors may be static
  return one;
}

std::optional<rclrt_core::Finding> Told::next(const rclrt_core::Finding & finding)
{
  const bool is_note = finding.severity == rclrt_core::Severity::kNote;
  const std::lock_guard<PiMutex> lock(mutex_);
  if (all_.size() >= kMostTold) {
    all_.clear();
  }
  const auto is_new = [this](const char * of, const std::string & text) {
    return all_.insert(of + text).second;
  };
  if (
    !is_new(is_note ? "note " : "finding ", finding.subject + '\n' + finding.what) ||
    (!finding.cause.empty() && !is_new("cause ", finding.cause))) {
    return std::nullopt;
  }
  rclrt_core::Finding shown = finding;
  if (!finding.fix.empty() && !is_new("fix ", finding.fix)) {
    shown.fix = "The remedy is the same as above";
  } else if (!finding.cause.empty()) {
    shown.fix += ". (What else of this process is refused for this reason is not told here)";
  }
  return shown;
}

void Told::forget()
{
  const std::lock_guard<PiMutex> lock(mutex_);
  all_.clear();
}

Teller::Teller(rclrt_core::Platform & platform, Write write, Told & told)
: platform_(platform), write_(std::move(write)), told_(told)
{
}

void Teller::tell(const rclrt_core::Finding & finding)
{
  const std::lock_guard<PiMutex> lock(mutex_);
  if (const auto shown = told_.next(finding)) {
    write_(shown->severity, to_string(*shown));
  }
}

void Teller::request(uint32_t what) noexcept
{
  if ((requests_.fetch_or(what) & what) == 0) {
    platform_.wake_one(requests_);
  }
}

void Teller::tell_if_requested(const ConfiguredEngine & engine)
{
  if (take(kTell)) {
    tell_all(engine);
  }
}

void Teller::tell_all(const ConfiguredEngine & engine)
{
  for (const rclrt_core::Finding & finding : engine.findings()) {
    tell(finding);
  }
}

Teller::OwnThread::OwnThread(Teller & teller, ConfiguredEngine & engine, Work work)
: teller_(teller), engine_(engine), work_(std::move(work))
{
  rclrt_core::ThreadOptions options;
  options.name = "rclrt findings";
  options.attributes = work_.attributes;
  status_ = teller_.platform_.start_thread(options, [this] { run(); }, {}, &thread_);
}

Teller::OwnThread::~OwnThread()
{
  end();
  teller_.tell_all(engine_);
}

void Teller::OwnThread::end() noexcept
{
  if (thread_) {
    teller_.request(kEnd);
    thread_.reset();
    teller_.take(kEnd);
  }
}

void Teller::OwnThread::run()
{
  rclrt_core::Platform & platform = teller_.platform_;
  rclrt_core::TimePoint next_look_at_scheduler = platform.now();
  bool looks_at_threads = false;
  Stalls stalls;
  rclrt_core::TimePoint next_look_at_stalls = platform.now() + Stalls::kPeriod;
  while (!teller_.is_requested(kEnd)) {
    bool has_worked = false;
    bool has_told = false;
    if (teller_.take(kUpdate)) {
      has_worked = true;
      if (work_.update && !work_.update()) {
        return;
      }
    }
    if (teller_.take(kTell) || platform.now() >= next_look_at_scheduler) {
      has_worked = has_told = true;
      looks_at_threads = engine_.look_at_threads();
      teller_.tell_all(engine_);
    }
    if (has_worked) {
      // Updates may come more often than that: they do not put it off.
      const rclrt_core::TimePoint in_time = platform.now() + kLookAtScheduler;
      const rclrt_core::TimePoint next =
        has_told ? in_time : std::min(next_look_at_scheduler, in_time);
      next_look_at_scheduler =
        engine_.has_deadline_scheduler() || looks_at_threads ? next : rclrt_core::kNever;
      continue;
    }
    if (platform.now() >= next_look_at_stalls) {
      next_look_at_stalls = platform.now() + Stalls::kPeriod;
      engine_.engine().keep_cpus();
      for (const rclrt_core::Finding & finding : stalls.look(engine_.engine().waiting())) {
        engine_.report(finding);
        teller_.tell(finding);
      }
    }
    const rclrt_core::TimePoint next_look = work_.look ? work_.look() : rclrt_core::kNever;
    platform.wait(
      teller_.requests_, 0, std::min({next_look, next_look_at_scheduler, next_look_at_stalls}));
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
