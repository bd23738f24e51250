// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Which callback and which group a name in a file means, from run to run and wherever it runs. Seen by the
// CPUs of their threads, which everybody may restrict.

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "scheduling_fixture.hpp"

namespace rclrt_rclcpp
{
namespace
{

/// The CPU that the calling thread is restricted to; -2 if it is not restricted to one.
int only_cpu()
{
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) != 1) {
    return -2;
  }
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) {
      return cpu;
    }
  }
  return -2;
}

/// One that this process may use.
int some_cpu()
{
  rclrt_core::LinuxPlatform platform;
  rclrt_core::Attributes own;
  EXPECT_EQ(platform.read_back(platform.current_thread(), &own), 0);
  return own.cpu_affinity.cpus().front();
}

template <typename ExecutorT>
class Names : public SchedulingTest<ExecutorT>
{
protected:
  std::unique_ptr<ExecutorT> make_with(const File & file)
  {
    typename SchedulingTest<ExecutorT>::Options options;
    options.configuration_file = file.path();
    return this->make_executor(options);
  }
};
TYPED_TEST_SUITE(Names, Configurable, ExecutorNames);

TYPED_TEST(Names, of_callbacks_that_are_alike_are_numbered_in_the_order_of_their_groups_creation)
{
  const std::shared_ptr<rclcpp::Node> first = this->make_node("node");
  const std::shared_ptr<rclcpp::Node> second = this->make_node("other");
  constexpr std::size_t kGroups = 12;
  std::array<std::atomic<std::size_t>, 2 * kGroups> calls{};
  std::array<rclcpp::CallbackGroup::SharedPtr, 2 * kGroups> groups;
  std::array<rclcpp::TimerBase::SharedPtr, 2 * kGroups> timers;
  // Leaves holes in memory, so that what is created later does not lie in order.
  std::vector<rclcpp::CallbackGroup::SharedPtr> between;
  {
    const std::shared_ptr<rclcpp::Node> gone = this->make_node("gone");
    for (std::size_t i = 0; i < groups.size(); ++i) {
      gone->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
      between.push_back(
        first->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive, false));
    }
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i] = (i < kGroups ? first : second)
                  ->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  }
  const auto executor = this->make_executor();
  for (std::size_t i = 0; i < timers.size(); ++i) {
    const auto & node = i < kGroups ? first : second;
    // Told apart by how often they run: the first once, the second twice, ...
    timers[i] = node->create_wall_timer(
      milliseconds(1),
      [&calls, &timers, i] {
        if (++calls[i] == i % kGroups + 1) {
          timers[i]->cancel();
        }
      },
      groups[i]);
  }
  executor->add_node(first);
  executor->add_node(second);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] {
    return std::all_of(
      timers.begin(), timers.end(), [](auto & timer) { return timer->is_canceled(); });
  }));
  for (std::size_t i = 0; i < timers.size(); ++i) {
    const std::size_t number = i % kGroups + 1;
    const std::string name = std::string(i < kGroups ? "/node" : "/other") + "/timer/1ms" +
                             (number > 1 ? "#" + std::to_string(number) : "");
    // Counted when the callback has returned.
    EXPECT_TRUE(wait_for([&] { return executor->statistics().at(name).executed >= number; }));
    EXPECT_EQ(executor->statistics().at(name).executed, number) << name;
  }
}

TYPED_TEST(Names, of_groups_are_the_same_with_simulated_time)
{
  const int cpu = some_cpu();
  const File file(
    "/planner:\n  ros__parameters:\n    rclrt:\n      groups:\n"
    "        group/1: {cpu_affinity: [" +
    std::to_string(cpu) + "]}\n");
  for (const bool simulated : {false, true}) {
    const std::shared_ptr<rclcpp::Node> node = this->make_node(
      "planner", rclcpp::NodeOptions().append_parameter_override("use_sim_time", simulated));
    const auto group = node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
    std::atomic<int> seen{-1};
    const auto timer = node->create_wall_timer(milliseconds(1), [&] { seen = only_cpu(); }, group);
    const auto executor = this->make_with(file);
    executor->add_node(node);
    EXPECT_TRUE(executor->findings().empty()) << to_string(executor->findings().front());
    const Spinning spinning(*executor);
    EXPECT_TRUE(wait_for([&] { return seen != -1; }));
    EXPECT_EQ(seen, cpu) << simulated;
  }
}

TYPED_TEST(Names, of_callback_isolated_executor_are_of_what_a_group_has_when_it_spins)
{
  const int cpu = some_cpu();
  const File file(
    "callback_groups:\n"
    "  - id: /planner@Subscription(/map)@Timer(5000000)\n"
    "    policy: SCHED_OTHER\n"
    "    priority: 0\n"
    "    affinity: [" +
    std::to_string(cpu) + "]\n");
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  const auto executor = this->make_with(file);
  executor->add_node(node);
  const auto group = node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  rclcpp::SubscriptionOptions options;
  options.callback_group = group;
  const auto subscription =
    node->create_subscription<Time>("map", 10, [](const Time &) {}, options);
  executor->spin_some();  // sees half of it
  std::atomic<int> seen{-1};
  const auto timer = node->create_wall_timer(milliseconds(5), [&] { seen = only_cpu(); }, group);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return seen != -1; }));
  EXPECT_EQ(seen, cpu);
  EXPECT_TRUE(executor->findings().empty()) << to_string(executor->findings().front());
}

}  // namespace
}  // namespace rclrt_rclcpp
