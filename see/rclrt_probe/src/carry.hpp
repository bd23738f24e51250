// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// For stand-ins that also record: which deadline a thread hands on. Nothing is done without RCLRT_CARRY.
#pragma once

#include <cstdint>

#include "layouts.hpp"

namespace rclrt_probe
{

/// Whether a publication's time stamp is one: before Jazzy the tracepoint has no such argument, and it is whatever was in a
/// register.
bool is_about_now(int64_t stamp) noexcept;

/// The thread publishes a message, which has this time stamp.
void carry_to(const void * publisher, const void * caller, int64_t stamp) noexcept;
/// The thread has taken this message.
void carry_from(const MessageInfo & info) noexcept;
/// What the thread begins has no deadline of a message.
void carry_nothing() noexcept;

}  // namespace rclrt_probe
