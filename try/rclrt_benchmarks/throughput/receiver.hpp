// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Subscriptions under one executor; SCHED_OTHER. Answers each line on standard input with JSON: messages since the line
// before, of all subscriptions together, and the CPU time of the process, ns. See throughput.py.
//
//   PROGRAM EXECUTOR TOPIC SIZE SUBSCRIPTIONS
//
// A front end has
//   FrontEnd(executor's name)              with its client library initialized; undone by its destructor
//   subscribe<Message>(topic, callback)    in a group of its own, exclusive, depth 10
//   spin()                                 until cancel() of another thread
#ifndef RECEIVER_HPP_
#define RECEIVER_HPP_

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "messages.hpp"

namespace throughput
{

/// Written by one job at a time. A number by itself, so relaxed is enough.
struct alignas(64) Count
{
  std::atomic<int64_t> messages{0};
};

inline int64_t cpu_ns()
{
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

template <typename Message, typename FrontEnd>
void receive(FrontEnd & front_end, const std::string & topic, std::vector<Count> & counts)
{
  for (Count & count : counts) {
    front_end.template subscribe<Message>(
      topic, [&count](const Message &) { count.messages.fetch_add(1, std::memory_order_relaxed); });
  }
  std::exception_ptr failure;
  std::thread spinning([&] {
    try {
      front_end.spin();
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
  front_end.cancel();
  spinning.join();
  if (failure) {
    std::rethrow_exception(failure);
  }
}

/// main() of a program.
template <typename FrontEnd>
int receive_as_told(int argc, char ** argv)
{
  if (argc != 5) {
    std::cerr << "usage: " << argv[0] << " EXECUTOR TOPIC SIZE SUBSCRIPTIONS\n";
    return 2;
  }
  try {
    const Size size = size_by_name(argv[3]);
    // Subscriptions borrow what the middleware has, if they may. By default ROS 2 does not let them.
    setenv("ROS_DISABLE_LOANED_MESSAGES", size.is_loaned ? "0" : "1", 1);
    std::vector<Count> counts(std::strtoul(argv[4], nullptr, 10));
    FrontEnd front_end(argv[1]);
    with_type_of(size, [&](auto * type) {
      receive<std::remove_pointer_t<decltype(type)>>(front_end, argv[2], counts);
    });
    return 0;
  } catch (const std::exception & error) {
    std::cerr << argv[0] << ": " << error.what() << '\n';
    return 1;
  }
}

}  // namespace throughput

#endif  // RECEIVER_HPP_
