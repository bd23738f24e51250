// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Publishes as it is told by lines on standard input, "RATE SECONDS": so many messages a second for so long. Answers each
// with JSON: how many it has sent, and how long that took, s. See throughput.py.
//
//   throughput_publisher TOPIC BYTES SUBSCRIPTIONS

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <rcl_interfaces/msg/log.hpp>
#include <string>
#include <thread>

#include "rclrt_rcl/rclrt_rcl.hpp"

namespace
{

using Clock = std::chrono::steady_clock;
using Message = rcl_interfaces::msg::Log;
using Seconds = std::chrono::duration<double>;

constexpr std::chrono::seconds kPatience(30);
/// A shorter pause than that is spent looking at the clock.
constexpr std::chrono::microseconds kShortestSleep(200);

class Sender
{
public:
  Sender(rclrt_rcl::Node & node, const std::string & topic, std::size_t bytes)
  : publisher_(node.create_publisher<Message>(topic, 10))
  {
    message_.msg.assign(bytes, '.');
  }

  bool has(std::size_t subscriptions) const
  {
    const auto until = Clock::now() + kPatience;
    while (publisher_->subscription_count() < subscriptions && Clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return publisher_->subscription_count() >= subscriptions;
  }

  nlohmann::json send(double rate, double seconds)
  {
    const auto period = std::chrono::duration_cast<Clock::duration>(Seconds(1 / rate));
    const auto begin = Clock::now();
    const auto end = begin + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
    int64_t sent = 0;
    for (auto next = begin; next < end; next += period) {
      if (next - Clock::now() > kShortestSleep) {
        std::this_thread::sleep_until(next - kShortestSleep);
      }
      while (Clock::now() < next) {
      }
      try {
        message_.line = ++number_;
        publisher_->publish(message_);
        ++sent;
      } catch (const rclrt_rcl::Error &) {
        // The middleware has refused it: it is missing like one that was lost.
      }
      next = std::max(next, Clock::now() - 10 * period);  // after a delay, a burst of ten
    }
    return {{"sent", sent}, {"seconds", Seconds(Clock::now() - begin).count()}};
  }

private:
  const std::shared_ptr<rclrt_rcl::Publisher<Message>> publisher_;
  Message message_;
  uint32_t number_ = 0;
};

}  // namespace

int main(int argc, char ** argv)
{
  if (argc != 4) {
    std::cerr << "usage: throughput_publisher TOPIC BYTES SUBSCRIPTIONS\n";
    return 2;
  }
  try {
    rclrt_rcl::init(0, nullptr);
    rclrt_rcl::Node node("throughput_publisher");
    Sender sender(node, argv[1], std::strtoul(argv[2], nullptr, 10));
    if (!sender.has(std::strtoul(argv[3], nullptr, 10))) {
      throw std::runtime_error("the subscriptions were not found");
    }
    double rate = 0;
    double seconds = 0;
    while (std::cin >> rate >> seconds && rate > 0) {
      std::cout << sender.send(rate, seconds) << std::endl;
    }
    rclrt_rcl::shutdown();
    return 0;
  } catch (const std::exception & error) {
    std::cerr << "throughput_publisher: " << error.what() << '\n';
    return 1;
  }
}
