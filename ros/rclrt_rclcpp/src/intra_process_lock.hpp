// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#ifndef INTRA_PROCESS_LOCK_HPP_
#define INTRA_PROCESS_LOCK_HPP_

namespace rclrt_rclcpp
{

/// Whether this library sees rclcpp's intra-process manager let go of its lock.
bool sees_intra_process_lock() noexcept;

}  // namespace rclrt_rclcpp

#endif  // INTRA_PROCESS_LOCK_HPP_
