// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// An entity that the program itself makes ready: trigger() from any thread, and an executor runs
/// the callback by the rules of its group.
///
/// Triggers beyond depth() (1 by default) that have not run yet are merged.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/entity.hpp"

namespace rclrt_rcl
{

class Waitable : public Entity
{
public:
  Waitable(EntitySetup setup, std::shared_ptr<Context> context, std::function<void()> callback);

  /// Real-time safe unless wait_handles() was called.
  void trigger() { announce(1); }

  std::vector<WaitHandle> wait_handles() override;

private:
  bool do_take_and_run(const rclrt_core::Job &) override
  {
    callback_();
    return true;
  }

  const std::shared_ptr<Context> context_;
  const std::function<void()> callback_;
};

}  // namespace rclrt_rcl
