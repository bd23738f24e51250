// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Functions of rcl that change what several threads share, without a lock. A thread of an executor may be the last
/// owner of what a program drops. So even a program that makes and drops things in one thread only would have two
/// threads in these functions at once, which corrupts the heap. This library defines them, too. Its definitions let
/// in one thread at a time, and call those of rcl. (How they come first: publications.hpp.)
///
/// - The jump callbacks of a clock. An action server adds and removes one without the clock's mutex; timers do it
///   with that mutex.
/// - The types of a node's entities, a hash map of the node. Every publisher, subscription, service and client adds
///   its type and takes it back, and the service that describes types copies what it finds.
///
/// It also defines rcl_logging_fini(), which rclcpp calls at the end of the last context's shutdown, and which destroys
/// the publishers of /rosout. In a callback that the middleware's thread runs it leaves them to their nodes: the
/// middleware would wait for that very thread.
#pragma once

#include <optional>

#include "rclrt_core/status.hpp"

namespace rclrt_rclcpp
{

/// What is wrong if these definitions are not the ones that rcl and rclcpp call. Not real-time safe.
std::optional<rclrt_core::Finding> several_at_a_time();

}  // namespace rclrt_rclcpp
