// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// How a process notices that it is a copy of another: the threads that it knows of are that one's.
#pragma once

#include <cstdint>

namespace rclrt_core
{

/// Differs in a child from what it was in its parent. The first call, which may block, must come before the fork;
/// later ones cost one load.
uint32_t count_forks() noexcept;

}  // namespace rclrt_core
