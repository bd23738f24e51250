// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// One thread that runs everything a wait has found before it waits again, after rclcpp's
/// StaticSingleThreadedExecutor. For comparison only.
///
/// Order within a window: subscriptions before timers. Groups are not looked at: nothing runs in
/// parallel anyway.
#ifndef RCLRT_BASELINES__STATIC_EXECUTOR_HPP_
#define RCLRT_BASELINES__STATIC_EXECUTOR_HPP_

#include <memory>

#include "rclrt_baselines/wait_set_executor.hpp"

namespace rclrt_baselines
{

class StaticExecutor : public WaitSetExecutor
{
public:
  /// Null: the default context.
  explicit StaticExecutor(std::shared_ptr<rclrt_rcl::Context> context = nullptr);
  ~StaticExecutor() override;

private:
  void do_spin() override;
  void do_spin_some(rclrt_core::TimePoint until, bool exhaustive) override;
  bool do_spin_once(rclrt_core::TimePoint until) override;
  /// Run what the present result has, or the first of it. Returns whether there was any.
  bool execute_ready(bool only_one);
};

}  // namespace rclrt_baselines

#endif  // RCLRT_BASELINES__STATIC_EXECUTOR_HPP_
