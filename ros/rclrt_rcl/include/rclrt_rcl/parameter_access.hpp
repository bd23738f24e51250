// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The functions of a node for its parameters, in the words of ROS 2. See parameters.hpp for the
/// rules.
///
///   const double rate = node.declare_parameter("rate", 10.0);
///   const auto handle = node.add_on_set_parameters_callback([](const auto & parameters) {...});
///
/// Misuse throws ParameterError.
#ifndef RCLRT_RCL__PARAMETER_ACCESS_HPP_
#define RCLRT_RCL__PARAMETER_ACCESS_HPP_

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rclrt_rcl/parameters.hpp"

namespace rclrt_rcl
{

class ParameterAccess
{
public:
  const std::shared_ptr<Parameters> & parameters() const noexcept { return parameters_; }

  /// Returns the value in force: an override from a command line or file, else `value`. T as given
  /// (std::string for literals).
  template <typename T>
  auto declare_parameter(
    const std::string & name, const T & value,
    const ParameterDescriptor & descriptor = ParameterDescriptor(), bool ignore_override = false)
  {
    using Result = std::conditional_t<std::is_convertible_v<T, std::string>, std::string, T>;
    const Parameter parameter(
      name, parameters_->declare(name, value, descriptor, ParameterType::kNotSet, ignore_override));
    return parameter.as<Result>();
  }

  /// Without a default. Error if there is no override.
  template <typename T>
  T declare_parameter(
    const std::string & name, const ParameterDescriptor & descriptor = ParameterDescriptor())
  {
    const Parameter parameter(
      name, declare_parameter(name, ParameterValue::type_of<T>(), descriptor));
    return parameter.as<T>();
  }

  /// Without a default; until it is set, reading it is an error.
  ParameterValue declare_parameter(
    const std::string & name, ParameterType type,
    const ParameterDescriptor & descriptor = ParameterDescriptor(), bool ignore_override = false)
  {
    return parameters_->declare(name, {}, descriptor, type, ignore_override);
  }

  ParameterValue declare_parameter(
    const std::string & name, const ParameterValue & value,
    const ParameterDescriptor & descriptor = ParameterDescriptor(), bool ignore_override = false)
  {
    return parameters_->declare(name, value, descriptor, ParameterType::kNotSet, ignore_override);
  }

  void undeclare_parameter(const std::string & name) { parameters_->undeclare(name); }
  bool has_parameter(const std::string & name) const { return parameters_->has(name); }

  Parameter get_parameter(const std::string & name) const { return parameters_->get(name); }

  template <typename T>
  T get_parameter(const std::string & name) const
  {
    return parameters_->get(name).as<T>();
  }

  /// False, and `value` as it was, if it is undeclared or has no value.
  template <typename T>
  bool get_parameter(const std::string & name, T & value) const
  {
    const auto found = parameters_->find(name);
    if (!found || !found->is_set()) {
      return false;
    }
    const Parameter parameter(name, *found);
    value = parameter.as<T>();
    return true;
  }

  /// `alternative` if it is undeclared or has no value.
  template <typename T>
  T get_parameter_or(const std::string & name, const T & alternative) const
  {
    T value = alternative;
    get_parameter(name, value);
    return value;
  }

  std::vector<Parameter> get_parameters(const std::vector<std::string> & names) const
  {
    return parameters_->get(names);
  }
  ParameterMap get_parameters_by_prefix(const std::string & prefix) const
  {
    return parameters_->get_by_prefix(prefix);
  }

  SetParametersResult set_parameter(const Parameter & parameter)
  {
    return parameters_->set_atomically({parameter});
  }
  /// One after the other.
  std::vector<SetParametersResult> set_parameters(const std::vector<Parameter> & parameters)
  {
    std::vector<SetParametersResult> results;
    for (const auto & parameter : parameters) {
      results.push_back(set_parameter(parameter));
    }
    return results;
  }
  /// All or none.
  SetParametersResult set_parameters_atomically(const std::vector<Parameter> & parameters)
  {
    return parameters_->set_atomically(parameters);
  }

  ParameterDescriptor describe_parameter(const std::string & name) const
  {
    return parameters_->describe({name}).front();
  }
  std::vector<ParameterDescriptor> describe_parameters(const std::vector<std::string> & names) const
  {
    return parameters_->describe(names);
  }
  /// `depth` 0: no limit.
  rcl_interfaces::msg::ListParametersResult list_parameters(
    const std::vector<std::string> & prefixes, uint64_t depth) const
  {
    return parameters_->list(prefixes, depth);
  }

  /// `callback` may refuse a change. It stays as long as the handle does.
  [[nodiscard]] Parameters::CallbackHandle add_on_set_parameters_callback(
    Parameters::OnSet callback)
  {
    return parameters_->add_on_set_callback(std::move(callback));
  }
  /// `callback` hears of a change that has happened. It stays as long as the handle does.
  [[nodiscard]] Parameters::CallbackHandle add_post_set_parameters_callback(
    Parameters::PostSet callback)
  {
    return parameters_->add_post_set_callback(std::move(callback));
  }

protected:
  ParameterAccess() = default;
  ~ParameterAccess() = default;
  void set_parameters_of_node(std::shared_ptr<Parameters> parameters)
  {
    parameters_ = std::move(parameters);
  }

private:
  std::shared_ptr<Parameters> parameters_;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__PARAMETER_ACCESS_HPP_
