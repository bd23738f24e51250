// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// An rclcpp executor on the rclrt engine: entities notify it, the engine decides who runs.
///
/// It is an ordinary rclcpp::Executor for unmodified nodes. The three execution models are subclasses
/// that only choose options. spin() runs as the model says; spin_some(), spin_all(), spin_once() and
/// spin_until_future_complete() run callbacks on the calling thread, in the order of the policy,
/// whatever the model.
///
/// Thread-safe as rclcpp's executors are: nodes, groups and entities may come and go while it spins.
/// A release costs one lock of the engine (of a waitable one more), no allocation and at most one
/// wake-up.
#ifndef RCLRT_RCLCPP__ENGINE_EXECUTOR_HPP_
#define RCLRT_RCLCPP__ENGINE_EXECUTOR_HPP_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rclcpp/executor.hpp"
#include "rclrt_config/configured_engine.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/finding.hpp"
#include "rclrt_rclcpp/scheduling.hpp"

namespace rclrt_rclcpp
{
namespace detail
{

/// What rclcpp's virtual functions take: pointers by value, or by reference from some version on.
template <typename FunctionT>
struct ParametersOf;
template <typename GroupT, typename NodeT>
struct ParametersOf<void (rclcpp::Executor::*)(GroupT, NodeT, bool)>
{
  using Group = GroupT;
  using Node = NodeT;
};
using Parameters = ParametersOf<decltype(&rclcpp::Executor::add_callback_group)>;

}  // namespace detail

struct EngineExecutorOptions
{
  /// Says what matters about callbacks, groups and the executor without a change to the code; what it
  /// says goes before everything else here (see rclrt_config). Empty: the file named by the
  /// environment variable RCLRT_CONFIGURATION, else the context's parameter files (--params-file), as
  /// far as they have `rclrt` entries.
  std::string configuration_file;
  /// The same from code.
  std::shared_ptr<const SchedulingRegistry> scheduling;

  /// Called by the thread whose callback threw. Empty: stop, and rethrow from spin(). Must not
  /// throw.
  std::function<rclrt_core::ExceptionAction(const std::string & callback, std::exception_ptr)>
    on_exception;

  /// What to do when the operating system refuses attributes.
  rclrt_core::AttributesMode attributes_mode = rclrt_core::AttributesMode::kPrefer;
  rclrt_config::MiddlewareThreadsOptions middleware_threads;
  /// What orders the threads of callbacks with scheduling_policy ext.
  rclrt_config::DeadlineBackend deadline_scheduler = rclrt_config::DeadlineBackend::kAuto;
  /// The executor's timer thread. Policy unchanged: SCHED_FIFO one above the most urgent fifo or rr
  /// callback (at most 99), and as the thread that spins while there is no such callback.
  rclrt_core::Attributes timer_thread;
  /// How many callbacks of a reentrant group may run at once. 0: the number of CPUs.
  uint32_t reentrant_parallelism = 0;
  /// Of every thread of the executor, bytes. 0: the OS default.
  std::size_t stack_size = 0;
  std::size_t stack_prefault = 0;
  /// mlockall() at start.
  bool lock_memory = false;
  /// Job records kept per thread until read_trace(). 0: none.
  std::size_t trace_capacity = 1024;
};

class EngineExecutor : public rclcpp::Executor
{
public:
  ~EngineExecutor() override;

  // As rclcpp::Executor says, with the same exceptions, and std::runtime_error when the configuration
  // makes something impossible of an entity.
  using rclcpp::Executor::add_node;
  using rclcpp::Executor::remove_node;
  void add_node(detail::Parameters::Node node, bool notify = true) override;
  void remove_node(detail::Parameters::Node node, bool notify = true) override;
  void add_callback_group(
    detail::Parameters::Group group, detail::Parameters::Node node, bool notify = true) override;
  void remove_callback_group(detail::Parameters::Group group, bool notify = true) override;

  void spin() override;
  void spin_some(std::chrono::nanoseconds max_duration = std::chrono::nanoseconds(0)) override;
  void spin_all(std::chrono::nanoseconds max_duration) override;
  void cancel() override;

  /// What was refused by the OS or looks wrong, on the machine, the threads, the configuration and the
  /// middleware's threads.
  std::vector<rclrt_core::Finding> findings() const;
  /// What orders the threads of callbacks with scheduling_policy ext, e.g. "fifo bands"; empty if there
  /// are none. Known once it has begun to spin.
  std::string deadline_scheduler() const;
  /// Counters by callback name, of those the executor has now.
  std::map<std::string, rclrt_core::CallbackStatistics> statistics() const;
  /// Callback names by the ids in job records, those of removed entities too.
  std::map<uint32_t, std::string> callback_names() const;
  /// The executor's threads that exist now, with the attributes that are in force.
  std::vector<rclrt_core::ThreadReport> threads() const;
  /// See rclrt_core::Engine::read_trace().
  void read_trace(const std::function<void(const rclrt_job_record &)> & visit);
  uint64_t trace_dropped() const;

  /// Change the attributes of a callback, by its name, from its next job on. Throws
  /// std::runtime_error if it is not in this executor or they are impossible.
  void set_attributes(const std::string & callback, const rclrt_core::Attributes & attributes);

protected:
  EngineExecutor(
    const rclcpp::ExecutorOptions & options, const EngineExecutorOptions & engine_executor_options,
    rclrt_core::EngineOptions engine_options);

  void spin_once_impl(std::chrono::nanoseconds timeout) override;

private:
  void run_on_this_thread(std::chrono::nanoseconds max_duration, bool exhaustive);

  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rclrt_rclcpp

#endif  // RCLRT_RCLCPP__ENGINE_EXECUTOR_HPP_
