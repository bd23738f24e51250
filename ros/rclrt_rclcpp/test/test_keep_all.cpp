// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A reader that keeps everything gets everything, even if the middleware keeps less by default.

#include <cstdlib>

#include "conformance/real_time.hpp"
#include "conformance/suite.hpp"

namespace rclrt_rclcpp
{
namespace
{

using namespace conformance;
using builtin_interfaces::msg::Time;
using std::chrono::milliseconds;

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

class KeepAll : public Suite
{
};
OVER_ALL_EXECUTORS(KeepAll);

TEST_P(KeepAll, of_a_subscription)
{
  std::atomic<int> received{0};
  const auto subscription = node->create_subscription<Time>(
    "topic", rclcpp::QoS(rclcpp::KeepAll()), [&](const Time &) { ++received; });
  const auto publisher = node->create_publisher<Time>("topic", 10);
  executor->add_node(node);
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 1; }));
  for (int i = 0; i < kCount; ++i) {
    publisher->publish(Time());
  }
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return received == kCount; })) << received;
}

TEST_P(KeepAll, of_a_waitable)
{
  const auto waitable = make_waitable(*node, [] {});
  executor->add_node(node);
  for (int i = 0; i < kCount; ++i) {
    waitable->trigger();
  }
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return waitable->executed() == kCount; })) << waitable->executed();
}

}  // namespace
}  // namespace rclrt_rclcpp
