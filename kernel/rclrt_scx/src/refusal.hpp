// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Says in a sentence why the scheduler cannot be loaded, used or unloaded here, where that is known.
///
/// The sentences come from facts, so that tests can state the facts of machines that they do not have.
#pragma once

#include <cstdint>
#include <string>

namespace rclrt_scx
{

/// What this process sees of the machine, and what it may do there.
struct Facts
{
  bool has_sys = true;             ///< /sys is mounted
  std::string state = "disabled";  ///< of sched_ext; empty: the kernel has none
  std::string scheduler;           ///< that is in force
  bool has_types = true;           ///< /sys/kernel/btf/vmlinux can be read
  bool is_root = true;             ///< the effective user is 0
  bool is_nested = false;          ///< in a user namespace other than the machine's
  uint64_t capabilities = ~0ULL;   ///< effective, bit by number
  bool is_filtered = false;        ///< a seccomp filter looks at system calls
  bool bpf_is_refused = false;     ///< bpf(2) fails, whatever it is asked
  std::string lockdown;            ///< "integrity", "confidentiality", or empty
  std::string release;             ///< of the kernel
};

/// Finds out the facts for this process. Asks the kernel; opens nothing that stays open.
Facts facts_of_this_machine();

/// Says that the kernel has no sched_ext, or that this cannot be seen from here.
std::string no_sched_ext(const Facts & facts);

/// Empty, or why loading cannot work: what the kernel lacks, what this process may not, or that a scheduler is in force.
std::string why_not_here(const Facts & facts);

/// `complaints`: what libbpf and the kernel have said when it was loaded. Empty if the reason is not known.
std::string explain_refusal(const std::string & complaints, const Facts & facts);

/// The lines of a long log that say what is wrong.
std::string verdict_of(const std::string & complaints);

}  // namespace rclrt_scx
