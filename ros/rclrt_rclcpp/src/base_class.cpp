// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// rclcpp::Executor would also change its wait set, which our classes do not use. Nobody has to be notified of what is done
// here: Spinner::update() does all there is to do.

#include "base_class.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace rclrt_rclcpp
{
namespace
{

/// May name what is protected.
struct Access : rclcpp::Executor
{
  static constexpr auto kSpinning = &Access::spinning;
  static constexpr auto kContext = &Access::context_;
#if RCLRT_RCLCPP_IS_HUMBLE
  static constexpr auto kMutex = &Access::mutex_;
  static constexpr auto kNodes = &Access::weak_nodes_;
  static constexpr auto kInterrupt = &Access::interrupt_guard_condition_;
  static constexpr auto kShutdown = &Access::shutdown_guard_condition_;
  static constexpr auto kMemoryStrategy = &Access::memory_strategy_;
  static constexpr auto kGroupsToNodes = &Access::weak_groups_to_nodes_;
  static constexpr auto kAddedGroups = &Access::weak_groups_to_nodes_associated_with_executor_;
  static constexpr auto kNodesGroups = &Access::weak_groups_associated_with_executor_to_nodes_;
  static constexpr auto kConditions = &Access::weak_groups_to_guard_conditions_;
  static constexpr auto kAddGroupsOfNodes =
    &Access::add_callback_groups_from_nodes_associated_to_executor;
#else
  static constexpr auto kMutex = &Access::mutex_;
  static constexpr auto kCollector = &Access::collector_;
  static constexpr auto kNotify = &Access::notify_waitable_;
  static constexpr auto kNeedsRebuild = &Access::entities_need_rebuild_;
  static constexpr auto kCollect = &Access::collect_entities;
#endif
  using rclcpp::Executor::execute_subscription;
  using rclcpp::Executor::execute_timer;
};

}  // namespace

std::atomic_bool & BaseClass::spinning() const noexcept { return executor_.*Access::kSpinning; }

const std::shared_ptr<rclcpp::Context> & BaseClass::context() const noexcept
{
  return executor_.*Access::kContext;
}

void BaseClass::execute_subscription(const std::shared_ptr<rclcpp::SubscriptionBase> & subscription)
{
  Access::execute_subscription(subscription);
}

#if RCLRT_RCLCPP_IS_HUMBLE

/// Calls it for conditions that tell of what is new: the nodes' first, then their groups'.
template <typename Call>
void BaseClass::for_each_condition(const Call & call)
{
  {
    const std::lock_guard<std::mutex> lock(executor_.*Access::kMutex);
    for (const auto & weak : executor_.*Access::kNodes) {
      if (const auto node = weak.lock()) {
        call(node->get_notify_guard_condition());
      }
    }
  }
  for (const auto & weak : executor_.get_all_callback_groups()) {
    const auto group = weak.lock();
    if (group && context()->is_valid()) {  // it may be made only now
      call(*group->get_notify_guard_condition(context()));
    }
  }
}

void BaseClass::execute_timer(const std::shared_ptr<rclcpp::TimerBase> & timer)
{
  Access::execute_timer(timer);
}

void BaseClass::set_on_change(std::function<void()> call, std::function<void()> cancelled)
{
  notice_ = std::make_shared<Notice>();
  notice_->call = std::move(call);
  // Only cancel() triggers this one.
  (executor_.*Access::kInterrupt)
    .set_on_trigger_callback([notice = notice_, cancelled = std::move(cancelled)](std::size_t) {
      const std::lock_guard<std::mutex> lock(notice->mutex);
      if (notice->call) {
        cancelled();
        notice->call();
      }
    });
  listen_to(*(executor_.*Access::kShutdown));
}

void BaseClass::clear_on_change()
{
  {
    const std::lock_guard<std::mutex> lock(notice_->mutex);
    notice_->call = nullptr;
  }
  for_each_condition([](auto & condition) { condition.set_on_trigger_callback(nullptr); });
}

/// It must be taken back: a condition that calls a function wakes no thread that waits for it.
void BaseClass::listen_to(rclcpp::GuardCondition & condition)
{
  condition.set_on_trigger_callback([notice = notice_](std::size_t) {
    const std::lock_guard<std::mutex> lock(notice->mutex);
    if (notice->call) {
      notice->call();
    }
  });
}

std::vector<rclcpp::CallbackGroup::WeakPtr> BaseClass::groups()
{
  const std::lock_guard<std::mutex> listening(listening_mutex_);
  {
    const std::lock_guard<std::mutex> lock(executor_.*Access::kMutex);
    (executor_.*Access::kAddGroupsOfNodes)();
    forget_gone_groups();
  }
  for_each_condition([this](auto & condition) { listen_to(condition); });
  return executor_.get_all_callback_groups();
}

/// Under the base class's mutex. Its own functions that wait would do so.
void BaseClass::forget_gone_groups()
{
  auto & groups_to_nodes = executor_.*Access::kGroupsToNodes;
  auto & conditions = executor_.*Access::kConditions;
  for (auto known = groups_to_nodes.begin(); known != groups_to_nodes.end();) {
    const auto weak = known->first;
    if (!weak.expired() && !known->second.expired()) {
      ++known;
      continue;
    }
    known = groups_to_nodes.erase(known);
    (executor_.*Access::kNodesGroups).erase(weak);
    (executor_.*Access::kAddedGroups).erase(weak);
    const auto condition = conditions.find(weak);
    if (condition != conditions.end()) {
      (executor_.*Access::kMemoryStrategy)->remove_guard_condition(condition->second);
      conditions.erase(condition);
    }
  }
}

void BaseClass::enter(detail::Parameters::Node node)
{
  executor_.rclcpp::Executor::add_node(node, false);
}

void BaseClass::leave(detail::Parameters::Node node)
{
  groups();  // those that are gone would be in the way
  std::vector<rclcpp::CallbackGroup::SharedPtr> its_groups;
  node->for_each_callback_group([&](const auto & group) { its_groups.push_back(group); });
  {
    const std::lock_guard<std::mutex> listening(listening_mutex_);
    executor_.rclcpp::Executor::remove_node(node, false);
    node->get_notify_guard_condition().set_on_trigger_callback(nullptr);
    for (const auto & group : its_groups) {
      if (context()->is_valid()) {
        group->get_notify_guard_condition(context())->set_on_trigger_callback(nullptr);
      }
    }
  }
  groups();  // some may have been added by themselves, and stay
}

void BaseClass::enter(detail::Parameters::Group group, detail::Parameters::Node node)
{
  executor_.rclcpp::Executor::add_callback_group(group, node, false);
}

void BaseClass::leave(detail::Parameters::Group group)
{
  const std::lock_guard<std::mutex> listening(listening_mutex_);
  executor_.rclcpp::Executor::remove_callback_group(group, false);
  if (context()->is_valid()) {
    group->get_notify_guard_condition(context())->set_on_trigger_callback(nullptr);
  }
}

void BaseClass::update_wait_set() {}  // it is made anew for each wait

#else

void BaseClass::execute_timer(
  const std::shared_ptr<rclcpp::TimerBase> & timer, const std::shared_ptr<void> & data)
{
  Access::execute_timer(timer, data);
}

void BaseClass::set_on_change(std::function<void()> call, std::function<void()>)
{
  (executor_.*Access::kNotify)->set_on_ready_callback([call = std::move(call)](std::size_t, int) {
    call();
  });
}

void BaseClass::clear_on_change() { (executor_.*Access::kNotify)->clear_on_ready_callback(); }

std::vector<rclcpp::CallbackGroup::WeakPtr> BaseClass::groups()
{
  auto & collector = executor_.*Access::kCollector;
  collector.update_collections();
  return collector.get_all_callback_groups();
}

void BaseClass::update_wait_set()
{
  if ((executor_.*Access::kNeedsRebuild).exchange(false)) {
    const std::lock_guard<std::mutex> lock(executor_.*Access::kMutex);
    (executor_.*Access::kCollect)();
  }
}

void BaseClass::enter(detail::Parameters::Node node)
{
  (executor_.*Access::kCollector).add_node(node);
}

void BaseClass::leave(detail::Parameters::Node node)
{
  (executor_.*Access::kCollector).remove_node(node);
}

void BaseClass::enter(detail::Parameters::Group group, detail::Parameters::Node)
{
  (executor_.*Access::kCollector).add_callback_group(group);
}

void BaseClass::leave(detail::Parameters::Group group)
{
  (executor_.*Access::kCollector).remove_callback_group(group);
}

#endif

}  // namespace rclrt_rclcpp
