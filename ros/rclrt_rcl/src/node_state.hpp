// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A node's inside, kept alive by nobody but the node; executors look at it weakly.
#ifndef NODE_STATE_HPP_
#define NODE_STATE_HPP_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rcl/node.h"
#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/clock.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/error.hpp"
#include "rclrt_rcl/parameters.hpp"

namespace rclrt_rcl
{
namespace detail
{

class TimeSource;

struct NodeState
{
  std::shared_ptr<Context> context;
  bool use_intra_process = false;
  std::shared_ptr<rcl_node_t> handle;
  std::string fully_qualified_name;
  Logger logger{""};
  std::shared_ptr<Clock> ros_clock = std::make_shared<Clock>(ClockKind::kRos);
  std::shared_ptr<Clock> steady_clock = std::make_shared<Clock>(ClockKind::kSteady);
  std::shared_ptr<CallbackGroup> default_group;
  Parameters parameters;
  std::shared_ptr<TimeSource> time_source;

  /// Recursive: a QoS event is made while its publisher is being made.
  std::recursive_mutex creation_mutex;

  std::mutex mutex;  ///< of what follows; taken last
  std::vector<std::weak_ptr<CallbackGroup>> groups;
  std::size_t groups_made = 0;
  std::weak_ptr<EntityObserver> observer;

  std::vector<std::shared_ptr<CallbackGroup>> present_groups()
  {
    std::vector<std::shared_ptr<CallbackGroup>> present;
    std::lock_guard<std::mutex> lock(mutex);
    for (const auto & known : groups) {
      if (auto group = known.lock()) {
        present.push_back(std::move(group));
      }
    }
    return present;
  }
};

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // NODE_STATE_HPP_
