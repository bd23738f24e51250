// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What executors with a wait set share.
#ifndef WAIT_SET_EXECUTOR_IMPL_HPP_
#define WAIT_SET_EXECUTOR_IMPL_HPP_

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "check.hpp"
#include "member.hpp"
#include "rclrt_baselines/wait_set_executor.hpp"
#include "wait_set.hpp"

namespace rclrt_baselines
{

class WaitSetExecutor::Impl
{
public:
  explicit Impl(const std::shared_ptr<rclrt_rcl::Context> & context)
  : interrupt(context), set(context, interrupt)
  {
  }

  GuardCondition interrupt;
  /// Only for the thread that waits.
  WaitSet set;
  std::atomic<bool> must_collect{true};

  std::mutex members_mutex;
  // Guarded by members_mutex:
  std::vector<MemberPointer> members;
  std::map<const rclrt_rcl::CallbackGroup *, std::shared_ptr<GroupState>> groups;

  void collect()
  {
    std::vector<MemberPointer> present;
    {
      std::lock_guard<std::mutex> lock(members_mutex);
      std::copy_if(
        members.begin(), members.end(), std::back_inserter(present),
        [](const auto & member) { return member->group->is_free.load(); });
    }
    set.update(present);
  }

  void changed() noexcept
  {
    must_collect.store(true);
    interrupt.trigger();
  }
};

}  // namespace rclrt_baselines

#endif  // WAIT_SET_EXECUTOR_IMPL_HPP_
