// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// An open file that is closed with its owner.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace rclrt_core::linux_platform
{

class Descriptor
{
public:
  explicit Descriptor(int descriptor = -1) noexcept : descriptor_(descriptor) {}
  ~Descriptor()
  {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }
  Descriptor(Descriptor && other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor & operator=(Descriptor && other) noexcept
  {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor & operator=(const Descriptor &) = delete;

  int get() const noexcept { return descriptor_; }
  bool is_open() const noexcept { return descriptor_ >= 0; }

private:
  int descriptor_;
};

/// Whether a call failed for want of something that may be there again later.
inline bool is_shortage(int error) noexcept
{
  return error == EMFILE || error == ENFILE || error == ENOMEM;
}

}  // namespace rclrt_core::linux_platform
