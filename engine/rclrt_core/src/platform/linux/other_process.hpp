// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Another process, held so that it cannot be mistaken for one that gets its number later.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "platform/linux/descriptor.hpp"

namespace rclrt_core::linux_platform
{

/// What the kernel says about a process.
struct ProcessFacts
{
  uint32_t born = 0;       ///< the kernel's ticks since boot, the low 32 bits
  uid_t user = 0;          ///< effective
  bool may_raise = false;  ///< has CAP_SYS_NICE, and not of a user namespace alone
};

class OtherProcess
{
public:
  enum class Found : uint8_t
  {
    kYes,
    kGone,     ///< there is no such process, or none that began then
    kUnknown,  ///< no descriptor or no memory is left to look; errno says which
  };
  /// May block.
  static Found open(int32_t number, uint32_t born, OtherProcess * process);
  /// What an other process would find out about this one. False: no /proc.
  static bool facts_of_self(ProcessFacts * facts);

  /// Whether it still runs. One system call, which never waits.
  bool is_alive() const noexcept;
  int32_t number() const noexcept { return number_; }
  const ProcessFacts & facts() const noexcept { return facts_; }
  /// Its folder in /proc; closed by close_folder().
  int folder() const noexcept { return folder_.get(); }
  void close_folder() noexcept { folder_ = Descriptor(); }

private:
  int32_t number_ = 0;
  ProcessFacts facts_;
  Descriptor handle_;  ///< pidfd: never that of another
  Descriptor folder_;
};

}  // namespace rclrt_core::linux_platform
