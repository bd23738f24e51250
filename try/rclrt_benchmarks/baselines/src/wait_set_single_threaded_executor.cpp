// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_baselines/wait_set_executor.hpp"

#include <chrono>
#include <utility>

namespace rclrt_baselines
{

WaitSetSingleThreadedExecutor::WaitSetSingleThreadedExecutor(
  std::shared_ptr<rclrt_rcl::Context> context)
: WaitSetExecutor(std::move(context))
{
}

WaitSetSingleThreadedExecutor::~WaitSetSingleThreadedExecutor() { detach_all(); }

void WaitSetSingleThreadedExecutor::do_spin()
{
  struct DropsResult
  {
    ~DropsResult() { executor.drop_result(); }
    WaitSetSingleThreadedExecutor & executor;
  } const drops_result{*this};

  while (!stop_requested()) {
    Executable executable;
    if (next(&executable, std::chrono::nanoseconds(-1))) {
      execute(executable);
    }
  }
}

}  // namespace rclrt_baselines
