// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What a process has once: rcl's global state, which has no locks, and all contexts.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "rclrt_rcl/context.hpp"

namespace rclrt_rcl::detail
{

/// Hold this around rcl's logging, that is around logging calls and around making and destroying nodes (which
/// have /rosout publishers) and contexts. Recursive: rcl logs while it makes a node.
std::recursive_mutex & logging_mutex();

/// rcl notes the types of a node's publishers, subscriptions, services and clients in a map of the
/// node, without a lock: hold this around their rcl_..._init() and rcl_..._fini(), and around what
/// reads the map.
/// Taken last: nothing else is locked while it is held but what rcl logs under.
inline std::mutex & type_cache_mutex()
{
  static auto & mutex = *new std::mutex;  // never destroyed: statics may own nodes
  return mutex;
}

/// For whoever must shut all contexts down.
void remember_context(const std::shared_ptr<Context> & context);
void shutdown_all_contexts(const std::string & reason);

}  // namespace rclrt_rcl::detail
