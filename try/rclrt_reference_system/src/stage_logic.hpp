// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What one stage (a node, or one connection of an intersection) does when its timer or one of its
/// inputs wakes it up. Knows neither ROS nor executors: the caller hands in what arrived and a
/// function that publishes.
///
/// Not thread-safe: the callbacks of a stage are in one mutually exclusive group. Allocates nothing
/// once made.
#ifndef STAGE_LOGIC_HPP_
#define STAGE_LOGIC_HPP_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "job_log.hpp"
#include "message.hpp"
#include "rclrt_reference_system/busy_work.hpp"
#include "rclrt_reference_system/scenario.hpp"

namespace rclrt_reference_system
{

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

#endif  // STAGE_LOGIC_HPP_
