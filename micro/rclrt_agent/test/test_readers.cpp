// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0
//
// Which thread hands on what comes from ROS. With the real middleware, and a publisher in another process.
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "bench.hpp"
#include "builtin_interfaces/msg/time.hpp"
#include "conformance/elsewhere.hpp"
#include "rclrt_front_end/on_rcl.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/executor.hpp"
#include "ros_backend.hpp"

namespace
{
using namespace rclrt_agent_test;
using namespace std::chrono_literals;

// Every millisecond.
void publish(const std::string & topic)
{
  using builtin_interfaces::msg::Time;
  const auto context = rclrt_rcl::Context::make();
  rclrt_rcl::NodeOptions options;
  options.context = context;
  rclrt_rcl::Node node("elsewhere", options);
  const auto publisher = node.create_publisher<Time>(topic, 10);
  Time message;
  while (conformance::goes_on()) {
    ++message.nanosec;
    publisher->publish(message);
    std::this_thread::sleep_for(1ms);
  }
}

TEST(Readers, what_comes_from_another_process_is_handed_on_by_the_thread_that_brings_it)
{
  const auto middleware = rclrt_front_end::middleware_in_use();
  if (!middleware.may_run_callbacks) {
    GTEST_SKIP() << "this middleware runs no callbacks on its threads";
  }
  const std::string topic = "readers_" + std::to_string(getpid());
  const conformance::Elsewhere elsewhere({"--publish", "/" + topic});
  const auto context = rclrt_rcl::Context::make();
  rclrt_rcl::PreemptiveExecutorOptions options;
  options.context = context;
  options.max_threads = 2;
  rclrt_rcl::PreemptiveExecutor executor(options);
  rclrt_agent::RosBackend backend(context, executor, {});
  const auto board = backend.make_node("board", 255, {});
  const auto sink = std::make_shared<Catcher>();
  std::atomic<int> on_it{0};
  sink->on_data = [&](View) {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof(name));
    on_it += middleware.owns_thread(name) ? 1 : 0;
  };
  Description what;
  what.name = "rt/" + topic;
  what.type = "builtin_interfaces::msg::dds_::Time_";
  what.qos.reliable = true;
  const auto reader = board->make_reader(what, 6, sink);
  std::thread spinning([&] { executor.spin(); });
  for (int i = 0; i < 3000 && on_it < 20; ++i) {
    std::this_thread::sleep_for(10ms);
  }
  context->shutdown("done");
  spinning.join();
  EXPECT_GE(on_it, 20);
}
}  // namespace

int main(int argc, char ** argv) { return conformance::run(argc, argv, "--publish", publish); }
