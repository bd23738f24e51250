// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The scheduler as the loader and its tools see it: put into force, taken out, looked at.
///
/// load() leaves everything pinned, so the scheduler outlives the process that loaded it. The kernel
/// falls back to its fair class by itself when the link goes, whatever the reason, so the machine is
/// never without a scheduler.
#ifndef SCHEDULER_HPP_
#define SCHEDULER_HPP_

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

/// Of the options alone: empty, or which one is wrong.
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

}  // namespace rclrt_scx

#endif  // SCHEDULER_HPP_
