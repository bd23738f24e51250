// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "engine_executor_impl.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "group_names.hpp"
#include "rcl/arguments.h"
#include "rclcpp/rclcpp.hpp"
#include "rclrt_config/cie_group_id.hpp"
#include "rclrt_config/names.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace rclrt_rclcpp
{
namespace
{

rclrt_core::LinuxPlatform & platform()
{
  static auto & instance = *new rclrt_core::LinuxPlatform;  // never destroyed: it has no state
  return instance;
}

std::vector<std::string> parameter_files(const rclcpp::Context & context)
{
  const auto handle = const_cast<rclcpp::Context &>(context).get_rcl_context();
  const rcl_arguments_t & arguments = handle->global_arguments;
  const int count = rcl_arguments_get_param_files_count(&arguments);
  std::vector<std::string> files;
  if (count <= 0) {
    return files;
  }
  const rcl_allocator_t allocator = rcl_get_default_allocator();
  char ** names = nullptr;
  if (rcl_arguments_get_param_files(&arguments, allocator, &names) != RCL_RET_OK) {
    rclcpp::exceptions::throw_from_rcl_error(RCL_RET_ERROR, "reading the parameter files");
  }
  for (int i = 0; i < count; ++i) {
    files.emplace_back(names[i]);
    allocator.deallocate(names[i], allocator.state);
  }
  allocator.deallocate(static_cast<void *>(names), allocator.state);
  return files;
}

std::shared_ptr<rclrt_config::ConfiguredEngine> make_engine(
  const std::shared_ptr<rclcpp::Context> & context, const EngineExecutorOptions & from,
  rclrt_core::EngineOptions engine_options)
{
  rclrt_config::ConfiguredEngineOptions options;
  options.configuration_file = from.configuration_file;
  if (context->is_valid()) {
    options.parameter_files = parameter_files(*context);
  }
  options.middleware_threads = from.middleware_threads;
  options.engine = std::move(engine_options);
  options.engine.stack_size = from.stack_size;
  options.engine.stack_prefault = from.stack_prefault;
  options.engine.lock_memory = from.lock_memory;
  options.engine.attributes_mode = from.attributes_mode;
  options.engine.timer_thread = from.timer_thread;
  options.engine.trace_capacity = from.trace_capacity;
  if (from.on_exception) {
    options.engine.on_exception = [handler = from.on_exception](
                                    const rclrt_core::Callback & callback,
                                    std::exception_ptr thrown) {
      return handler(callback.name(), std::move(thrown));
    };
  }
  std::unique_ptr<rclrt_config::ConfiguredEngine> engine;
  detail::check(rclrt_config::ConfiguredEngine::make(platform(), std::move(options), &engine));
  return engine;
}

}  // namespace

EngineExecutor::Impl::Impl(
  const std::shared_ptr<rclcpp::Context> & context, const EngineExecutorOptions & options,
  rclrt_core::EngineOptions engine_options, PresentGroups present_groups)
: context_(context),
  options_(options),
  present_groups_(std::move(present_groups)),
  engine_(make_engine(context, options, std::move(engine_options)))
{
}

void EngineExecutor::Impl::know_node(const std::shared_ptr<NodeBase> & node)
{
  const std::lock_guard<std::mutex> lock(update_mutex_);
  nodes_.erase(
    std::remove_if(
      nodes_.begin(), nodes_.end(),
      [&node](const auto & known) { return known.expired() || known.lock() == node; }),
    nodes_.end());
  nodes_.push_back(node);
}

void EngineExecutor::Impl::update()
{
  const std::lock_guard<std::mutex> lock(update_mutex_);
  std::vector<std::shared_ptr<rclcpp::CallbackGroup>> present;
  for (const auto & weak : present_groups_()) {
    if (auto group = weak.lock()) {
      present.push_back(std::move(group));
    }
  }
  std::vector<const rclcpp::CallbackGroup *> gone;
  for (const auto & [key, known] : groups_) {
    // Another group may lie at the same address by now.
    if (std::find(present.begin(), present.end(), known.group.lock()) == present.end()) {
      gone.push_back(key);
    }
  }
  std::for_each(gone.begin(), gone.end(), [this](const auto * key) { remove_group(key); });
  remove_members([](const void *, const Member & member) { return member.entity.expired(); });
  for (const auto & group : present) {
    if (groups_.count(group.get()) == 0) {
      add_group(group);
    }
    add_members(group, groups_.at(group.get()));
  }
}

void EngineExecutor::Impl::detach_all()
{
  const std::lock_guard<std::mutex> lock(update_mutex_);
  while (!groups_.empty()) {
    remove_group(groups_.begin()->first);
  }
}

void EngineExecutor::Impl::add_group(const std::shared_ptr<rclcpp::CallbackGroup> & group)
{
  KnownGroup known;
  known.group = group;
  std::string label;
  for (const auto & weak : nodes_) {
    if (const auto node = weak.lock()) {
      label = detail::label_of_group(*node, *group);
      if (!label.empty()) {
        known.node = node->get_fully_qualified_name();
        break;
      }
    }
  }
  rclrt_core::GroupOptions group_options;
  group_options.name = known.node + "/group/" + label;
  if (group->type() == rclcpp::CallbackGroupType::Reentrant) {
    group_options.parallelism = options_.reentrant_parallelism;
  }
  if (options_.scheduling) {
    if (const auto scheduling = options_.scheduling->find(group.get(), group_options.name)) {
      group_options.attributes = scheduling->attributes;
    }
  }
  detail::check(engine_->add_group(
    std::move(group_options), detail::cie_id(known.node, *group), &known.in_engine));
  groups_[group.get()] = std::move(known);
}

void EngineExecutor::Impl::remove_group(const rclcpp::CallbackGroup * group)
{
  remove_members([group](const void *, const Member & member) { return member.group == group; });
  const auto found = groups_.find(group);
  detail::check(engine_->remove_group(found->second.in_engine));
  groups_.erase(found);
}

void EngineExecutor::Impl::remove_members(
  const std::function<bool(const void *, const Member &)> & gone)
{
  for (auto entry = members_.begin(); entry != members_.end();) {
    if (gone(entry->first, entry->second)) {
      const Member member = std::move(entry->second);
      entry = members_.erase(entry);
      member.unhook();
      names_.erase(member.callback->name());
      engine_->remove(member.callback);
    } else {
      ++entry;
    }
  }
}

void EngineExecutor::Impl::request_update()
{
  if (!context_->is_valid()) {
    engine().stop();
  }
  {
    const std::lock_guard<std::mutex> lock(update_request_mutex_);
    update_requested_ = true;
  }
  update_request_.notify_one();
  if (runs_inline_) {
    engine().stop();  // run_one() comes back, updates, and goes on
  }
}

void EngineExecutor::Impl::rethrow()
{
  if (const std::exception_ptr thrown = engine().take_exception()) {
    std::rethrow_exception(thrown);
  }
}

bool EngineExecutor::Impl::run_one(
  rclrt_core::TimePoint until, uint64_t before_sequence, const std::function<bool()> & goes_on)
{
  runs_inline_ = true;
  const std::shared_ptr<void> no_more(nullptr, [this](void *) { runs_inline_ = false; });
  while (true) {
    if (update_requested_.exchange(false)) {
      update();
    }
    // Whoever stops it does so after the reason for it can be seen here.
    engine().clear_stop();
    if (!goes_on()) {
      return false;
    }
    if (update_requested_) {
      continue;
    }
    const bool ran = engine().run_one(until, before_sequence);
    rethrow();
    if (ran) {
      return true;
    }
    if (!update_requested_) {
      return false;  // the time is up, or goes_on() would say no
    }
  }
}

void EngineExecutor::Impl::set_attributes(
  const std::string & callback, const rclrt_core::Attributes & attributes)
{
  for (const auto & known : engine().callbacks()) {
    if (known->name() == callback) {
      detail::check(engine_->set_attributes(known, attributes));
      return;
    }
  }
  throw std::runtime_error("set_attributes(): '" + callback + "' is not in this executor");
}

EngineExecutor::Impl::Spin::Spin(Impl & impl) : impl_(impl)
{
  detail::check(impl_.engine_->begin_spin([](const rclrt_core::Finding & finding) {
    RCLCPP_WARN(rclcpp::get_logger("rclrt"), "%s", to_string(finding).c_str());
  }));
  thread_ = std::thread([this] { keep_up_to_date(); });
}

EngineExecutor::Impl::Spin::~Spin()
{
  {
    const std::lock_guard<std::mutex> lock(impl_.update_request_mutex_);
    ended_ = true;
  }
  impl_.update_request_.notify_one();
  thread_.join();
  impl_.engine_->end_spin();
}

void EngineExecutor::Impl::Spin::rethrow() const
{
  if (failed_) {
    std::rethrow_exception(failed_);
  }
}

void EngineExecutor::Impl::Spin::keep_up_to_date()
{
  std::unique_lock<std::mutex> lock(impl_.update_request_mutex_);
  while (!ended_) {
    if (impl_.update_requested_.exchange(false)) {
      lock.unlock();
      try {
        impl_.update();
      } catch (...) {
        failed_ = std::current_exception();
        impl_.engine().stop();
        return;
      }
      lock.lock();
      continue;
    }
    impl_.update_request_.wait(lock);
  }
}

}  // namespace rclrt_rclcpp
