// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "pins.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace rclrt_scx
{

Lock::Lock(const std::string & directory)
{
  fd_ = open((directory + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    close(fd_);
    fd_ = -1;
  }
}

Lock::~Lock()
{
  if (fd_ >= 0) {
    close(fd_);
  }
}

std::string prepare_directory(const std::string & directory)
{
  if (mkdir(directory.c_str(), 0750) != 0 && errno != EEXIST) {
    return "cannot make " + directory + ": " + std::strerror(errno);
  }
  struct statfs file_system{};
  if (statfs(directory.c_str(), &file_system) != 0) {
    return "cannot look at " + directory + ": " + std::strerror(errno);
  }
  if (static_cast<uint64_t>(file_system.f_type) != BPF_FS_MAGIC) {
    if (
      mount("bpf", directory.c_str(), "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0750") != 0) {
      return "cannot mount a BPF file system on " + directory + ": " + std::strerror(errno);
    }
  }
  remove_pins(directory);
  return {};
}

void remove_pins(const std::string & directory)
{
  // The link first: clients that still see the tables then see that they are out of force.
  for (const char * name : {"link", "bind", "state", "slots", "owners", "cpus", "events"}) {
    unlink((directory + "/" + name).c_str());
  }
}

uint64_t kernel_ticks_per_second()
{
  // The coarse clock advances by one tick.
  timespec tick{};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) != 0 || tick.tv_nsec <= 0) {
    return 250;
  }
  return static_cast<uint64_t>(1000000000L / tick.tv_nsec);
}

}  // namespace rclrt_scx
