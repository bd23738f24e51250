// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The executors every typed suite runs over.
#ifndef EXECUTOR_TYPES_HPP_
#define EXECUTOR_TYPES_HPP_

#include <gtest/gtest.h>

#include <string>

#include "fixture.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace rclrt_rcl
{

struct Preemptive
{
  using Executor = PreemptiveExecutor;
  using Options = PreemptiveExecutorOptions;
};
struct Isolated
{
  using Executor = CallbackIsolatedExecutor;
  using Options = CallbackIsolatedExecutorOptions;
};
struct Events
{
  using Executor = PriorityEventsExecutor;
  using Options = PriorityEventsExecutorOptions;
};
struct EventsReleaseAndExecute
{
  using Executor = PriorityEventsExecutor;
  struct Options : PriorityEventsExecutorOptions
  {
    Options() { release_and_execute = true; }
  };
};

using ExecutorTypes = ::testing::Types<Preemptive, Isolated, Events, EventsReleaseAndExecute>;

struct ExecutorTypeNames
{
  template <typename T>
  static std::string GetName(int)
  {
    if (std::is_same_v<T, Preemptive>) {
      return "preemptive";
    }
    if (std::is_same_v<T, Isolated>) {
      return "isolated";
    }
    return std::is_same_v<T, Events> ? "events" : "events_release_and_execute";
  }
};

/// A context, a node, and as many executors of the type as asked for.
template <typename T>
class ExecutorSuite : public WithContext
{
protected:
  using ExecutorType = typename T::Executor;

  typename T::Options executor_options() const
  {
    return this->template options<typename T::Options>();
  }

  std::unique_ptr<ExecutorType> make_executor() const
  {
    return std::make_unique<ExecutorType>(executor_options());
  }

  static Scheduling named(const std::string & name, uint32_t depth = 0)
  {
    Scheduling scheduling;
    scheduling.name = name;
    scheduling.depth = depth;
    return scheduling;
  }

  std::shared_ptr<Node> node = make_node("node");
  std::unique_ptr<ExecutorType> executor = make_executor();
};

}  // namespace rclrt_rcl

#endif  // EXECUTOR_TYPES_HPP_
