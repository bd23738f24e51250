// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A clock: steady, system, or ROS time.
///
/// ROS time is the system clock until a simulator sets it by /clock. Then it stands still between
/// two values. Timers follow it in both cases.
///
/// now() is real-time safe and may be called from any thread, also under locks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "builtin_interfaces/msg/time.hpp"
#include "rcl/time.h"

namespace rclrt_rcl
{

enum class ClockKind : uint8_t
{
  kSteady,  ///< CLOCK_MONOTONIC
  kSystem,  ///< CLOCK_REALTIME
  kRos,     ///< CLOCK_REALTIME, or simulated
};

/// A change of a clock's ROS time.
enum class ClockChange : uint8_t
{
  kTimeSet,    ///< a new value, forwards or backwards
  kSimulated,  ///< from now on ROS time is the value that is set
  kReal,       ///< from now on ROS time is the system clock
};

class Clock
{
public:
  using Observer = std::function<void(ClockChange)>;
  using ObserverHandle = uint64_t;

  explicit Clock(ClockKind kind);
  ~Clock();
  Clock(const Clock &) = delete;
  Clock & operator=(const Clock &) = delete;

  ClockKind kind() const noexcept { return kind_; }
  /// Since boot (steady) or since 1970.
  std::chrono::nanoseconds now() const noexcept;

  /// Whether ROS time is simulated; false for the other kinds.
  bool is_simulated() const noexcept;
  /// Enter simulated time (if not in it yet) with this value. Error unless the kind is kRos.
  void set_simulated_time(std::chrono::nanoseconds now);
  /// Back to the system clock.
  void clear_simulated_time();

  /// Have `observer` called after each change, by the thread that made it, without locks held.
  ObserverHandle add_observer(Observer observer);
  /// A call in progress may still be running on return.
  void remove_observer(ObserverHandle handle);

  /// This clock for rcl functions that want one, e.g. rcl_timer_init2(). They must not be used
  /// to change it.
  rcl_clock_t * handle() noexcept;

private:
  class Impl;
  ClockKind kind_;
  std::unique_ptr<Impl> impl_;
};

/// `time` since 1970, not negative and before 2106.
inline builtin_interfaces::msg::Time to_message(std::chrono::nanoseconds time)
{
  constexpr int64_t kNanosecondsPerSecond = 1000000000;
  builtin_interfaces::msg::Time message;
  message.sec = static_cast<int32_t>(time.count() / kNanosecondsPerSecond);
  message.nanosec = static_cast<uint32_t>(time.count() % kNanosecondsPerSecond);
  return message;
}

inline std::chrono::nanoseconds from_message(const builtin_interfaces::msg::Time & message)
{
  return std::chrono::seconds(message.sec) + std::chrono::nanoseconds(message.nanosec);
}

}  // namespace rclrt_rcl
