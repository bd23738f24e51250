// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A robot as it comes in a binary package: rclcpp's own executor, and no word of ours. `rclrt run` makes it real-time.

#include <chrono>
#include <ctime>
#include <memory>

#include "geometry_msgs/msg/twist.hpp"
#include "rclcpp/rclcpp.hpp"
#include "sensor_msgs/msg/laser_scan.hpp"

using geometry_msgs::msg::Twist;
using sensor_msgs::msg::LaserScan;
using namespace std::chrono_literals;

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

class Lidar : public rclcpp::Node
{
public:
  Lidar() : Node("lidar")
  {
    publisher_ = create_publisher<LaserScan>("scan", 1);
    timer_ = create_wall_timer(20ms, [this] { publisher_->publish(LaserScan()); });
  }

private:
  rclcpp::Publisher<LaserScan>::SharedPtr publisher_;
  rclcpp::TimerBase::SharedPtr timer_;
};

// Brakes at each scan, and computes for 40 ms every 100 ms.
class Driver : public rclcpp::Node
{
public:
  Driver() : Node("driver")
  {
    group_ = create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
    rclcpp::SubscriptionOptions options;
    options.callback_group = group_;
    commands_ = create_publisher<Twist>("cmd_vel", 1);
    brake_ = create_subscription<LaserScan>(
      "scan", 1, [this](const LaserScan &) { commands_->publish(Twist()); }, options);
    plan_ = create_wall_timer(100ms, [] { work(40ms); });
  }

private:
  rclcpp::CallbackGroup::SharedPtr group_;
  rclcpp::Publisher<Twist>::SharedPtr commands_;
  rclcpp::Subscription<LaserScan>::SharedPtr brake_;
  rclcpp::TimerBase::SharedPtr plan_;
};

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  auto lidar = std::make_shared<Lidar>();
  auto driver = std::make_shared<Driver>();
  rclcpp::executors::MultiThreadedExecutor executor;
  executor.add_node(lidar);
  executor.add_node(driver);
  executor.spin();
  rclcpp::shutdown();
}
