// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A robot stops for an obstacle, whatever its perception computes. All callbacks share one CPU (priorities.yaml).

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>

#include "geometry_msgs/msg/twist.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"
#include "sensor_msgs/msg/image.hpp"
#include "sensor_msgs/msg/laser_scan.hpp"

using geometry_msgs::msg::Twist;
using sensor_msgs::msg::Image;
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

int main(int argc, char ** argv)
{
  rclrt_rcl::init(argc, argv);

  // In place of drivers: an image every 100 ms, a scan every 20 ms, and an obstacle in every tenth scan.
  auto sensors = std::make_shared<rclrt_rcl::Node>("sensors");
  auto images = sensors->create_publisher<Image>("image", 1);
  auto scans = sensors->create_publisher<LaserScan>("scan", 1);
  auto camera = sensors->create_wall_timer(100ms, [&] { images->publish(Image()); });
  int sent = 0;
  auto lidar = sensors->create_wall_timer(20ms, [&] {
    LaserScan scan;
    scan.ranges.assign(360, 5.0F);
    if (++sent % 10 == 0) {
      scan.ranges[180] = 0.3F;
    }
    scans->publish(scan);
  });

  // Takes 40 ms of the CPU for each image.
  auto perception = std::make_shared<rclrt_rcl::Node>("perception");
  std::atomic<bool> sees{false};
  auto detect = perception->create_subscription<Image>("image", 1, [&](const Image &) {
    sees = true;
    work(40ms);
    sees = false;
  });

  auto brake = std::make_shared<rclrt_rcl::Node>("brake");
  auto commands = brake->create_publisher<Twist>("cmd_vel", 1);
  int scanned = 0;
  int meanwhile = 0;
  auto stop = brake->create_subscription<LaserScan>("scan", 1, [&](const LaserScan & scan) {
    ++scanned;
    meanwhile += sees ? 1 : 0;
    if (*std::min_element(scan.ranges.begin(), scan.ranges.end()) < 0.5F) {
      commands->publish(Twist());  // Nothing but zeros: stop.
    }
  });

  rclrt_rcl::PreemptiveExecutor executor;
  executor.add_node(sensors);
  executor.add_node(perception);
  executor.add_node(brake);
  executor.spin();  // until Ctrl-C
  std::printf("%d scans, %d of them in the middle of an image\n", scanned, meanwhile);
}
