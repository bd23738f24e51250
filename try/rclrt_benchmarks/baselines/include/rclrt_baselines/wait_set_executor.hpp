// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Executors with a wait set, after rclcpp's: what they have in common. For comparison only; see
/// FAITHFULNESS.md for what each behaviour stands for.
///
/// A *polling point* is a call of rcl_wait(): only there timers are sampled and the middleware is
/// asked for work. What it found is kept as the result and handed out one by one, in the order
/// timers, subscriptions, services, clients, the rest; what becomes ready meanwhile waits for the
/// next polling point, which comes when the result is used up. The time between two of them is a
/// *processing window*.
///
/// The list of entities is collected anew only when something has changed or somebody interrupted.
#ifndef RCLRT_BASELINES__WAIT_SET_EXECUTOR_HPP_
#define RCLRT_BASELINES__WAIT_SET_EXECUTOR_HPP_

#include <chrono>
#include <memory>

#include "rclrt_core/job.hpp"
#include "rclrt_core/time.hpp"
#include "rclrt_rcl/executor.hpp"

namespace rclrt_baselines
{

class Member;  // an entity as the executor sees it

class WaitSetExecutor : public rclrt_rcl::Executor
{
public:
  ~WaitSetExecutor() override;

protected:
  /// Null: the default context.
  explicit WaitSetExecutor(std::shared_ptr<rclrt_rcl::Context> context);

  struct Executable
  {
    std::shared_ptr<Member> member;
    rclrt_core::Job job;
  };

  // One thread at a time may call these four.

  /// A polling point. Negative: no timeout.
  void wait_for_work(std::chrono::nanoseconds timeout);
  /// The next one of the present result whose group is free; the group is taken.
  bool next_ready(Executable * executable);
  /// next_ready(), else wait and try once more.
  bool next(Executable * executable, std::chrono::nanoseconds timeout);
  /// Whatever is left of it is found again at the next polling point.
  void drop_result();

  /// Run it and give its group back. From any thread.
  void execute(const Executable & executable);
  static bool in_exclusive_group(const Executable & executable) noexcept;
  /// Negative when that is never.
  static std::chrono::nanoseconds time_until(rclrt_core::TimePoint until);
  static rclrt_core::Job job_of_now();

  void do_spin_some(rclrt_core::TimePoint until, bool exhaustive) override;
  bool do_spin_once(rclrt_core::TimePoint until) override;
  void interrupt() noexcept override;
  /// A trigger that nobody has waited for costs the next spin one look.
  void clear_interrupt() noexcept override {}

  class Impl;
  const std::unique_ptr<Impl> impl_;

private:
  void on_group_added(const std::shared_ptr<rclrt_rcl::CallbackGroup> & group) override;
  void on_group_removed(const rclrt_rcl::CallbackGroup * group) override;
  void on_entity_added(const std::shared_ptr<rclrt_rcl::Entity> & entity) override;
  void on_entity_removed(const std::shared_ptr<rclrt_rcl::Entity> & entity) override;
};

}  // namespace rclrt_baselines

#endif  // RCLRT_BASELINES__WAIT_SET_EXECUTOR_HPP_
