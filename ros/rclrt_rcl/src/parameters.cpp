// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/parameters.hpp"

#include <algorithm>
#include <utility>

#include "parameter_rules.hpp"
#include "rclrt_front_end/process_platform.hpp"

namespace rclrt_rcl
{

using Reason = ParameterError::Reason;

namespace
{

SetParametersResult success()
{
  SetParametersResult result;
  result.successful = true;
  return result;
}

SetParametersResult failure(std::string reason)
{
  SetParametersResult result;
  result.successful = false;
  result.reason = std::move(reason);
  return result;
}

}  // namespace

/// The right to change parameters.
class Parameters::Change
{
public:
  explicit Change(Parameters & parameters) : parameters_(parameters)
  {
    if (parameters.changer_.load() == std::this_thread::get_id()) {
      throw ParameterError(
        Reason::kNotNow, "parameters of '" + parameters.node_ +
                           "' cannot be changed from inside a callback on their change");
    }
    parameters.change_mutex_.lock();
    parameters.changer_.store(std::this_thread::get_id());
  }
  ~Change()
  {
    parameters_.changer_.store(std::thread::id());
    parameters_.change_mutex_.unlock();
  }
  Change(const Change &) = delete;
  Change & operator=(const Change &) = delete;

private:
  Parameters & parameters_;
};

Parameters::Parameters(
  std::string node, ParameterMap overrides, bool allow_undeclared, Publish publish)
: node_(std::move(node)),
  overrides_(std::move(overrides)),
  allow_undeclared_(allow_undeclared),
  publish_(std::move(publish)),
  values_mutex_(rclrt_front_end::process_platform().make_mutex())
{
}

std::string Parameters::about(const std::string & name) const
{
  return "parameter '" + name + "' of '" + node_ + "'";
}

ParameterValue Parameters::declare(
  const std::string & name, const ParameterValue & value, ParameterDescriptor descriptor,
  ParameterType type, bool ignore_override)
{
  if (name.empty()) {
    throw ParameterError(Reason::kInvalidName, "a parameter of '" + node_ + "' has an empty name");
  }
  const Change change(*this);
  if (entries_.count(name) > 0) {
    throw ParameterError(Reason::kAlreadyDeclared, about(name) + " is declared already");
  }
  descriptor.name = name;
  descriptor.type = static_cast<uint8_t>(type == ParameterType::kNotSet ? value.type() : type);
  if (const auto verdict = detail::check_descriptor(descriptor); !verdict.ok) {
    throw ParameterError(verdict.reason, about(name) + " " + verdict.text);
  }
  if (const auto verdict = detail::check_parameter(descriptor, value); !verdict.ok) {
    throw ParameterError(verdict.reason, "default of " + about(name) + ": " + verdict.text);
  }
  const auto override = overrides_.find(name);
  const bool overridden = !ignore_override && override != overrides_.end();
  const Parameter parameter(name, overridden ? override->second : value);
  if (const auto verdict = detail::check_parameter(descriptor, parameter.value()); !verdict.ok) {
    throw ParameterError(
      verdict.reason, "override (command line or file) of " + about(name) + ": " + verdict.text);
  }
  if (parameter.value().is_set()) {
    if (const auto result = ask({parameter}); !result.successful) {
      throw ParameterError(
        Reason::kRejected, about(name) + " with the value " + parameter.value().to_string() +
                             " was refused: " + result.reason);
    }
  }
  if (descriptor.dynamic_typing) {
    descriptor.type = static_cast<uint8_t>(parameter.type());
  }
  Entries entries = entries_;
  entries[name] = {parameter.value(), descriptor};
  replace(std::move(entries));
  if (parameter.value().is_set()) {
    rcl_interfaces::msg::ParameterEvent event;
    event.new_parameters.push_back(parameter.to_message());
    tell({parameter}, std::move(event));
  }
  return parameter.value();
}

void Parameters::undeclare(const std::string & name)
{
  const Change change(*this);
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    throw ParameterError(Reason::kUndeclared, about(name) + " is not declared");
  }
  if (found->second.descriptor.read_only) {
    throw ParameterError(Reason::kReadOnly, about(name) + " is read-only");
  }
  Entries entries = entries_;
  entries.erase(name);
  replace(std::move(entries));
  rcl_interfaces::msg::ParameterEvent event;
  event.deleted_parameters.push_back(Parameter(name).to_message());
  tell({}, std::move(event));
}

SetParametersResult Parameters::set_atomically(const std::vector<Parameter> & parameters)
{
  const Change change(*this);
  for (const auto & parameter : parameters) {
    require_declared(parameter.name());
  }
  return apply(parameters);
}

SetParametersResult Parameters::try_set_atomically(const std::vector<Parameter> & parameters)
{
  const Change change(*this);
  return apply(parameters);
}

SetParametersResult Parameters::apply(const std::vector<Parameter> & parameters)
{
  Entries entries = entries_;
  rcl_interfaces::msg::ParameterEvent event;
  for (const auto & parameter : parameters) {
    const std::string & name = parameter.name();
    const auto found = entries.find(name);
    const bool is_new = found == entries.end();
    if (is_new && (!allow_undeclared_ || name.empty())) {
      return failure(about(name) + " is not declared");
    }
    Entry entry;
    if (is_new) {
      entry.descriptor.name = name;
      entry.descriptor.dynamic_typing = true;
    } else {
      entry = found->second;
    }
    if (entry.descriptor.read_only) {
      return failure(about(name) + " is read-only");
    }
    if (!parameter.value().is_set()) {
      if (!entry.descriptor.dynamic_typing) {
        return failure(about(name) + " cannot be removed: its type is fixed");
      }
      if (!is_new) {
        entries.erase(found);
        event.deleted_parameters.push_back(parameter.to_message());
      }
      continue;
    }
    if (const auto verdict = detail::check_parameter(entry.descriptor, parameter.value());
        !verdict.ok) {
      return failure(about(name) + ": " + verdict.text);
    }
    auto & events =
      is_new || !entry.value.is_set() ? event.new_parameters : event.changed_parameters;
    events.push_back(parameter.to_message());
    entry.value = parameter.value();
    entry.descriptor.type = static_cast<uint8_t>(entry.value.type());
    entries[name] = std::move(entry);
  }
  auto result = ask(parameters);
  if (result.successful) {
    replace(std::move(entries));
    tell(parameters, std::move(event));
  }
  return result;
}

void Parameters::replace(Entries entries)
{
  std::lock_guard<rclrt_core::Mutex> lock(*values_mutex_);
  entries_.swap(entries);
}

SetParametersResult Parameters::ask(const std::vector<Parameter> & parameters) const
{
  const auto callbacks = on_set_;  // a callback may add or remove some
  for (auto callback = callbacks.rbegin(); callback != callbacks.rend(); ++callback) {
    auto result = (**callback)(parameters);
    if (!result.successful) {
      if (result.reason.empty()) {
        result.reason = "a callback of '" + node_ + "' refused, without a reason";
      }
      return result;
    }
  }
  return success();
}

void Parameters::tell(
  const std::vector<Parameter> & parameters, rcl_interfaces::msg::ParameterEvent event) const
{
  if (
    publish_ && !(event.new_parameters.empty() && event.changed_parameters.empty() &&
                  event.deleted_parameters.empty())) {
    publish_(std::move(event));
  }
  if (!parameters.empty()) {
    const auto callbacks = post_set_;
    for (const auto & callback : callbacks) {
      (*callback)(parameters);
    }
  }
}

template <typename F>
Parameters::CallbackHandle Parameters::add(
  std::vector<std::shared_ptr<F>> Parameters::* list, F callback)
{
  const auto locked = [](Parameters & parameters) {
    return parameters.changer_.load() == std::this_thread::get_id()
             ? std::unique_lock<std::mutex>()
             : std::unique_lock<std::mutex>(parameters.change_mutex_);
  };
  auto added = std::make_shared<F>(std::move(callback));
  {
    const auto lock = locked(*this);
    (this->*list).push_back(added);
  }
  return CallbackHandle(
    added.get(), [weak = weak_from_this(), added, list, locked](void *) mutable {
      if (const auto parameters = weak.lock()) {
        const auto lock = locked(*parameters);
        auto & callbacks = (*parameters).*list;
        callbacks.erase(std::find(callbacks.begin(), callbacks.end(), added));
      }
      added.reset();  // weak copies of the handle may keep this function alive
    });
}

Parameters::CallbackHandle Parameters::add_on_set_callback(OnSet callback)
{
  return add(&Parameters::on_set_, std::move(callback));
}

Parameters::CallbackHandle Parameters::add_post_set_callback(PostSet callback)
{
  return add(&Parameters::post_set_, std::move(callback));
}

}  // namespace rclrt_rcl
