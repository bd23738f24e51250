// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Components that a container has to survive.

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "builtin_interfaces/msg/time.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp_components/register_node_macro.hpp"

namespace rclrt_rclcpp
{

using builtin_interfaces::msg::Time;

/// Its callback throws what is no std::exception.
class Thrower : public rclcpp::Node
{
public:
  explicit Thrower(const rclcpp::NodeOptions & options) : Node("thrower", options)
  {
    timer_ = create_wall_timer(std::chrono::milliseconds(1), []() -> void { throw 7; });
  }

private:
  rclcpp::TimerBase::SharedPtr timer_;
};

/// Until it is gone, a thread of its own publishes to it, resets its timer and wakes its executor.
class Busy : public rclcpp::Node
{
public:
  explicit Busy(const rclcpp::NodeOptions & options)
  : Node("busy", options),
    publisher_(create_publisher<Time>("busy", 10)),
    subscription_(create_subscription<Time>("busy", 10, [](const Time &) {})),
    timer_(create_wall_timer(std::chrono::milliseconds(1), [] {})),
    thread_([this] {
      while (!ends_) {
        publisher_->publish(Time());
        timer_->reset();
        create_wall_timer(std::chrono::hours(1), [] {});  // gone at once
      }
    })
  {
  }
  ~Busy() override
  {
    ends_ = true;
    thread_.join();
  }
  Busy(const Busy &) = delete;
  Busy & operator=(const Busy &) = delete;

private:
  std::atomic<bool> ends_{false};
  rclcpp::Publisher<Time>::SharedPtr publisher_;
  rclcpp::Subscription<Time>::SharedPtr subscription_;
  rclcpp::TimerBase::SharedPtr timer_;
  std::thread thread_;  // last: it uses the others
};

/// While it exists no thread can be started: their stacks would be larger than any address space.
class Hungry : public rclcpp::Node
{
public:
  explicit Hungry(const rclcpp::NodeOptions & options) : Node("hungry", options)
  {
    pthread_attr_t endless;
    pthread_getattr_default_np(&before_);
    pthread_attr_init(&endless);
    pthread_attr_setstacksize(&endless, std::size_t{1} << 48);
    pthread_setattr_default_np(&endless);
    pthread_attr_destroy(&endless);
  }
  ~Hungry() override
  {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  Hungry(const Hungry &) = delete;
  Hungry & operator=(const Hungry &) = delete;

private:
  pthread_attr_t before_{};
};

}  // namespace rclrt_rclcpp

RCLCPP_COMPONENTS_REGISTER_NODE(rclrt_rclcpp::Busy)
RCLCPP_COMPONENTS_REGISTER_NODE(rclrt_rclcpp::Thrower)
RCLCPP_COMPONENTS_REGISTER_NODE(rclrt_rclcpp::Hungry)
