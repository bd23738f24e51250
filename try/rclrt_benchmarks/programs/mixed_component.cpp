// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A node of the mixed load of `bench contract` as a component. Its parameters are those of a node in a scenario:
// `period_ms` of a timer or `input`, `work_ms` of CPU time, and `output`, published after that.

#include <chrono>
#include <ctime>
#include <memory>
#include <string>

#include "harness.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp_components/register_node_macro.hpp"

namespace rclrt_benchmarks
{
namespace
{

double cpu_time_ms() { return static_cast<double>(harness::thread_cpu_ns()) / 1e6; }

}  // namespace

class MixedPart : public rclcpp::Node
{
  using Log = rcl_interfaces::msg::Log;

public:
  explicit MixedPart(const rclcpp::NodeOptions & options)
  : Node("part", options), work_ms_(declare_parameter("work_ms", 0.0))
  {
    const auto input = declare_parameter("input", std::string());
    const auto output = declare_parameter("output", std::string());
    const auto period_ms = declare_parameter("period_ms", int64_t{0});
    if (!output.empty()) {
      publisher_ = create_publisher<Log>(output, 10);
    }
    if (!input.empty()) {
      subscription_ = create_subscription<Log>(input, 10, [this](const Log &) { work(); });
    }
    if (period_ms > 0) {
      timer_ = create_wall_timer(std::chrono::milliseconds(period_ms), [this] { work(); });
    }
  }

private:
  void work()
  {
    const double end = cpu_time_ms() + work_ms_;
    while (cpu_time_ms() < end) {
    }
    if (publisher_) {
      publisher_->publish(Log());
    }
  }

  double work_ms_;
  rclcpp::Publisher<Log>::SharedPtr publisher_;
  rclcpp::Subscription<Log>::SharedPtr subscription_;
  rclcpp::TimerBase::SharedPtr timer_;
};

}  // namespace rclrt_benchmarks

RCLCPP_COMPONENTS_REGISTER_NODE(rclrt_benchmarks::MixedPart)
