// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A parameter: a name and a value.
#ifndef RCLRT_RCL__PARAMETER_HPP_
#define RCLRT_RCL__PARAMETER_HPP_

#include <string>
#include <utility>

#include "rcl_interfaces/msg/parameter.hpp"
#include "rclrt_rcl/parameter_value.hpp"

namespace rclrt_rcl
{

class Parameter
{
public:
  Parameter() = default;
  explicit Parameter(std::string name, ParameterValue value = {})
  : name_(std::move(name)), value_(std::move(value))
  {
  }

  /// Error: an unknown type.
  static Parameter from_message(const rcl_interfaces::msg::Parameter & message)
  {
    return Parameter(message.name, ParameterValue::from_message(message.value));
  }
  rcl_interfaces::msg::Parameter to_message() const
  {
    rcl_interfaces::msg::Parameter message;
    message.name = name_;
    message.value = value_.to_message();
    return message;
  }

  const std::string & name() const noexcept { return name_; }
  const ParameterValue & value() const noexcept { return value_; }
  ParameterType type() const noexcept { return value_.type(); }

  /// Throws ParameterError if it is of another type, not set, or does not fit into T.
  template <typename T>
  T as() const
  {
    try {
      return value_.as<T>();
    } catch (const ParameterError & error) {
      throw ParameterError(error.reason(), "parameter '" + name_ + "': " + error.what());
    }
  }

  friend bool operator==(const Parameter & a, const Parameter & b)
  {
    return a.name_ == b.name_ && a.value_ == b.value_;
  }
  friend bool operator!=(const Parameter & a, const Parameter & b) { return !(a == b); }

private:
  std::string name_;
  ParameterValue value_;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__PARAMETER_HPP_
