// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The library by which rclcpp's executors spin with the engine: librclrt_stock-<version of rclcpp>, of package
/// rclrt_rclcpp, in the folder that RCLRT_RUN names.
#ifndef MODULE_HPP_
#define MODULE_HPP_

namespace rclrt_probe
{

/// Whether the program uses rclcpp and the library serves it; then find_next() finds what the library defines. Opens it
/// if it was not: a program may load rclcpp late. False without RCLRT_RUN, and if the library does not fit the program's
/// rclcpp, of which the user is told once. The first call takes the lock of the dynamic linker and allocates; while there
/// is no rclcpp so does every call.
bool has_module() noexcept;

}  // namespace rclrt_probe

#endif  // MODULE_HPP_
