// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What the process may do: resource limits and capabilities, as texts for findings. And why the kernel refuses a real-time
/// priority (EPERM): one cause, and what helps against that one. The sentence comes from facts, so that tests can state the
/// facts of machines that they do not have.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <optional>
#include <string>

namespace rclrt_core::linux_platform
{

/// RLIMIT_...: an enum in some C libraries, a plain number in others.
using Resource = decltype(RLIMIT_NPROC);

/// Soft limit of the process; RLIM_INFINITY for none.
rlim_t soft_limit(Resource resource);
/// As a number, or "unlimited".
std::string limit_text(Resource resource);

/// Whether the calling thread has a capability, by its number in <linux/capability.h>.
bool has_capability(int capability);
/// Whether it has the capability also for what belongs to the machine: priorities, locked memory. Root of a user namespace
/// (a rootless container) has all capabilities, but there alone.
bool has_capability_of_machine(int capability);
/// Whether a process is in the user namespace that the machine has begun with; `process` is its open folder in /proc.
bool is_in_machines_user_namespace(int process);
/// Whether this process is in the user namespace of the machine.
bool is_in_machines_user_namespace();

/// First line of a file of /proc or /sys; nullopt when it cannot be read.
std::optional<std::string> first_line(const std::string & path);
/// The number in a file of /proc or /sys.
std::optional<int64_t> number_in(const std::string & path);

struct RealtimeFacts
{
  bool is_permitted = false;  ///< by RLIMIT_RTPRIO, or by CAP_SYS_NICE where it counts
  std::string limit;          ///< RLIMIT_RTPRIO as a text
  bool is_nested = false;     ///< CAP_SYS_NICE is there, but of a user namespace only
  bool is_filtered = false;   ///< a seccomp filter refuses the call whatever it asks for
  /// Control groups of version 1 with a budget for real-time threads: that of this process. Nullopt: no such file.
  std::optional<int64_t> group_runtime_us;
  std::string group_file;
};

/// What may have refused `priority` to the calling thread. `root`: before the paths of files, for tests.
RealtimeFacts realtime_facts(int priority, const std::string & root = "");

/// One sentence, and the remedy.
std::string why_no_realtime(const RealtimeFacts & facts);

/// What to do where RLIMIT_RTPRIO is too small.
extern const char * const kRtprioFix;

}  // namespace rclrt_core::linux_platform
