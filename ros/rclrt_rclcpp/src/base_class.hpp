// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What is used of an rclcpp::Executor, be it of a class of ours or of rclcpp's: which nodes and groups belong to it,
/// what says that they have changed, and whether a thread spins.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "rclcpp/executor.hpp"
#include "rclrt_rclcpp/engine_executor.hpp"
#include "versions.hpp"

namespace rclrt_rclcpp
{

class BaseClass
{
public:
  using Groups = std::vector<rclcpp::CallbackGroup::WeakPtr>;

  explicit BaseClass(rclcpp::Executor & executor) : executor_(executor) {}

  /// Whether a thread is in one of its functions that spin.
  std::atomic_bool & spinning() const noexcept;
  const std::shared_ptr<rclcpp::Context> & context() const noexcept;

  /// Until clear_on_change(), `call` is called by whoever triggers what says that something has changed: nodes
  /// and groups that have something new, cancel(), and the context when it is shut down. Humble: before it `cancelled`, if
  /// it was cancel(), which nothing overrides there.
  void set_on_change(std::function<void()> call, std::function<void()> cancelled);
  void clear_on_change();
  Groups groups();
  /// Entities that have left it are claimed by its wait set no more, and those that came are. For rclcpp's classes, which
  /// do so when they wait.
  void update_wait_set();
  void enter(detail::Parameters::Node node);
  void leave(detail::Parameters::Node node);
  void enter(detail::Parameters::Group group, detail::Parameters::Node node);
  void leave(detail::Parameters::Group group);

  // Its own way to run a callback.
  static void execute_subscription(const std::shared_ptr<rclcpp::SubscriptionBase> & subscription);
#if RCLRT_RCLCPP_IS_HUMBLE
  static void execute_timer(const std::shared_ptr<rclcpp::TimerBase> & timer);
#else
  static void execute_timer(
    const std::shared_ptr<rclcpp::TimerBase> & timer, const std::shared_ptr<void> & data);
#endif

private:
  rclcpp::Executor & executor_;

#if RCLRT_RCLCPP_IS_HUMBLE
  struct Notice
  {
    std::mutex mutex;
    std::function<void()> call;
  };
  void listen_to(rclcpp::GuardCondition & condition);
  template <typename Call>
  void for_each_condition(const Call & call);
  void forget_gone_groups();

  std::shared_ptr<Notice> notice_;
  /// Locked while an entity is listened to or let go: a thread that listened to one which has just left would keep its next
  /// executor asleep.
  std::mutex listening_mutex_;
#endif
};

}  // namespace rclrt_rclcpp
