// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Drives a timer by the engine's timer queue.
#ifndef ENGINE_TIMER_HPP_
#define ENGINE_TIMER_HPP_

#include <memory>
#include <utility>

#include "rclrt_front_end/configured_engine.hpp"
#include "rclrt_rcl/error.hpp"
#include "rclrt_rcl/timer.hpp"

namespace rclrt_rcl
{
namespace detail
{

/// Exists while the engine has the timer. The engine must outlive it.
class EngineTimer : public TimerDriver
{
public:
  EngineTimer(
    rclrt_front_end::ConfiguredEngine & engine, std::shared_ptr<rclrt_core::Callback> callback)
  : engine_(engine), callback_(std::move(callback))
  {
  }
  ~EngineTimer() override { engine_.remove(callback_); }
  EngineTimer(const EngineTimer &) = delete;
  EngineTimer & operator=(const EngineTimer &) = delete;

  void cancel() override { check(engine_.engine().cancel_timer(callback_)); }
  void reset() override { check(engine_.engine().reset_timer(callback_)); }
  void set_period(std::chrono::nanoseconds period) override
  {
    check(engine_.set_timer_period(callback_, period));
  }
  bool is_cancelled() const override { return engine_.engine().is_timer_cancelled(callback_); }
  std::chrono::nanoseconds time_until_release() const override
  {
    return engine_.engine().time_until_release(callback_);
  }

private:
  static void check(const rclrt_core::Status & status)
  {
    if (!status.ok()) {
      throw Error(status.message());
    }
  }

  rclrt_front_end::ConfiguredEngine & engine_;
  const std::shared_ptr<rclrt_core::Callback> callback_;
};

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // ENGINE_TIMER_HPP_
