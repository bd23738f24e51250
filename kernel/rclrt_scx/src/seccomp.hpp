// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Whether a filter of system calls looks at this thread, and what that means for bpf(2).
#pragma once

#include <sys/prctl.h>

#include <cerrno>
#include <fstream>
#include <string>

namespace rclrt_scx
{

inline bool has_seccomp_filter()
{
  std::ifstream file("/proc/thread-self/status");
  std::string word;
  while (file >> word) {
    if (word == "Seccomp:") {
      int mode = 0;
      return (file >> mode) && mode == 2;
    }
  }
  return false;
}

/// bpf(2) is refused before it is looked what it asks for.
inline std::string refused_bpf(bool is_filtered)
{
  return is_filtered ? "bpf(2) is refused by a seccomp filter of this container or service: let it "
                       "pass (docker, podman: --security-opt seccomp=PROFILE with `bpf` allowed; "
                       "systemd: SystemCallFilter=bpf)"
                     : "bpf(2) is refused by the kernel or a security module, not by the modes of "
                       "the files: see its log (dmesg, audit)";
}

}  // namespace rclrt_scx
