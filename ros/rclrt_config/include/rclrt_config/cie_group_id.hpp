// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The names CallbackIsolatedExecutor's parameters files have for callback groups.
///
/// A group is known there by what is in it, e.g. "/node@Subscription(/topic)@Timer(100000000)", with
/// the parts sorted. Waitables do not count.
#pragma once

#include <string>
#include <vector>

#include "rclrt_core/callback.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_config
{

/// A member of a group as far as the group's id is concerned.
struct CieMember
{
  rclrt_core::CallbackKind kind = rclrt_core::CallbackKind::kWaitable;
  std::string resolved_name;       ///< of the topic or service; empty for timers
  rclrt_core::Duration period{0};  ///< of a timer
};

/// `node` is the fully qualified name.
std::string cie_group_id(const std::string & node, const std::vector<CieMember> & members);

}  // namespace rclrt_config
