// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What a parameters file says is in force on the thread of the callback, whatever the executor;
// the nodes and the program do not know of it.

#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "conformance/real_time.hpp"
#include "fixture.hpp"
#include "rcl_interfaces/msg/log.hpp"

namespace rclrt_rcl
{
namespace
{

using rcl_interfaces::msg::Log;
using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

/// The calling thread's priority under SCHED_FIFO, 0 under another policy.
int fifo_priority()
{
  const auto here = conformance::attributes_here();
  return here.scheduling_policy == rclrt_core::SchedulingPolicy::kFifo ? here.priority : 0;
}

/// What an unchanged program is: a node that knows nothing of priorities.
class Listener
{
public:
  explicit Listener(const std::shared_ptr<Context> & context)
  {
    NodeOptions options;
    options.context = context;
    node = std::make_shared<Node>("listener", options);
    subscription = node->create_subscription<Log>(
      "scan", 10, [this](const Log &) { priority = fifo_priority(); });
    publisher = node->create_publisher<Log>("scan", 10);
  }

  /// The priority of the subscription's callback under the executor; -2 if it never ran.
  int priority_under(Executor & executor)
  {
    executor.add_node(node);
    const Spinning spinning(executor);
    wait_for([this] { return publisher->subscription_count() == 1; });
    publisher->publish(Log());
    wait_for([this] { return priority != -2; });
    return priority;
  }

  std::shared_ptr<Node> node;
  std::shared_ptr<Subscription<Log>> subscription;
  std::shared_ptr<Publisher<Log>> publisher;
  std::atomic<int> priority{-2};
};

class WithFile : public WithContext
{
protected:
  void SetUp() override { unsetenv("RCLRT_CONFIGURATION"); }
  void TearDown() override
  {
    unsetenv("RCLRT_CONFIGURATION");
    std::filesystem::remove(path);
  }

  /// Lines under rclrt. The listener has a parameter of its own in the same file.
  std::string write(const std::string & lines)
  {
    return write_text(
      "/listener:\n  ros__parameters: {speed: 7}\n/**:\n  ros__parameters:\n    rclrt:\n" + lines);
  }
  std::string write_text(const std::string & text)
  {
    std::ofstream(path) << text;
    return path;
  }

  PreemptiveExecutorOptions with_file(const std::string & lines)
  {
    auto made = options<PreemptiveExecutorOptions>();
    made.configuration_file = write(lines);
    return made;
  }

  const std::string path = ::testing::TempDir() + "rclrt_rcl_" + std::to_string(getpid()) + ".yaml";
};

constexpr char kScan80[] =
  "      callbacks:\n"
  "        /listener/subscription/scan: {scheduling_policy: fifo, priority: 80}\n";

TEST_F(WithFile, the_environment_names_a_file_for_a_program_that_does_not_know_of_it)
{
  SKIP_WITHOUT_REAL_TIME();
  setenv("RCLRT_CONFIGURATION", write(kScan80).c_str(), 1);
  PreemptiveExecutor executor(options<PreemptiveExecutorOptions>());
  Listener listener(context);
  EXPECT_EQ(listener.priority_under(executor), 80);
}

TEST_F(WithFile, a_parameter_file_on_the_command_line_is_for_nodes_and_executor)
{
  SKIP_WITHOUT_REAL_TIME();
  const std::string file = write(kScan80);
  const char * arguments[] = {"program", "--ros-args", "--params-file", file.c_str()};
  const auto own = Context::make(4, arguments);
  PreemptiveExecutorOptions executor_options;
  executor_options.context = own;
  PreemptiveExecutor executor(executor_options);
  Listener listener(own);
  EXPECT_EQ(listener.node->parameters().get<int64_t>("speed"), 7);
  EXPECT_EQ(listener.priority_under(executor), 80);
}

TEST_F(WithFile, the_file_goes_before_the_code)
{
  SKIP_WITHOUT_REAL_TIME();
  auto made = with_file(kScan80);
  made.configure = [](const Entity &, Scheduling & scheduling) {
    scheduling.attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kFifo;
    scheduling.attributes.priority = 20;
  };
  PreemptiveExecutor executor(made);
  Listener listener(context);
  EXPECT_EQ(listener.priority_under(executor), 80);
}

TEST_F(WithFile, attributes_off_in_the_file_asks_for_nothing)
{
  PreemptiveExecutor executor(
    with_file(std::string("      executor: {attributes: 'off'}\n") + kScan80));
  Listener listener(context);
  EXPECT_EQ(listener.priority_under(executor), 0);
}

TEST_F(WithFile, threads_of_the_pool_are_as_many_as_the_file_says)
{
  PreemptiveExecutor executor(with_file("      executor: {max_threads: 2}\n"));
  const auto node = make_node("node");
  std::vector<std::shared_ptr<CallbackGroup>> groups;  // each could use two threads or more
  while (groups.size() < 5) {
    groups.push_back(node->create_callback_group(CallbackGroupType::kReentrant));
  }
  executor.add_node(node);
  const Spinning spinning(executor);
  EXPECT_TRUE(wait_for([&] { return executor.threads().size() >= 3; }));
  EXPECT_EQ(executor.threads().size(), 3u) << "two, and the timer thread";
}

TEST_F(WithFile, what_is_impossible_with_the_code_is_an_error_when_the_node_is_added)
{
  PreemptiveExecutor executor(
    with_file("      callbacks: {/listener/subscription/scan: {nice: 5}}\n"));
  Listener listener(context);
  EXPECT_THAT(
    error_of([&] { executor.add_node(listener.node); }),
    AllOf(HasSubstr(path + ":6:19: "), HasSubstr("only scheduling_policy other and batch")));
}

TEST_F(WithFile, an_entry_for_a_node_elsewhere_is_no_error)
{
  PreemptiveExecutor executor(
    with_file("      executor: {attributes: require}\n"
              "      callbacks: {/elsewhere/subscription/scan: {queue_priority: 5}}\n"));
  Listener listener(context);
  EXPECT_GE(listener.priority_under(executor), 0);
}

}  // namespace
}  // namespace rclrt_rcl
