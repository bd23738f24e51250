// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What happened: findings, threads, trace.

#include <algorithm>

#include "engine_impl.hpp"

namespace rclrt_core
{

void Engine::Impl::add_finding(Finding finding)
{
  {
    const Lock lock(*findings_mutex);
    const bool known_already =
      std::any_of(findings.begin(), findings.end(), [&](const Finding & other) {
        return other.subject == finding.subject && other.what == finding.what;
      });
    if (known_already) {
      return;
    }
    findings.push_back(std::move(finding));
  }
  if (options.on_finding) {
    options.on_finding();
  }
}

std::vector<ThreadReport> Engine::Impl::threads() const
{
  std::vector<ThreadReport> reports;
  const Lock configuration_lock(*configuration);
  for (const auto & worker : life.workers()) {
    ThreadReport report;
    report.name = worker->name;
    report.id = worker->thread_id.load(std::memory_order_relaxed);
    report.jobs = worker->jobs.load(std::memory_order_relaxed);
    if (report.id != 0 && platform.read_back(report.id, &report.in_force) == 0) {
      reports.push_back(std::move(report));  // a thread that has not begun or has ended is not
    }
  }
  return reports;
}

void Engine::Impl::read_trace(const std::function<void(const rclrt_job_record &)> & visit)
{
  Workers sources;
  {
    const Lock configuration_lock(*configuration);
    sources = life.workers();
    sources.push_back(inline_worker);
  }
  // Drained under the lock, because a thread that ends drains its ring, too; visited without it.
  std::vector<rclrt_job_record> records;
  {
    const Lock lock(*trace_mutex);
    records.assign(leftover.begin(), leftover.end());
    leftover.clear();
    for (const auto & worker : sources) {
      worker->ring.drain([&](const rclrt_job_record & record) { records.push_back(record); });
    }
  }
  std::for_each(records.begin(), records.end(), visit);
}

uint64_t Engine::Impl::trace_dropped() const
{
  // One lock after the other: nobody waits for who copies records. What a thread lost that ends in between is
  // counted from the next time on.
  uint64_t dropped = 0;
  {
    const Lock lock(*trace_mutex);
    dropped = leftover_dropped;
  }
  const Lock configuration_lock(*configuration);
  dropped += inline_worker->ring.dropped();
  for (const auto & worker : life.workers()) {
    dropped += worker->ring.dropped();
  }
  return dropped;
}

}  // namespace rclrt_core
