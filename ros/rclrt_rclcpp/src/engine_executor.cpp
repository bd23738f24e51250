// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rclcpp/engine_executor.hpp"

#include <utility>

#include "group_names.hpp"
#include "spinner.hpp"

namespace rclrt_rclcpp
{

EngineExecutor::EngineExecutor(
  const rclcpp::ExecutorOptions & options, const EngineExecutorOptions & engine_executor_options,
  rclrt_core::EngineOptions engine_options)
: rclcpp::Executor(options),
  spinner_(std::make_unique<Spinner>(*this, engine_executor_options, std::move(engine_options)))
{
}

EngineExecutor::~EngineExecutor() { Spinner::end(std::move(spinner_)); }

void EngineExecutor::add_node(detail::Parameters::Node node, bool)
{
  spinner_->know_node(node);  // before its groups can be found
  spinner_->base().enter(node);
  try {
    spinner_->update([&node](const rclcpp::CallbackGroup & group, auto & kept) {
      return !detail::label_of_group(*node, group, kept).empty();
    });
  } catch (...) {
    remove_node(node, false);
    throw;
  }
}

void EngineExecutor::add_node(detail::OwnerOf<detail::Parameters::Node> node, bool notify)
{
  spinner_->know_node(node->get_node_base_interface(), node);
  add_node(node->get_node_base_interface(), notify);
}

void EngineExecutor::remove_node(detail::Parameters::Node node, bool)
{
  spinner_->base().leave(node);
  spinner_->update();
}

void EngineExecutor::add_callback_group(
  detail::Parameters::Group group, detail::Parameters::Node node, bool)
{
  spinner_->know_node(node);  // before the group can be found
  spinner_->base().enter(group, node);
  try {
    spinner_->update(
      [&group](const rclcpp::CallbackGroup & other, auto &) { return &other == group.get(); });
  } catch (...) {
    remove_callback_group(group, false);
    throw;
  }
}

void EngineExecutor::remove_callback_group(detail::Parameters::Group group, bool)
{
  spinner_->base().leave(group);
  spinner_->update();
}

#if RCLCPP_VERSION_MAJOR >= \
  28  // else nothing overrides cancel(): set_on_change() sees what it triggers
void EngineExecutor::cancel()
{
  spinner_->cancel();
  rclcpp::Executor::cancel();
}
#endif

void EngineExecutor::spin() { spinner_->spin(); }

void EngineExecutor::spin_some(std::chrono::nanoseconds max_duration)
{
  spinner_->spin_some(max_duration);
}

void EngineExecutor::spin_all(std::chrono::nanoseconds max_duration)
{
  spinner_->spin_all(max_duration);
}

void EngineExecutor::spin_once(std::chrono::nanoseconds timeout) { spinner_->spin_once(timeout); }

// Called in a loop by spin_until_future_complete() only, since spin_once() is our own.
void EngineExecutor::spin_once_impl(std::chrono::nanoseconds timeout)
{
  spinner_->spin_once_impl(timeout);
}

rclrt_front_end::ConfiguredEngine & EngineExecutor::configured() const
{
  return spinner_->configured();
}

void EngineExecutor::set_attributes(
  const std::string & callback, const rclrt_core::Attributes & attributes)
{
  spinner_->set_attributes(callback, attributes);
}

}  // namespace rclrt_rclcpp
