// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A node's inside, kept alive by nobody but the node; executors look at it weakly. And what follows /clock.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rcl/node.h"
#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/clock.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/error.hpp"
#include "rclrt_rcl/node.hpp"
#include "rclrt_rcl/parameters.hpp"
#include "rosgraph_msgs/msg/clock.hpp"

namespace rclrt_rcl::detail
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

/// Makes a node's ROS clock follow /clock.
///
/// Before the first message simulated time is 0; between two messages it stands still; a message
/// may set it back. Messages are taken by a callback "/<node>/subscription/clock" in a group of its
/// own, "/<node>/group/clock". So no callback
/// of the node can hold the clock up where there are threads for both: an isolated executor gives
/// the group its own thread, a preemptive one a worker. Where there is one thread it comes first
/// among the callbacks that wait (priority 99, relative deadline 1 ms), but a callback that waits
/// for time to pass would wait for ever. What arrives after a message waits until the timers are released that the message
/// makes due (Scheduling::sets_clock). Like any callback it may get other attributes by name.
class TimeSource
{
public:
  explicit TimeSource(Node & node);
  ~TimeSource();
  TimeSource(const TimeSource &) = delete;
  TimeSource & operator=(const TimeSource &) = delete;

private:
  /// Outlives the time source in a callback that is just running.
  struct Follower
  {
    explicit Follower(std::shared_ptr<Clock> followed) : clock(std::move(followed)) {}
    void stop();
    void on_clock(std::chrono::nanoseconds time);

    const std::shared_ptr<Clock> clock;
    std::mutex mutex;
    bool active = true;
  };

  const std::shared_ptr<Follower> follower_;
  std::shared_ptr<Subscription<rosgraph_msgs::msg::Clock>> subscription_;
};

}  // namespace rclrt_rcl::detail
