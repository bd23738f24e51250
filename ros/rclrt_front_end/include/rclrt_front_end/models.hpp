// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The options that belong to one execution model. Each front end has one executor class a model.
#ifndef RCLRT_FRONT_END__MODELS_HPP_
#define RCLRT_FRONT_END__MODELS_HPP_

#include <cstddef>

#include "rclrt_core/engine.hpp"
#include "rclrt_core/policy.hpp"

namespace rclrt_front_end
{

/// A bounded pool of threads that are created before they are needed.
struct PoolOptions
{
  /// Order among jobs that wait for a thread or in a group.
  const rclrt_core::Policy * policy = &rclrt_core::fixed_priority_policy();
  /// The pool has as many threads as the groups can use at once, and at most this many.
  std::size_t max_threads = 64;
};

/// One thread (or more, if it is reentrant) for each group.
struct IsolatedOptions
{
  /// Order among the jobs of a group.
  const rclrt_core::Policy * policy = &rclrt_core::fixed_priority_policy();
};

/// One thread for all callbacks, and a more urgent one for timers.
struct EventsOptions
{
  /// Order among all jobs that wait.
  const rclrt_core::Policy * policy = &rclrt_core::fixed_priority_policy();
  /// Whether the timer thread also runs the callbacks of timers. Otherwise it only releases them.
  bool release_and_execute = false;
};

/// The same, for an engine.
rclrt_core::EngineOptions engine_options(const PoolOptions & from);
rclrt_core::EngineOptions engine_options(const IsolatedOptions & from);
rclrt_core::EngineOptions engine_options(const EventsOptions & from);

}  // namespace rclrt_front_end

#endif  // RCLRT_FRONT_END__MODELS_HPP_
