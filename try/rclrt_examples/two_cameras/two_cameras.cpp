// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// One detector for two cameras: of two images that wait for it, it takes the one of the front camera, though that came
// later. All callbacks share one CPU (priorities.yaml).

#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>

#include "sensor_msgs/msg/image.hpp"

#ifdef WITHOUT_RCLCPP  // See CMakeLists.txt.
#include "rclrt_rcl/rclrt_rcl.hpp"
namespace rclcpp = rclrt_rcl;
using rclrt_rcl::PreemptiveExecutor;
#else
#include "rclcpp/rclcpp.hpp"
#include "rclrt_rclcpp/preemptive_executor.hpp"
using rclrt_rclcpp::PreemptiveExecutor;
#endif

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
  rclcpp::init(argc, argv);

  // In place of drivers: one wire releases both shutters, and the rear camera is read first.
  auto cameras = std::make_shared<rclcpp::Node>("cameras");
  auto rear = cameras->create_publisher<Image>("rear/image", 1);
  auto front = cameras->create_publisher<Image>("front/image", 1);
  Image image;
  auto shutter = cameras->create_wall_timer(50ms, [&] {
    image.header.stamp.sec++;  // The number of the release, in place of its time.
    rear->publish(image);
    front->publish(image);
  });

  // Its two callbacks are in the node's group, so one runs at a time: there is one network, which takes 15 ms.
  auto detector = std::make_shared<rclcpp::Node>("detector");
  int images = 0;
  int second = 0;
  int rear_seen = 0;
  auto back = detector->create_subscription<Image>("rear/image", 1, [&](const Image & seen) {
    rear_seen = seen.header.stamp.sec;
    work(15ms);
  });
  auto ahead = detector->create_subscription<Image>("front/image", 1, [&](const Image & seen) {
    ++images;
    second += rear_seen == seen.header.stamp.sec ? 1 : 0;
    work(15ms);
  });

  PreemptiveExecutor executor;
  executor.add_node(cameras);
  executor.add_node(detector);
  executor.spin();  // until Ctrl-C
  std::printf("%d images of the front camera, %d of them after the rear one\n", images, second);
  rclcpp::shutdown();
}
