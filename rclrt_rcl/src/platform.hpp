// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The platform all executors of the process share. It has no state.
#ifndef PLATFORM_HPP_
#define PLATFORM_HPP_

#include "rclrt_core/linux_platform.hpp"

namespace rclrt_rcl
{
namespace detail
{

/// Usable for the whole life of the process, also in destructors of statics.
rclrt_core::LinuxPlatform & platform();

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // PLATFORM_HPP_
