// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The common part of all executors: their nodes and groups, and the ways to spin.
///
/// Nodes and groups are held weakly and belong to at most one executor. They may come and go, and
/// entities be created and destroyed, at any time, also while spinning and from callbacks.
///
/// A subclass says how entities announce what waits, and are run. The on_...() functions are called under the
/// membership lock, one at a time; they must not call user code nor wait for callbacks. Each
/// subclass that is instantiated calls detach_all() in its destructor.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <vector>

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/time.hpp"
#include "rclrt_front_end/common_options.hpp"
#include "rclrt_front_end/executor_report.hpp"
#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/entity.hpp"
#include "rclrt_rcl/node.hpp"

namespace rclrt_rcl
{

enum class FutureReturnCode : uint8_t
{
  kSuccess,
  kInterrupted,  ///< cancelled or shut down
  kTimeout,
};

class Executor
{
public:
  virtual ~Executor();
  Executor(const Executor &) = delete;
  Executor & operator=(const Executor &) = delete;

  // ---- Spinning. Error when this executor is spinning already, also from inside a callback. The
  // first exception that leaves a callback ends the spin and is rethrown from it (see
  // ExecutorOptions::on_exception).

  /// Run until cancel() or shutdown of the context.
  void spin();
  // The functions below run callbacks on the calling thread, with the attributes of that thread. If
  // callbacks have attributes of their own, that is a finding, and an error if attributes are
  // required (AttributesMode::kRequire).

  /// Run the callbacks that are ready now, each once, but start none after `max_duration` (0: no
  /// limit).
  void spin_some(std::chrono::nanoseconds max_duration = std::chrono::nanoseconds(0));
  /// Run the callbacks that are ready or become ready meanwhile, until there are none or
  /// `max_duration` (0: no limit) has passed. Error: negative.
  void spin_all(std::chrono::nanoseconds max_duration);
  /// Run one callback, waiting for it until `timeout` (negative: for ever). Returns whether one ran.
  bool spin_once(std::chrono::nanoseconds timeout = std::chrono::nanoseconds(-1));

  /// Run until `future` (a std::future or std::shared_future) is ready. Negative: no timeout. It may
  /// be made ready by a callback or by any other thread.
  template <typename Future>
  FutureReturnCode spin_until_future_complete(
    const Future & future, std::chrono::nanoseconds timeout = std::chrono::nanoseconds(-1))
  {
    return spin_until(
      [&future] { return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready; },
      timeout);
  }

  /// End the present spin; if there is none, the next one. From any thread, also from callbacks.
  void cancel();
  /// It is true during spin_some() and the like as well, so it is true inside callbacks.
  bool is_spinning() const noexcept { return spinning_.load(); }

  // ---- Members

  /// Take over the node's groups, those made later too, unless they are not to be added
  /// automatically. Error: it is in an executor already.
  void add_node(Node & node);
  void add_node(const std::shared_ptr<Node> & node) { add_node(*node); }
  /// On return no callback of the node's groups runs (unless called from inside a callback). Error:
  /// it is not in this executor.
  void remove_node(Node & node);
  void remove_node(const std::shared_ptr<Node> & node) { remove_node(*node); }
  /// Error: it is in an executor already.
  void add_callback_group(const std::shared_ptr<CallbackGroup> & group);
  /// Error: it is not in this executor, or came with its node.
  void remove_callback_group(const std::shared_ptr<CallbackGroup> & group);

  /// The groups that exist now.
  std::vector<std::shared_ptr<CallbackGroup>> callback_groups() const;
  std::vector<std::shared_ptr<CallbackGroup>> manually_added_callback_groups() const;
  std::vector<std::shared_ptr<CallbackGroup>> automatically_added_callback_groups() const;

  const std::shared_ptr<Context> & context() const noexcept { return context_; }

protected:
  /// Null: the default context.
  explicit Executor(std::shared_ptr<Context> context);

  // ---- For subclasses to write

  virtual void on_group_added(const std::shared_ptr<CallbackGroup> & group) = 0;
  /// It has no entities any more.
  virtual void on_group_removed(const CallbackGroup * group) = 0;
  virtual void on_entity_added(const std::shared_ptr<Entity> & entity) = 0;
  /// On return no further job of it is picked. One that was picked and not begun runs nothing when
  /// it passes the Entity::stay() it had in on_entity_added().
  virtual void on_entity_removed(const std::shared_ptr<Entity> & entity) = 0;

  /// Until stop_requested().
  virtual void do_spin() = 0;
  /// spin_some (`exhaustive` false) and spin_all.
  virtual void do_spin_some(rclrt_core::TimePoint until, bool exhaustive) = 0;
  /// Returns whether a callback ran.
  virtual bool do_spin_once(rclrt_core::TimePoint until) = 0;
  /// Make the spin in progress, or the next one, look at stop_requested(). From any thread.
  virtual void interrupt() noexcept = 0;
  /// The spin is over; forget the interruption.
  virtual void clear_interrupt() noexcept {}

  // ---- For subclasses to use

  /// Whether cancel() was called or the context was shut down.
  bool stop_requested() const noexcept { return cancelled_.load() || !context_->ok(); }
  /// Let go of all nodes and groups, through the on_...() functions. `waits`: until none of their callbacks runs.
  void detach_all(bool waits = true);

private:
  class Membership;
  class SpinGuard;

  void heed_shutdown();
  FutureReturnCode spin_until(
    const std::function<bool()> & ready, std::chrono::nanoseconds timeout);

  const std::shared_ptr<Context> context_;
  Context::ShutdownHandle on_shutdown_ = 0;  ///< written by the first spin
  std::mutex spin_mutex_;  ///< makes cancel() and the end of a spin exclude each other
  std::atomic<bool> spinning_{false};
  std::atomic<bool> cancelled_{false};
  const std::shared_ptr<Membership> membership_;
};

/// Options that the executors on the engine have in common.
struct ExecutorOptions : rclrt_front_end::CommonOptions
{
  /// Null: the default context.
  std::shared_ptr<Context> context;

  /// Called for each entity before it is scheduled; may change what the entity's options say. Must
  /// not call the executor; may throw Error.
  std::function<void(const Entity &, Scheduling &)> configure;
};

/// An executor on the rclrt engine: entities notify it, the engine decides which callback runs.
///
/// The three execution models are subclasses that only choose options. spin() runs as the model
/// says; spin_some(), spin_all(), spin_once() and spin_until_future_complete() run callbacks on the
/// calling thread, in the order of the policy, whatever the model.
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

struct PreemptiveExecutorOptions : ExecutorOptions, rclrt_front_end::PreemptiveOptions
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

struct PriorityEventsExecutorOptions : ExecutorOptions, rclrt_front_end::PriorityEventsOptions
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
