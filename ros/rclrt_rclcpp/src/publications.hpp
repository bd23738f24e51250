// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Where a publication of rclcpp begins and ends, which rclcpp does not say.
///
/// This library defines the functions of the middleware's C interface that deliver to readers of this
/// process in the calling thread (rmw_publish() and its like; those of services are in
/// rclrt_front_end/requests_on_rcl.hpp), and those of pthread by which rclcpp's
/// intra-process manager holds its readers while it tells them. Each does the work of the next definition
/// in the program, the real one, inside a rclrt_core::Publication. rcl and rclcpp call these functions
/// through the dynamic linker, which takes the first definition in the program: an executable comes before
/// all libraries, so it is ours whenever rclrt_rclcpp was linked into the executable. If it is not, only
/// the order suffers, and a finding says so.
#pragma once

#include <optional>
#include <string>

#include "rclrt_core/status.hpp"
#include "rclrt_front_end/local_publishers.hpp"

namespace rclrt_rclcpp
{

/// What is wrong if this library's definitions are not the ones that rcl and rclcpp call. Not real-time safe.
std::optional<rclrt_core::Finding> unseen_publications();

/// This process's publishers; null if this library's definitions are not in use: nobody knows them.
rclrt_front_end::LocalPublishers publishers_of(const std::string & topic);

/// By the thread that is told of a message by rclcpp's intra-process manager: the publication, which the
/// manager ends by letting go of its lock, has begun. Real-time safe.
void begin_intra_process_publication() noexcept;

}  // namespace rclrt_rclcpp
