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
#include "scheduler.hpp"

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
  for (const std::string & folder : {own_folder(directory), directory}) {
    rclrt_scx_state state{};
    if (
      Table(folder, "state").read(0, state) && state.magic == RCLRT_SCX_MAGIC &&
      state.version == RCLRT_SCX_VERSION) {
      return state;
    }
  }
  return {};
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

void remove_folder(const std::string & folder, bool made)
{
  if (mounted_on(folder) == kOurs) {
    umount(folder.c_str());
  }
  if (made) {
    rmdir(folder.c_str());
  }
}

/// It lies in a BPF file system then: in the one that is there, or in one of our own with this mode.
std::string make_folder(const std::string & folder, mode_t mode, bool & made)
{
  made = mkdir(folder.c_str(), mode) == 0;
  if (!made && errno != EEXIST) {
    return "cannot make " + folder + ": " + std::strerror(errno);
  }
  const std::string problem = used_by_others(folder);
  if (!problem.empty() || is_bpf(folder)) {
    return problem;
  }
  if (!made && !is_empty(folder)) {
    return "--directory: " + folder +
           " is not an empty folder, and mounting would hide what is there: name another";
  }
  const char * const data = mode == 0700 ? "mode=0700" : "mode=0750";
  if (mount(kOurs, folder.c_str(), "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, data) != 0) {
    const int error = errno;
    remove_folder(folder, made);
    return "cannot mount a BPF file system on " + folder + ": " + std::strerror(error);
  }
  return {};
}

}  // namespace

std::string own_folder(const std::string & directory)
{
  const std::size_t last = directory.find_last_not_of('/');
  return directory.substr(0, last + 1) + "-own";  // a BPF file system allows no dots
}

bool is_pinned(const std::string & directory)
{
  for (const std::string & folder : {own_folder(directory), directory}) {
    for (const char * name : {"/state", "/link"}) {
      if (is_bpf(folder) && access((folder + name).c_str(), F_OK) == 0) {
        return true;
      }
    }
  }
  return false;
}

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
  const std::string problem = make_folder(directory, 0750, made);
  if (!problem.empty()) {
    return problem;
  }
  bool made_own = false;
  const std::string own = make_folder(own_folder(directory), 0700, made_own);
  if (!own.empty()) {
    remove_directory(directory, made);
    return own;
  }
  // The default one is nobody else's: a loader killed before it could say so made it.
  made = made || says_made(directory);
  return remove_pins(directory);
}

std::string remove_pins(const std::string & directory)
{
  // First: killed after it, the values are still there for whoever comes next.
  const rclrt_scx_state state = pinned_state(directory);
  if (state.server_period_ns != 0) {
    set_ext_server(state.server_runtime_ns, state.server_period_ns);
  }
  // The link first: clients that still see the tables then see that they are out of force.
  for (const char * name : {"link", "bind", "state", "slots", "owners", "cpus", "events"}) {
    for (const std::string & folder : {own_folder(directory), directory}) {
      const std::string path = folder + "/" + name;
      if (!is_bpf(folder) || unlink(path.c_str()) == 0 || errno == ENOENT) {
        continue;
      }
      return "cannot remove " + path + ": " + std::strerror(errno) +
             (errno == EROFS ? "; do it where the folder is not mounted read-only" : "");
    }
  }
  return {};
}

void remove_directory(const std::string & directory, bool made)
{
  remove_folder(own_folder(directory), true);
  remove_folder(directory, made);
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
