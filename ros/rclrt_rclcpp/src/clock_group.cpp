// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "clock_group.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

#include "take.hpp"

namespace rclrt_rclcpp
{
namespace
{

/// For a callback of the thread that has begun: it sets clocks.
constexpr int kTries = 100;
constexpr std::chrono::microseconds kBetweenTries(100);

// That executor looks into the flag when it collects what it serves, and collects it anew when this is triggered.
void notify(rclcpp::CallbackGroup & group) noexcept
{
  try {
    group.trigger_notify_guard_condition();
  } catch (const std::exception &) {
    // The context has been shut down: nobody waits for it.
  }
}

std::string clock_topic_of(rclcpp::node_interfaces::NodeBaseInterface & node)
{
  return node.resolve_topic_or_service_name("/clock", false);
}

}  // namespace

bool is_clock_group(
  rclcpp::node_interfaces::NodeBaseInterface & node, const rclcpp::CallbackGroup & group,
  detail::Kept & kept)
{
  if (group.automatically_add_to_executor_with_node()) {
    return false;
  }
  std::size_t entities = 0;
  bool hears_clock = false;
  const auto count = [&](const auto & entity) {
    kept.push_back(entity);
    ++entities;
  };
  group.collect_all_ptrs(
    [&](const auto & entity) {
      count(entity);
      hears_clock = entity->get_topic_name() == clock_topic_of(node);
    },
    count, count, count, [&kept](const auto & entity) { kept.push_back(entity); });  // QoS events
  return hears_clock && entities == 1;
}

std::string clock_topic_in(
  rclcpp::node_interfaces::NodeBaseInterface & node, const rclcpp::CallbackGroup & group,
  detail::Kept & kept)
{
  std::vector<rclcpp::CallbackGroup::SharedPtr> all;  // to be looked at without the node's lock
  node.for_each_callback_group([&all](const auto & present) { all.push_back(present); });
  kept.insert(kept.end(), all.begin(), all.end());
  const auto of_clock = std::find_if(all.begin(), all.end(), [&](const auto & present) {
    return is_clock_group(node, *present, kept);
  });
  const auto in = of_clock == all.end() ? node.get_default_callback_group() : *of_clock;
  return in.get() == &group ? clock_topic_of(node) : "";
}

ClockGroup::ClockGroup(const std::shared_ptr<rclcpp::CallbackGroup> & group) : group_(group)
{
  for (int tries = 0; !keep() && tries < kTries; ++tries) {
    std::this_thread::sleep_for(kBetweenTries);
  }
}

ClockGroup::~ClockGroup()
{
  if (const auto group = group_.lock()) {
    group->can_be_taken_from() = true;
    notify(*group);
  }
}

bool ClockGroup::keep() noexcept
{
  const auto group = group_.lock();
  const bool was_free = group && group->can_be_taken_from().exchange(false);
  if (was_free) {
    notify(*group);
  }
  return was_free;
}

void ClockGroup::set_subscription(
  const std::shared_ptr<rclcpp::SubscriptionBase> & subscription, const Owner & owner,
  const std::shared_ptr<rclrt_core::Callback> & callback)
{
  subscription_ = subscription;
  owner_ = owner;
  callback_ = callback;
}

void ClockGroup::look(
  const rclrt_core::Engine & engine, rclrt_core::TimePoint now, detail::Kept & kept)
{
  const auto subscription = subscription_.lock();
  if (!subscription) {
    return;
  }
  kept.push_back(subscription);
  const auto statistics = engine.statistics(*callback_);
  const uint64_t served = statistics.executed + statistics.empty;
  const bool waits = statistics.released != served + statistics.dropped + statistics.skipped;
  if (!waits || waits_since_ == rclrt_core::kNever || served != served_) {
    served_ = served;
    waits_since_ = waits ? now : rclrt_core::kNever;
  } else if (now - waits_since_ >= kClockPatience) {
    waits_since_ = now;
    const auto owner = lock(owner_);
    kept.push_back(owner);
    if (owner || !owner_) {
      take_and_handle(*subscription);
    }
  }
}

}  // namespace rclrt_rclcpp
