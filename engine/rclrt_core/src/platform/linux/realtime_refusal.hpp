// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Why the kernel refuses a real-time priority (EPERM): one cause, and what helps against that one.
///
/// The sentence comes from facts, so that tests can state the facts of machines that they do not have.
#ifndef RCLRT_CORE__PLATFORM__LINUX__REALTIME_REFUSAL_HPP_
#define RCLRT_CORE__PLATFORM__LINUX__REALTIME_REFUSAL_HPP_

#include <cstdint>
#include <optional>
#include <string>

namespace rclrt_core::linux_platform
{

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

#endif  // RCLRT_CORE__PLATFORM__LINUX__REALTIME_REFUSAL_HPP_
