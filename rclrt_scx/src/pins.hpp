// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The directory in which a loaded scheduler is pinned: a BPF file system of its own, so that users
/// who may not enter the machine's common one can reach it.
#ifndef PINS_HPP_
#define PINS_HPP_

#include <cstdint>
#include <string>

namespace rclrt_scx
{

/// One loader or unloader at a time. Released by the kernel when the process ends, however it ends.
class Lock
{
public:
  explicit Lock(const std::string & directory);
  ~Lock();
  Lock(const Lock &) = delete;
  Lock & operator=(const Lock &) = delete;
  bool held() const { return fd_ >= 0; }

private:
  int fd_ = -1;
};

/// Make and mount the directory, without whatever an earlier scheduler left there.
std::string prepare_directory(const std::string & directory);
/// Remove all pins. Removing the link takes the scheduler out of force.
void remove_pins(const std::string & directory);

/// Ticks a second in which the kernel counts (CONFIG_HZ).
uint64_t kernel_ticks_per_second();

}  // namespace rclrt_scx

#endif  // PINS_HPP_
