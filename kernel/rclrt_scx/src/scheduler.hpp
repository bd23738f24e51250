// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The scheduler as the loader and its tools see it: put into force, taken out, looked at.
///
/// load() leaves everything pinned, so the scheduler outlives the process that loaded it. The kernel
/// falls back to its fair class by itself when the link goes, whatever the reason, so the machine is
/// never without a scheduler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rclrt_scx/slots.h"

namespace rclrt_scx
{

struct LoadOptions
{
  std::string directory = RCLRT_SCX_DIRECTORY;
  std::string group;  ///< may use slots and read the state; empty: root alone
  rclrt_scx_mode mode = RCLRT_SCX_FULL;
  uint32_t slots = 1024;         ///< threads that can have a deadline at a time
  uint32_t reserve_percent = 5;  ///< of a CPU, for the background under overload; 1 to 50
  uint32_t period_ms = 100;      ///< in which the reserve is given; 20 to 1000
  uint32_t timeout_ms = 30000;   ///< until the kernel ejects a scheduler that starves a thread
  uint32_t record_kib = 0;       ///< ring buffer of decisions, for the checker; 0: none
  bool ignores_cgroups = false;  ///< load in mode full although cgroups have limits or weights
};

/// Looks at the options alone. Empty, or which one is wrong.
std::string check_options(const LoadOptions & options);

/// Put the scheduler into force. Empty, or what failed and what to do. Needs root.
std::string load(const LoadOptions & options);

/// load(), and wait until SIGINT or SIGTERM comes; then unload(). Returns as well when the kernel has ejected the
/// scheduler, which is an error, or somebody has unloaded it. Looks once a second.
std::string load_and_stay(const LoadOptions & options);

/// A unit of systemd that does so with these options. Empty, or why root should not run this program.
std::string systemd_unit(const LoadOptions & options, std::string & text);

/// Take it out of force and remove what was pinned; also what an ejected one left behind. Bounded by
/// five seconds. Empty, or what failed.
std::string unload(const std::string & directory);

/// One look at the tables.
struct Status
{
  rclrt_scx_state state{};
  std::vector<rclrt_scx_cpu> cpus;
  struct Thread
  {
    uint32_t slot;
    rclrt_scx_owner owner;
    rclrt_scx_slot urgency;
  };
  std::vector<Thread> threads;  ///< those that have a slot
};
std::string read_status(const std::string & directory, Status & status);

/// What the kernel has in force: "disabled", "enabled", ... or empty if it has no sched_ext; and the
/// name of the scheduler.
std::string kernel_state();
std::string kernel_scheduler();

// Shares and limits of CPU time that cgroups have. The scheduler does not know them, so in mode full they do not
// hold (docker --cpus, CPUQuota= of systemd).

struct CgroupLimit
{
  std::string group;  ///< as in /proc/PID/cgroup: "/system.slice/docker-12.scope"
  std::string value;  ///< "cpu.max 10000 100000"
};

/// Where groups with processes have other cpu.max, cpu.weight or cpu.idle than by default. Empty
/// as well where cgroups of version 2 are not mounted. Groups may come and go meanwhile.
/// Looks at no more than 100,000 files and folders.
std::vector<CgroupLimit> cgroup_limits();

/// "3 cgroups have ...: /a: cpu.max 10000 100000; /b: ...". Empty if there are none.
std::string describe(const std::vector<CgroupLimit> & limits);

/// Print one look at the scheduler. Empty, or why there is nothing to see.
std::string show_status(const std::string & directory);
/// Print it for programs: JSON, or text for Prometheus. Empty, or why there is nothing to see.
std::string export_status(const std::string & directory, bool as_json);
/// What cgroups say of CPU time and the scheduler in force does not heed.
std::vector<CgroupLimit> ignored_limits(const rclrt_scx_state & state);
/// Print it every `interval_ms`, `count` times or (0) until a signal ends the program.
std::string show_top(const std::string & directory, uint32_t interval_ms, uint32_t count);

/// Write the decisions of a scheduler loaded to record into `output`, for `seconds` or (0) until
/// SIGINT or SIGTERM. Empty, or what failed.
std::string record(const std::string & directory, const std::string & output, uint32_t seconds);
/// Check such a file and print what was found. Empty if EDF order was kept within the bound.
std::string check_file(const std::string & input, uint32_t bound_us);

// The kernel's own server that saves SCHED_EXT threads from starving below SCHED_OTHER ones. In
// partial mode every SCHED_OTHER thread outranks ours; what we get beside busy ones is what this
// server gives, so it is set from its 50 ms a second to nearly all of a millisecond.

/// What CPU 0's server has, in nanoseconds; zeros if the kernel has none (before 7.x) or debugfs is
/// not mounted.
void read_ext_server(uint64_t & runtime_ns, uint64_t & period_ns);
/// Set all servers for deadlines. Empty, or what failed.
std::string tune_ext_server();
/// Set all servers to these values. Empty, or what failed.
std::string set_ext_server(uint64_t runtime_ns, uint64_t period_ns);

}  // namespace rclrt_scx
