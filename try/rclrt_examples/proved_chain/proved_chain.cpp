// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// From a camera's image to the brake in 40 ms: proved by `rclrt plan robot.yaml`, enforced by the file that it writes,
// and watched while it runs. `-p detect_ms:=30` makes the detector slower than robot.yaml allows.

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

double milliseconds(std::optional<rclrt_core::Duration> time)
{
  return time ? std::chrono::duration<double, std::milli>(*time).count() : -1;
}

int main(int argc, char ** argv)
{
  rclrt_rcl::init(argc, argv);

  auto camera = std::make_shared<rclrt_rcl::Node>("camera");
  auto images = camera->create_publisher<Image>("image", 1);
  auto shutter = camera->create_wall_timer(50ms, [&] {
    work(500us);
    images->publish(Image());
  });

  auto detector = std::make_shared<rclrt_rcl::Node>("detector");
  const std::chrono::milliseconds effort(
    detector->parameters().get<int64_t>("detect_ms").value_or(8));
  auto objects = detector->create_publisher<Twist>("objects", 1);
  auto detect = detector->create_subscription<Image>("image", 1, [&](const Image &) {
    work(effort);
    objects->publish(Twist());
  });

  auto brake = std::make_shared<rclrt_rcl::Node>("brake");
  auto stop = brake->create_subscription<Twist>("objects", 1, [](const Twist &) { work(500us); });

  auto logger = std::make_shared<rclrt_rcl::Node>("logger");
  auto log = logger->create_wall_timer(200ms, [] { work(40ms); });

  rclrt_rcl::CallbackIsolatedExecutor executor;  // The plan says which one.
  for (const auto & node : {camera, detector, brake, logger}) {
    executor.add_node(node);
  }
  executor.spin();  // until Ctrl-C
  for (const auto & chain : executor.chains()) {
    std::printf(
      "%s: %llu images, %llu late, worst %.1f ms, bound %.1f ms, deadline %.1f ms, %s\n",
      chain.name.c_str(), static_cast<unsigned long long>(chain.instances),
      static_cast<unsigned long long>(chain.misses), milliseconds(chain.worst),
      milliseconds(chain.bound), milliseconds(chain.deadline),
      chain.proved ? "proved" : "no longer proved");
  }
}
