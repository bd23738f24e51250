// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What a file says of a thread that is no executor's.
#ifndef RCLRT_CONFIG__NAMED_THREAD_HPP_
#define RCLRT_CONFIG__NAMED_THREAD_HPP_

#include <string>

#include "rclrt_core/attributes.hpp"

namespace rclrt_config
{

struct NamedThread
{
  std::string name;  ///< of threads that have it; with "*" at the end, of those that begin so
  /// Or of all threads of the middleware with this role: receive, events, flow. Then there is no name.
  std::string role;
  rclrt_core::Attributes attributes;
};

}  // namespace rclrt_config

#endif  // RCLRT_CONFIG__NAMED_THREAD_HPP_
