// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Three components that know nothing of each other, nor of rclrt. In one process under component_container_rt, the
// brake does not wait for the mapper. All callbacks share one CPU (priorities.yaml).

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>

#include "geometry_msgs/msg/twist.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp_components/register_node_macro.hpp"
#include "sensor_msgs/msg/laser_scan.hpp"

using geometry_msgs::msg::Twist;
using sensor_msgs::msg::LaserScan;
using namespace std::chrono_literals;

namespace composed_robot
{

// Uses a CPU for this long, as an algorithm does.
void work(std::chrono::nanoseconds time)
{
  const auto used = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  const auto until = used() + time;
  while (used() < until) {
  }
}

// In place of a driver: a scan every 20 ms.
class Lidar : public rclcpp::Node
{
public:
  explicit Lidar(const rclcpp::NodeOptions & options) : Node("lidar", options)
  {
    publisher_ = create_publisher<LaserScan>("scan", 1);
    timer_ = create_wall_timer(20ms, [this] {
      auto scan = std::make_unique<LaserScan>();
      scan->ranges.assign(360, 5.0F);
      publisher_->publish(std::move(scan));
    });
  }

private:
  rclcpp::Publisher<LaserScan>::SharedPtr publisher_;
  rclcpp::TimerBase::SharedPtr timer_;
};

// Computes for 40 ms every 100 ms.
class Mapper : public rclcpp::Node
{
public:
  explicit Mapper(const rclcpp::NodeOptions & options) : Node("mapper", options)
  {
    timer_ = create_wall_timer(100ms, [] { work(40ms); });
  }

private:
  rclcpp::TimerBase::SharedPtr timer_;
};

// Stops for what is close.
class Brake : public rclcpp::Node
{
public:
  explicit Brake(const rclcpp::NodeOptions & options) : Node("brake", options)
  {
    commands_ = create_publisher<Twist>("cmd_vel", 1);
    scans_ = create_subscription<LaserScan>("scan", 1, [this](const LaserScan & scan) {
      if (*std::min_element(scan.ranges.begin(), scan.ranges.end()) < 0.5F) {
        commands_->publish(Twist());  // Nothing but zeros: stop.
      }
    });
  }

private:
  rclcpp::Publisher<Twist>::SharedPtr commands_;
  rclcpp::Subscription<LaserScan>::SharedPtr scans_;
};

}  // namespace composed_robot

RCLCPP_COMPONENTS_REGISTER_NODE(composed_robot::Lidar)
RCLCPP_COMPONENTS_REGISTER_NODE(composed_robot::Mapper)
RCLCPP_COMPONENTS_REGISTER_NODE(composed_robot::Brake)
