// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

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
#ifndef TIME_SOURCE_HPP_
#define TIME_SOURCE_HPP_

#include <chrono>
#include <memory>
#include <mutex>

#include "rclrt_rcl/node.hpp"
#include "rosgraph_msgs/msg/clock.hpp"

namespace rclrt_rcl
{
namespace detail
{

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

}  // namespace detail
}  // namespace rclrt_rcl

#endif  // TIME_SOURCE_HPP_
