// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// All contexts of the process, for whoever must shut them all down.
#ifndef CONTEXTS_HPP_
#define CONTEXTS_HPP_

#include <memory>
#include <string>

#include "rclrt_rcl/context.hpp"

namespace rclrt_rcl
{
namespace detail
{

void remember_context(const std::shared_ptr<Context> & context);
void shutdown_all_contexts(const std::string & reason);

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // CONTEXTS_HPP_
