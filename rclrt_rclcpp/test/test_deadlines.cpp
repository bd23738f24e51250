// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// scheduling_policy ext from a file, for nodes of rclcpp: in force, and handed on within the process.

#include <atomic>

#include "rclrt_core/job.hpp"
#include "scheduling_fixture.hpp"

namespace rclrt_rclcpp
{
namespace
{

using rclrt_core::SchedulingPolicy;

template <typename ExecutorT>
class DeadlinesTest : public SchedulingTest<ExecutorT>
{
};

using Executors = ::testing::Types<PreemptiveExecutor, CallbackIsolatedExecutor>;
TYPED_TEST_SUITE(DeadlinesTest, Executors, ExecutorNames);

TYPED_TEST(DeadlinesTest, of_a_timer_are_in_force_and_inherited_by_what_it_publishes_to)
{
  const File file(
    "/**:\n  ros__parameters:\n    rclrt:\n"
    "      executor: {deadline_scheduler: fifo_bands}\n"
    "      callbacks:\n"
    "        /planner/timer/5ms: {scheduling_policy: ext, relative_deadline: 700ms}\n"
    "        /planner/subscription/map: {scheduling_policy: ext}\n");
  rclrt_core::LinuxPlatform platform;
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  const auto group = node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  rclcpp::SubscriptionOptions subscription_options;
  subscription_options.callback_group = group;
  const auto publisher = node->create_publisher<Time>("map", 10);
  std::atomic<int> matched{0};
  std::atomic<int> taken{0};
  rclrt_core::Attributes seen;
  const auto timer = node->create_wall_timer(milliseconds(5), [&] {
    // Which job it was goes along, as the message's time.
    const int64_t deadline_ns = rclrt_core::nanoseconds_of(rclrt_core::current_job()->deadline);
    Time message;
    message.sec = static_cast<int32_t>(deadline_ns / 1'000'000'000);
    message.nanosec = static_cast<uint32_t>(deadline_ns % 1'000'000'000);
    publisher->publish(message);
  });
  const auto subscription = node->create_subscription<Time>(
    "map", 10,
    [&](const Time & message) {
      const int64_t deadline_ns = rclrt_core::nanoseconds_of(rclrt_core::current_job()->deadline);
      matched += deadline_ns == int64_t{message.sec} * 1'000'000'000 + message.nanosec ? 1 : 0;
      if (++taken == 1) {
        EXPECT_EQ(platform.read_back(platform.current_thread(), &seen), 0);
      }
    },
    subscription_options);
  typename TestFixture::Options options;
  options.configuration_file = file.path();
  const auto executor = this->make_executor(options);
  executor->add_node(node);
  {
    const Spinning spinning(*executor);
    EXPECT_TRUE(wait_for([&] { return taken >= 20; }));
    EXPECT_EQ(executor->deadline_scheduler(), "fifo bands");
  }
  EXPECT_EQ(matched, taken);
  std::string refusal;
  for (const auto & finding : executor->findings()) {
    if (finding.error_number != 0) {
      refusal = to_string(finding);
    }
  }
  if (!refusal.empty()) {
    GTEST_SKIP() << "not permitted here: " << refusal;
  }
  EXPECT_EQ(seen.policy, SchedulingPolicy::kFifo);
  EXPECT_EQ(seen.priority, 49);
}

}  // namespace
}  // namespace rclrt_rclcpp
