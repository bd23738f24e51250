// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Subscriptions under one executor; SCHED_OTHER. Answers each line on standard input with JSON: messages since the line
// before, of all subscriptions together, and the CPU time of the process, ns. See throughput.py.
//
//   throughput_receiver EXECUTOR TOPIC SIZE SUBSCRIPTIONS

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "messages.hpp"
#include "rclrt_baselines/by_name.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace
{

/// Written by one job at a time. A number by itself, so relaxed is enough.
struct alignas(64) Count
{
  std::atomic<int64_t> messages{0};
};

int64_t cpu_ns()
{
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

template <typename Message>
void receive(const std::string & name, const std::string & topic, std::size_t subscriptions)
{
  const auto node = std::make_shared<rclrt_rcl::Node>("throughput_receiver");
  std::vector<Count> counts(subscriptions);
  std::vector<std::shared_ptr<void>> entities;
  const auto executor = rclrt_baselines::executor_by_name(name);
  for (Count & count : counts) {
    rclrt_rcl::SubscriptionOptions options;
    options.group = node->create_callback_group(rclrt_rcl::CallbackGroupType::kMutuallyExclusive);
    entities.push_back(node->create_subscription<Message>(
      topic, 10,
      [&count](const Message &) { count.messages.fetch_add(1, std::memory_order_relaxed); },
      options));
  }
  executor->add_node(node);
  std::exception_ptr failure;
  std::thread spinning([&] {
    try {
      executor->spin();
    } catch (...) {
      failure = std::current_exception();  // read after join()
    }
  });
  int64_t told = 0;
  std::string line;
  while (std::getline(std::cin, line)) {
    int64_t all = 0;
    for (const Count & count : counts) {
      all += count.messages.load(std::memory_order_relaxed);
    }
    std::cout << nlohmann::json{{"messages", all - told}, {"cpu_ns", cpu_ns()}} << std::endl;
    told = all;
  }
  executor->cancel();
  spinning.join();
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace

int main(int argc, char ** argv)
{
  if (argc != 5) {
    std::cerr << "usage: throughput_receiver EXECUTOR TOPIC SIZE SUBSCRIPTIONS\n";
    return 2;
  }
  try {
    const throughput::Size size = throughput::size_by_name(argv[3]);
    // Subscriptions borrow what the middleware has, if they may. By default ROS 2 does not let them.
    setenv("ROS_DISABLE_LOANED_MESSAGES", size.is_loaned ? "0" : "1", 1);
    rclrt_rcl::init(0, nullptr);
    throughput::with_type_of(size, [&](auto * type) {
      using Message = std::remove_pointer_t<decltype(type)>;
      receive<Message>(argv[1], argv[2], std::strtoul(argv[4], nullptr, 10));
    });
    rclrt_rcl::shutdown();
    return 0;
  } catch (const std::exception & error) {
    std::cerr << "throughput_receiver: " << error.what() << '\n';
    return 1;
  }
}
