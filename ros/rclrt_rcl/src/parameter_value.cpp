// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/parameter_value.hpp"

#include <cstdio>

#include "rcl_interfaces/msg/parameter_type.hpp"

namespace rclrt_rcl
{
namespace
{

using Types = rcl_interfaces::msg::ParameterType;
static_assert(static_cast<int>(ParameterType::kNotSet) == Types::PARAMETER_NOT_SET);
static_assert(static_cast<int>(ParameterType::kByteArray) == Types::PARAMETER_BYTE_ARRAY);
static_assert(static_cast<int>(ParameterType::kStringArray) == Types::PARAMETER_STRING_ARRAY);

std::string text_of(std::monostate) { return "not set"; }
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(int64_t value) { return std::to_string(value); }
std::string text_of(uint8_t value) { return std::to_string(value); }
std::string text_of(const std::string & value) { return '"' + value + '"'; }

/// The shortest that reads back as the same number, told from integers by a dot or exponent.
std::string text_of(double value)
{
  char text[32];
  for (int digits = 15; digits <= 17; ++digits) {
    std::snprintf(text, sizeof(text), "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) {
      break;
    }
  }
  const std::string result = text;
  return result.find_first_not_of("-0123456789") == std::string::npos ? result + ".0" : result;
}

template <typename T>
std::string text_of(const std::vector<T> & values)
{
  std::string text = "[";
  for (const auto & value : values) {
    text += (text.size() > 1 ? ", " : "") + text_of(value);
  }
  return text + "]";
}

}  // namespace

const char * to_string(ParameterType type) noexcept
{
  switch (type) {
    case ParameterType::kNotSet:
      return "not set";
    case ParameterType::kBool:
      return "bool";
    case ParameterType::kInteger:
      return "integer";
    case ParameterType::kDouble:
      return "double";
    case ParameterType::kString:
      return "string";
    case ParameterType::kByteArray:
      return "byte array";
    case ParameterType::kBoolArray:
      return "bool array";
    case ParameterType::kIntegerArray:
      return "integer array";
    case ParameterType::kDoubleArray:
      return "double array";
    case ParameterType::kStringArray:
      return "string array";
  }
  return "of an unknown type";
}

std::string ParameterValue::to_string() const
{
  return std::visit([](const auto & value) { return text_of(value); }, storage_);
}

ParameterValue ParameterValue::from_message(const rcl_interfaces::msg::ParameterValue & message)
{
  switch (static_cast<ParameterType>(message.type)) {
    case ParameterType::kNotSet:
      return {};
    case ParameterType::kBool:
      return message.bool_value;
    case ParameterType::kInteger:
      return message.integer_value;
    case ParameterType::kDouble:
      return message.double_value;
    case ParameterType::kString:
      return message.string_value;
    case ParameterType::kByteArray:
      return message.byte_array_value;
    case ParameterType::kBoolArray:
      return message.bool_array_value;
    case ParameterType::kIntegerArray:
      return message.integer_array_value;
    case ParameterType::kDoubleArray:
      return message.double_array_value;
    case ParameterType::kStringArray:
      return message.string_array_value;
  }
  throw ParameterError(
    ParameterError::Reason::kWrongType,
    "a parameter value has type number " + std::to_string(message.type) + ", which does not exist");
}

rcl_interfaces::msg::ParameterValue ParameterValue::to_message() const
{
  rcl_interfaces::msg::ParameterValue message;
  message.type = static_cast<uint8_t>(type());
  switch (type()) {
    case ParameterType::kNotSet:
      break;
    case ParameterType::kBool:
      message.bool_value = as<bool>();
      break;
    case ParameterType::kInteger:
      message.integer_value = as<int64_t>();
      break;
    case ParameterType::kDouble:
      message.double_value = as<double>();
      break;
    case ParameterType::kString:
      message.string_value = as<std::string>();
      break;
    case ParameterType::kByteArray:
      message.byte_array_value = as<std::vector<uint8_t>>();
      break;
    case ParameterType::kBoolArray:
      message.bool_array_value = as<std::vector<bool>>();
      break;
    case ParameterType::kIntegerArray:
      message.integer_array_value = as<std::vector<int64_t>>();
      break;
    case ParameterType::kDoubleArray:
      message.double_array_value = as<std::vector<double>>();
      break;
    case ParameterType::kStringArray:
      message.string_array_value = as<std::vector<std::string>>();
      break;
  }
  return message;
}

}  // namespace rclrt_rcl
