// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// spin() returns whenever it is cancelled, however groups come and go meanwhile.

#include <atomic>
#include <thread>

#include "typed_fixture.hpp"
#include "watchdog.hpp"

namespace rclrt_rclcpp
{
namespace
{

template <typename ExecutorT>
class Cancel : public TypedFixture<ExecutorT>
{
};
TYPED_TEST_SUITE(Cancel, AllExecutors, ExecutorNames);

TYPED_TEST(Cancel, ends_spin_while_groups_with_timers_come_and_go)
{
  if (!kIsOurs<TypeParam>) {
    GTEST_SKIP() << "rclcpp's executors crash in this now and then (rclcpp issue 2217)";
  }
  constexpr auto kLasts = seconds(3);
  std::atomic<int> spins{0};
  std::atomic<int> groups{0};
  const Watchdog watchdog(seconds(60), [&] {
    return "spin() does not return after cancel(); it has returned " + std::to_string(spins) +
           " times, and " + std::to_string(groups) + " groups have come and gone";
  });
  this->executor_->add_node(this->node_);
  const auto until = std::chrono::steady_clock::now() + kLasts;
  const auto goes_on = [until] { return std::chrono::steady_clock::now() < until; };
  std::atomic<bool> spinner_ended{false};
  std::thread spinner([&] {
    while (goes_on()) {
      this->executor_->spin();
      ++spins;
    }
    spinner_ended = true;
  });
  std::thread changer([&] {
    while (goes_on()) {
      const auto group = this->make_group();
      const auto timer = this->node_->create_wall_timer(milliseconds(1), [] {}, group);
      std::this_thread::sleep_for(milliseconds(1));
      ++groups;
    }
  });
  while (!spinner_ended) {
    this->executor_->cancel();
    std::this_thread::sleep_for(milliseconds(2));
  }
  spinner.join();
  changer.join();
  EXPECT_GT(spins, 0);
  EXPECT_GT(groups, 0);
}

}  // namespace
}  // namespace rclrt_rclcpp
