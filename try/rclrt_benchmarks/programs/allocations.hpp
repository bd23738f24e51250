// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What this process has taken from the heap. Linking allocations.cpp puts it between the program,
// its libraries among them, and malloc().
#pragma once

#include <cstdint>

namespace memory
{

/// False where somebody else has to be there, i.e. in sanitizer builds; then all is 0.
bool counts_allocations() noexcept;
/// Calls of malloc() and the like so far, from all threads.
uint64_t allocations() noexcept;
/// Bytes that are taken now, as malloc() rounds them.
int64_t allocated_bytes() noexcept;

}  // namespace memory
