// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The directory in which a loaded scheduler is pinned: a BPF file system of its own, so that users
/// who may not enter the machine's common one can reach it.
#pragma once

#include <cstdint>
#include <string>

namespace rclrt_scx
{

/// One loader or unloader at a time, of a machine: it can have but one scheduler. Released by the kernel
/// when the process ends, however it ends.
class Lock
{
public:
  Lock();
  ~Lock();
  Lock(const Lock &) = delete;
  Lock & operator=(const Lock &) = delete;
  /// Empty, or why it is not held.
  const std::string & problem() const { return problem_; }

private:
  int fd_ = -1;
  std::string problem_;
};

/// The folder for root alone beside a scheduler's directory. It has what keeps the scheduler in force: whoever may write
/// the directory, as root of a container into which it is mounted, may remove all names there and ends nothing.
std::string own_folder(const std::string & directory);
/// Whether something that a scheduler leaves in force is pinned in either.
bool is_pinned(const std::string & directory);
/// Whether it lies in a BPF file system: there alone are pins.
bool is_bpf(const std::string & directory);
/// Empty, or that others use the directory: it is a BPF file system that this program has not mounted.
std::string used_by_others(const std::string & directory);

/// Make and mount the directory, without whatever an earlier scheduler left there. A folder that was there
/// must be empty, or in a BPF file system. `made`: whether this load or the one that left its state there made
/// the directory, or it is the default one.
std::string prepare_directory(const std::string & directory, bool & made);
/// Whether the state that is pinned there says that loading made the directory.
bool says_made(const std::string & directory);
/// Remove all pins, and give the kernel's server for SCHED_EXT back what they say it had. Removing the
/// link takes the scheduler out of force. Empty, or which one stays and why.
std::string remove_pins(const std::string & directory);
/// Our mounts; and if loading `made` the directory, that too, if nothing is in it any more.
void remove_directory(const std::string & directory, bool made);

/// Ticks a second in which the kernel counts (CONFIG_HZ).
uint64_t kernel_ticks_per_second();

}  // namespace rclrt_scx
