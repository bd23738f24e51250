// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// An executor on the rclrt engine: entities notify it, the engine decides who runs.
///
/// The three execution models are subclasses that only choose options. spin() runs as the model
/// says; spin_some(), spin_all(), spin_once() and spin_until_future_complete() run callbacks on the
/// calling thread, in the order of the policy, whatever the model.
#ifndef RCLRT_RCL__ENGINE_EXECUTOR_HPP_
#define RCLRT_RCL__ENGINE_EXECUTOR_HPP_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rclrt_core/engine.hpp"
#include "rclrt_core/finding.hpp"
#include "rclrt_rcl/executor.hpp"
#include "rclrt_rcl/executor_options.hpp"

namespace rclrt_rcl
{

class EngineExecutor : public Executor
{
public:
  ~EngineExecutor() override;

  /// What was refused by the OS or looks wrong, on the machine, the threads and the middleware's
  /// threads.
  std::vector<rclrt_core::Finding> findings() const;
  /// What orders the threads of callbacks with scheduling_policy ext, e.g. "fifo bands"; empty if there
  /// are none. Known once it has begun to spin.
  std::string deadline_scheduler() const;
  /// Counters by entity name, of those the executor has now.
  std::map<std::string, rclrt_core::CallbackStatistics> statistics() const;
  /// Entity names by the ids in job records, those of removed entities too.
  std::map<uint32_t, std::string> callback_names() const;
  /// The executor's threads that exist now, with the attributes that are in force.
  std::vector<rclrt_core::ThreadReport> threads() const;
  /// See rclrt_core::Engine::read_trace().
  void read_trace(const std::function<void(const rclrt_job_record &)> & visit);
  uint64_t trace_dropped() const;

  /// Change an entity's attributes from its next job on. Error: not in this executor, or impossible.
  void set_attributes(const Entity & entity, const rclrt_core::Attributes & attributes);

protected:
  EngineExecutor(const ExecutorOptions & options, rclrt_core::EngineOptions engine_options);

private:
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
