// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A detector that does not come to an end takes its budget from the CPU, and no more: the robot steers on.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>

#include "geometry_msgs/msg/twist.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"
#include "sensor_msgs/msg/image.hpp"

using geometry_msgs::msg::Twist;
using sensor_msgs::msg::Image;
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

  auto camera = std::make_shared<rclrt_rcl::Node>("camera");
  auto images = camera->create_publisher<Image>("image", 1);
  auto shutter = camera->create_wall_timer(50ms, [&] { images->publish(Image()); });

  auto steering = std::make_shared<rclrt_rcl::Node>("steering");
  auto commands = steering->create_publisher<Twist>("cmd_vel", 1);
  std::atomic<int> steered{0};
  auto steer = steering->create_wall_timer(10ms, [&] {
    commands->publish(Twist());
    ++steered;
  });

  // Every eighth image is one that the algorithm never comes to an end with: not before the robot has steered ten
  // times, or the algorithm has had two seconds of the CPU.
  auto detector = std::make_shared<rclrt_rcl::Node>("detector");
  int seen = 0;
  int runaways = 0;
  int never = 0;
  auto detect = detector->create_subscription<Image>("image", 1, [&](const Image &) {
    work(4ms);
    if (++seen % 8 != 0) {
      return;
    }
    ++runaways;
    const int until = steered + 10;
    int slices = 0;
    while (steered < until && ++slices < 2000) {
      work(1ms);
    }
    never += steered < until ? 1 : 0;
  });

  rclrt_rcl::PreemptiveExecutor executor;
  executor.add_node(camera);
  executor.add_node(steering);
  executor.add_node(detector);
  executor.spin();  // until Ctrl-C
  const auto counted = executor.statistics()["/detector/subscription/image"];
  std::printf(
    "%d images, %d runaways, the budget was not enough in %llu periods; steering waited for %d of "
    "them\n",
    seen, runaways, static_cast<unsigned long long>(counted.over_budget), never);
}
