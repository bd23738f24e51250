// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A clock of rclcpp as a clock of the engine: ROS time, which may be simulated.
///
/// The executor looks at the clock now and then. It does not ask to be told of jumps: an action server of
/// rclcpp adds and removes its jump callback without the clock's mutex, in whatever thread makes or drops it,
/// and a thread of ours that did the same with a callback of its own would corrupt the list.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "rclcpp/clock.hpp"
#include "rclrt_core/engine.hpp"

namespace rclrt_rclcpp
{

/// How often a clock is looked at while its time is simulated: its timers may be that late.
constexpr std::chrono::milliseconds kSimulatedClockPeriod(1);
/// How often a clock is looked at otherwise: simulated time may begin that late. The engine sees a
/// step of the system's clock within that time.
constexpr std::chrono::milliseconds kSystemClockPeriod(100);

/// Not thread-safe, but for what the engine calls. To be destroyed before the engine.
class RosClock
{
public:
  RosClock(const std::shared_ptr<rclcpp::Clock> & clock, rclrt_core::Engine & engine);
  ~RosClock();
  RosClock(const RosClock &) = delete;
  RosClock & operator=(const RosClock &) = delete;

  const std::shared_ptr<rclcpp::Clock> & clock() const noexcept { return clock_; }
  /// Whether it still has timers.
  bool is_used();
  /// The engine's clock that drives its timers now.
  rclrt_core::ClockId id() const noexcept
  {
    return is_simulated_ ? simulated_ : rclrt_core::kSystemClock;
  }
  void add(const std::shared_ptr<rclrt_core::Callback> & timer) { timers_.push_back(timer); }

  /// Looks at the clock, with its mutex; releases what is due, or moves the timers between the system clock
  /// and simulated time. Returns when to look again at the latest.
  std::chrono::milliseconds look();

private:
  const std::shared_ptr<rclcpp::Clock> clock_;
  rclrt_core::Engine & engine_;
  bool is_simulated_ = false;
  /// Simulated time as it was seen last. Written by look(), read under the engine's lock. Relaxed: nothing
  /// else goes with it, and clock_changed() takes that lock after the write.
  const std::shared_ptr<std::atomic<int64_t>> now_ns_ = std::make_shared<std::atomic<int64_t>>(0);
  rclrt_core::ClockId simulated_ = 0;
  std::vector<std::weak_ptr<rclrt_core::Callback>> timers_;
};

}  // namespace rclrt_rclcpp
