// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <linux/capability.h>
#include <sys/mman.h>

#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include "platform/linux/limits.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace rclrt_core
{
namespace
{

using linux_platform::first_line;
using linux_platform::has_capability_of_machine;
using linux_platform::kRtprioFix;
using linux_platform::limit_text;
using linux_platform::number_in;
using linux_platform::realtime_facts;
using linux_platform::soft_limit;
using linux_platform::why_no_realtime;

const char * const kMachine = "machine";
const char * const kNoRealtime = "no real-time priorities";
const char * const kRtRuntime = "/proc/sys/kernel/sched_rt_runtime_us";
const char * const kRtPeriod = "/proc/sys/kernel/sched_rt_period_us";

const char * const kMemlockFix =
  "Add the line '@realtime - memlock unlimited' to /etc/security/limits.d/realtime.conf and log in "
  "as a member of that group, or raise the limit where the program is started (systemd: "
  "LimitMEMLOCK=infinity; container: --ulimit memlock=-1), or give CAP_IPC_LOCK";

std::string why_eperm(const Attributes & attributes)
{
  if (facts(attributes.scheduling_policy).has_reservation) {
    if (!has_capability_of_machine(CAP_SYS_NICE)) {
      return "SCHED_DEADLINE always needs CAP_SYS_NICE: run as root, or give it to the service "
             "(systemd: AmbientCapabilities=CAP_SYS_NICE; container: --cap-add sys_nice). That of "
             "a "
             "user namespace (rootless container) does not count";
    }
    return "A SCHED_DEADLINE thread must be allowed on all CPUs of its root domain: remove its "
           "cpu_affinity, or make an exclusive cpuset of those CPUs, or switch admission control "
           "off (sysctl kernel.sched_rt_runtime_us=-1)";
  }
  if (is_strict(attributes.scheduling_policy)) {
    return why_no_realtime(realtime_facts(attributes.priority));
  }
  if (attributes.scheduling_policy != SchedulingPolicy::kUnchanged) {
    return "A smaller nice than the present one, or leaving idle, needs RLIMIT_NICE, which is " +
           limit_text(RLIMIT_NICE) + " (20 - nice is allowed). Add the line '@realtime - nice " +
           std::to_string(attributes.nice) +
           "' to /etc/security/limits.d/realtime.conf and log in as a member of that group, or "
           "give CAP_SYS_NICE";
  }
  return "The thread belongs to another user: CAP_SYS_NICE is needed";
}

std::string why(const Attributes & attributes, int error_number, const CpuSet & usable)
{
  const std::string cpus = attributes.cpu_affinity.to_string();
  switch (error_number) {
    case EPERM:
      return why_eperm(attributes);
    case EBUSY:
      return attributes.scheduling_policy == SchedulingPolicy::kDeadline
               ? "The CPUs have not enough bandwidth left for runtime / period (in all at most "
                 "kernel.sched_rt_runtime_us / kernel.sched_rt_period_us of each): reduce the "
                 "runtime or raise the period"
               : "A SCHED_DEADLINE thread must be allowed on all CPUs of its root domain: remove "
                 "its cpu_affinity";
    case EINVAL:
      if (attributes.scheduling_policy == SchedulingPolicy::kDeadline) {
        return "The kernel wants 1024 ns <= runtime <= deadline <= period, and the period between "
               "kernel.sched_deadline_period_min_us and kernel.sched_deadline_period_max_us";
      }
      return "A value is out of range";
    case ESRCH:
      return "The thread has ended";
    case ENOTSUP:
      return "scheduling_policy ext needs a deadline scheduler, and there is none here: give "
             "EngineOptions::deadlines, or use fifo";
    case ENOSPC:
      return "The deadline scheduler has no room for one more: such jobs run without (told "
             "once). Have fewer threads with ext callbacks on the machine";
    case EPROTO:
      return "The kernel accepted it, but something else is in force";
    case kCpusLeftOut:
      return "In force without some or all of the CPUs " + cpus + ": the process may use " +
             usable.to_string() +
             ". Switch the others on (/sys/devices/system/cpu/cpu*/online), or widen the cpuset "
             "(cpuset.cpus of the control group; container: --cpuset-cpus)";
    default:
      return "";
  }
}

Finding memory_finding(const std::string & what, int error_number)
{
  return {
    kMachine, what + " RLIMIT_MEMLOCK is " + limit_text(RLIMIT_MEMLOCK) + " bytes", error_number,
    kMemlockFix};
}

bool memory_lock_is_limited()
{
  return !has_capability_of_machine(CAP_IPC_LOCK) && soft_limit(RLIMIT_MEMLOCK) != RLIM_INFINITY;
}

void check_throttling(std::vector<Finding> * findings)
{
  const int64_t runtime_us = number_in(kRtRuntime).value_or(-1);
  const int64_t period_us = number_in(kRtPeriod).value_or(1'000'000);
  if (runtime_us < 0 || runtime_us >= period_us) {
    return;
  }
  findings->push_back(
    {kMachine,
     "real-time threads that do not sleep lose their CPU for " +
       std::to_string(period_us - runtime_us) + " us in each " + std::to_string(period_us) +
       " us (kernel.sched_rt_runtime_us is " + std::to_string(runtime_us) + ")",
     0,
     "Harmless as long as they sleep for that share. Else: sysctl kernel.sched_rt_runtime_us=-1; "
     "since Linux 6.12 also /sys/kernel/debug/sched/fair_server/cpu*/runtime",
     Severity::kNote});
}

void check_governors(int cpu_count, std::vector<Finding> * findings)
{
  std::map<std::string, std::vector<int>> cpus_of;
  for (int cpu = 0; cpu < cpu_count; ++cpu) {
    const auto governor =
      first_line("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/scaling_governor");
    if (governor && *governor != "performance") {
      cpus_of[*governor].push_back(cpu);
    }
  }
  for (const auto & [governor, cpus] : cpus_of) {
    findings->push_back(
      {kMachine,
       "CPUs " + CpuSet(cpus).to_string() + " change their speed (governor " + governor + ")", 0,
       "For steady latencies: cpupower frequency-set -g performance", Severity::kNote});
  }
}

}  // namespace

Finding LinuxPlatform::explain(
  const std::string & subject, const Attributes & attributes, int error_number)
{
  Finding finding{
    subject, "asked for " + to_string(attributes), error_number,
    why(attributes, error_number, error_number == kCpusLeftOut ? usable_cpu_set() : CpuSet())};
  if (error_number == EPERM && attributes.priority > 0) {
    finding.cause = kNoRealtime;
  }
  return finding;
}

std::vector<Finding> LinuxPlatform::check_system(bool wants_realtime)
{
  std::vector<Finding> findings;
  if (!wants_realtime) {
    return findings;
  }
  if (!has_capability_of_machine(CAP_SYS_NICE) && soft_limit(RLIMIT_RTPRIO) < 99) {
    findings.push_back(
      {kMachine,
       "real-time priorities above " + limit_text(RLIMIT_RTPRIO) +
         " will be refused (RLIMIT_RTPRIO)",
       0, kRtprioFix, Severity::kWarning, kNoRealtime});
  }
  if (soft_limit(RLIMIT_RTTIME) != RLIM_INFINITY) {
    findings.push_back(
      {kMachine,
       "a real-time thread that uses a CPU for " + limit_text(RLIMIT_RTTIME) +
         " us without blocking ends the process: SIGXCPU, then SIGKILL (RLIMIT_RTTIME)",
       0,
       "Raise it: ulimit -R unlimited, systemd LimitRTTIME=infinity, container --ulimit "
       "rttime=-1"});
  }
  check_throttling(&findings);
  if (memory_lock_is_limited()) {
    findings.push_back(memory_finding("memory cannot be locked beyond a limit:", 0));
  }
  check_governors(cpu_count(), &findings);
  return findings;
}

std::vector<Finding> LinuxPlatform::lock_memory()
{
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
    return {memory_finding("asked to lock all memory;", errno)};
  }
  if (memory_lock_is_limited()) {
    return {memory_finding("memory is locked; what is allocated beyond a limit will fail:", 0)};
  }
  return {};
}

}  // namespace rclrt_core
