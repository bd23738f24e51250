// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Plain rcl, as a stranger has it, for what rclpy does not do. Ends when it is killed, or after a minute.
//   plain_rcl threads          four threads publish on /pong by one publisher at once
//   plain_rcl lend             publishes messages on /first that the middleware has lent
//   plain_rcl borrow           what comes on /first, and lies in the middleware, goes out on /times in the same way
//   plain_rcl cost <batches>   prints nanoseconds of a publication that is taken at once, the median of the batches
// The first two print each message's number, and the time before and after its publication, nanoseconds of
// CLOCK_MONOTONIC.

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "builtin_interfaces/msg/time.hpp"
#include "rcl/error_handling.h"
#include "rcl/rcl.h"
#include "rcl_interfaces/msg/log.hpp"
#include "rosidl_typesupport_cpp/message_type_support.hpp"

namespace
{

using builtin_interfaces::msg::Time;
using rcl_interfaces::msg::Log;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kMessages = 3000;  // every 20 ms: a minute

void check(rcl_ret_t result, const char * what)
{
  if (result != RCL_RET_OK) {
    std::fprintf(stderr, "%s: %s\n", what, rcl_get_error_string().str);
    std::_Exit(1);
  }
}

int64_t now_ns()
{
  return std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count();
}

void say(int32_t number, int64_t before)
{
  std::printf("%" PRId32 " %" PRId64 " %" PRId64 "\n", number, before, now_ns());
  std::fflush(stdout);
}

// Ends with the process.
struct Program
{
  Program(int argc, char ** argv)
  {
    rcl_init_options_t options = rcl_get_zero_initialized_init_options();
    check(rcl_init_options_init(&options, rcl_get_default_allocator()), "options");
    check(rcl_init(argc, argv, &options, &context), "init");
    const rcl_node_options_t of_node = rcl_node_get_default_options();
    check(rcl_node_init(&node, "plain", "", &context, &of_node), "node");
  }

  template <typename Message>
  rcl_publisher_t publisher(const char * topic) const
  {
    rcl_publisher_t made = rcl_get_zero_initialized_publisher();
    const rcl_publisher_options_t options = rcl_publisher_get_default_options();
    const auto * type = rosidl_typesupport_cpp::get_message_type_support_handle<Message>();
    check(rcl_publisher_init(&made, &node, type, topic, &options), "publisher");
    return made;
  }

  template <typename Message>
  rcl_subscription_t subscription(const char * topic) const
  {
    rcl_subscription_t made = rcl_get_zero_initialized_subscription();
    rcl_subscription_options_t options = rcl_subscription_get_default_options();
    options.disable_loaned_message = false;
    const auto * type = rosidl_typesupport_cpp::get_message_type_support_handle<Message>();
    check(rcl_subscription_init(&made, &node, type, topic, &options), "subscription");
    return made;
  }

  rcl_context_t context = rcl_get_zero_initialized_context();
  rcl_node_t node = rcl_get_zero_initialized_node();
};

void publish_by_threads(const rcl_publisher_t & publisher)
{
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  for (int32_t first = 1; first <= kThreads; ++first) {
    threads.emplace_back([&publisher, first] {
      Log message;
      for (int32_t i = 0; i < kMessages; ++i) {
        message.line = static_cast<uint32_t>(first + i * kThreads);
        const int64_t before = now_ns();
        check(rcl_publish(&publisher, &message, nullptr), "publishing");
        say(static_cast<int32_t>(message.line), before);
        std::this_thread::sleep_for(milliseconds(20));
      }
    });
  }
  for (std::thread & thread : threads) {
    thread.join();
  }
}

void publish_loan(const rcl_publisher_t & publisher, const Time & time)
{
  const auto * type = rosidl_typesupport_cpp::get_message_type_support_handle<Time>();
  void * loan = nullptr;
  check(rcl_borrow_loaned_message(&publisher, type, &loan), "borrowing");
  *static_cast<Time *>(loan) = time;
  check(rcl_publish_loaned_message(&publisher, loan, nullptr), "publishing a loan");
}

void lend(const rcl_publisher_t & publisher)
{
  Time time;
  for (time.sec = 1; time.sec <= kMessages; ++time.sec) {
    const int64_t before = now_ns();
    publish_loan(publisher, time);
    say(time.sec, before);
    std::this_thread::sleep_for(milliseconds(20));
  }
}

void relay_loans(Program & program)
{
  const rcl_subscription_t from = program.subscription<Time>("/first");
  const rcl_publisher_t to = program.publisher<Time>("/times");
  rcl_wait_set_t set = rcl_get_zero_initialized_wait_set();
  check(
    rcl_wait_set_init(&set, 1, 0, 0, 0, 0, 0, &program.context, rcl_get_default_allocator()),
    "wait set");
  const auto end = steady_clock::now() + std::chrono::minutes(1);
  while (steady_clock::now() < end) {
    check(rcl_wait_set_clear(&set), "clearing");
    check(rcl_wait_set_add_subscription(&set, &from, nullptr), "adding");
    if (rcl_wait(&set, RCL_S_TO_NS(1)) != RCL_RET_OK) {
      continue;  // nothing has come
    }
    void * loan = nullptr;
    if (rcl_take_loaned_message(&from, &loan, nullptr, nullptr) == RCL_RET_OK) {
      publish_loan(to, *static_cast<Time *>(loan));
      check(rcl_return_loaned_message_from_subscription(&from, loan), "returning");
    }
  }
}

void measure(const Program & program, int batches)
{
  const rcl_publisher_t to = program.publisher<Time>("/cost");
  const rcl_subscription_t from = program.subscription<Time>("/cost");
  Time time;
  const auto round = [&] {
    check(rcl_publish(&to, &time, nullptr), "publishing");
    Time taken;
    rmw_message_info_t info{};
    const auto end = steady_clock::now() + milliseconds(100);  // none comes before the two have met
    while (rcl_take(&from, &taken, &info, nullptr) != RCL_RET_OK && steady_clock::now() < end) {
      rcl_reset_error();
    }
  };
  std::vector<double> found;
  constexpr int kRounds = 200;
  for (int i = -1; i < batches; ++i) {  // one to warm up
    const int64_t begin = now_ns();
    for (int k = 0; k < kRounds; ++k) {
      round();
    }
    if (i >= 0) {
      found.push_back(static_cast<double>(now_ns() - begin) / kRounds);
    }
  }
  std::sort(found.begin(), found.end());
  std::printf("%.0f\n", found.at(found.size() / 2));
}

}  // namespace

int main(int argc, char ** argv)
{
  const std::string mode = argc > 1 ? argv[1] : "";
  Program program(argc, argv);
  if (mode == "threads") {
    publish_by_threads(program.publisher<Log>("/pong"));
  } else if (mode == "lend") {
    lend(program.publisher<Time>("/first"));
  } else if (mode == "borrow") {
    relay_loans(program);
  } else if (mode == "cost" && argc == 3) {
    measure(program, std::atoi(argv[2]));
  } else {
    return 2;
  }
  return 0;
}
