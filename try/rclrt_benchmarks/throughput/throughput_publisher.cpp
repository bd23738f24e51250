// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Publishes as it is told by lines on standard input, "RATE SECONDS": so many messages a second for so long. Answers each
// with JSON: how many it has sent, and how long that took, s. See throughput.py.
//
//   throughput_publisher TOPIC SIZE SUBSCRIPTIONS      a size is as messages.hpp has them

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "messages.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace
{

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::chrono::seconds kPatience(30);
/// A shorter pause than that is spent looking at the clock.
constexpr std::chrono::microseconds kShortestSleep(200);

template <typename Message>
class Sender
{
public:
  Sender(rclrt_rcl::Node & node, const std::string & topic, const throughput::Size & size)
  : publisher_(node.create_publisher<Message>(topic, 10)),
    message_(std::make_unique<Message>()),
    is_loaned_(size.is_loaned)
  {
    throughput::fill(*message_, size.bytes);
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
        publish();
        ++sent;
      } catch (const rclrt_rcl::Error &) {
        // The middleware has refused it: it is missing like one that was lost.
      }
      next = std::max(next, Clock::now() - 10 * period);  // after a delay, a burst of ten
    }
    return {{"sent", sent}, {"seconds", Seconds(Clock::now() - begin).count()}};
  }

private:
  void publish()
  {
    if (!is_loaned_) {
      throughput::set_number(*message_, ++number_);
      publisher_->publish(*message_);
      return;
    }
    auto loan = publisher_->borrow_loaned_message();
    if (!loan.is_lent()) {
      throw std::runtime_error("this middleware lends no messages");
    }
    throughput::set_number(*loan, ++number_);
    publisher_->publish(std::move(loan));
  }

  const std::shared_ptr<rclrt_rcl::Publisher<Message>> publisher_;
  const std::unique_ptr<Message> message_;
  const bool is_loaned_;
  uint32_t number_ = 0;
};

template <typename Message>
void serve(const std::string & topic, const throughput::Size & size, std::size_t subscriptions)
{
  rclrt_rcl::Node node("throughput_publisher");
  Sender<Message> sender(node, topic, size);
  if (!sender.has(subscriptions)) {
    throw std::runtime_error("the subscriptions were not found");
  }
  double rate = 0;
  double seconds = 0;
  while (std::cin >> rate >> seconds && rate > 0) {
    std::cout << sender.send(rate, seconds) << std::endl;
  }
}

}  // namespace

int main(int argc, char ** argv)
{
  if (argc != 4) {
    std::cerr << "usage: throughput_publisher TOPIC SIZE SUBSCRIPTIONS\n";
    return 2;
  }
  try {
    rclrt_rcl::init(0, nullptr);
    const throughput::Size size = throughput::size_by_name(argv[2]);
    throughput::with_type_of(size, [&](auto * type) {
      using Message = std::remove_pointer_t<decltype(type)>;
      serve<Message>(argv[1], size, std::strtoul(argv[3], nullptr, 10));
    });
    rclrt_rcl::shutdown();
    return 0;
  } catch (const std::exception & error) {
    std::cerr << "throughput_publisher: " << error.what() << '\n';
    return 1;
  }
}
