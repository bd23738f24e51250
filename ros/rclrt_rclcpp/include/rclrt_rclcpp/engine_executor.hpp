// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// An rclcpp executor on the rclrt engine: entities notify it, the engine decides which callback runs.
///
/// It is an ordinary rclcpp::Executor for unmodified nodes. The three execution models are subclasses
/// that only choose options. spin() runs as the model says; spin_some(), spin_all(), spin_once() and
/// spin_until_future_complete() run callbacks on the calling thread, in the order of the policy,
/// whatever the model.
///
/// Thread-safe as rclcpp's executors are: nodes, groups and entities may come and go while it spins.
/// A release costs one lock of the engine and one of what announces it (of a waitable one more), which all
/// inherit priorities, no allocation and at most one thread out of sleep.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "rclcpp/executor.hpp"
#include "rclcpp/node.hpp"
#include "rclcpp/version.h"
#include "rclrt_core/engine.hpp"
#include "rclrt_front_end/common_options.hpp"
#include "rclrt_front_end/executor_report.hpp"
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

/// How it takes the whole node, if `NodeT` is how it takes the node's base.
template <typename NodeT>
using OwnerOf = std::conditional_t<
  std::is_reference_v<NodeT>, const std::shared_ptr<rclcpp::Node> &, std::shared_ptr<rclcpp::Node>>;

}  // namespace detail

struct EngineExecutorOptions : rclrt_front_end::CommonOptions
{
  /// What a parameters file may say, from code; the file overrides it.
  std::shared_ptr<const SchedulingRegistry> scheduling;
  /// How many callbacks of a reentrant group may run at once. 0: the number of CPUs, but at least 2.
  uint32_t reentrant_parallelism = 0;
};

class Spinner;

class EngineExecutor : public rclcpp::Executor, public rclrt_front_end::ExecutorReport
{
public:
  /// Waits for entities that are announcing work in other threads right now, which takes microseconds. The thread that
  /// destroys the executor also destroys what its options hold.
  ~EngineExecutor() override;

  // As rclcpp::Executor says, with the same exceptions, and std::runtime_error when the configuration
  // makes something impossible of an entity.
  using rclcpp::Executor::add_node;
  using rclcpp::Executor::remove_node;
  void add_node(detail::Parameters::Node node, bool notify = true) override;
  /// If a whole node is added, it is known what else it consists of: while a callback that rclcpp made for itself runs
  /// (parameter events, simulated time, parameter services), the node stays, whoever drops it.
  void add_node(detail::OwnerOf<detail::Parameters::Node> node, bool notify = true) override;
  void remove_node(detail::Parameters::Node node, bool notify = true) override;
  void add_callback_group(
    detail::Parameters::Group group, detail::Parameters::Node node, bool notify = true) override;
  void remove_callback_group(detail::Parameters::Group group, bool notify = true) override;

#if RCLCPP_VERSION_MAJOR >= 28
  /// Ends the spin in progress, whichever function it is. If there is none, ends the next one. Thread-safe.
  void cancel() override;
#endif
  void spin() override;
  void spin_some(std::chrono::nanoseconds max_duration = std::chrono::nanoseconds(0)) override;
  void spin_all(std::chrono::nanoseconds max_duration) override;
  void spin_once(std::chrono::nanoseconds timeout = std::chrono::nanoseconds(-1)) override;

  /// Change the attributes of a callback, by its name, from its next job on. Throws
  /// std::runtime_error if it is not in this executor or they are impossible.
  void set_attributes(const std::string & callback, const rclrt_core::Attributes & attributes);

protected:
  EngineExecutor(
    const rclcpp::ExecutorOptions & options, const EngineExecutorOptions & engine_executor_options,
    rclrt_core::EngineOptions engine_options);

  void spin_once_impl(std::chrono::nanoseconds timeout) override;

private:
  rclrt_front_end::ConfiguredEngine & configured() const override;

  std::unique_ptr<Spinner> spinner_;
};

}  // namespace rclrt_rclcpp
