// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What is used of rclcpp::Executor: which nodes and groups belong to it. It would also change its wait set, which is not
// used. Nobody has to be notified of what is done here: update() does all there is to do.

#include <mutex>
#include <utility>
#include <vector>

#include "engine_executor_impl.hpp"
#include "versions.hpp"

namespace rclrt_rclcpp
{

#if RCLRT_RCLCPP_IS_HUMBLE

/// Those that tell of what is new: the nodes' first, then their groups'.
template <typename Call>
void EngineExecutor::for_each_condition(const Call & call)
{
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto & weak : weak_nodes_) {
      if (const auto node = weak.lock()) {
        call(node->get_notify_guard_condition());
      }
    }
  }
  for (const auto & weak : get_all_callback_groups()) {
    const auto group = weak.lock();
    if (group && context_->is_valid()) {  // it may be made only now
      call(*group->get_notify_guard_condition(context_));
    }
  }
}

void EngineExecutor::watch(std::function<void()> call)
{
  notice_ = std::make_shared<Notice>();
  notice_->call = std::move(call);
  // Only cancel() triggers this one.
  interrupt_guard_condition_.set_on_trigger_callback([this, notice = notice_](std::size_t) {
    const std::lock_guard<std::mutex> lock(notice->mutex);
    if (notice->call) {
      cancelled_ = true;
      notice->call();
    }
  });
  listen_to(*shutdown_guard_condition_);
}

void EngineExecutor::unwatch()
{
  {
    const std::lock_guard<std::mutex> lock(notice_->mutex);
    notice_->call = nullptr;
  }
  for_each_condition([](auto & condition) { condition.set_on_trigger_callback(nullptr); });
}

/// To be taken back: a condition that calls a function wakes no thread that waits for it.
void EngineExecutor::listen_to(rclcpp::GuardCondition & condition)
{
  condition.set_on_trigger_callback([notice = notice_](std::size_t) {
    const std::lock_guard<std::mutex> lock(notice->mutex);
    if (notice->call) {
      notice->call();
    }
  });
}

std::vector<rclcpp::CallbackGroup::WeakPtr> EngineExecutor::groups()
{
  const std::lock_guard<std::mutex> listening(listening_mutex_);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    add_callback_groups_from_nodes_associated_to_executor();
    forget_gone_groups();
  }
  for_each_condition([this](auto & condition) { listen_to(condition); });
  return get_all_callback_groups();
}

/// Under the base class's mutex. Its own functions that wait would do so.
void EngineExecutor::forget_gone_groups()
{
  for (auto known = weak_groups_to_nodes_.begin(); known != weak_groups_to_nodes_.end();) {
    const auto weak = known->first;
    if (!weak.expired() && !known->second.expired()) {
      ++known;
      continue;
    }
    known = weak_groups_to_nodes_.erase(known);
    weak_groups_associated_with_executor_to_nodes_.erase(weak);
    weak_groups_to_nodes_associated_with_executor_.erase(weak);
    const auto condition = weak_groups_to_guard_conditions_.find(weak);
    if (condition != weak_groups_to_guard_conditions_.end()) {
      memory_strategy_->remove_guard_condition(condition->second);
      weak_groups_to_guard_conditions_.erase(condition);
    }
  }
}

void EngineExecutor::enter(detail::Parameters::Node node)
{
  rclcpp::Executor::add_node(node, false);
}

void EngineExecutor::leave(detail::Parameters::Node node)
{
  groups();  // those that are gone would be in the way
  std::vector<rclcpp::CallbackGroup::SharedPtr> its_groups;
  node->for_each_callback_group([&](const auto & group) { its_groups.push_back(group); });
  {
    const std::lock_guard<std::mutex> listening(listening_mutex_);
    rclcpp::Executor::remove_node(node, false);
    node->get_notify_guard_condition().set_on_trigger_callback(nullptr);
    for (const auto & group : its_groups) {
      if (context_->is_valid()) {
        group->get_notify_guard_condition(context_)->set_on_trigger_callback(nullptr);
      }
    }
  }
  groups();  // some may have been added by themselves, and stay
}

void EngineExecutor::enter(detail::Parameters::Group group, detail::Parameters::Node node)
{
  rclcpp::Executor::add_callback_group(group, node, false);
}

void EngineExecutor::leave(detail::Parameters::Group group)
{
  const std::lock_guard<std::mutex> listening(listening_mutex_);
  rclcpp::Executor::remove_callback_group(group, false);
  if (context_->is_valid()) {
    group->get_notify_guard_condition(context_)->set_on_trigger_callback(nullptr);
  }
}

#else

void EngineExecutor::watch(std::function<void()> call)
{
  notify_waitable_->set_on_ready_callback([call = std::move(call)](std::size_t, int) { call(); });
}

void EngineExecutor::unwatch() { notify_waitable_->clear_on_ready_callback(); }

std::vector<rclcpp::CallbackGroup::WeakPtr> EngineExecutor::groups()
{
  collector_.update_collections();
  return collector_.get_all_callback_groups();
}

void EngineExecutor::enter(detail::Parameters::Node node) { collector_.add_node(node); }

void EngineExecutor::leave(detail::Parameters::Node node) { collector_.remove_node(node); }

void EngineExecutor::enter(detail::Parameters::Group group, detail::Parameters::Node)
{
  collector_.add_callback_group(group);
}

void EngineExecutor::leave(detail::Parameters::Group group)
{
  collector_.remove_callback_group(group);
}

#endif

}  // namespace rclrt_rclcpp
