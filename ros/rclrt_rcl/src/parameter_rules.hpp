// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What a descriptor demands of a value.
#ifndef PARAMETER_RULES_HPP_
#define PARAMETER_RULES_HPP_

#include <string>

#include "rclrt_rcl/parameter_error.hpp"
#include "rclrt_rcl/parameters.hpp"

namespace rclrt_rcl
{
namespace detail
{

struct ParameterVerdict
{
  bool ok = true;
  ParameterError::Reason reason = ParameterError::Reason::kWrongType;
  std::string text;
};

/// Type and ranges. A value that is not set passes.
ParameterVerdict check_parameter(
  const ParameterDescriptor & descriptor, const ParameterValue & value);

/// Whether the descriptor itself makes sense.
ParameterVerdict check_descriptor(const ParameterDescriptor & descriptor);

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // PARAMETER_RULES_HPP_
