// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "stage_logic.hpp"

#include <algorithm>
#include <utility>

namespace rclrt_reference_system
{

namespace
{

/// Keep the older of two samples of one root: what is made of both is as old as that.
void merge(const Origins & from, Origins * into)
{
  for (std::size_t i = 0; i < from.size(); ++i) {
    Origin & mine = (*into)[i];
    if (from[i].sequence != 0 && (mine.sequence == 0 || from[i].sequence < mine.sequence)) {
      mine = from[i];
    }
  }
}

std::size_t hot_path_capacity(const StageLogic::Options & options)
{
  std::size_t capacity = options.timer_capacity;
  for (const std::size_t input : options.input_capacity) {
    capacity += input;
  }
  return options.is_sink ? capacity : 0;
}

}  // namespace

StageLogic::StageLogic(const Options & options, const BusyWork & work, Publish publish)
: options_(options),
  work_(work),
  publish_(std::move(publish)),
  inputs_(options.inputs),
  timer_log_(options.timer_capacity),
  hot_path_log_(hot_path_capacity(options))
{
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    inputs_[i].log = JobLog(options.input_capacity.at(i));
  }
}

void StageLogic::on_timer(int64_t release_ns, int64_t start_ns)
{
  JobSample sample;
  sample.release_ns = release_ns;
  sample.start_ns = start_ns;
  process(&sample);
  finish(sample, &timer_log_, true);
}

void StageLogic::on_message(
  std::size_t index, const Message & message, int64_t received_ns, int64_t start_ns)
{
  Input & input = inputs_[index];
  input.is_new = true;
  input.origins = message.origins;
  for (Origin & origin : input.origins) {
    if (origin.sequence != 0 && origin.received_ns == 0) {
      origin.received_ns = received_ns;
    }
  }

  const bool processes =
    options_.kind != NodeKind::kCyclic &&
    std::all_of(inputs_.begin(), inputs_.end(), [](const Input & other) { return other.is_new; });
  JobSample sample;
  sample.release_ns = received_ns;
  sample.start_ns = start_ns;
  sample.sent_ns = message.published_ns;
  sample.in_sequence = message.sequence;
  if (processes) {
    process(&sample);
  }
  finish(sample, &input.log, processes);
}

void StageLogic::process(JobSample * sample)
{
  sample->away_ns = work_.run(options_.work).count();
  out_.origins.fill(Origin());
  for (Input & input : inputs_) {
    if (input.is_new) {
      merge(input.origins, &out_.origins);
      input.is_new = false;
    }
  }
  if (!publish_) {
    return;
  }
  ++out_.sequence;
  if (options_.root >= 0) {
    Origin & own = out_.origins[static_cast<std::size_t>(options_.root)];
    own = Origin();
    own.sequence = out_.sequence;
    own.published_ns = monotonic_ns();
  }
  publish_(out_);
  sample->out_sequence = out_.sequence;
}

void StageLogic::finish(JobSample sample, JobLog * log, bool has_processed)
{
  sample.end_ns = monotonic_ns();
  log->add(sample);
  const auto carries_data = [](const Origin & origin) { return origin.sequence != 0; };
  if (
    options_.is_sink && has_processed &&
    std::any_of(out_.origins.begin(), out_.origins.end(), carries_data)) {
    hot_path_log_.add({out_.origins, sample.start_ns, sample.end_ns});
  }
}

}  // namespace rclrt_reference_system
