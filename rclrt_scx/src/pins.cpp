// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "pins.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "bpf_calls.hpp"
#include "ext_server.hpp"

namespace rclrt_scx
{
namespace
{

constexpr char kLock[] = RCLRT_SCX_DIRECTORY ".lock";
constexpr char kOurs[] = "rclrt_scx";  // The source of our mounts.

/// The source of what is mounted on the directory itself; empty if nothing is.
std::string mounted_on(const std::string & directory)
{
  std::string source;
  char * const path = realpath(directory.c_str(), nullptr);
  std::FILE * const mounts = setmntent("/proc/self/mounts", "r");
  if (path != nullptr && mounts != nullptr) {
    while (const mntent * entry = getmntent(mounts)) {
      if (std::strcmp(entry->mnt_dir, path) == 0) {
        source = entry->mnt_fsname;  // The last one covers the others.
      }
    }
  }
  if (mounts != nullptr) {
    endmntent(mounts);
  }
  free(path);
  return source;
}

/// What an earlier load pinned; without magic if there is none that this version can read.
rclrt_scx_state pinned_state(const std::string & directory)
{
  rclrt_scx_state state{};
  const bool ours = Table(directory, "state").read(0, state) && state.magic == RCLRT_SCX_MAGIC &&
                    state.version == RCLRT_SCX_VERSION;
  return ours ? state : rclrt_scx_state{};
}

bool is_empty(const std::string & directory)
{
  DIR * const folder = opendir(directory.c_str());
  if (folder == nullptr) {
    return false;
  }
  bool empty = true;
  while (const dirent * entry = readdir(folder)) {
    empty =
      empty && (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0);
  }
  closedir(folder);
  return empty;
}

}  // namespace

Lock::Lock()
{
  fd_ = open(kLock, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ < 0) {
    problem_ = std::string("cannot open ") + kLock + ": " + std::strerror(errno);
  } else if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    problem_ = errno == EWOULDBLOCK
                 ? "another `rclrt scx` is loading or unloading just now: wait for it"
                 : std::string("cannot lock ") + kLock + ": " + std::strerror(errno);
  }
}

Lock::~Lock()
{
  if (fd_ >= 0) {
    close(fd_);
  }
}

bool is_bpf(const std::string & directory)
{
  struct statfs file_system{};
  return statfs(directory.c_str(), &file_system) == 0 &&
         static_cast<uint64_t>(file_system.f_type) == BPF_FS_MAGIC;
}

std::string used_by_others(const std::string & directory)
{
  const std::string source = mounted_on(directory);
  if (!is_bpf(directory) || source.empty() || source == kOurs) {
    return {};
  }
  return "--directory: " + directory + " is a BPF file system that others use: name a folder in it";
}

bool says_made(const std::string & directory)
{
  return directory == RCLRT_SCX_DIRECTORY || pinned_state(directory).made_directory != 0;
}

std::string prepare_directory(const std::string & directory, bool & made)
{
  made = mkdir(directory.c_str(), 0750) == 0;
  if (!made && errno != EEXIST) {
    return "cannot make " + directory + ": " + std::strerror(errno);
  }
  std::string problem = used_by_others(directory);
  if (!problem.empty()) {
    return problem;
  }
  if (!is_bpf(directory)) {
    if (!made && !is_empty(directory)) {
      return "--directory: " + directory +
             " is not an empty folder, and mounting would hide what is there: name another";
    }
    if (
      mount(kOurs, directory.c_str(), "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0750") != 0) {
      problem = "cannot mount a BPF file system on " + directory + ": " + std::strerror(errno);
      remove_directory(directory, made);
      return problem;
    }
  }
  // The default one is nobody else's: a loader killed before it could say so made it.
  made = made || says_made(directory);
  remove_pins(directory);
  return {};
}

void remove_pins(const std::string & directory)
{
  // First: killed after it, the values are still there for whoever comes next.
  const rclrt_scx_state state = pinned_state(directory);
  if (state.server_period_ns != 0) {
    set_ext_server(state.server_runtime_ns, state.server_period_ns);
  }
  // The link first: clients that still see the tables then see that they are out of force.
  for (const char * name : {"link", "bind", "state", "slots", "owners", "cpus", "events"}) {
    unlink((directory + "/" + name).c_str());
  }
}

void remove_directory(const std::string & directory, bool made)
{
  if (mounted_on(directory) == kOurs) {
    umount(directory.c_str());
  }
  if (made) {
    rmdir(directory.c_str());
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
