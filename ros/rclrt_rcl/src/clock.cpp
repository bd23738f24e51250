// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_rcl/clock.hpp"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "node_state.hpp"
#include "rclrt_front_end/callback_name.hpp"
#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{
namespace
{

constexpr int64_t kNotSimulated = INT64_MIN;

rcl_clock_type_t to_rcl(ClockKind kind)
{
  switch (kind) {
    case ClockKind::kSteady:
      return RCL_STEADY_TIME;
    case ClockKind::kSystem:
      return RCL_SYSTEM_TIME;
    case ClockKind::kRos:
      break;
  }
  return RCL_ROS_TIME;
}

std::chrono::nanoseconds read(clockid_t id) noexcept
{
  timespec now{};
  clock_gettime(id, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

class Clock::Impl
{
public:
  rcl_clock_t clock{};
  /// Written by set_ and clear_simulated_time() under the mutex, read by anybody: rcl's own copy
  /// may not be read while it is changed.
  std::atomic<int64_t> simulated_ns{kNotSimulated};

  std::mutex mutex;
  std::vector<std::pair<ObserverHandle, std::shared_ptr<Observer>>> observers;
  ObserverHandle next_handle = 1;

  void tell(ClockChange change)
  {
    std::vector<std::pair<ObserverHandle, std::shared_ptr<Observer>>> present;
    {
      std::lock_guard<std::mutex> lock(mutex);
      present = observers;
    }
    for (const auto & observer : present) {
      (*observer.second)(change);
    }
  }
};

Clock::Clock(ClockKind kind) : kind_(kind), impl_(std::make_unique<Impl>())
{
  rcl_allocator_t allocator = rcl_get_default_allocator();
  throw_unless_ok(rcl_clock_init(to_rcl(kind), &impl_->clock, &allocator), "making a clock");
}

Clock::~Clock()
{
  if (rcl_clock_fini(&impl_->clock) != RCL_RET_OK) {
    take_rcl_error();
  }
}

std::chrono::nanoseconds Clock::now() const noexcept
{
  if (kind_ == ClockKind::kSteady) {
    return read(CLOCK_MONOTONIC);
  }
  const int64_t simulated_ns = impl_->simulated_ns.load();
  return simulated_ns == kNotSimulated ? read(CLOCK_REALTIME)
                                       : std::chrono::nanoseconds(simulated_ns);
}

bool Clock::is_simulated() const noexcept { return impl_->simulated_ns.load() != kNotSimulated; }

void Clock::set_simulated_time(std::chrono::nanoseconds now)
{
  if (kind_ != ClockKind::kRos) {
    throw Error("set_simulated_time(): only a clock of kind kRos can be simulated");
  }
  ClockChange change = ClockChange::kTimeSet;
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    if (!is_simulated()) {
      change = ClockChange::kSimulated;
      throw_unless_ok(rcl_enable_ros_time_override(&impl_->clock), "entering simulated time");
    }
    throw_unless_ok(
      rcl_set_ros_time_override(&impl_->clock, now.count()), "setting simulated time");
    impl_->simulated_ns.store(now.count());
  }
  impl_->tell(change);
}

void Clock::clear_simulated_time()
{
  {
    std::lock_guard<std::mutex> lock(impl_->mutex);
    if (!is_simulated()) {
      return;
    }
    throw_unless_ok(rcl_disable_ros_time_override(&impl_->clock), "leaving simulated time");
    impl_->simulated_ns.store(kNotSimulated);
  }
  impl_->tell(ClockChange::kReal);
}

Clock::ObserverHandle Clock::add_observer(Observer observer)
{
  std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->observers.emplace_back(
    impl_->next_handle, std::make_shared<Observer>(std::move(observer)));
  return impl_->next_handle++;
}

void Clock::remove_observer(ObserverHandle handle)
{
  std::lock_guard<std::mutex> lock(impl_->mutex);
  auto & observers = impl_->observers;
  observers.erase(
    std::remove_if(
      observers.begin(), observers.end(),
      [handle](const auto & observer) { return observer.first == handle; }),
    observers.end());
}

rcl_clock_t * Clock::handle() noexcept { return &impl_->clock; }

namespace detail
{

TimeSource::TimeSource(Node & node) : follower_(std::make_shared<Follower>(node.clock()))
{
  node.clock()->set_simulated_time(std::chrono::nanoseconds(0));
  CallbackGroupOptions group;
  group.name = "clock";
  SubscriptionOptions options;
  options.group = node.create_callback_group(CallbackGroupType::kMutuallyExclusive, group);
  static_cast<rclrt_core::Scheduling &>(options.scheduling) =
    rclrt_front_end::scheduling_of_clocks();
  options.use_intra_process = false;
  subscription_ = node.create_subscription<rosgraph_msgs::msg::Clock>(
    "/clock", QoS::clock(),
    [follower = follower_](const rosgraph_msgs::msg::Clock & message) {
      follower->on_clock(from_message(message.clock));
    },
    options);
}

TimeSource::~TimeSource()
{
  subscription_.reset();
  follower_->stop();
}

void TimeSource::Follower::stop()
{
  std::lock_guard<std::mutex> lock(mutex);
  active = false;
  clock->clear_simulated_time();
}

void TimeSource::Follower::on_clock(std::chrono::nanoseconds time)
{
  std::lock_guard<std::mutex> lock(mutex);
  if (active) {  // this may be the last message of a subscription that has gone
    clock->set_simulated_time(time);
  }
}

}  // namespace detail
}  // namespace rclrt_rcl
