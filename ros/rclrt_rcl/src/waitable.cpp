// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/waitable.hpp"

#include <utility>

namespace rclrt_rcl
{

Waitable::Waitable(
  EntitySetup setup, std::shared_ptr<Context> context, std::function<void()> callback)
: Entity(std::move(setup), 1), context_(std::move(context)), callback_(std::move(callback))
{
}

std::vector<WaitHandle> Waitable::wait_handles() { return {guard_condition(context_)}; }

}  // namespace rclrt_rcl
