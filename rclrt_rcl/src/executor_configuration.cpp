// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "executor_configuration.hpp"

#include <utility>

#include "rcl/arguments.h"
#include "rclrt_config/cie_group_id.hpp"
#include "rclrt_rcl/client_base.hpp"
#include "rclrt_rcl/error.hpp"
#include "rclrt_rcl/service_base.hpp"
#include "rclrt_rcl/subscription_base.hpp"
#include "rclrt_rcl/timer.hpp"

namespace rclrt_rcl
{
namespace detail
{
namespace
{

void check(const rclrt_core::Status & status)
{
  if (!status.ok()) {
    throw Error(status.message());
  }
}

std::vector<std::string> parameter_files(Context & context)
{
  const rcl_arguments_t & arguments = context.handle()->global_arguments;
  const int count = rcl_arguments_get_param_files_count(&arguments);
  std::vector<std::string> files;
  if (count <= 0) {
    return files;
  }
  const rcl_allocator_t allocator = rcl_get_default_allocator();
  char ** names = nullptr;
  throw_unless_ok(
    rcl_arguments_get_param_files(&arguments, allocator, &names), "reading the parameter files");
  for (int i = 0; i < count; ++i) {
    files.emplace_back(names[i]);
    allocator.deallocate(names[i], allocator.state);
  }
  allocator.deallocate(static_cast<void *>(names), allocator.state);
  return files;
}

std::string cie_id(const CallbackGroup & group)
{
  std::vector<rclrt_config::CieMember> members;
  for (const auto & entity : group.entities()) {
    rclrt_config::CieMember member;
    member.kind = entity->kind();
    if (const auto * subscription = dynamic_cast<const SubscriptionBase *>(entity.get())) {
      member.resolved_name = subscription->topic_name();
    } else if (const auto * service = dynamic_cast<const ServiceBase *>(entity.get())) {
      member.resolved_name = service->service_name();
    } else if (const auto * client = dynamic_cast<const ClientBase *>(entity.get())) {
      member.resolved_name = client->service_name();
    } else if (const auto * timer = dynamic_cast<const Timer *>(entity.get())) {
      member.period = timer->period();
    }
    members.push_back(std::move(member));
  }
  const std::string node = group.name().substr(0, group.name().rfind("/group/"));
  return rclrt_config::cie_group_id(node, members);
}

}  // namespace

ExecutorConfiguration::ExecutorConfiguration(Context & context, const ExecutorOptions & options)
{
  check(configuration_.find(options.configuration_file, parameter_files(context)));
}

rclrt_core::EngineOptions ExecutorConfiguration::applied(rclrt_core::EngineOptions options)
{
  check(configuration_.apply(&options));
  return options;
}

ExecutorOptions ExecutorConfiguration::applied(
  ExecutorOptions options, const rclrt_core::EngineOptions & engine) const
{
  options.attributes_mode = engine.attributes_mode;
  if (configuration_.middleware_thread()) {
    options.middleware_threads.attributes = configuration_.middleware_thread();
  }
  return options;
}

void ExecutorConfiguration::apply(const CallbackGroup & group, rclrt_core::GroupOptions * options)
{
  check(configuration_.apply(options, cie_id(group)));
}

bool ExecutorConfiguration::apply(
  rclrt_core::CallbackOptions * options, const rclrt_core::Attributes & group)
{
  check(configuration_.apply(options));
  if (!configuration_.is_derived(*options, group)) {
    return false;
  }
  if (options->kind == rclrt_core::CallbackKind::kTimer) {
    return true;
  }
  rclrt_config::Configuration::inherit_from_publishers(options);
  return false;
}

std::vector<rclrt_core::Attributes> ExecutorConfiguration::derive(
  std::vector<rclrt_core::PriorityTask> timers) const
{
  check(configuration_.derive_priorities(&timers));
  std::vector<rclrt_core::Attributes> attributes;
  attributes.reserve(timers.size());
  for (const rclrt_core::PriorityTask & timer : timers) {
    attributes.push_back(rclrt_config::Configuration::derived_attributes(timer.priority));
  }
  return attributes;
}

std::vector<rclrt_core::Finding> ExecutorConfiguration::findings() const
{
  std::vector<rclrt_core::Finding> all = configuration_.notes();
  for (const rclrt_config::Unmatched & unmatched : configuration_.unmatched()) {
    all.push_back(unmatched.finding);
  }
  return all;
}

std::string ExecutorConfiguration::problem(rclrt_core::AttributesMode mode) const
{
  if (mode == rclrt_core::AttributesMode::kRequire) {
    for (const rclrt_config::Unmatched & unmatched : configuration_.unmatched()) {
      if (unmatched.node_is_here) {
        return to_string(unmatched.finding);
      }
    }
  }
  return "";
}

}  // namespace detail
}  // namespace rclrt_rcl
