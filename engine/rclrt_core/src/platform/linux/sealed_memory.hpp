// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Memory that processes share and nobody can cut short: a memfd sealed against truncation. With a plain
/// file, `truncate -s 0` by any process of the user would end every process that has it mapped (SIGBUS).
///
/// It has no name in any file system. Another process opens it through /proc/<process>/fd/<number>: so
/// the kernel decides which process may (the same user, with all the capabilities of the process that has it), and
/// what is opened there was put there by that process itself.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "platform/linux/descriptor.hpp"
#include "rclrt_core/status.hpp"

namespace rclrt_core::linux_platform
{

class SealedMemory
{
public:
  enum class Writers
  {
    kMaker,     ///< others cannot write it, whatever they try (Linux 5.1; before: they do not)
    kEverybody  ///< every process that may open it
  };
  enum class Adopted
  {
    kYes,
    kNotThere,    ///< the number stands for nothing
    kNotNow,      ///< no descriptor or no memory is left; errno says which
    kNotAllowed,  ///< the kernel refuses it
    kNotOurs      ///< not sealed memory of this size, or it cannot be mapped
  };

  SealedMemory() = default;
  ~SealedMemory();
  SealedMemory(SealedMemory && other) noexcept { *this = std::move(other); }
  SealedMemory & operator=(SealedMemory && other) noexcept;
  SealedMemory(const SealedMemory &) = delete;
  SealedMemory & operator=(const SealedMemory &) = delete;

  /// All zero, resident, writable here. Its descriptor stays open, for others to find.
  static Status make(const char * name, std::size_t bytes, Writers writers, SealedMemory * memory);

  /// Map descriptor `number` of another process, or of this one; `process` is its open folder in /proc.
  /// Opening what it stands for has no effect, whatever it is.
  static Adopted adopt(
    int process, int number, std::size_t bytes, bool to_write, SealedMemory * memory);

  void * data() const noexcept { return data_; }
  /// -1 if adopted and not kept.
  int descriptor() const noexcept { return descriptor_.get(); }
  void close_descriptor() noexcept { descriptor_ = Descriptor(); }
  /// The inode: the same for all processes that have this memory mapped, and for no other memory.
  ino_t number() const noexcept { return number_; }

private:
  bool map(bool to_write) noexcept;

  Descriptor descriptor_;
  void * data_ = nullptr;
  std::size_t bytes_ = 0;
  ino_t number_ = 0;
};

}  // namespace rclrt_core::linux_platform
