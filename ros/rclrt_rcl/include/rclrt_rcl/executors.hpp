// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// An executor on the rclrt engine: entities notify it, the engine decides which callback runs.
///
/// The three execution models are subclasses that only choose options. spin() runs as the model
/// says; spin_some(), spin_all(), spin_once() and spin_until_future_complete() run callbacks on the
/// calling thread, in the order of the policy, whatever the model.
#ifndef RCLRT_RCL__EXECUTORS_HPP_
#define RCLRT_RCL__EXECUTORS_HPP_

#include <functional>
#include <memory>

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_front_end/common_options.hpp"
#include "rclrt_front_end/executor_report.hpp"
#include "rclrt_front_end/models.hpp"
#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/entity.hpp"
#include "rclrt_rcl/executor.hpp"

namespace rclrt_rcl
{

/// Options that the executors on the engine have in common.
struct ExecutorOptions : rclrt_front_end::CommonOptions
{
  /// Null: the default context.
  std::shared_ptr<Context> context;

  /// Called for each entity before it is scheduled; may change what the entity's options say. Must
  /// not call the executor; may throw Error.
  std::function<void(const Entity &, Scheduling &)> configure;
  /// Called for each group: may change the attributes of its threads.
  std::function<void(const CallbackGroup &, rclrt_core::Attributes &)> configure_group;
};

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

struct PreemptiveExecutorOptions : ExecutorOptions, rclrt_front_end::PoolOptions
{
};

/// A bounded pool of pre-created threads; the operating system preempts between callbacks by their
/// attributes [ROSRT]. Replaces a multi-threaded executor without other changes to the code.
class PreemptiveExecutor : public EngineExecutor
{
public:
  explicit PreemptiveExecutor(const PreemptiveExecutorOptions & options = {})
  : EngineExecutor(options, rclrt_front_end::engine_options(options))
  {
  }
};

struct CallbackIsolatedExecutorOptions : ExecutorOptions, rclrt_front_end::IsolatedOptions
{
};

/// Persistent threads of its own for every callback group; the operating system schedules them by
/// the attributes of the group, with any policy and affinity [CIE25].
class CallbackIsolatedExecutor : public EngineExecutor
{
public:
  explicit CallbackIsolatedExecutor(const CallbackIsolatedExecutorOptions & options = {})
  : EngineExecutor(options, rclrt_front_end::engine_options(options))
  {
  }
};

struct PriorityEventsExecutorOptions : ExecutorOptions, rclrt_front_end::EventsOptions
{
};

/// One thread and a queue of events ordered by arrival, fixed priority or deadline, plus a more urgent
/// timer thread [Teper25 §IV-V]. Not preemptive: analysable as a limited-preemption system.
///
/// spin() runs callbacks on the calling thread.
class PriorityEventsExecutor : public EngineExecutor
{
public:
  explicit PriorityEventsExecutor(const PriorityEventsExecutorOptions & options = {})
  : EngineExecutor(options, rclrt_front_end::engine_options(options))
  {
  }
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__EXECUTORS_HPP_
