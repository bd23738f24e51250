// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A controller of 1 kHz in one process with a service that takes 30 ms, and with nodes that log. All callbacks share one
// CPU (priorities.yaml).

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>

#include "rclcpp/rclcpp.hpp"
#include "rclrt_rclcpp/preemptive_executor.hpp"
#include "std_srvs/srv/trigger.hpp"

using std_srvs::srv::Trigger;
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

class Controller : public rclcpp::Node
{
public:
  Controller() : Node("controller")
  {
    timer_ = create_wall_timer(1ms, [this] {
      work(100us);
      ++cycles;
    });
  }

  std::atomic<int> cycles{0};

private:
  rclcpp::TimerBase::SharedPtr timer_;
};

// Answers a request in 30 ms of the CPU, and says so.
class Planner : public rclcpp::Node
{
public:
  explicit Planner(const Controller & controller) : Node("planner")
  {
    service_ = create_service<Trigger>(
      "plan",
      [this, &controller](
        const std::shared_ptr<Trigger::Request>, std::shared_ptr<Trigger::Response> answer) {
        const int before = controller.cycles;
        work(30ms);
        answer->success = true;
        answer->message = std::to_string(controller.cycles - before) + " cycles meanwhile";
      });
  }

private:
  rclcpp::Service<Trigger>::SharedPtr service_;
};

// Asks for a plan every 100 ms, and logs whatever it hears.
class Operator : public rclcpp::Node
{
public:
  Operator() : Node("operator")
  {
    client_ = create_client<Trigger>("plan");
    timer_ = create_wall_timer(100ms, [this] {
      client_->async_send_request(
        std::make_shared<Trigger::Request>(), [this](rclcpp::Client<Trigger>::SharedFuture answer) {
          RCLCPP_INFO(get_logger(), "planned; %s", answer.get()->message.c_str());
        });
    });
  }

private:
  rclcpp::Client<Trigger>::SharedPtr client_;
  rclcpp::TimerBase::SharedPtr timer_;
};

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  auto controller = std::make_shared<Controller>();
  auto planner = std::make_shared<Planner>(*controller);
  auto asks = std::make_shared<Operator>();
  rclrt_rclcpp::PreemptiveExecutor executor;  // was: rclcpp::executors::MultiThreadedExecutor
  executor.add_node(controller);
  executor.add_node(planner);
  executor.add_node(asks);
  executor.spin();  // until Ctrl-C
  std::printf("%d cycles\n", controller->cycles.load());
  rclcpp::shutdown();
}
