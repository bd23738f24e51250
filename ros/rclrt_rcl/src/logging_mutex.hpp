// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// rcl's logging is global state without locks: hold this around it, that is around logging calls and
/// around making and destroying nodes (which have /rosout publishers) and contexts.
#ifndef LOGGING_MUTEX_HPP_
#define LOGGING_MUTEX_HPP_

#include <mutex>

namespace rclrt_rcl
{
namespace detail
{

/// Recursive: rcl logs while it makes a node.
std::recursive_mutex & logging_mutex();

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // LOGGING_MUTEX_HPP_
