// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// An executor on the rclrt engine: entities notify it, the engine decides which callback runs.
///
/// The three execution models are subclasses that only choose options. spin() runs as the model
/// says; spin_some(), spin_all(), spin_once() and spin_until_future_complete() run callbacks on the
/// calling thread, in the order of the policy, whatever the model.
#ifndef RCLRT_RCL__ENGINE_EXECUTOR_HPP_
#define RCLRT_RCL__ENGINE_EXECUTOR_HPP_

#include <memory>

#include "rclrt_core/engine.hpp"
#include "rclrt_front_end/executor_report.hpp"
#include "rclrt_rcl/executor.hpp"
#include "rclrt_rcl/executor_options.hpp"

namespace rclrt_rcl
{

class EngineExecutor : public Executor, public rclrt_front_end::ExecutorReport
{
public:
  ~EngineExecutor() override;

  /// Change an entity's attributes from its next job on. Error: not in this executor, or impossible.
  void set_attributes(const Entity & entity, const rclrt_core::Attributes & attributes);

protected:
  EngineExecutor(const ExecutorOptions & options, rclrt_core::EngineOptions engine_options);

private:
  rclrt_front_end::ConfiguredEngine & configured() const override;
  void on_group_added(const std::shared_ptr<CallbackGroup> & group) override;
  void on_group_removed(const CallbackGroup * group) override;
  void on_entity_added(const std::shared_ptr<Entity> & entity) override;
  void on_entity_removed(const std::shared_ptr<Entity> & entity) override;
  void do_spin() override;
  void do_spin_some(rclrt_core::TimePoint until, bool exhaustive) override;
  bool do_spin_once(rclrt_core::TimePoint until) override;
  void interrupt() noexcept override;
  void clear_interrupt() noexcept override;

  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__ENGINE_EXECUTOR_HPP_
