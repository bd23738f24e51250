// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Whether another process still is who it was, although the OS gives process ids out again.
#ifndef RCLRT_CORE__PLATFORM__LINUX__KNOWN_PROCESSES_HPP_
#define RCLRT_CORE__PLATFORM__LINUX__KNOWN_PROCESSES_HPP_

#include <array>
#include <cstddef>
#include <cstdint>

namespace rclrt_core::linux_platform
{

/// Not thread-safe. Allocates nothing. What is_alive() costs: one system call for the last 16 processes it
/// was asked about, for others a file of /proc is read besides (tens of microseconds).
class KnownProcesses
{
public:
  KnownProcesses() = default;
  ~KnownProcesses();
  KnownProcesses(const KnownProcesses &) = delete;
  KnownProcesses & operator=(const KnownProcesses &) = delete;

  /// When a process began: the kernel's ticks since boot, the low 32 bits. 0: no such process, or no /proc.
  static uint32_t born(int32_t process) noexcept;

  /// Whether the process that began then still runs; one that has ended and is not reaped does not.
  bool is_alive(int32_t process, uint32_t born) noexcept;

private:
  struct Known
  {
    int32_t process = 0;
    uint32_t born = 0;
    int descriptor = -1;  ///< of the process (pidfd): never that of another
  };

  Known * find_or_add(int32_t process, uint32_t born) noexcept;

  std::array<Known, 16> known_;
  std::size_t next_ = 0;
};

}  // namespace rclrt_core::linux_platform

#endif  // RCLRT_CORE__PLATFORM__LINUX__KNOWN_PROCESSES_HPP_
