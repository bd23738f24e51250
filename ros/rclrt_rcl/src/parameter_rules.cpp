// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "parameter_rules.hpp"

#include <algorithm>
#include <cmath>

namespace rclrt_rcl
{
namespace detail
{
namespace
{

using Reason = ParameterError::Reason;

ParameterVerdict fail(Reason reason, std::string text) { return {false, reason, std::move(text)}; }

/// Where steps of doubles are concerned, rounding is not an error.
bool nearly_equal(double a, double b)
{
  constexpr double kRelative = 1e-9;
  return std::abs(a - b) <= kRelative * std::max({1.0, std::abs(a), std::abs(b)});
}

bool on_step(int64_t value, const rcl_interfaces::msg::IntegerRange & range)
{
  // Differences of int64_t may need 64 bits without a sign.
  const auto offset = static_cast<uint64_t>(value) - static_cast<uint64_t>(range.from_value);
  return range.step == 0 || value == range.to_value || offset % range.step == 0;
}

bool on_step(double value, const rcl_interfaces::msg::FloatingPointRange & range)
{
  const double step = std::abs(range.step);
  if (step == 0.0 || nearly_equal(value, range.to_value)) {
    return true;
  }
  const double steps = std::round((value - range.from_value) / step);
  return nearly_equal(value, range.from_value + steps * step);
}

bool within(int64_t value, int64_t from, int64_t to) { return value >= from && value <= to; }

bool within(double value, double from, double to)
{
  return (value >= from || nearly_equal(value, from)) && (value <= to || nearly_equal(value, to));
}

template <typename T, typename Range>
ParameterVerdict check_range(T value, const Range & range)
{
  const std::string bounds = ParameterValue(range.from_value).to_string() + " to " +
                             ParameterValue(range.to_value).to_string();
  if (!within(value, range.from_value, range.to_value)) {
    return fail(
      Reason::kOutOfRange,
      ParameterValue(value).to_string() + " is out of range, must be " + bounds);
  }
  if (!on_step(value, range)) {
    return fail(
      Reason::kOutOfRange, ParameterValue(value).to_string() + " is out of range, must be " +
                             bounds + " in steps of " + ParameterValue(range.step).to_string());
  }
  return {};
}

std::string hint(ParameterType declared, const ParameterValue & value)
{
  if (declared == ParameterType::kDouble && value.type() == ParameterType::kInteger) {
    return "; write " + value.to_string() + ".0";
  }
  return "";
}

}  // namespace

ParameterVerdict check_descriptor(const ParameterDescriptor & descriptor)
{
  if (!descriptor.integer_range.empty() && !descriptor.floating_point_range.empty()) {
    return fail(Reason::kOutOfRange, "has an integer_range and a floating_point_range, give one");
  }
  const auto type = static_cast<ParameterType>(descriptor.type);
  const bool dynamic = descriptor.dynamic_typing;
  if (!descriptor.integer_range.empty() && type != ParameterType::kInteger && !dynamic) {
    return fail(Reason::kWrongType, "has an integer_range but is " + std::string(to_string(type)));
  }
  if (!descriptor.floating_point_range.empty() && type != ParameterType::kDouble && !dynamic) {
    return fail(
      Reason::kWrongType, "has a floating_point_range but is " + std::string(to_string(type)));
  }
  if (type == ParameterType::kNotSet && !dynamic) {
    return fail(
      Reason::kWrongType,
      "has no type; declare it with a value, with a type, or with dynamic_typing");
  }
  return {};
}

ParameterVerdict check_parameter(
  const ParameterDescriptor & descriptor, const ParameterValue & value)
{
  if (!value.is_set()) {
    return {};
  }
  const auto declared = static_cast<ParameterType>(descriptor.type);
  if (!descriptor.dynamic_typing && value.type() != declared) {
    return fail(
      Reason::kWrongType, "wrong type: " + value.to_string() + " is " + to_string(value.type()) +
                            ", the parameter is " + to_string(declared) + hint(declared, value));
  }
  if (value.type() == ParameterType::kInteger && !descriptor.integer_range.empty()) {
    return check_range(value.as<int64_t>(), descriptor.integer_range.front());
  }
  if (value.type() == ParameterType::kDouble && !descriptor.floating_point_range.empty()) {
    return check_range(value.as<double>(), descriptor.floating_point_range.front());
  }
  return {};
}

}  // namespace detail
}  // namespace rclrt_rcl
