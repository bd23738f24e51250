// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// SIGINT and SIGTERM shut down every context of the process.
///
/// The handler notes the signal and wakes a thread, which shuts the contexts down. The first signal
/// restores the handlers that were there before, so that a second Ctrl-C ends a program whose
/// callbacks do not return. A forked child ignores both signals until it calls exec().
#ifndef RCLRT_RCL__SIGNAL_HANDLERS_HPP_
#define RCLRT_RCL__SIGNAL_HANDLERS_HPP_

namespace rclrt_rcl
{

/// Returns false if they were installed already. Thread-safe. Throws Error if the OS refuses.
bool install_signal_handlers();

/// Restore the handlers that were there before, and wait until the thread has served the signals
/// that came and has ended (not if a shutdown callback calls it in that thread). Returns false if
/// they were not installed. Thread-safe.
bool uninstall_signal_handlers();

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__SIGNAL_HANDLERS_HPP_
