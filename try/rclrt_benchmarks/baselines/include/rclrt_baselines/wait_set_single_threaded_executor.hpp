// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// One thread on a wait set, after rclcpp's SingleThreadedExecutor. For comparison only.
#ifndef RCLRT_BASELINES__WAIT_SET_SINGLE_THREADED_EXECUTOR_HPP_
#define RCLRT_BASELINES__WAIT_SET_SINGLE_THREADED_EXECUTOR_HPP_

#include <memory>

#include "rclrt_baselines/wait_set_executor.hpp"

namespace rclrt_baselines
{

class WaitSetSingleThreadedExecutor : public WaitSetExecutor
{
public:
  /// Null: the default context.
  explicit WaitSetSingleThreadedExecutor(std::shared_ptr<rclrt_rcl::Context> context = nullptr);
  ~WaitSetSingleThreadedExecutor() override;

private:
  void do_spin() override;
};

}  // namespace rclrt_baselines

#endif  // RCLRT_BASELINES__WAIT_SET_SINGLE_THREADED_EXECUTOR_HPP_
