// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Components that a container has to survive.

#include <pthread.h>

#include <chrono>

#include "rclcpp/rclcpp.hpp"
#include "rclcpp_components/register_node_macro.hpp"

namespace rclrt_rclcpp
{

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

RCLCPP_COMPONENTS_REGISTER_NODE(rclrt_rclcpp::Thrower)
RCLCPP_COMPONENTS_REGISTER_NODE(rclrt_rclcpp::Hungry)
