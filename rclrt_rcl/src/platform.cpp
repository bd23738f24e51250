// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "platform.hpp"

namespace rclrt_rcl
{
namespace detail
{

rclrt_core::LinuxPlatform & platform()
{
  static auto & instance = *new rclrt_core::LinuxPlatform;  // never destroyed
  return instance;
}

}  // namespace detail
}  // namespace rclrt_rcl
