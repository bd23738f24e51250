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
namespace detail
{

/// rcl notes the types of a node's publishers, subscriptions, services and clients in a map of the
/// node, without a lock: hold this around their rcl_..._init() and rcl_..._fini(), and around what
/// reads the map.

/// Taken last: nothing else is locked while it is held but what rcl logs under.
inline std::mutex & type_cache_mutex()
{
  static auto & mutex = *new std::mutex;  // never destroyed: statics may own nodes
  return mutex;
}

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // LOGGING_MUTEX_HPP_
