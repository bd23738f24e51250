// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What entities had announced when an executor let them go, and nobody had run.
///
/// The middleware announces a message once. The next executor of ours that gets the entity begins with
/// what is kept here: a node may be spun for one callback at a time, by one executor after the other.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "rclrt_front_end/process_platform.hpp"
#include "waitable_events.hpp"

namespace rclrt_rclcpp
{

/// One in the process. Thread-safe. Does not keep entities alive.
class Unserved
{
public:
  static Unserved & instance();

  /// Beside what is kept. `counts`: of an entity that is no waitable, the id is 0.
  void keep(const std::shared_ptr<const void> & entity, const EventCounts & counts);
  /// What is kept for the entity, which is then forgotten here.
  EventCounts take(const void * entity);

private:
  struct Kept
  {
    std::weak_ptr<const void> entity;
    EventCounts counts;
  };

  rclrt_front_end::PiMutex mutex_;
  std::map<const void *, Kept> kept_;
};

}  // namespace rclrt_rclcpp
