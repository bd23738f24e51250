// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/recorder.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

namespace rclrt_front_end
{
namespace
{

using rclrt_core::Status;
using rclrt_core::TimePoint;

constexpr std::chrono::milliseconds kPause(20);
/// A file whose program was killed lacks at most what came after the last flush.
constexpr std::chrono::milliseconds kFlushes(500);
/// What comes after the occasion is written as well.
constexpr std::chrono::milliseconds kAfterwards(200);
constexpr std::size_t kFiles = 4;

/// How often each signal has come. Only on_signal() adds; recorders read, any number of them.
std::array<std::atomic<uint64_t>, 65> signals{};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "it is used in a signal handler");

void on_signal(int number) { signals[static_cast<std::size_t>(number)].fetch_add(1); }

/// Empty, or why the signal cannot be an occasion.
std::string listen_to(int number)
{
  struct sigaction now{};
  if (sigaction(number, nullptr, &now) != 0) {
    return "there is no such signal";
  }
  if ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == on_signal) {
    return {};
  }
  if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) {
    return "the program uses it for something else";
  }
  struct sigaction ours{};
  ours.sa_handler = on_signal;
  ours.sa_flags = SA_RESTART;
  sigemptyset(&ours.sa_mask);
  return sigaction(number, &ours, nullptr) == 0 ? "" : "the system refuses it";
}

bool is_miss(const rclrt_job_record & record)
{
  return rclrt_job_ran(&record) != 0 && record.deadline_ns != RCLRT_TRACE_NO_DEADLINE &&
         record.end_ns > record.deadline_ns;
}

}  // namespace

Recorder::Recorder(rclrt_core::Engine & engine, rclrt_config::TraceOptions options, Tell tell)
: engine_(engine),
  options_(std::move(options)),
  tell_(std::move(tell)),
  name_(
    options_.directory + "/" + rclrt_core::trace_name(engine.trace_source(UINT32_MAX).executor) +
    "-")
{
  std::error_code error;
  std::filesystem::create_directories(options_.directory, error);
  if (error) {
    give_up(Status::error("cannot make the folder: " + error.message()));
    return;
  }
  if (options_.keep > rclrt_core::Duration::zero() && options_.on_signal != 0) {
    const std::string why = listen_to(options_.on_signal);
    if (!why.empty()) {
      tell_({"trace", "on_signal has no effect: " + why, 0, "Choose another signal"});
    }
    signals_ = signals[static_cast<std::size_t>(options_.on_signal)];
  }
  rclrt_core::ThreadOptions thread;
  thread.name = "rclrt trace";
  thread.attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kOther;
  const Status started =
    engine_.platform().start_thread(thread, [this] { run(); }, tell_, &thread_);
  if (!started.ok()) {
    give_up(started);
  }
}

Recorder::~Recorder()
{
  end_.store(1, std::memory_order_release);
  engine_.platform().wake_one(end_);
  if (thread_) {
    thread_.reset();
    step(true);
  }
}

void Recorder::run()
{
  rclrt_core::Platform & platform = engine_.platform();
  while (end_.load(std::memory_order_acquire) == 0) {
    step(false);
    platform.wait(end_, 0, platform.now() + kPause);
  }
}

void Recorder::step(bool is_last)
{
  if (options_.keep > rclrt_core::Duration::zero()) {
    engine_.read_trace([this](const rclrt_job_record & record) { keep(record); });
    write_what_is_kept(is_last);
  } else {
    write_all();
  }
  if (is_open_ && is_last) {
    close_file();
  }
}

void Recorder::close_file()
{
  is_open_ = false;
  const Status closed = file_.close(source());
  if (!closed.ok()) {
    give_up(closed);
  }
}

rclrt_core::TraceSource Recorder::source()
{
  rclrt_core::TraceSource source = engine_.trace_source(next_callback_);
  if (!source.callbacks.empty()) {
    next_callback_ = source.callbacks.back().id + 1;
  }
  return source;
}

void Recorder::write_all()
{
  const auto write = [this](const rclrt_job_record & record) {
    if (has_failed_ || (!is_open_ && !open_next())) {
      return;  // it was told once; the rings are emptied all the same
    }
    file_.append(record);
  };
  engine_.read_trace(write);
  const TimePoint now = engine_.platform().now();
  if (!is_open_ || now < next_flush_) {
    return;
  }
  next_flush_ = now + kFlushes;
  const bool is_long = file_.size() >= options_.limit / kFiles;
  if (is_long || !file_.flush(source())) {
    close_file();
  }
}

void Recorder::keep(const rclrt_job_record & record)
{
  kept_.push_back(record);
  if (kept_.size() > options_.limit / kFiles / sizeof(record)) {
    kept_.pop_front();
  }
  if (options_.on_miss && is_miss(record) && !occasion_) {
    occasion_ = engine_.platform().now();
  }
}

void Recorder::write_what_is_kept(bool is_last)
{
  const TimePoint now = engine_.platform().now();
  const int64_t oldest = rclrt_core::nanoseconds_of(now - options_.keep);
  while (!kept_.empty() && kept_.front().end_ns < oldest) {
    kept_.pop_front();
  }
  if (options_.on_signal != 0) {
    const uint64_t seen = signals[static_cast<std::size_t>(options_.on_signal)];
    if (seen != std::exchange(signals_, seen)) {
      occasion_ = occasion_.value_or(now);
      by_signal_ = true;
      not_before_ = TimePoint();
    }
  }
  const bool is_time =
    occasion_ && (is_last || (now >= *occasion_ + kAfterwards && now >= not_before_));
  if (!is_time || kept_.empty() || has_failed_ || !open_next()) {
    return;
  }
  occasion_.reset();
  by_signal_ = false;
  not_before_ = now + options_.keep;
  for (const rclrt_job_record & record : kept_) {
    file_.append(record);
  }
  is_open_ = false;
  const Status closed = file_.close(source());
  if (!closed.ok()) {
    give_up(closed);
  } else {
    tell_(
      {"trace",
       "what led to a missed deadline or a signal is in " + files_.back().path,
       0,
       {},
       rclrt_core::Severity::kNote});
  }
}

bool Recorder::open_next()
{
  while (files_.size() >= kFiles) {
    // What somebody has asked for goes last: misses come by themselves, and perhaps soon again.
    auto oldest =
      std::find_if(files_.begin(), files_.end(), [](const File & file) { return !file.by_signal; });
    oldest = oldest == files_.end() ? files_.begin() : oldest;
    std::remove(oldest->path.c_str());
    files_.erase(oldest);
  }
  char number[16];
  std::snprintf(number, sizeof(number), "%03u", next_number_++);
  files_.push_back({name_ + number + ".trace", by_signal_});
  const Status opened = file_.open(files_.back().path);
  is_open_ = opened.ok();
  next_callback_ = 0;
  if (!is_open_) {
    give_up(opened);
  }
  return is_open_;
}

void Recorder::give_up(const Status & status)
{
  has_failed_ = true;
  tell_(
    {"trace", "nothing more is written to '" + options_.directory + "': " + status.message(), 0,
     "Choose another directory, make room, or remove the entry 'trace'"});
}

}  // namespace rclrt_front_end
