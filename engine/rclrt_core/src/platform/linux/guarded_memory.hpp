// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Memory that is mapped from a file which another process can cut short.
///
/// A thread that touches a page that has gone gets SIGBUS, and with the default action the process ends. For guarded memory a
/// page of this process alone takes its place, all zero, and the access goes on. Memory that cannot be cut short
/// (SealedMemory) is better; this is for a file that must be there when its process is not.
#pragma once

#include <cstddef>

namespace rclrt_core::linux_platform
{

/// Whole pages. False: too many are guarded, or signals cannot be handled; then do not use the memory. The first call
/// handles SIGBUS for the process. What it finds installed gets all that is not of guarded memory. A program that blocks
/// SIGBUS, or that later handles it and does not call on, is ended as without this.
bool guard(void * begin, std::size_t bytes) noexcept;
/// Before it is unmapped, and when nobody touches it any more.
void unguard(void * begin) noexcept;

}  // namespace rclrt_core::linux_platform
