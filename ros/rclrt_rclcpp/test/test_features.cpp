// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What rclcpp does around a callback goes on: trace points, topic statistics, type adaptation, loaned
// and serialized messages. Every test also runs with rclcpp's own executors.

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include "conformance/suite.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rcl_interfaces/srv/list_parameters.hpp"
#include "rclcpp/serialization.hpp"
#include "rclcpp/type_adapter.hpp"
#include "statistics_msgs/msg/metrics_message.hpp"
#include "statistics_msgs/msg/statistic_data_type.hpp"
#include "tracetools/tracetools.h"

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

using namespace conformance;
using builtin_interfaces::msg::Time;
using std::chrono::milliseconds;

using rcl_interfaces::srv::ListParameters;
using statistics_msgs::msg::MetricsMessage;
using statistics_msgs::msg::StatisticDataType;

class Features : public Suite
{
protected:
  // Before anything reads it. By default ROS 2 does not lend to subscriptions.
  static void SetUpTestSuite() { setenv("ROS_DISABLE_LOANED_MESSAGES", "0", 1); }

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

OVER_ALL_EXECUTORS(Features);

TEST_P(Features, callbacks_lie_between_their_trace_points)
{
#ifdef TRACETOOLS_DISABLED
  GTEST_SKIP() << "trace points are compiled out";
#endif
  const auto intra = make_node("traced", by_pointer());
  std::mutex mutex;
  std::map<std::string, Traced> seen;
  const auto see = [&](const std::string & what) {
    const std::lock_guard<std::mutex> lock(mutex);
    seen[what] = traced;
  };
  const auto timer = intra->create_wall_timer(2ms, [&] { see("timer"); });
  const auto within =
    intra->create_subscription<Time>("within", 10, [&](const Time &) { see("within"); });
  const auto to_within = intra->create_publisher<Time>("within", 10);
  const auto subscription =
    node->create_subscription<Time>("between", 10, [&](const Time &) { see("subscription"); });
  const auto publisher = node->create_publisher<Time>("between", 10);
  const auto service = intra->create_service<ListParameters>(
    "service", [&](
                 const std::shared_ptr<ListParameters::Request> &,
                 const std::shared_ptr<ListParameters::Response> &) { see("service"); });
  const auto client = intra->create_client<ListParameters>("service");
  executor->add_node(intra);
  executor->add_node(node);
  {
    const Spinning spinning(*executor);
    ASSERT_TRUE(client->wait_for_service(kPatience));
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
  if (GetParam() != Kind::kRclcppEvents) {  // it has no such point
    EXPECT_EQ(seen["timer"].executed, timer->get_timer_handle().get());
    EXPECT_EQ(seen["subscription"].executed, subscription->get_subscription_handle().get());
  }
}

TEST_P(Features, topic_statistics_count_what_was_handled)
{
  rclcpp::SubscriptionOptions options;
  options.topic_stats_options.state = rclcpp::TopicStatisticsState::Enable;
  options.topic_stats_options.publish_period = 50ms;
  std::atomic<int> received{0};
  const auto subscription =
    node->create_subscription<Time>("topic", 10, [&](const Time &) { ++received; }, options);
  const auto publisher = node->create_publisher<Time>("topic", 10);
  std::atomic<int> counted{0};
  const auto listener = node->create_subscription<MetricsMessage>(
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
  executor->add_node(node);
  const Spinning spinning(*executor);
  EXPECT_TRUE(publish_until(*publisher, Time(), [&] { return counted > 5; }));
  EXPECT_GT(received, 5);
}

TEST_P(Features, adapted_types_arrive_between_processes_and_within)
{
  using Text = rclcpp::TypeAdapter<std::string, Log>;
  for (const bool within : {false, true}) {
    node = make_node(within ? "within" : "between", by_pointer(within));
    std::mutex mutex;
    std::string adapted;
    std::string message;
    const auto to_text = node->create_subscription<Text>("text", 10, [&](const std::string & text) {
      const std::lock_guard<std::mutex> lock(mutex);
      adapted = text;
    });
    const auto to_log = node->create_subscription<Log>("text", 10, [&](const Log & log) {
      const std::lock_guard<std::mutex> lock(mutex);
      message = log.msg;
    });
    const auto publisher = node->create_publisher<Text>("text", 10);
    executor->add_node(node);
    const Spinning spinning(*executor);
    EXPECT_TRUE(publish_until(
      *publisher, std::string("hello"),
      [&] {
        const std::lock_guard<std::mutex> lock(mutex);
        return adapted == "hello" && message == "hello";
      }))
      << (within ? "within" : "between");
  }
}

TEST_P(Features, loaned_messages_are_taken_and_given_back)
{
  std::atomic<int> received{0};
  const auto subscription =
    node->create_subscription<Time>("topic", 10, [&](const Time & time) { received = time.sec; });
  const auto publisher = node->create_publisher<Time>("topic", 10);
  if (!publisher->can_loan_messages() || !subscription->can_loan_messages()) {
    GTEST_SKIP() << "this middleware lends no messages";
  }
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 1; }));
  executor->add_node(node);
  const Spinning spinning(*executor);
  for (int32_t i = 1; i <= 30; ++i) {  // more than the middleware has to lend at once
    auto loan = publisher->borrow_loaned_message();
    ASSERT_TRUE(loan.is_valid());
    loan.get().sec = i;
    loan.get().nanosec = 0;
    publisher->publish(std::move(loan));
    ASSERT_TRUE(wait_for([&] { return received == i; })) << i;
  }
}

TEST_P(Features, a_loaned_message_that_a_callback_keeps_stays_as_it_is)
{
  if (!is_ours(GetParam())) {
    GTEST_SKIP() << "rclcpp's executors give it back after the callback";
  }
  std::mutex mutex;
  std::vector<std::shared_ptr<const Time>> kept;
  auto subscription =
    node->create_subscription<Time>("topic", 5, [&](const std::shared_ptr<const Time> & time) {
      const std::lock_guard<std::mutex> lock(mutex);
      kept.push_back(time);
    });
  const auto publisher = node->create_publisher<Time>("topic", 5);
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 1; }));
  executor->add_node(node);
  const Spinning spinning(*executor);
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

TEST_P(Features, serialized_messages_arrive)
{
  std::atomic<int> received{0};
  const auto subscription = node->create_subscription<Time>(
    "topic", 10, [&](const std::shared_ptr<const rclcpp::SerializedMessage> & serialized) {
      Time time;
      rclcpp::Serialization<Time>().deserialize_message(serialized.get(), &time);
      received = time.sec;
    });
  const auto publisher = node->create_publisher<Time>("topic", 10);
  executor->add_node(node);
  const Spinning spinning(*executor);
  Time time;
  time.sec = 42;
  EXPECT_TRUE(publish_until(*publisher, time, [&] { return received == 42; }));
}

/// As rosbag2 does: bytes of a type that the program does not know are taken, kept, and published again.
TEST_P(Features, what_is_recorded_and_played_is_what_was_published)
{
  std::mutex mutex;
  std::vector<std::string> heard;
  std::vector<std::string> played;
  const auto player = node->create_generic_publisher("played", "rcl_interfaces/msg/Log", 10);
  const auto recorder = node->create_generic_subscription(
    "said", "rcl_interfaces/msg/Log", 10,
    [&](const std::shared_ptr<const rclcpp::SerializedMessage> & bytes) {
      const rcl_serialized_message_t & raw = bytes->get_rcl_serialized_message();
      {
        const std::lock_guard<std::mutex> lock(mutex);
        heard.emplace_back(reinterpret_cast<const char *>(raw.buffer), raw.buffer_length);
      }
      player->publish(*bytes);
    });
  const auto listener = node->create_subscription<Log>(
    "played", 10, [&](const std::shared_ptr<const rclcpp::SerializedMessage> & bytes) {
      const rcl_serialized_message_t & raw = bytes->get_rcl_serialized_message();
      const std::lock_guard<std::mutex> lock(mutex);
      played.emplace_back(reinterpret_cast<const char *>(raw.buffer), raw.buffer_length);
    });
  const auto publisher = node->create_publisher<Log>("said", 10);
  executor->add_node(node);
  const Spinning spinning(*executor);
  Log message;
  message.msg = "recorded";
  message.line = 7;
  EXPECT_TRUE(publish_until(*publisher, message, [&] {
    const std::lock_guard<std::mutex> lock(mutex);
    return !played.empty();
  }));
  const std::lock_guard<std::mutex> lock(mutex);
  ASSERT_FALSE(played.empty());
  EXPECT_EQ(played[0], heard[0]);
}

TEST_P(Features, content_filters_leave_out_what_they_are_to_leave_out)
{
  std::mutex mutex;
  std::vector<uint32_t> lines;
  rclcpp::SubscriptionOptions options;
  options.content_filter_options.filter_expression = "line > %0";
  options.content_filter_options.expression_parameters = {"5"};
  const auto subscription = node->create_subscription<Log>(
    "said", 10,
    [&](const Log & message) {
      const std::lock_guard<std::mutex> lock(mutex);
      lines.push_back(message.line);
    },
    options);
  if (!subscription->is_cft_enabled()) {
    GTEST_SKIP() << "this middleware has no content filters";
  }
  const auto publisher = node->create_publisher<Log>("said", 10);
  executor->add_node(node);
  const Spinning spinning(*executor);
  Log below;
  below.line = 5;
  Log above;
  above.line = 6;
  const auto has_come = [&](std::size_t count) {
    const std::lock_guard<std::mutex> lock(mutex);
    return lines.size() >= count;
  };
  EXPECT_TRUE(publish_until(*publisher, above, [&] { return has_come(1); }));
  for (int i = 0; i < 5; ++i) {
    publisher->publish(below);
  }
  std::size_t before = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    before = lines.size();
  }
  EXPECT_TRUE(publish_until(*publisher, above, [&] { return has_come(before + 1); }));
  const std::lock_guard<std::mutex> lock(mutex);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), 5U), 0);
}

}  // namespace
}  // namespace rclrt_rclcpp
