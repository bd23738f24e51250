// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// One thread and an unbounded first-in-first-out queue of events, after rclcpp's experimental
/// EventsExecutor. For comparison only.
///
/// Every message, request, trigger ... is an event, put there by the thread of the middleware that
/// announced it; every expiry of a timer is one, put there by a timer thread that advances the timer
/// at that moment. So an executor that falls behind owes a burst: each missed period runs later.
#ifndef RCLRT_BASELINES__FIFO_EVENTS_EXECUTOR_HPP_
#define RCLRT_BASELINES__FIFO_EVENTS_EXECUTOR_HPP_

#include <memory>

#include "rclrt_core/time.hpp"
#include "rclrt_rcl/executor.hpp"

namespace rclrt_baselines
{

struct Event;

class FifoEventsExecutor : public rclrt_rcl::Executor
{
public:
  /// Null: the default context.
  explicit FifoEventsExecutor(std::shared_ptr<rclrt_rcl::Context> context = nullptr);
  ~FifoEventsExecutor() override;

private:
  void on_group_added(const std::shared_ptr<rclrt_rcl::CallbackGroup> & group) override;
  void on_group_removed(const rclrt_rcl::CallbackGroup * group) override;
  void on_entity_added(const std::shared_ptr<rclrt_rcl::Entity> & entity) override;
  void on_entity_removed(const std::shared_ptr<rclrt_rcl::Entity> & entity) override;
  void do_spin() override;
  void do_spin_some(rclrt_core::TimePoint until, bool exhaustive) override;
  bool do_spin_once(rclrt_core::TimePoint until) override;
  void interrupt() noexcept override;
  /// An event that only wakes costs the next spin one look.
  void clear_interrupt() noexcept override {}
  /// False when there was nothing to execute, e.g. of an entity that was removed.
  bool execute(const Event & event);

  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace rclrt_baselines

#endif  // RCLRT_BASELINES__FIFO_EVENTS_EXECUTOR_HPP_
