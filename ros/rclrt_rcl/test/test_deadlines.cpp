// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Deadlines under the executors: backends in force, and those that messages carry.
// What goes from process to process: test_deadlines_across_processes.py.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "executor_types.hpp"
#include "fixture.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rcl_interfaces/srv/get_parameters.hpp"
#include "rclrt_core/deadline_ring.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rclrt_front_end/on_rcl.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace rclrt_rcl
{

namespace
{

using rcl_interfaces::msg::Log;
using rclrt_core::SchedulingPolicy;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

class Deadlines : public WithContext
{
protected:
  std::shared_ptr<Node> node = make_node("deadlines");
};

TEST_F(Deadlines, of_messages_that_carry_none_are_not_guessed_from_those_before)
{
  std::mutex mutex;
  std::map<uint32_t, rclrt_core::TimePoint> deadlines;  // by the line of the message
  const auto has_come = [&](uint32_t line) {
    const std::lock_guard<std::mutex> lock(mutex);
    return deadlines.count(line) > 0;
  };
  const auto subscription = node->create_subscription<Log>("said", 10, [&](const Log & message) {
    const std::lock_guard<std::mutex> lock(mutex);
    deadlines[message.line] = rclrt_core::current_job()->deadline;
  });
  const auto publisher = node->create_publisher<Log>("said", 10);
  const auto publish = [&](uint32_t line) {
    Log message;
    message.line = line;
    publisher->publish(message);
  };
  // Another executor, so that a deadline can only come with the message.
  const auto source = make_node("source");
  TimerOptions timer_options;
  timer_options.scheduling.relative_deadline = seconds(100);
  const auto timer =
    source->create_wall_timer(milliseconds(10), [&] { publish(1); }, timer_options);
  PreemptiveExecutorOptions executor_options = this->options<PreemptiveExecutorOptions>();
  executor_options.policy = &rclrt_core::edf_policy();
  PreemptiveExecutor executor(executor_options);
  executor.add_node(node);
  const Spinning spinning(executor);
  {
    PreemptiveExecutor of_source(executor_options);
    of_source.add_node(source);
    const Spinning source_spinning(of_source);
    ASSERT_TRUE(wait_for([&] { return has_come(1); }));
  }
  publish(2);  // outside of any job
  ASSERT_TRUE(wait_for([&] { return has_come(2); }));
  publish(3);
  ASSERT_TRUE(wait_for([&] { return has_come(3); }));
  const std::lock_guard<std::mutex> lock(mutex);
  EXPECT_NE(deadlines[1], rclrt_core::kNever);
  EXPECT_EQ(deadlines[2], rclrt_core::kNever);
  EXPECT_EQ(deadlines[3], rclrt_core::kNever);
}

/// All in one group: a message is taken after its entry is gone.
TEST_F(Deadlines, of_the_job_that_publishes_stay_where_the_table_has_lost_the_message)
{
  using Ring = rclrt_core::DeadlineRing;
  std::atomic<int> with_deadline{0};
  std::atomic<int> with_entry{0};
  std::atomic<int> taken{0};
  const auto subscription =
    node->create_subscription<Log>("lost", 10, [&](const Log &, const MessageInfo & info) {
      const auto stamp = static_cast<uint64_t>(info.source_timestamp.count());
      with_entry += Ring::of_process()->find(info.publisher_gid, stamp) ? 1 : 0;
      with_deadline += rclrt_core::current_job()->deadline != rclrt_core::kNever ? 1 : 0;
      ++taken;
    });
  const auto publisher = node->create_publisher<Log>("lost", 10);
  TimerOptions timer_options;
  timer_options.scheduling.relative_deadline = seconds(100);
  const auto timer = node->create_wall_timer(
    milliseconds(10),
    [&] {
      publisher->publish(Log());
      const nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
      for (uint64_t i = 1; i <= 20 * Ring::kEntries; ++i) {  // others take all places
        Ring::of_process()->put({}, static_cast<uint64_t>(now.count()) + i, rclrt_core::kNever);
      }
    },
    timer_options);
  PreemptiveExecutorOptions executor_options = this->options<PreemptiveExecutorOptions>();
  executor_options.policy = &rclrt_core::edf_policy();
  PreemptiveExecutor executor(executor_options);
  executor.add_node(node);
  {
    const Spinning spinning(executor);
    ASSERT_TRUE(wait_for([&] { return taken >= 3; }));
  }
  EXPECT_EQ(with_entry, 0);
  EXPECT_EQ(with_deadline, taken);
}

/// Within a process, where the thread that sends releases the server.
TEST_F(Deadlines, go_along_with_requests_and_their_answers)
{
  using GetParameters = rcl_interfaces::srv::GetParameters;
  std::atomic<int64_t> asked{0};
  std::atomic<int64_t> answering{0};
  std::atomic<int64_t> answered{0};
  const auto deadline_here = [] {
    return rclrt_core::nanoseconds_of(rclrt_core::current_job()->deadline);
  };
  const auto group = [&] {
    return node->create_callback_group(CallbackGroupType::kMutuallyExclusive);
  };
  ServiceOptions service_options;
  service_options.group = group();
  const auto service = node->create_service<GetParameters>(
    "asked",
    [&](const GetParameters::Request &, GetParameters::Response &) { answering = deadline_here(); },
    QoS::services(), service_options);
  ClientOptions client_options;
  client_options.group = group();
  const auto client = node->create_client<GetParameters>("asked", QoS::services(), client_options);
  TimerOptions timer_options;
  timer_options.group = group();
  timer_options.scheduling.relative_deadline = seconds(100);
  const auto timer = node->create_wall_timer(
    milliseconds(10),
    [&] {
      if (asked == 0 && client->service_is_ready()) {
        asked = deadline_here();
        client->async_send_request(GetParameters::Request(), [&](const GetParameters::Response &) {
          answered = deadline_here();
        });
      }
    },
    timer_options);
  PreemptiveExecutorOptions executor_options = this->options<PreemptiveExecutorOptions>();
  executor_options.policy = &rclrt_core::edf_policy();
  PreemptiveExecutor executor(executor_options);
  executor.add_node(node);
  const Spinning spinning(executor);
  ASSERT_TRUE(wait_for([&] { return answered != 0; }));
  EXPECT_EQ(answering, asked);
  EXPECT_EQ(answered, asked);
}

TEST_F(Deadlines, that_are_negative_are_an_error_that_names_the_callback)
{
  TimerOptions options;
  options.scheduling.name = "wrong";
  options.scheduling.relative_deadline = -milliseconds(1);
  const auto timer = node->create_wall_timer(milliseconds(10), [] {}, options);
  PreemptiveExecutor executor(this->options<PreemptiveExecutorOptions>());
  try {
    executor.add_node(node);
    FAIL() << "was accepted";
  } catch (const Error & error) {
    EXPECT_NE(std::string(error.what()).find("/deadlines/timer/wrong"), std::string::npos);
  }
}

template <typename Types>
class DeadlineExecutor : public Deadlines
{
};
struct Pool
{
  using Executor = PreemptiveExecutor;
  using Options = PreemptiveExecutorOptions;
};
struct Isolated
{
  using Executor = CallbackIsolatedExecutor;
  using Options = CallbackIsolatedExecutorOptions;
};
using Executors = ::testing::Types<Pool, Isolated>;
TYPED_TEST_SUITE(DeadlineExecutor, Executors, );

TYPED_TEST(DeadlineExecutor, puts_ext_callbacks_in_force_and_names_who_does_it)
{
  rclrt_core::LinuxPlatform platform;
  rclrt_core::Attributes seen;
  std::atomic<bool> ran{false};
  TimerOptions timer_options;
  timer_options.scheduling.attributes.policy = SchedulingPolicy::kExt;
  timer_options.scheduling.relative_deadline = milliseconds(5);
  const auto timer = this->node->create_wall_timer(
    milliseconds(1),
    [&] {
      if (!ran) {
        EXPECT_EQ(platform.read_back(platform.current_thread(), &seen), 0);
        ran = true;
      }
    },
    timer_options);
  auto options = this->template options<typename TypeParam::Options>();
  options.policy = &rclrt_core::edf_policy();
  options.deadline_scheduler = rclrt_config::DeadlineBackend::kFifoBands;
  typename TypeParam::Executor executor(options);
  executor.add_node(this->node);
  EXPECT_EQ(executor.deadline_scheduler(), "");
  {
    const Spinning spinning(executor);
    EXPECT_TRUE(wait_for([&] { return ran.load(); }));
    EXPECT_EQ(executor.deadline_scheduler(), "fifo bands");
  }
  std::string refusal;
  for (const auto & finding : executor.findings()) {
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
}  // namespace rclrt_rcl
