// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Whether the calling thread has kept its CPU since a moment, without a system call.
///
/// How: a thread of Linux may name a "restartable sequence" of its code in a word that it shares with the kernel
/// (rseq(2); glibc 2.35 registers the word for every thread). If the kernel takes the CPU from the thread or gives
/// it a signal, and the thread is not inside the sequence that the word names, the kernel clears the word. So the
/// thread names a sequence of which it never runs a step. While the word still names that one, the thread has
/// kept its CPU.
///
/// Other users of rseq in the thread (an allocator) may overwrite the word. Then the answer is "has not kept it",
/// which costs a measurement and is never wrong.
#ifndef RCLRT_CORE__CPU_WATCH_HPP_
#define RCLRT_CORE__CPU_WATCH_HPP_

#include "rclrt_core/platform.hpp"

namespace rclrt_core::linux_platform
{

/// See Platform::watch_cpu() and Platform::end_watch().
CpuWatch watch_cpu(bool measures) noexcept;
CpuUse end_watch(const CpuWatch & watch) noexcept;

}  // namespace rclrt_core::linux_platform

#endif  // RCLRT_CORE__CPU_WATCH_HPP_
