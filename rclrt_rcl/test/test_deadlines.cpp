// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Deadlines under the executors: backends in force, and those that messages carry in their header.
// What goes from process to process: test_deadlines_across_processes.py.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "builtin_interfaces/msg/time.hpp"
#include "executor_types.hpp"
#include "fixture.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rclrt_core/deadline_ring.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rclrt_front_end/on_rcl.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace rclrt_rcl
{

/// Member by member a Log, but its stamp is where messages usually have it.
struct StampedLog
{
  struct Header
  {
    builtin_interfaces::msg::Time stamp;
  };
  Header header;
  uint8_t level = 0;
  std::string name, msg, file, function;
  uint32_t line = 0;
};
static_assert(sizeof(StampedLog) == sizeof(rcl_interfaces::msg::Log), "see above");

}  // namespace rclrt_rcl

namespace rosidl_typesupport_cpp
{
template <>
const rosidl_message_type_support_t * get_message_type_support_handle<rclrt_rcl::StampedLog>()
{
  return get_message_type_support_handle<rcl_interfaces::msg::Log>();
}
}  // namespace rosidl_typesupport_cpp

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

  /// The deadline of the job that takes a message with this stamp; kNever for none.
  template <typename M>
  rclrt_core::TimePoint deadline_of(const M & message, const SubscriptionOptions & options)
  {
    std::atomic<bool> taken{false};
    rclrt_core::TimePoint deadline{};
    const auto subscription = node->create_subscription<M>(
      "stamped", 10,
      [&](const M &) {
        deadline = rclrt_core::current_job()->deadline;
        taken = true;
      },
      options);
    const auto publisher = node->create_publisher<M>("stamped", 10);
    PreemptiveExecutorOptions executor_options = this->options<PreemptiveExecutorOptions>();
    executor_options.policy = &rclrt_core::edf_policy();
    PreemptiveExecutor executor(executor_options);
    executor.add_node(node);
    const Spinning spinning(executor);
    EXPECT_TRUE(wait_for([&] { return publisher->subscription_count() == 1; }));
    publisher->publish(message);
    EXPECT_TRUE(wait_for([&] { return taken.load(); }));
    return deadline;
  }

  static StampedLog stamped(nanoseconds since_1970)
  {
    StampedLog message;
    message.header.stamp.sec = static_cast<int32_t>(since_1970 / seconds(1));
    message.header.stamp.nanosec = static_cast<uint32_t>((since_1970 % seconds(1)).count());
    return message;
  }
};

TEST_F(Deadlines, of_the_stamp_are_the_stamp_plus_what_was_asked_for)
{
  SubscriptionOptions options;
  options.scheduling.deadline_after_stamp = seconds(1000);
  // Both clocks are read a moment apart: what is asked here is which instant it is, to a minute.
  const auto steady = rclrt_core::TimePoint(std::chrono::steady_clock::now());
  const auto stamp = std::chrono::system_clock::now().time_since_epoch() - seconds(100);
  const auto left = deadline_of(stamped(stamp), options) - steady;
  EXPECT_GT(left, seconds(840));
  EXPECT_LT(left, seconds(960));
}

TEST_F(Deadlines, a_stamp_of_zero_and_a_stamp_nobody_asked_for_are_none)
{
  SubscriptionOptions options;
  options.scheduling.deadline_after_stamp = seconds(1000);
  EXPECT_EQ(deadline_of(stamped(seconds(0)), options), rclrt_core::kNever);
  const auto stamp = std::chrono::system_clock::now().time_since_epoch();
  EXPECT_EQ(deadline_of(stamped(stamp), {}), rclrt_core::kNever);
}

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

TEST_F(Deadlines, of_stamps_need_messages_that_have_one)
{
  SubscriptionOptions options;
  options.scheduling.deadline_after_stamp = seconds(1);
  const auto ignore = [](const Log &) {};
  EXPECT_THROW(node->create_subscription<Log>("log", 10, ignore, options), Error);
  const auto ignore_bytes = [](const SerializedMessage &) {};
  EXPECT_THROW(node->create_subscription<StampedLog>("log", 10, ignore_bytes, options), Error);
  options.scheduling.deadline_after_stamp = -seconds(1);
  const auto ignore_stamped = [](const StampedLog &) {};
  EXPECT_THROW(node->create_subscription<StampedLog>("log", 10, ignore_stamped, options), Error);
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
