// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The group in which a node of rclcpp hears of simulated time.
///
/// rclcpp has it served by a thread of its own, which nobody can wait for: a message that comes after one of /clock may
/// run before the timers that the clock has made due. So the executor takes the clock's messages in place of that
/// thread while it spins.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "group_names.hpp"
#include "rclcpp/callback_group.hpp"
#include "rclcpp/node.hpp"
#include "rclcpp/subscription_base.hpp"
#include "rclrt_core/engine.hpp"

namespace rclrt_rclcpp
{

/// What an entity is a part of, if that is known.
using Owner = std::optional<std::weak_ptr<const rclcpp::Node>>;
inline std::shared_ptr<const rclcpp::Node> lock(const Owner & owner)
{
  return owner ? owner->lock() : nullptr;
}

/// How long a message of the clock waits for a thread of the executor before the thread that looks at clocks takes it:
/// a callback may have the only thread and wait for simulated time.
constexpr std::chrono::milliseconds kClockPatience(100);

/// Whether rclcpp made the group for the node's topic /clock and a thread of its own.
bool is_clock_group(
  rclcpp::node_interfaces::NodeBaseInterface & node, const rclcpp::CallbackGroup & group,
  detail::Kept & kept);

/// The topic from which the node hears of simulated time, if it does so in this group: in one that rclcpp made for that,
/// else in its default group. Empty if not.
std::string clock_topic_in(
  rclcpp::node_interfaces::NodeBaseInterface & node, const rclcpp::CallbackGroup & group,
  detail::Kept & kept);

/// While it exists, rclcpp's thread leaves the group's messages alone. Not thread-safe.
class ClockGroup
{
public:
  /// Waits for the thread if it runs a callback of the group, at most for a moment.
  explicit ClockGroup(const std::shared_ptr<rclcpp::CallbackGroup> & group);
  ~ClockGroup();
  ClockGroup(const ClockGroup &) = delete;
  ClockGroup & operator=(const ClockGroup &) = delete;

  /// The thread gives the group back to everybody when a callback ends that it had begun before. Take it again.
  /// Returns whether nobody had it.
  bool keep() noexcept;

  /// What is in it, and the engine's callback for that.
  void set_subscription(
    const std::shared_ptr<rclcpp::SubscriptionBase> & subscription, const Owner & owner,
    const std::shared_ptr<rclrt_core::Callback> & callback);
  /// Takes a message that has waited for kClockPatience. To be called now and then.
  void look(const rclrt_core::Engine & engine, rclrt_core::TimePoint now, detail::Kept & kept);

private:
  const std::weak_ptr<rclcpp::CallbackGroup> group_;
  std::weak_ptr<rclcpp::SubscriptionBase> subscription_;
  Owner owner_;
  std::shared_ptr<rclrt_core::Callback> callback_;
  uint64_t served_ = 0;  ///< jobs so far, when a message was seen to wait at `waits_since_`
  rclrt_core::TimePoint waits_since_ = rclrt_core::kNever;
};

}  // namespace rclrt_rclcpp
