// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_front_end/teller.hpp"

#include <utility>

namespace rclrt_front_end
{
namespace
{

/// How long it may take until the log says that the scheduler of deadlines has gone, which tells nobody.
constexpr std::chrono::seconds kLookAtScheduler(1);

}  // namespace

Teller::Teller(rclrt_core::Platform & platform, Write write)
: platform_(platform), write_(std::move(write))
{
}

void Teller::tell(const rclrt_core::Finding & finding)
{
  const bool is_note = finding.severity == rclrt_core::Severity::kNote;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!told_.insert((is_note ? "note " : "") + finding.subject + '\n' + finding.what).second) {
    return;
  }
  rclrt_core::Finding shown = finding;
  if (!finding.fix.empty() && !told_fixes_.insert(finding.fix).second) {
    shown.fix = "The remedy is the same as above";
  }
  write_(shown.severity, to_string(shown));
}

void Teller::request() noexcept
{
  requests_.fetch_add(1, std::memory_order_release);
  platform_.wake_one(requests_);
}

void Teller::tell_if_requested(const ConfiguredEngine & engine)
{
  const uint32_t requests = requests_.load(std::memory_order_acquire);
  // Relaxed: if two threads come at once both tell, and each finding is written once all the same.
  if (told_requests_.exchange(requests, std::memory_order_relaxed) != requests) {
    tell_all(engine);
  }
}

void Teller::tell_all(const ConfiguredEngine & engine)
{
  for (const rclrt_core::Finding & finding : engine.findings()) {
    tell(finding);
  }
}

Teller::Watch::Watch(Teller & teller, const ConfiguredEngine & engine)
: teller_(teller), engine_(engine)
{
  rclrt_core::ThreadOptions options;
  options.name = "rclrt findings";
  // The thread that spins may be a real-time thread; this one must not disturb any.
  options.attributes.policy = rclrt_core::SchedulingPolicy::kOther;
  // Without the thread, what is found is told in the end.
  (void)teller_.platform_.start_thread(options, [this] { run(); }, {}, &thread_);
}

Teller::Watch::~Watch()
{
  ended_.store(true, std::memory_order_relaxed);  // published by the request
  teller_.request();
  thread_.reset();
  teller_.tell_all(engine_);
}

void Teller::Watch::run()
{
  while (true) {
    const uint32_t requests = teller_.requests_.load(std::memory_order_acquire);
    if (ended_.load(std::memory_order_relaxed)) {
      return;
    }
    teller_.tell_all(engine_);
    const bool has_scheduler = !engine_.deadline_scheduler().empty();
    teller_.platform_.wait(
      teller_.requests_, requests,
      has_scheduler ? teller_.platform_.now() + kLookAtScheduler : rclrt_core::kNever);
  }
}

}  // namespace rclrt_front_end
