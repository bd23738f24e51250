// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A clock of rclcpp as a clock of the engine: ROS time, which may be simulated.
#ifndef ROS_CLOCK_HPP_
#define ROS_CLOCK_HPP_

#include <memory>
#include <mutex>
#include <vector>

#include "rclcpp/clock.hpp"
#include "rclrt_config/configured_engine.hpp"

namespace rclrt_rclcpp
{

/// Tells the engine when the clock jumps, and moves its timers between the system clock and simulated
/// time. Thread-safe. Jumps arrive with the clock's own mutex held: nothing here takes it then.
class RosClock : public std::enable_shared_from_this<RosClock>
{
public:
  /// Whoever gets the handler drops it before the RosClock, and not in a jump: dropping it waits for a
  /// jump in progress.
  static std::shared_ptr<RosClock> watch(
    const std::shared_ptr<rclcpp::Clock> & clock,
    const std::shared_ptr<rclrt_config::ConfiguredEngine> & engine,
    rclcpp::JumpHandler::SharedPtr * handler);

  ~RosClock();
  RosClock(const RosClock &) = delete;
  RosClock & operator=(const RosClock &) = delete;

  const std::shared_ptr<rclcpp::Clock> & clock() const noexcept { return clock_; }
  /// Whether it still has timers.
  bool is_used();
  /// The engine's clock that drives its timers now.
  rclrt_core::ClockId id() const;
  /// `driven_by`: the id that the engine was given for it.
  void add(const std::shared_ptr<rclrt_core::Callback> & timer, rclrt_core::ClockId driven_by);

private:
  rclrt_core::ClockId id_locked() const
  {
    return is_simulated_ ? simulated_ : rclrt_core::kSystemClock;
  }
  RosClock(
    const std::shared_ptr<rclcpp::Clock> & clock,
    const std::shared_ptr<rclrt_config::ConfiguredEngine> & engine);
  void jumped(const rcl_time_jump_t & jump);
  void forget_gone_timers();

  const std::shared_ptr<rclcpp::Clock> clock_;
  const std::weak_ptr<rclrt_config::ConfiguredEngine> engine_;
  rclrt_core::ClockId simulated_ = 0;

  mutable std::mutex mutex_;
  bool is_simulated_ = false;
  std::vector<std::weak_ptr<rclrt_core::Callback>> timers_;
};

}  // namespace rclrt_rclcpp

#endif  // ROS_CLOCK_HPP_
