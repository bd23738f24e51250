// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// rcl notes the types of a node's publishers, subscriptions, services and clients in a map of the
/// node, without a lock: hold this around their rcl_..._init() and rcl_..._fini(), and around what
/// reads the map.
#ifndef TYPE_CACHE_MUTEX_HPP_
#define TYPE_CACHE_MUTEX_HPP_

#include <mutex>

namespace rclrt_rcl
{
namespace detail
{

/// Taken last: nothing else is locked while it is held but what rcl logs under.
inline std::mutex & type_cache_mutex()
{
  static auto & mutex = *new std::mutex;  // never destroyed: statics may own nodes
  return mutex;
}

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // TYPE_CACHE_MUTEX_HPP_
