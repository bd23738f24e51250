// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Who keeps everything gets everything, also what is more than the middleware keeps by default.

#include <cstdlib>

#include "scheduling_fixture.hpp"
#include "typed_fixture.hpp"

namespace rclrt_rclcpp
{
namespace
{

constexpr int kCount = 7000;  // Fast DDS: 5000 by default

/// For all processes that start to use Fast DDS after it.
class MoreThanByDefault : public testing::Environment
{
public:
  MoreThanByDefault()
  {
    setenv("FASTDDS_DEFAULT_PROFILES_FILE", profile_.path().c_str(), 1);
    setenv("FASTRTPS_DEFAULT_PROFILES_FILE", profile_.path().c_str(), 1);  // before its version 3
  }

private:
  const File profile_{
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<profiles xmlns=\"http://www.eprosima.com\">\n"
    "  <data_reader profile_name=\"many\" is_default_profile=\"true\"><topic><resourceLimitsQos>\n"
    "    <max_samples>8000</max_samples>\n"
    "    <max_samples_per_instance>8000</max_samples_per_instance>\n"
    "  </resourceLimitsQos></topic></data_reader>\n"
    "</profiles>\n"};
};
[[maybe_unused]] const auto * const more_than_by_default =
  testing::AddGlobalTestEnvironment(new MoreThanByDefault);

template <typename ExecutorT>
class KeepAll : public TypedFixture<ExecutorT>
{
};
TYPED_TEST_SUITE(KeepAll, AllExecutors, ExecutorNames);

TYPED_TEST(KeepAll, of_a_subscription)
{
  std::atomic<int> received{0};
  const auto subscription = this->node_->template create_subscription<Time>(
    "topic", rclcpp::QoS(rclcpp::KeepAll()), [&](const Time &) { ++received; });
  const auto publisher = this->node_->template create_publisher<Time>("topic", 10);
  this->executor_->add_node(this->node_);
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 1; }));
  for (int i = 0; i < kCount; ++i) {
    publisher->publish(Time());
  }
  const Spinning spinning(*this->executor_);
  EXPECT_TRUE(wait_for([&] { return received == kCount; })) << received;
}

TYPED_TEST(KeepAll, of_a_waitable)
{
  const auto waitable = this->add_waitable([] {});
  this->executor_->add_node(this->node_);
  for (int i = 0; i < kCount; ++i) {
    waitable->trigger();
  }
  const Spinning spinning(*this->executor_);
  EXPECT_TRUE(wait_for([&] { return waitable->executed() == kCount; })) << waitable->executed();
}

}  // namespace
}  // namespace rclrt_rclcpp
