// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "run.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

#include "rclrt_core/linux_platform.hpp"

namespace rclrt_reference_system
{

using rclrt_core::Status;
using Clock = std::chrono::steady_clock;

namespace
{

ResourceUse resource_use()
{
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval & time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return {seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_nvcsw, usage.ru_nivcsw};
}

double resident_mib()
{
  std::ifstream statm("/proc/self/statm");
  double total = 0;
  double resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1024.0 * 1024.0);
}

/// Sleeps that end early when the run is over before its time.
class Alarm
{
public:
  /// Returns false if it was cut short.
  bool sleep_until(Clock::time_point time)
  {
    std::unique_lock<std::mutex> lock(mutex_);
    return !ended_.wait_until(lock, time, [this] { return is_over_; });
  }
  void end()
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_over_ = true;
    ended_.notify_all();
  }

private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
};

/// Says on standard output that this process is ready, and sleeps until the time that standard input
/// then gives: nanoseconds on CLOCK_MONOTONIC, one line.
Status wait_for_start(Alarm & alarm)
{
  std::cout << "connected" << std::endl;
  std::string line;
  while (line.find('\n') == std::string::npos) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    char byte = 0;
    const bool told = poll(&input, 1, 50) > 0;
    if (told && read(STDIN_FILENO, &byte, 1) != 1) {
      return Status::error("--start-together: standard input ended before it said when");
    }
    if (told) {
      line += byte;
    } else if (!alarm.sleep_until(Clock::now())) {
      return {};  // it is over
    }
  }
  const int64_t start_ns = std::strtoll(line.c_str(), nullptr, 10);
  if (start_ns <= 0) {
    return Status::error(
      "--start-together: '" + line.substr(0, line.size() - 1) +
      "' is no time. Give nanoseconds on CLOCK_MONOTONIC");
  }
  alarm.sleep_until(rclrt_core::time_point_of(start_ns));
  return {};
}

/// Drives the run from a thread of its own, while the caller spins.
class Conductor
{
public:
  Conductor(
    const RunOptions & options, ReferenceSystem & system, rclrt_rcl::Executor & executor, Run & run)
  : options_(options), system_(system), executor_(executor), run_(run)
  {
  }

  Status conduct(Alarm & alarm)
  {
    // Above every callback, so that a scenario that asks for more than there is still ends in time.
    // Without permission it runs as it is, like everything else; the engine reports that.
    rclrt_core::Attributes urgent;
    urgent.scheduling_policy = rclrt_core::SchedulingPolicy::kFifo;
    urgent.priority = 99;
    rclrt_core::LinuxPlatform platform;
    platform.apply(platform.current_thread(), urgent);

    Status status = system_.wait_until_connected(options_.connect_timeout);
    if (status.ok() && options_.start_together) {
      status = wait_for_start(alarm);
    }
    if (status.ok()) {
      measure(alarm);
    }
    executor_.cancel();
    return status;
  }

private:
  void measure(Alarm & alarm)
  {
    const Clock::time_point start = Clock::now();
    system_.start_timers();
    run_.interrupted = !alarm.sleep_until(start + options_.warm_up);
    const ResourceUse before = resource_use();
    run_.rss_mib_before = resident_mib();
    const Clock::time_point from = Clock::now();
    run_.interrupted |= !alarm.sleep_until(from + options_.duration);
    run_.measured_from_ns = from.time_since_epoch().count();
    run_.measured_to_ns = Clock::now().time_since_epoch().count();
    const ResourceUse after = resource_use();
    run_.use.cpu_s = after.cpu_s - before.cpu_s;
    run_.use.voluntary_switches = after.voluntary_switches - before.voluntary_switches;
    run_.use.involuntary_switches = after.involuntary_switches - before.involuntary_switches;
    run_.rss_mib = resident_mib();
    if (const auto * engine = dynamic_cast<const rclrt_rcl::EngineExecutor *>(&executor_)) {
      run_.threads = engine->threads();
    }
    // What was received in time may still end: to leave it out would favour those that are late.
    alarm.sleep_until(Clock::now() + kDrain);
  }

  const RunOptions & options_;
  ReferenceSystem & system_;
  rclrt_rcl::Executor & executor_;
  Run & run_;
};

}  // namespace

Status run(
  const RunOptions & options, ReferenceSystem & system, rclrt_rcl::Executor & executor,
  Run * result)
{
  Alarm alarm;
  Status status;
  Conductor conductor(options, system, executor, *result);
  const auto on_shutdown = executor.context()->on_shutdown([&alarm] { alarm.end(); });
  std::thread thread([&] { status = conductor.conduct(alarm); });
  const auto finish = [&] {
    alarm.end();
    thread.join();
    executor.context()->remove_on_shutdown(on_shutdown);
  };
  try {
    executor.spin();
  } catch (...) {
    finish();
    throw;
  }
  finish();
  result->interrupted |= !executor.context()->ok();
  result->findings = findings_of(executor);
  result->deadline_scheduler = deadline_scheduler_of(executor);
  return result->interrupted ? Status() : status;
}

}  // namespace rclrt_reference_system
