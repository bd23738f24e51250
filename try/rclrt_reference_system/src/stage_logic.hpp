// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What stages do, the message between them with the origins that it carries, and what is kept of their jobs.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "rclrt_reference_interfaces/msg/message4kb.hpp"
#include "rclrt_reference_system/busy_work.hpp"
#include "rclrt_reference_system/scenario.hpp"

namespace rclrt_reference_system
{

using Message = rclrt_reference_interfaces::msg::Message4kb;
using Origin = rclrt_reference_interfaces::msg::Origin;
using Origins = std::array<Origin, kMaxHotPathRoots>;

static_assert(sizeof(Message) == 4096, "the message of [ROSRT §V-B] has 4 KB");
static_assert(Message::ORIGINS == kMaxHotPathRoots, "one place for each root of a hot path");

/// CLOCK_MONOTONIC. Real-time safe.
inline int64_t monotonic_ns() noexcept
{
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

// What happened is kept without allocation: one log a callback, written by the thread that runs it. A log has one writer
// at a time (its callback's group is mutually exclusive) and is read after the executor has stopped; so it needs no lock.
// Beyond its capacity it only counts.

/// One job of a callback. All times CLOCK_MONOTONIC.
struct JobSample
{
  int64_t release_ns = 0;     ///< a timer's nominal release, or arrival at the middleware
  int64_t start_ns = 0;       ///< the callback began
  int64_t end_ns = 0;         ///< it returned, all published
  int64_t sent_ns = 0;        ///< the sender published what it received; 0 for a timer
  uint64_t in_sequence = 0;   ///< number of what it received at its publisher; 0 for a timer
  uint64_t out_sequence = 0;  ///< number of what it published; 0 if nothing
  int64_t away_ns = 0;  ///< its thread did not run in the middle of its work, see BusyWork::run()
};

/// One time that data of a root of the hot path reached the start of the sink's work.
struct HotPathSample
{
  Origins origins;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

template <typename Sample>
class SampleLog
{
public:
  /// All memory is touched here.
  explicit SampleLog(std::size_t capacity = 0) : samples_(capacity) {}

  /// Real-time safe.
  void add(const Sample & sample) noexcept
  {
    if (size_ < samples_.size()) {
      samples_[size_++] = sample;
    } else {
      ++lost_;
    }
  }

  const Sample * begin() const noexcept { return samples_.data(); }
  const Sample * end() const noexcept { return samples_.data() + size_; }
  std::size_t size() const noexcept { return size_; }
  /// Samples for which there was no room.
  uint64_t lost() const noexcept { return lost_; }

private:
  std::vector<Sample> samples_;
  std::size_t size_ = 0;
  uint64_t lost_ = 0;
};

using JobLog = SampleLog<JobSample>;
using HotPathLog = SampleLog<HotPathSample>;

/// What one stage (a node, or one connection of an intersection) does when its timer or one of its
/// inputs wakes it up. Knows neither ROS nor executors: the caller hands in what arrived and a
/// function that publishes.
///
/// Not thread-safe: the callbacks of a stage are in one mutually exclusive group. Allocates nothing
/// once made.
class StageLogic
{
public:
  struct Options
  {
    NodeKind kind = NodeKind::kTimer;
    std::size_t inputs = 0;
    rclrt_core::Duration work{0};
    /// Place of this stage's data in Message::origins, if it is a root of the hot path.
    int root = -1;
    /// The sink of the hot path.
    bool is_sink = false;
    /// Room for samples: one log an input, one more for the timer, one for the hot path.
    std::vector<std::size_t> input_capacity;
    std::size_t timer_capacity = 0;
  };

  /// Called with the message complete but for the time of publishing, which it stamps.
  using Publish = std::function<void(Message &)>;

  StageLogic(const Options & options, const BusyWork & work, Publish publish);

  /// The timer, due at `release_ns`, began its callback at `start_ns`.
  void on_timer(int64_t release_ns, int64_t start_ns);
  /// `message` came in by `input` at `received_ns`; the callback began at `start_ns`.
  void on_message(
    std::size_t input, const Message & message, int64_t received_ns, int64_t start_ns);

  const JobLog & timer_log() const noexcept { return timer_log_; }
  const JobLog & input_log(std::size_t input) const { return inputs_.at(input).log; }
  const HotPathLog & hot_path_log() const noexcept { return hot_path_log_; }
  /// Samples published so far.
  uint64_t published() const noexcept { return out_.sequence; }

private:
  struct Input
  {
    bool is_new = false;
    Origins origins;
    JobLog log;
  };

  /// Work on all new inputs, publish, forget them. Notes the number of what it published, and for how long its thread
  /// was away.
  void process(JobSample * sample);
  void finish(JobSample sample, JobLog * log, bool has_processed);

  const Options options_;
  const BusyWork work_;
  const Publish publish_;
  std::vector<Input> inputs_;
  JobLog timer_log_;
  HotPathLog hot_path_log_;
  Message out_;
};

}  // namespace rclrt_reference_system
