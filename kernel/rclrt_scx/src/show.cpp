// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <thread>

#include "scheduler.hpp"

namespace rclrt_scx
{
namespace
{

constexpr uint32_t kLeastIntervalMs = 10;
constexpr uint32_t kMostIntervalMs = 3600000;

int64_t now_ns()
{
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

std::string from_now(int64_t deadline_ns, int64_t now)
{
  if (deadline_ns <= RCLRT_SCX_NO_DEADLINE) {
    return "-";
  }
  char text[32];
  std::snprintf(text, sizeof(text), "%+.3f", static_cast<double>(deadline_ns - now) / 1e6);
  return text;
}

std::string runs(const rclrt_scx_cpu & cpu, int64_t now)
{
  if (cpu.offline != 0) {
    return "offline";
  }
  switch (cpu.running_ns) {
    case RCLRT_SCX_RUNS_BACKGROUND:
      return "background";
    case RCLRT_SCX_RUNS_NOTHING:
      return "nothing";
    case RCLRT_SCX_RUNS_PROTECTED:
      return "reserve";
    default:
      return from_now(static_cast<int64_t>(cpu.running_ns), now);
  }
}

void print(const Status & status)
{
  const rclrt_scx_state & state = status.state;
  const int64_t now = now_ns();
  if (state.in_force == 0) {
    std::printf(
      "rclrt_edf: EJECTED (%.*s%s%.*s); threads run under the fair class\n"
      "  `rclrt scx unload`, then load again\n",
      static_cast<int>(sizeof(state.exit_reason)), state.exit_reason,
      state.exit_message[0] != '\0' ? ": " : "", static_cast<int>(sizeof(state.exit_message)),
      state.exit_message);
  } else {
    std::printf("rclrt_edf: in force, kernel says %s\n", kernel_state().c_str());
  }
  std::printf(
    "mode: %s   reserve: %u %% of %u ms   threads: %zu of %u slots   events lost: %" PRIu64 "\n",
    state.mode == RCLRT_SCX_PARTIAL ? "partial" : "full", state.reserve_percent, state.period_ms,
    status.threads.size(), state.slots, state.events_lost);
  const std::string ignored = describe(ignored_limits(state));
  if (!ignored.empty()) {
    std::printf("%s\n", ignored.c_str());
  }
  std::printf(
    "\n%4s %16s %12s %10s %12s %10s\n", "CPU", "runs until, ms",
    "jobs >=", "misses >=", "preemptions", "reserves");
  for (std::size_t cpu = 0; cpu < status.cpus.size(); ++cpu) {
    const rclrt_scx_cpu & c = status.cpus[cpu];
    std::printf(
      "%4zu %16s %12" PRIu64 " %10" PRIu64 " %12" PRIu64 " %10" PRIu64 "\n", cpu,
      runs(c, now).c_str(), c.jobs, c.misses, c.preemptions, c.reserves);
  }
  if (status.threads.empty()) {
    return;
  }
  std::printf(
    "\n%5s %8s %8s %-16s %14s %14s %10s %10s\n", "slot", "tid", "pid", "name", "deadline, ms",
    "lent, ms", "jobs >=", "misses >=");
  for (const Status::Thread & thread : status.threads) {
    std::printf(
      "%5u %8u %8u %-16.16s %14s %14s %10" PRIu64 " %10" PRIu64 "\n", thread.slot, thread.owner.tid,
      thread.owner.tgid, thread.owner.comm, from_now(thread.urgency.deadline_ns, now).c_str(),
      from_now(thread.urgency.lent_ns, now).c_str(), thread.owner.jobs, thread.owner.misses);
  }
}

}  // namespace

std::string show_status(const std::string & directory)
{
  Status status;
  const std::string problem = read_status(directory, status);
  if (problem.empty()) {
    print(status);
  }
  return problem;
}

std::string show_top(const std::string & directory, uint32_t interval_ms, uint32_t count)
{
  if (interval_ms < kLeastIntervalMs || interval_ms > kMostIntervalMs) {
    return "--interval: from " + std::to_string(kLeastIntervalMs) + " to " +
           std::to_string(kMostIntervalMs) + " ms";
  }
  for (uint32_t i = 0; count == 0 || i < count; ++i) {
    if (i > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(interval_ms));
    }
    if (isatty(STDOUT_FILENO) == 1) {
      std::printf("\033[H\033[2J");
    }
    const std::string problem = show_status(directory);
    if (!problem.empty()) {
      return problem;
    }
    std::fflush(stdout);
  }
  return {};
}

}  // namespace rclrt_scx
