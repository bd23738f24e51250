// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What only our executors have: options, parameters files, attributes of threads.
#ifndef SCHEDULING_FIXTURE_HPP_
#define SCHEDULING_FIXTURE_HPP_

#include <memory>

#include "builtin_interfaces/msg/time.hpp"
#include "conformance/real_time.hpp"
#include "fixture.hpp"

namespace rclrt_rclcpp
{

using builtin_interfaces::msg::Time;

using conformance::attributes_here;
using conformance::fifo;
using conformance::File;
using conformance::realtime_is_refused;

template <typename ExecutorT>
struct OptionsOf;
template <>
struct OptionsOf<PreemptiveExecutor>
{
  using Type = PreemptiveExecutorOptions;
};
template <>
struct OptionsOf<CallbackIsolatedExecutor>
{
  using Type = CallbackIsolatedExecutorOptions;
};
template <>
struct OptionsOf<PriorityEventsExecutor>
{
  using Type = PriorityEventsExecutorOptions;
};

template <typename ExecutorT>
class SchedulingTest : public WithContext
{
protected:
  using Options = typename OptionsOf<ExecutorT>::Type;

  std::unique_ptr<ExecutorT> make_executor(const Options & options = {})
  {
    return std::make_unique<ExecutorT>(executor_options(), options);
  }
};

using Configurable =
  ::testing::Types<PreemptiveExecutor, CallbackIsolatedExecutor, PriorityEventsExecutor>;

}  // namespace rclrt_rclcpp

#endif  // SCHEDULING_FIXTURE_HPP_
