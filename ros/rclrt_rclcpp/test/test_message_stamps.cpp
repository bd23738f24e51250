// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Deadlines that count from stamps of messages, for nodes of rclcpp. Stamps lie 30 s back and deadlines 100 s ahead,
// so that no load of the machine matters.

#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "rcl_interfaces/msg/floating_point_range.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rclrt_core/job.hpp"
#include "scheduling_fixture.hpp"

namespace rclrt_rclcpp
{
namespace
{

using rcl_interfaces::msg::FloatingPointRange;
using rcl_interfaces::msg::Log;
using std::chrono::nanoseconds;

constexpr seconds kDeadline(100);
constexpr seconds kBack(30);
constexpr seconds kNear(10);  // beside these

std::string file_with(const std::string & from)
{
  return "/**:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
         "        /planner/subscription/said: {relative_deadline: 100s, deadline_from: " +
         from + ", clock_error: 1s}\n";
}

Log stamped(nanoseconds since_1970)
{
  Log message;
  message.stamp.sec = static_cast<int32_t>(since_1970 / seconds(1));
  message.stamp.nanosec = static_cast<uint32_t>((since_1970 % seconds(1)).count());
  return message;
}

nanoseconds system_now() { return std::chrono::system_clock::now().time_since_epoch(); }

template <typename ExecutorT>
class MessageStamps : public SchedulingTest<ExecutorT>
{
protected:
  void SetUp() override
  {
    SchedulingTest<ExecutorT>::SetUp();
    node = this->make_node("planner");
    publisher = node->template create_publisher<Log>("said", 10);
  }

  std::unique_ptr<ExecutorT> make_configured(const std::string & path)
  {
    typename SchedulingTest<ExecutorT>::Options options;
    options.configuration_file = path;
    return this->make_executor(options);
  }
  void took()
  {
    const rclrt_core::Job & job = *rclrt_core::current_job();
    const std::lock_guard<std::mutex> lock(mutex);
    left.push_back(job.deadline - job.release);
  }
  bool have_come(std::size_t count)
  {
    const std::lock_guard<std::mutex> lock(mutex);
    return left.size() >= count;
  }
  static std::string text_of(const ExecutorT & executor)
  {
    std::string text;
    for (const auto & finding : executor.findings()) {
      text += to_string(finding) + "\n";
    }
    return text;
  }

  std::shared_ptr<rclcpp::Node> node;
  std::shared_ptr<rclcpp::Publisher<Log>> publisher;
  std::mutex mutex;
  std::vector<nanoseconds> left;
};
TYPED_TEST_SUITE(MessageStamps, Configurable, ExecutorNames);

TYPED_TEST(MessageStamps, in_the_header_count_and_those_that_lie_are_told)
{
  const File file(file_with("header_stamp"));
  const auto subscription = this->node->template create_subscription<Log>(
    "said", 10, [this](const Log &) { this->took(); });
  const auto executor = this->make_configured(file.path());
  executor->add_node(this->node);
  const Spinning spinning(*executor);
  this->publisher->publish(stamped(system_now() - kBack));
  ASSERT_TRUE(wait_for([&] { return this->have_come(1); }));
  this->publisher->publish(stamped(seconds(0)));
  this->publisher->publish(stamped(system_now() + kBack));
  ASSERT_TRUE(wait_for([&] { return this->have_come(3); }));
  EXPECT_LE(this->left[0], kDeadline - kBack);
  EXPECT_GE(this->left[0], kDeadline - kBack - kNear);
  EXPECT_EQ(this->left[1], kDeadline);
  EXPECT_EQ(this->left[2], kDeadline);
  EXPECT_TRUE(wait_for([&] {
    const std::string text = this->text_of(*executor);
    return text.find("in the future, more than clock_error") != std::string::npos &&
           text.find("its deadline was over before it came") != std::string::npos;
  }))
    << this->text_of(*executor);
}

TYPED_TEST(MessageStamps, count_in_messages_that_are_taken_as_bytes)
{
  const File file(file_with("header_stamp"));
  const auto subscription = this->node->template create_subscription<Log>(
    "said", 10, [this](const std::shared_ptr<const rclcpp::SerializedMessage> &) { this->took(); });
  const auto executor = this->make_configured(file.path());
  executor->add_node(this->node);
  const Spinning spinning(*executor);
  this->publisher->publish(stamped(system_now() - kBack));
  ASSERT_TRUE(wait_for([&] { return this->have_come(1); }));
  EXPECT_LE(this->left[0], kDeadline - kBack);
  EXPECT_GE(this->left[0], kDeadline - kBack - kNear);
}

TYPED_TEST(MessageStamps, of_the_middleware_count_from_when_a_message_was_published)
{
  const File file(file_with("source_stamp"));
  const auto subscription = this->node->template create_subscription<Log>(
    "said", 10, [this](const Log &) { this->took(); });
  ASSERT_TRUE(wait_for([&] { return this->publisher->get_subscription_count() == 1; }));
  this->publisher->publish(stamped(seconds(0)));
  // It waits in the middleware, and is released when somebody serves the subscription.
  std::this_thread::sleep_for(milliseconds(300));
  const auto executor = this->make_configured(file.path());
  executor->add_node(this->node);
  const Spinning spinning(*executor);
  ASSERT_TRUE(wait_for([&] { return this->have_come(1); }));
  EXPECT_LE(this->left[0], kDeadline - milliseconds(150));
  EXPECT_GE(this->left[0], kDeadline - kNear);
}

TYPED_TEST(MessageStamps, are_missed_in_messages_without_one)
{
  const File file(
    "/**:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
    "        /planner/subscription/range: {relative_deadline: 1s, deadline_from: header_stamp, "
    "clock_error: 1ms}\n");
  const auto subscription = this->node->template create_subscription<FloatingPointRange>(
    "range", 10, [](const FloatingPointRange &) {});
  const auto executor = this->make_configured(file.path());
  executor->add_node(this->node);
  const std::string text = this->text_of(*executor);
  EXPECT_NE(text.find("/planner/subscription/range: counts its deadlines"), std::string::npos)
    << text;
}

}  // namespace
}  // namespace rclrt_rclcpp
