// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What rclcpp does around a callback goes on: trace points, topic statistics, type adaptation, loaned
// and serialized messages. Every test also runs with rclcpp's own executors.

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "rcl_interfaces/msg/log.hpp"
#include "rcl_interfaces/srv/list_parameters.hpp"
#include "rclcpp/serialization.hpp"
#include "rclcpp/type_adapter.hpp"
#include "statistics_msgs/msg/metrics_message.hpp"
#include "statistics_msgs/msg/statistic_data_type.hpp"
#include "tracetools/tracetools.h"
#include "typed_fixture.hpp"

using rcl_interfaces::msg::Log;

/// A text of the user's is a log message on the wire.
template <>
struct rclcpp::TypeAdapter<std::string, Log>
{
  using is_specialized = std::true_type;
  using custom_type = std::string;
  using ros_message_type = Log;
  static void convert_to_ros_message(const custom_type & from, ros_message_type & to)
  {
    to.msg = from;
  }
  static void convert_to_custom(const ros_message_type & from, custom_type & to) { to = from.msg; }
};

namespace
{

/// What the trace points say of the calling thread, between start and end of a callback.
struct Traced
{
  bool in_callback = false;
  bool is_intra_process = false;
  const void * executed = nullptr;
};
thread_local Traced traced;
std::atomic<int> unfinished{0};

}  // namespace

// These come before the ones in the library of the trace points.
#ifndef TRACETOOLS_DISABLED
extern "C" {
void ros_trace_callback_start(const void *, const bool is_intra_process)
{
  ++unfinished;
  traced.in_callback = true;
  traced.is_intra_process = is_intra_process;
}
void ros_trace_callback_end(const void *)
{
  --unfinished;
  traced.in_callback = false;
}
void ros_trace_rclcpp_executor_execute(const void * handle) { traced.executed = handle; }
}
#endif

namespace rclrt_rclcpp
{
namespace
{

using rcl_interfaces::srv::ListParameters;
using statistics_msgs::msg::MetricsMessage;
using statistics_msgs::msg::StatisticDataType;

template <typename ExecutorT>
class Features : public TypedFixture<ExecutorT>
{
protected:
  // Before anything reads it. By default ROS 2 does not lend to subscriptions.
  static void SetUpTestSuite() { setenv("ROS_DISABLE_LOANED_MESSAGES", "0", 1); }

  /// Publish until the condition holds.
  template <typename PublisherT, typename MessageT>
  bool publish_until(
    PublisherT & publisher, const MessageT & message, const std::function<bool()> & condition)
  {
    return wait_for([&] {
      publisher.publish(message);
      return condition();
    });
  }
};

TYPED_TEST_SUITE(Features, AllExecutors, ExecutorNames);

TYPED_TEST(Features, callbacks_lie_between_their_trace_points)
{
#ifdef TRACETOOLS_DISABLED
  GTEST_SKIP() << "trace points are compiled out";
#endif
  const std::shared_ptr<rclcpp::Node> node =
    this->make_node("traced", rclcpp::NodeOptions().use_intra_process_comms(true));
  std::mutex mutex;
  std::map<std::string, Traced> seen;
  const auto see = [&](const std::string & what) {
    const std::lock_guard<std::mutex> lock(mutex);
    seen[what] = traced;
  };
  const auto timer = node->create_wall_timer(milliseconds(2), [&] { see("timer"); });
  const auto within =
    node->create_subscription<Time>("within", 10, [&](const Time &) { see("within"); });
  const auto to_within = node->create_publisher<Time>("within", 10);
  const auto subscription = this->node_->template create_subscription<Time>(
    "between", 10, [&](const Time &) { see("subscription"); });
  const auto publisher = this->node_->template create_publisher<Time>("between", 10);
  const auto service = node->create_service<ListParameters>(
    "service", [&](
                 const std::shared_ptr<ListParameters::Request> &,
                 const std::shared_ptr<ListParameters::Response> &) { see("service"); });
  const auto client = node->create_client<ListParameters>("service");
  this->executor_->add_node(node);
  this->executor_->add_node(this->node_);
  {
    const Spinning spinning(*this->executor_);
    ASSERT_TRUE(client->wait_for_service(seconds(30)));
    client->async_send_request(std::make_shared<ListParameters::Request>());
    EXPECT_TRUE(wait_for([&] {
      to_within->publish(Time());
      publisher->publish(Time());
      const std::lock_guard<std::mutex> lock(mutex);
      return seen.size() == 4;
    }));
  }
  for (const auto & [what, trace] : seen) {
    EXPECT_TRUE(trace.in_callback) << what;
    EXPECT_EQ(trace.is_intra_process, what == "within") << what;
  }
  EXPECT_EQ(unfinished, 0);
  if (!std::is_same_v<TypeParam, RclcppEvents>) {  // it has no such point
    EXPECT_EQ(seen["timer"].executed, timer->get_timer_handle().get());
    EXPECT_EQ(seen["subscription"].executed, subscription->get_subscription_handle().get());
  }
}

TYPED_TEST(Features, topic_statistics_count_what_was_handled)
{
  rclcpp::SubscriptionOptions options;
  options.topic_stats_options.state = rclcpp::TopicStatisticsState::Enable;
  options.topic_stats_options.publish_period = milliseconds(50);
  std::atomic<int> received{0};
  const auto subscription = this->node_->template create_subscription<Time>(
    "topic", 10, [&](const Time &) { ++received; }, options);
  const auto publisher = this->node_->template create_publisher<Time>("topic", 10);
  std::atomic<int> counted{0};
  const auto listener = this->node_->template create_subscription<MetricsMessage>(
    "/statistics", 10, [&](const MetricsMessage & message) {
      EXPECT_EQ(message.measurement_source_name, "node");
      for (const auto & point : message.statistics) {
        if (
          message.metrics_source == "message_period" &&
          point.data_type == StatisticDataType::STATISTICS_DATA_TYPE_SAMPLE_COUNT) {
          counted += static_cast<int>(point.data);
        }
      }
    });
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  EXPECT_TRUE(this->publish_until(*publisher, Time(), [&] { return counted > 5; }));
  EXPECT_GT(received, 5);
}

TYPED_TEST(Features, adapted_types_arrive_between_processes_and_within)
{
  using Text = rclcpp::TypeAdapter<std::string, Log>;
  for (const bool within : {false, true}) {
    const std::shared_ptr<rclcpp::Node> node = this->make_node(
      within ? "within" : "between", rclcpp::NodeOptions().use_intra_process_comms(within));
    std::mutex mutex;
    std::string adapted;
    std::string message;
    const auto to_text =
      node->template create_subscription<Text>("text", 10, [&](const std::string & text) {
        const std::lock_guard<std::mutex> lock(mutex);
        adapted = text;
      });
    const auto to_log = node->template create_subscription<Log>("text", 10, [&](const Log & log) {
      const std::lock_guard<std::mutex> lock(mutex);
      message = log.msg;
    });
    const auto publisher = node->template create_publisher<Text>("text", 10);
    this->executor_->add_node(node);
    const Spinning spinning(*this->executor_);
    EXPECT_TRUE(this->publish_until(
      *publisher, std::string("hello"),
      [&] {
        const std::lock_guard<std::mutex> lock(mutex);
        return adapted == "hello" && message == "hello";
      }))
      << (within ? "within" : "between");
  }
}

TYPED_TEST(Features, loaned_messages_are_taken_and_given_back)
{
  std::atomic<int> received{0};
  const auto subscription = this->node_->template create_subscription<Time>(
    "topic", 10, [&](const Time & time) { received = time.sec; });
  const auto publisher = this->node_->template create_publisher<Time>("topic", 10);
  if (!publisher->can_loan_messages() || !subscription->can_loan_messages()) {
    GTEST_SKIP() << "this middleware lends no messages";
  }
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 1; }));
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  for (int32_t i = 1; i <= 30; ++i) {  // more than the middleware has to lend at once
    auto loan = publisher->borrow_loaned_message();
    ASSERT_TRUE(loan.is_valid());
    loan.get().sec = i;
    loan.get().nanosec = 0;
    publisher->publish(std::move(loan));
    ASSERT_TRUE(wait_for([&] { return received == i; })) << i;
  }
}

TYPED_TEST(Features, a_loaned_message_that_a_callback_keeps_stays_as_it_is)
{
  if (!kIsOurs<TypeParam>) {
    GTEST_SKIP() << "rclcpp's executors give it back after the callback";
  }
  std::mutex mutex;
  std::vector<std::shared_ptr<const Time>> kept;
  auto subscription = this->node_->template create_subscription<Time>(
    "topic", 5, [&](const std::shared_ptr<const Time> & time) {
      const std::lock_guard<std::mutex> lock(mutex);
      kept.push_back(time);
    });
  const auto publisher = this->node_->template create_publisher<Time>("topic", 5);
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 1; }));
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  for (int32_t i = 0; i < 30; ++i) {  // more than the middleware has to lend at once
    Time time;
    time.sec = i;
    publisher->publish(time);
    ASSERT_TRUE(wait_for([&] {
      const std::lock_guard<std::mutex> lock(mutex);
      return kept.size() == static_cast<std::size_t>(i) + 1;
    }))
      << i;
  }
  subscription.reset();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i]->sec, static_cast<int32_t>(i));
  }
}

TYPED_TEST(Features, serialized_messages_arrive)
{
  std::atomic<int> received{0};
  const auto subscription = this->node_->template create_subscription<Time>(
    "topic", 10, [&](const std::shared_ptr<const rclcpp::SerializedMessage> & serialized) {
      Time time;
      rclcpp::Serialization<Time>().deserialize_message(serialized.get(), &time);
      received = time.sec;
    });
  const auto publisher = this->node_->template create_publisher<Time>("topic", 10);
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  Time time;
  time.sec = 42;
  EXPECT_TRUE(this->publish_until(*publisher, time, [&] { return received == 42; }));
}

/// As rosbag2 does: bytes of a type that the program does not know are taken, kept, and published again.
TYPED_TEST(Features, what_is_recorded_and_played_is_what_was_published)
{
  std::mutex mutex;
  std::vector<std::string> heard;
  std::vector<std::string> played;
  const auto player = this->node_->create_generic_publisher("played", "rcl_interfaces/msg/Log", 10);
  const auto recorder = this->node_->create_generic_subscription(
    "said", "rcl_interfaces/msg/Log", 10,
    [&](const std::shared_ptr<const rclcpp::SerializedMessage> & bytes) {
      const rcl_serialized_message_t & raw = bytes->get_rcl_serialized_message();
      {
        const std::lock_guard<std::mutex> lock(mutex);
        heard.emplace_back(reinterpret_cast<const char *>(raw.buffer), raw.buffer_length);
      }
      player->publish(*bytes);
    });
  const auto listener = this->node_->template create_subscription<Log>(
    "played", 10, [&](const std::shared_ptr<const rclcpp::SerializedMessage> & bytes) {
      const rcl_serialized_message_t & raw = bytes->get_rcl_serialized_message();
      const std::lock_guard<std::mutex> lock(mutex);
      played.emplace_back(reinterpret_cast<const char *>(raw.buffer), raw.buffer_length);
    });
  const auto publisher = this->node_->template create_publisher<Log>("said", 10);
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  Log message;
  message.msg = "recorded";
  message.line = 7;
  EXPECT_TRUE(this->publish_until(*publisher, message, [&] {
    const std::lock_guard<std::mutex> lock(mutex);
    return !played.empty();
  }));
  const std::lock_guard<std::mutex> lock(mutex);
  ASSERT_FALSE(played.empty());
  EXPECT_EQ(played[0], heard[0]);
}

TYPED_TEST(Features, content_filters_leave_out_what_they_are_to_leave_out)
{
  std::mutex mutex;
  std::vector<uint32_t> lines;
  rclcpp::SubscriptionOptions options;
  options.content_filter_options.filter_expression = "line > %0";
  options.content_filter_options.expression_parameters = {"5"};
  const auto subscription = this->node_->template create_subscription<Log>(
    "said", 10,
    [&](const Log & message) {
      const std::lock_guard<std::mutex> lock(mutex);
      lines.push_back(message.line);
    },
    options);
  if (!subscription->is_cft_enabled()) {
    GTEST_SKIP() << "this middleware has no content filters";
  }
  const auto publisher = this->node_->template create_publisher<Log>("said", 10);
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  Log below;
  below.line = 5;
  Log above;
  above.line = 6;
  const auto has_come = [&](std::size_t count) {
    const std::lock_guard<std::mutex> lock(mutex);
    return lines.size() >= count;
  };
  EXPECT_TRUE(this->publish_until(*publisher, above, [&] { return has_come(1); }));
  for (int i = 0; i < 5; ++i) {
    publisher->publish(below);
  }
  std::size_t before = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    before = lines.size();
  }
  EXPECT_TRUE(this->publish_until(*publisher, above, [&] { return has_come(before + 1); }));
  const std::lock_guard<std::mutex> lock(mutex);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), 5U), 0);
}

}  // namespace
}  // namespace rclrt_rclcpp
