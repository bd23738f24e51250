// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The statuses that a QoS event of rclcpp hands to its callback, by way of rclrt_front_end::StatusEvent.
#pragma once

#include <memory>

#include "announce.hpp"
#include "versions.hpp"

namespace rclrt_rclcpp
{

/// Functions that are given the event throw nothing but rclcpp's exceptions.
class StatusSource
{
public:
  using Event = detail::EventHandlerBase;

  /// One object for all executors that have the event, because what one of them has taken from the middleware and not
  /// handed on is in here. Null if the kind is not known.
  static std::shared_ptr<StatusSource> of(const std::shared_ptr<Event> & event);

  virtual ~StatusSource() = default;
  /// What Event::take_data() would return. Null if nothing has changed.
  virtual std::shared_ptr<void> take(Event & event) = 0;
  /// Returns whether there is something to take.
  virtual bool look(Event & event) = 0;
  /// Has the middleware tell; not of kinds that are looked for.
  virtual Undo listen(const std::shared_ptr<Event> & event, const Announce & announced) = 0;
  static bool is_looked_for(Event & event);
};

}  // namespace rclrt_rclcpp
