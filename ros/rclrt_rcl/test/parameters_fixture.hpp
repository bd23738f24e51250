// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Parameters without a node, and what they would tell the world.
#ifndef PARAMETERS_FIXTURE_HPP_
#define PARAMETERS_FIXTURE_HPP_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rclrt_rcl/parameters.hpp"

namespace rclrt_rcl
{

inline SetParametersResult result_of(bool successful, const std::string & reason = "")
{
  SetParametersResult result;
  result.successful = successful;
  result.reason = reason;
  return result;
}

inline std::string join(const std::vector<rcl_interfaces::msg::Parameter> & parameters)
{
  std::string text;
  for (const auto & message : parameters) {
    text += message.name + "=" + ParameterValue::from_message(message.value).to_string() + " ";
  }
  return text;
}

class ParametersRules : public ::testing::Test
{
protected:
  std::shared_ptr<Parameters> make(ParameterMap overrides = {}, bool allow_undeclared = false)
  {
    return std::make_shared<Parameters>(
      "/node", std::move(overrides), allow_undeclared,
      [this](const rcl_interfaces::msg::ParameterEvent & event) {
        events += "new " + join(event.new_parameters) + "changed " +
                  join(event.changed_parameters) + "deleted " + join(event.deleted_parameters) +
                  "\n";
      });
  }

  static ParameterDescriptor read_only()
  {
    ParameterDescriptor descriptor;
    descriptor.read_only = true;
    return descriptor;
  }
  static ParameterDescriptor dynamic()
  {
    ParameterDescriptor descriptor;
    descriptor.dynamic_typing = true;
    return descriptor;
  }

  std::string refusal(Parameters & parameters, const std::string & name, ParameterValue value)
  {
    const auto result = parameters.set_atomically({Parameter(name, std::move(value))});
    return result.successful ? "accepted" : result.reason;
  }

  std::string events;
};

}  // namespace rclrt_rcl

#endif  // PARAMETERS_FIXTURE_HPP_
