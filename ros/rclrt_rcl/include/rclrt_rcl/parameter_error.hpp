// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Misuse of a parameter. The text names the node and the parameter.
#ifndef RCLRT_RCL__PARAMETER_ERROR_HPP_
#define RCLRT_RCL__PARAMETER_ERROR_HPP_

#include <cstdint>
#include <string>

#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{

class ParameterError : public Error
{
public:
  enum class Reason : uint8_t
  {
    kUndeclared,
    kAlreadyDeclared,
    kInvalidName,
    kWrongType,
    kOutOfRange,  ///< also: does not fit into the C++ type asked for
    kReadOnly,
    kNoValue,      ///< declared without a value, and not set since
    kRejected,     ///< by a callback
    kNotNow,       ///< from inside a callback on parameters being changed
    kBadOverride,  ///< a value on the command line or in a file that no parameter can have
  };

  ParameterError(Reason reason, const std::string & message) : Error(message), reason_(reason) {}

  Reason reason() const noexcept { return reason_; }

private:
  Reason reason_;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__PARAMETER_ERROR_HPP_
