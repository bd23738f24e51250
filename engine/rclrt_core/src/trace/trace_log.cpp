// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/trace_log.hpp"

#include <algorithm>

#include "timers/timer_clocks.hpp"

namespace rclrt_core
{

rclrt_job_record record_of(const Worker & worker, int cpu) noexcept
{
  rclrt_job_record record = record_of(worker.job, *worker.callback);
  const CpuUse & use = worker.job_use;
  record.start_ns = nanoseconds_of(worker.job_start);
  record.end_ns = nanoseconds_of(worker.job_end);
  record.thread = static_cast<uint32_t>(worker.thread_id.load(std::memory_order_relaxed));
  record.preemptions = use.preemptions;
  record.cpu = static_cast<uint16_t>(cpu);
  record.cpu_ns = use.has_kept ? record.end_ns - record.start_ns : use.cpu_ns;
  record.publisher = worker.publisher;
  record.message = worker.message;
  record.outcome = static_cast<uint8_t>(worker.job_outcome);
  if (!worker.is_left_alone) {  // entries do not change while threads of the engine exist
    record.policy = worker.job_demand.attributes->policy_in_trace;
    record.priority = worker.job_demand.attributes->priority_in_trace;
    record.cpus = worker.job_demand.cpus->cpus_in_trace;
  }
  return record;
}

void TraceLog::keep(const Workers & ended)
{
  const std::lock_guard<Mutex> lock(*mutex_);
  for (const auto & worker : ended) {
    worker->reader.read(
      worker->ring, [this](const rclrt_job_record & record) { left_.push_back(record); });
    left_dropped_ += worker->reader.missed(worker->ring);
  }
  for (; left_.size() > most_left_; ++left_dropped_) {
    left_.pop_front();
  }
}

void TraceLog::read(
  const Workers & workers, const std::function<void(const rclrt_job_record &)> & visit)
{
  std::vector<rclrt_job_record> records;
  {
    const std::lock_guard<Mutex> lock(*mutex_);
    records.assign(left_.begin(), left_.end());
    left_.clear();
    const auto keep = [&](const rclrt_job_record & record) { records.push_back(record); };
    for (const auto & worker : workers) {
      worker->reader.read(worker->ring, keep);
    }
    given_up_reader_.read(given_up_, keep);
  }
  std::for_each(records.begin(), records.end(), visit);
}

uint64_t TraceLog::dropped(const Workers & workers) const
{
  const std::lock_guard<Mutex> lock(*mutex_);
  uint64_t dropped = left_dropped_ + given_up_reader_.missed(given_up_);
  for (const auto & worker : workers) {
    dropped += worker->reader.missed(worker->ring);
  }
  return dropped;
}

TracedCallback traced(const CallbackNode & callback)
{
  TracedCallback traced;
  traced.id = callback.id();
  traced.name = callback.name();
  traced.kind = callback.kind();
  traced.group = callback.group->number;
  traced.parallelism = callback.group->parallelism;
  traced.group_name = callback.group->name();
  if (callback.timer) {
    traced.period = Duration(callback.timer->first_period_ns);
  }
  return traced;
}

}  // namespace rclrt_core
