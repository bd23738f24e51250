// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What a parameters file says is in force on the thread of the callback, whatever the executor;
// the nodes and the program do not know of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "conformance/real_time.hpp"
#include "executor_types.hpp"
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
  return here.policy == rclrt_core::SchedulingPolicy::kFifo ? here.priority : 0;
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

  /// That of the subscription's callback under the executor; -2 if it never ran.
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

  template <typename Options = PreemptiveExecutorOptions>
  Options with_file(const std::string & lines)
  {
    Options made = options<Options>();
    made.configuration_file = write(lines);
    return made;
  }

  const std::string path = ::testing::TempDir() + "rclrt_rcl_" + std::to_string(getpid()) + ".yaml";
};

constexpr char kScan80[] =
  "      callbacks:\n"
  "        /listener/subscription/scan: {scheduling_policy: fifo, priority: 80}\n";

template <typename T>
class EachExecutor : public WithFile
{
};
TYPED_TEST_SUITE(EachExecutor, ExecutorTypes, ExecutorTypeNames);

TYPED_TEST(EachExecutor, callbacks_of_a_group_share_the_budget_of_the_code)
{
  typename TypeParam::Executor executor(this->template options<typename TypeParam::Options>());
  const auto node = this->make_node("node");
  CallbackGroupOptions group_options;
  group_options.name = "both";
  group_options.budget.runtime = 5ms;
  group_options.budget.period = 10s;
  TimerOptions options;
  options.group = node->create_callback_group(CallbackGroupType::kMutuallyExclusive, group_options);
  const auto timer = node->create_wall_timer(
    10ms,
    [] {
      rclrt_core::LinuxPlatform platform;
      const auto thread = platform.current_thread();
      const int64_t end_ns = platform.cpu_time_ns(thread) + 6'000'000;
      while (platform.cpu_time_ns(thread) < end_ns) {
      }
    },
    options);
  executor.add_node(node);
  const Spinning spinning(executor);
  EXPECT_TRUE(wait_for([&] {
    const auto findings = executor.findings();
    return std::any_of(findings.begin(), findings.end(), [](const rclrt_core::Finding & finding) {
      return finding.subject == "group '/node/group/both'" &&
             finding.what.find("needs more than its budget of 5000 us") != std::string::npos;
    });
  }));
}

TYPED_TEST(EachExecutor, rate_monotonic_ranks_timers_and_subscriptions_inherit)
{
  SKIP_WITHOUT_REAL_TIME();
  typename TypeParam::Executor executor(this->template with_file<typename TypeParam::Options>(
    "      executor: {policy: rate_monotonic}\n"));
  NodeOptions node_options;
  node_options.context = this->context;
  node_options.use_intra_process = true;
  Node node("node", node_options);
  const auto group = node.create_callback_group(CallbackGroupType::kMutuallyExclusive);
  std::atomic<int> slow{-2};
  std::atomic<int> fast{-2};
  std::atomic<int> downstream{-2};
  const auto subscription = node.create_subscription<Log>(
    "t", 10, [&](const Log &) { downstream = std::max(downstream.load(), fifo_priority()); });
  const auto publisher = node.create_publisher<Log>("t", 10);
  executor.add_node(node);
  // The second to come is the more urgent one: the first must be ranked anew.
  TimerOptions options;
  options.group = group;
  const auto slow_timer = node.create_wall_timer(40ms, [&] { slow = fifo_priority(); }, options);
  const auto fast_timer = node.create_wall_timer(20ms, [&] {
    fast = fifo_priority();
    publisher->publish(Log());
  });
  const Spinning spinning(executor);
  EXPECT_TRUE(wait_for([&] { return fast == 59 && slow == 58 && downstream == 59; }))
    << "fast " << fast << " slow " << slow << " downstream " << downstream;
}

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
    scheduling.attributes.policy = rclrt_core::SchedulingPolicy::kFifo;
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

std::string error_of(const std::function<void()> & action)
{
  try {
    action();
  } catch (const Error & error) {
    return error.what();
  }
  return "no error";
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
