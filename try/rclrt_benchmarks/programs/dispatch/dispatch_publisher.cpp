// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Publishes the time of publication, periodically, until its standard input is closed. If it may, it
// runs under SCHED_FIFO, so that what else the machine does is not counted as delay. With periods that
// are shorter than a sleep can be, it keeps its CPU, under SCHED_OTHER.
//
//   dispatch_publisher TOPIC PERIOD_US TOPICS BYTES
//
// With TOPICS above 0: to TOPIC_0, TOPIC_1 and so on in turns, each time in another order. Each message has BYTES beside
// its numbers.

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "message.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace
{

/// Below everybody in the process that receives.
constexpr int kPriority = 40;

/// On a machine that is busy with other things, the middleware refuses a message when its own thread
/// has not sent the last ones for 100 ms. This many refusals in a row are an error.
constexpr int kMaxRefusals = 50;

bool input_is_open()
{
  pollfd input{STDIN_FILENO, POLLIN, 0};
  char byte = 0;
  return poll(&input, 1, 0) == 0 || read(STDIN_FILENO, &byte, 1) > 0;
}

/// Shorter than that: the time until a thread wakes is too large a part.
constexpr std::chrono::microseconds kShortestSleep(200);

struct Publisher
{
  std::shared_ptr<rclrt_rcl::Publisher<dispatch::Message>> publisher;
  int64_t number = 0;
};

int publish(
  const std::string & topic, std::chrono::microseconds period, int topics, std::size_t bytes)
{
  rclrt_rcl::ContextOptions options;
  options.configure_logging = false;
  rclrt_rcl::init(0, nullptr, options);
  rclrt_rcl::Node node("dispatch_publisher");
  std::vector<Publisher> publishers;
  for (int i = 0; i < std::max(1, topics); ++i) {
    const std::string name = topics > 0 ? topic + '_' + std::to_string(i) : topic;
    publishers.push_back({node.create_publisher<dispatch::Message>(name, 10)});
  }
  sched_param parameters{};
  parameters.sched_priority = kPriority;
  const bool sleeps = period >= kShortestSleep;
  const bool is_urgent = sleeps && sched_setscheduler(0, SCHED_FIFO, &parameters) == 0;
  std::cout << (is_urgent ? "fifo " + std::to_string(kPriority) : "other") << std::endl;
  dispatch::Message message;
  message.byte_array_value.resize(bytes);
  auto next = std::chrono::steady_clock::now();
  std::minstd_rand random;
  auto turn = publishers.end();
  int refusals = 0;
  while (rclrt_rcl::ok() && input_is_open()) {
    next += period;
    if (sleeps) {
      std::this_thread::sleep_until(next);
    }
    while (std::chrono::steady_clock::now() < next) {
    }
    if (turn == publishers.end()) {
      std::shuffle(publishers.begin(), publishers.end(), random);
      turn = publishers.begin();
    }
    Publisher & to = *turn++;
    const auto now = std::chrono::steady_clock::now();
    try {
      dispatch::stamp(message, now, to.number);
      to.publisher->publish(message);
      ++to.number;
      refusals = 0;
    } catch (const rclrt_rcl::Error &) {
      if (++refusals == kMaxRefusals) {
        throw;
      }
    }
    if (now > next + period) {
      next = now;  // after a delay, no burst
    }
  }
  rclrt_rcl::shutdown();
  return 0;
}

}  // namespace

int main(int argc, char ** argv)
{
  const auto number = [argc, argv](int i) {
    return argc == 5 ? std::strtol(argv[i], nullptr, 10) : -1;
  };
  const long period_us = number(2);
  const long topics = number(3);
  const long bytes = number(4);
  if (period_us <= 0 || topics < 0 || bytes < 0) {
    std::cerr << "usage: dispatch_publisher TOPIC PERIOD_US TOPICS BYTES\n";
    return 2;
  }
  try {
    return publish(
      argv[1], std::chrono::microseconds(period_us), static_cast<int>(topics),
      static_cast<std::size_t>(bytes));
  } catch (const std::exception & error) {
    std::cerr << "dispatch_publisher: " << error.what() << '\n';
    return 1;
  }
}
