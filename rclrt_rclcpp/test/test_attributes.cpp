// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Attributes of callbacks from files and code: in force, refused, impossible.

#include <linux/capability.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "scheduling_fixture.hpp"

namespace rclrt_rclcpp
{
namespace
{

/// For the calling thread and those that it starts. Returns false when it still may.
bool give_up_realtime()
{
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> capabilities{};
  if (syscall(SYS_capget, &header, capabilities.data()) != 0) {
    return false;
  }
  capabilities[0].effective &= ~(1U << CAP_SYS_NICE);
  return syscall(SYS_capset, &header, capabilities.data()) == 0 && realtime_is_refused();
}

template <typename ExecutorT>
class AttributesTest : public SchedulingTest<ExecutorT>
{
};
TYPED_TEST_SUITE(AttributesTest, Configurable, ExecutorNames);

TYPED_TEST(AttributesTest, attributes_of_the_file_are_in_force_before_the_first_callback)
{
  if (realtime_is_refused()) {
    GTEST_SKIP() << "real-time scheduling is refused";
  }
  const File file(
    "/planner:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
    "        timer/5ms: {scheduling_policy: fifo, priority: 31}\n"
    "        subscription/map: {scheduling_policy: rr, priority: 32}\n");
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  std::mutex mutex;
  std::vector<InForce> of_timer;
  std::vector<InForce> of_subscription;
  const auto timer = node->create_wall_timer(milliseconds(5), [&] {
    const std::lock_guard<std::mutex> lock(mutex);
    of_timer.push_back(InForce::here());
  });
  // In one group the timer would inherit the urgency of a message that waits for it.
  rclcpp::SubscriptionOptions apart;
  apart.callback_group = node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  const auto subscription = node->create_subscription<Time>(
    "map", 10,
    [&](const Time &) {
      const std::lock_guard<std::mutex> lock(mutex);
      of_subscription.push_back(InForce::here());
    },
    apart);
  const auto publisher = node->create_publisher<Time>("map", 10);
  typename TestFixture::Options options;
  options.configuration_file = file.path();
  const auto executor = this->make_executor(options);
  executor->add_node(node);
  {
    const Spinning spinning(*executor);
    EXPECT_TRUE(wait_for([&] {
      publisher->publish(Time());
      const std::lock_guard<std::mutex> lock(mutex);
      return of_timer.size() > 2 && of_subscription.size() > 2;
    }));
  }
  for (const InForce & in_force : of_timer) {
    EXPECT_EQ(in_force.policy, SCHED_FIFO);
    EXPECT_EQ(in_force.priority, 31);
  }
  for (const InForce & in_force : of_subscription) {
    EXPECT_EQ(in_force.policy, SCHED_RR);
    EXPECT_EQ(in_force.priority, 32);
  }
  EXPECT_EQ(executor->statistics().count("/planner/timer/5ms"), 1U);
  EXPECT_GT(executor->statistics().at("/planner/subscription/map").executed, 2U);
}

TYPED_TEST(AttributesTest, attributes_of_the_registry_belong_to_an_entity_or_a_name)
{
  if (realtime_is_refused()) {
    GTEST_SKIP() << "real-time scheduling is refused";
  }
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  std::atomic<int> by_entity{-1};
  std::atomic<int> by_name{-1};
  const auto group = node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  const auto first =
    node->create_wall_timer(milliseconds(5), [&] { by_entity = InForce::here().priority; }, group);
  const auto second =
    node->create_wall_timer(milliseconds(7), [&] { by_name = InForce::here().priority; });
  const auto registry = std::make_shared<SchedulingRegistry>();
  Scheduling scheduling;
  scheduling.attributes = fifo(21);
  registry->set(first, scheduling);
  scheduling.attributes = fifo(22);
  registry->set("/planner/timer/7ms", scheduling);
  EXPECT_THROW(registry->set(rclcpp::TimerBase::SharedPtr(), scheduling), std::invalid_argument);
  typename TestFixture::Options options;
  options.scheduling = registry;
  const auto executor = this->make_executor(options);
  executor->add_node(node);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return by_entity >= 0 && by_name >= 0; }));
  EXPECT_EQ(by_entity, 21);
  EXPECT_EQ(by_name, 22);
  executor->set_attributes("/planner/timer/7ms", fifo(23));
  EXPECT_TRUE(wait_for([&] { return by_name == 23; }));
  EXPECT_THROW(executor->set_attributes("/planner/timer/1h", fifo(23)), std::runtime_error);
  EXPECT_THROW(executor->set_attributes("/planner/timer/7ms", fifo(123)), std::runtime_error);
}

TYPED_TEST(AttributesTest, a_file_of_callback_isolated_executor_is_taken_as_it_is)
{
  if (realtime_is_refused()) {
    GTEST_SKIP() << "real-time scheduling is refused";
  }
  const File file(
    "callback_groups:\n"
    "  - id: /planner@Subscription(/map)@Timer(5000000)\n"
    "    policy: SCHED_FIFO\n"
    "    priority: 33\n"
    "    affinity: [0]\n");
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  const auto group = node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  std::atomic<int> policy{-1};
  std::atomic<int> priority{-1};
  rclcpp::SubscriptionOptions subscription_options;
  subscription_options.callback_group = group;
  const auto subscription =
    node->create_subscription<Time>("map", 10, [](const Time &) {}, subscription_options);
  const auto timer = node->create_wall_timer(
    milliseconds(5),
    [&] {
      policy = InForce::here().policy;
      priority = InForce::here().priority;
    },
    group);
  typename TestFixture::Options options;
  options.configuration_file = file.path();
  const auto executor = this->make_executor(options);
  executor->add_node(node);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return priority >= 0; }));
  EXPECT_EQ(policy, SCHED_FIFO);
  EXPECT_EQ(priority, 33);
}

TYPED_TEST(AttributesTest, refused_attributes_are_a_finding_and_required_ones_an_error)
{
  const File file(
    "/planner:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
    "        timer/5ms: {scheduling_policy: fifo, priority: 31}\n");
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  std::atomic<int> policy{-1};
  const auto timer =
    node->create_wall_timer(milliseconds(5), [&] { policy = InForce::here().policy; });
  typename TestFixture::Options options;
  options.configuration_file = file.path();
  bool may_not = false;
  std::thread unprivileged([&] {
    may_not = give_up_realtime();
    if (!may_not) {
      return;
    }
    {
      const auto executor = this->make_executor(options);
      executor->add_node(node);
      const Spinning spinning(*executor);
      EXPECT_TRUE(wait_for([&] { return policy >= 0; }));
      EXPECT_EQ(policy, SCHED_OTHER);
      const auto findings = executor->findings();
      EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const auto & finding) {
        return finding.error_number == EPERM;
      }));
    }
    options.attributes_mode = rclrt_core::AttributesMode::kRequire;
    const auto executor = this->make_executor(options);
    executor->add_node(node);
    EXPECT_THROW(executor->spin(), std::runtime_error);
  });
  unprivileged.join();
  if (!may_not) {
    GTEST_SKIP() << "a limit lets everybody have real-time scheduling here";
  }
}

TYPED_TEST(AttributesTest, a_broken_file_is_an_error_with_its_place)
{
  const File file("/**:\n  ros__parameters:\n    rclrt:\n      callbacks: 7\n");
  typename TestFixture::Options options;
  options.configuration_file = file.path();
  try {
    this->make_executor(options);
    FAIL() << "no error";
  } catch (const std::runtime_error & error) {
    EXPECT_NE(std::string(error.what()).find(file.path() + ":4:"), std::string::npos)
      << error.what();
  }
}

TYPED_TEST(AttributesTest, an_entry_that_matches_nothing_is_a_finding_and_required_ones_an_error)
{
  const File file(
    "/planner:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
    "        timer/6ms: {nice: 1, scheduling_policy: other}\n");
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  const auto timer = node->create_wall_timer(milliseconds(5), [] {});
  typename TestFixture::Options options;
  options.configuration_file = file.path();
  {
    const auto executor = this->make_executor(options);
    executor->add_node(node);
    ASSERT_EQ(executor->findings().size(), 1U);
    EXPECT_NE(to_string(executor->findings()[0]).find("/planner/timer/5ms"), std::string::npos);
  }
  options.attributes_mode = rclrt_core::AttributesMode::kRequire;
  const auto executor = this->make_executor(options);
  executor->add_node(node);
  EXPECT_THROW(executor->spin(), std::runtime_error);
  EXPECT_THROW(executor->spin_some(), std::runtime_error) << "attributes are not in force there";
}

}  // namespace
}  // namespace rclrt_rclcpp
