// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_baselines/wait_set_executor.hpp"

#include <array>
#include <chrono>
#include <utility>

#include "wait_set_executor_impl.hpp"

namespace rclrt_baselines
{

StaticExecutor::StaticExecutor(std::shared_ptr<rclrt_rcl::Context> context)
: WaitSetExecutor(std::move(context))
{
}

StaticExecutor::~StaticExecutor() { detach_all(); }

void StaticExecutor::do_spin()
{
  while (!stop_requested()) {
    wait_for_work(std::chrono::nanoseconds(-1));
    execute_ready(false);
  }
}

void StaticExecutor::do_spin_some(rclrt_core::TimePoint until, bool exhaustive)
{
  while (!stop_requested() && std::chrono::steady_clock::now() < until) {
    wait_for_work(std::chrono::nanoseconds(0));
    if (!execute_ready(false) || !exhaustive) {
      break;
    }
  }
}

bool StaticExecutor::do_spin_once(rclrt_core::TimePoint until)
{
  wait_for_work(time_until(until));
  return execute_ready(true);
}

bool StaticExecutor::execute_ready(bool only_one)
{
  constexpr std::array<WaitSet::Kind, WaitSet::kKinds> kOrder = {
    WaitSet::kSubscriptions, WaitSet::kTimers, WaitSet::kClients, WaitSet::kServices,
    WaitSet::kOthers};
  const auto any = [](const Member &) { return true; };
  bool executed = false;
  for (const WaitSet::Kind kind : kOrder) {
    while (!(executed && only_one) && !stop_requested()) {
      Executable executable;
      executable.member = impl_->set.next_ready(kind, any);
      if (!executable.member) {
        break;
      }
      if (executable.member->timer) {
        const auto job = executable.member->timer->call();
        if (!job) {
          continue;
        }
        executable.job = *job;
      } else {
        executable.job = job_of_now();
      }
      execute(executable);
      executed = true;
    }
  }
  drop_result();
  return executed;
}

}  // namespace rclrt_baselines
