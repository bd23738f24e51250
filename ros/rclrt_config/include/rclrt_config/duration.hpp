// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Times in files.
#pragma once

#include <optional>
#include <string>

#include "rclrt_core/time.hpp"

namespace rclrt_config
{

/// From a number with ns, us, ms or s, such as 1.5ms, or from 0. Empty if the text is none of these, is finer than a
/// nanosecond, or longer than 292 years.
std::optional<rclrt_core::Duration> duration_of(const std::string & text);

}  // namespace rclrt_config
