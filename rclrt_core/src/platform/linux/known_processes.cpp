// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "platform/linux/known_processes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rclrt_core::linux_platform
{
namespace
{

// The C library's header may be older than the kernel; one number for all architectures.
#ifdef SYS_pidfd_open
constexpr long kPidfdOpen = SYS_pidfd_open;
#else
constexpr long kPidfdOpen = 434;  // Linux 5.3
#endif

void close_if_open(int descriptor) noexcept
{
  if (descriptor >= 0) {
    close(descriptor);
  }
}

}  // namespace

KnownProcesses::~KnownProcesses()
{
  for (const Known & known : known_) {
    close_if_open(known.descriptor);
  }
}

// proc(5): the 22nd field of stat, the 20th after the name, which stands in brackets and may hold anything.
uint32_t KnownProcesses::born(int32_t process) noexcept
{
  char text[1024];
  std::snprintf(text, sizeof(text), "/proc/%d/stat", process);
  const int file = open(text, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return 0;
  }
  const ssize_t length = read(file, text, sizeof(text) - 1);
  close(file);
  text[std::max<ssize_t>(length, 0)] = '\0';
  const char * field = std::strrchr(text, ')');
  for (int i = 0; i < 20 && field; ++i) {
    field = std::strchr(field + 1, ' ');
  }
  return field ? static_cast<uint32_t>(std::strtoull(field, nullptr, 10)) : 0;
}

// Null: the process is not that one.
KnownProcesses::Known * KnownProcesses::find_or_add(int32_t process, uint32_t born) noexcept
{
  if (process <= 0) {
    return nullptr;
  }
  for (Known & known : known_) {
    if (known.process == process && known.born == born) {
      return &known;
    }
  }
  const int descriptor = static_cast<int>(syscall(kPidfdOpen, process, 0u));
  // Asked after it was opened: if it began then, the descriptor is that process's. 0 is only good with a
  // descriptor: there is such a process, and no /proc.
  const uint32_t now = KnownProcesses::born(process);
  if (now != born || (now == 0 && descriptor < 0)) {
    close_if_open(descriptor);
    return nullptr;
  }
  Known & added = known_[next_++ % known_.size()];
  close_if_open(added.descriptor);
  added = {process, born, descriptor};
  return &added;
}

bool KnownProcesses::is_alive(int32_t process, uint32_t born) noexcept
{
  Known * const known = find_or_add(process, born);
  if (!known) {
    return false;
  }
  bool has_ended = false;
  if (known->descriptor >= 0) {
    pollfd event{known->descriptor, POLLIN, 0};
    has_ended = poll(&event, 1, 0) > 0;
  } else {
    has_ended = KnownProcesses::born(process) != born;  // an older kernel, or no descriptors left
  }
  if (has_ended) {
    close_if_open(known->descriptor);
    *known = {};
  }
  return !has_ended;
}

}  // namespace rclrt_core::linux_platform
