// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Deadlines that count from stamps of messages, however these are taken. Stamps lie 30 s back and deadlines 100 s
// ahead, so that no load of the machine matters. Across processes: test_deadlines_across_processes.py.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "fixture.hpp"
#include "rcl_interfaces/msg/floating_point_range.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

namespace rclrt_rcl
{
namespace
{

using rcl_interfaces::msg::FloatingPointRange;
using rcl_interfaces::msg::Log;
using rclrt_core::DeadlineFrom;
using rclrt_core::TimePoint;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr seconds kDeadline(100);
constexpr seconds kBack(30);
constexpr seconds kNear(10);  // beside these

SubscriptionOptions counting_from(DeadlineFrom from)
{
  SubscriptionOptions options;
  options.scheduling.relative_deadline = kDeadline;
  options.scheduling.deadline_from = from;
  options.scheduling.clock_error = seconds(1);
  return options;
}

Log stamped(nanoseconds since_1970)
{
  Log message;
  message.stamp.sec = static_cast<int32_t>(since_1970 / seconds(1));
  message.stamp.nanosec = static_cast<uint32_t>((since_1970 % seconds(1)).count());
  return message;
}

nanoseconds system_now() { return std::chrono::system_clock::now().time_since_epoch(); }

/// The jobs that have run.
class Jobs
{
public:
  void add()
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    jobs_.push_back(*rclrt_core::current_job());
  }
  bool have_come(std::size_t count) const
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    return jobs_.size() >= count;
  }
  nanoseconds left(std::size_t which) const
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    return jobs_.at(which).deadline - jobs_.at(which).release;
  }

private:
  mutable std::mutex mutex_;
  std::vector<rclrt_core::Job> jobs_;
};

class MessageStamps : public WithContext
{
protected:
  std::shared_ptr<Node> node = make_node("stamps");

  /// Publish these from outside of all jobs, and wait for `jobs`.
  void publish(const std::vector<Log> & messages, const std::vector<const Jobs *> & jobs)
  {
    const auto publisher = node->create_publisher<Log>("said", 10);
    PreemptiveExecutor executor(options<PreemptiveExecutorOptions>());
    executor.add_node(node);
    const Spinning spinning(executor);
    for (const Log & message : messages) {
      publisher->publish(message);
    }
    for (const Jobs * const each : jobs) {
      ASSERT_TRUE(wait_for([&] { return each->have_come(messages.size()); }));
    }
    wait_for([&] { return executor.findings().size() >= expected_findings; });
    for (const auto & finding : executor.findings()) {
      findings += to_string(finding) + "\n";
    }
  }

  std::string findings;
  std::size_t expected_findings = 0;
};

TEST_F(MessageStamps, in_the_header_count_however_a_message_is_taken)
{
  Jobs by_reference;
  Jobs owned;
  const auto options = [&] {
    SubscriptionOptions made = counting_from(DeadlineFrom::kHeaderStamp);
    made.group = node->create_callback_group(CallbackGroupType::kMutuallyExclusive);
    return made;
  };
  const auto first =
    node->create_subscription<Log>("said", 10, [&](const Log &) { by_reference.add(); }, options());
  const auto second = node->create_subscription<Log>(
    "said", 10, [&](std::unique_ptr<Log>) { owned.add(); }, options());
  publish({stamped(system_now() - kBack)}, {&by_reference, &owned});
  for (const Jobs * const jobs : {&by_reference, &owned}) {
    EXPECT_LE(jobs->left(0), kDeadline - kBack);
    EXPECT_GE(jobs->left(0), kDeadline - kBack - kNear);
  }
}

TEST_F(MessageStamps, in_the_header_count_when_a_message_comes_by_pointer)
{
  Jobs jobs;
  SubscriptionOptions options = counting_from(DeadlineFrom::kHeaderStamp);
  options.use_intra_process = true;
  const auto subscription =
    node->create_subscription<Log>("said", 10, [&](const Log &) { jobs.add(); }, options);
  const auto publisher_options = [] {
    PublisherOptions made;
    made.use_intra_process = true;
    return made;
  }();
  const auto publisher = node->create_publisher<Log>("said", 10, publisher_options);
  PreemptiveExecutor executor(this->options<PreemptiveExecutorOptions>());
  executor.add_node(node);
  const Spinning spinning(executor);
  publisher->publish(stamped(system_now() - kBack));
  ASSERT_TRUE(wait_for([&] { return jobs.have_come(1); }));
  EXPECT_LE(jobs.left(0), kDeadline - kBack);
  EXPECT_GE(jobs.left(0), kDeadline - kBack - kNear);
}

TEST_F(MessageStamps, that_lie_are_told_and_count_for_nothing)
{
  Jobs jobs;
  const auto subscription = node->create_subscription<Log>(
    "said", 10, [&](const Log &) { jobs.add(); }, counting_from(DeadlineFrom::kHeaderStamp));
  expected_findings = 2;
  publish(
    {stamped(seconds(0)), stamped(seconds(12)), stamped(system_now() + kBack),
     stamped(system_now() - kDeadline - kBack)},
    {&jobs});
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(jobs.left(i), kDeadline) << i;
  }
  EXPECT_NE(findings.find("in the future, more than clock_error"), std::string::npos) << findings;
  EXPECT_NE(findings.find("its deadline was over before it came"), std::string::npos) << findings;
}

TEST_F(MessageStamps, of_the_middleware_count_from_when_a_message_was_published)
{
  Jobs jobs;
  const auto subscription = node->create_subscription<Log>(
    "said", 10, [&](const Log &) { jobs.add(); }, counting_from(DeadlineFrom::kSourceStamp));
  const auto publisher = node->create_publisher<Log>("said", 10);
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 1; }));
  publisher->publish(stamped(seconds(0)));
  // It waits in the middleware, and is released when somebody serves the subscription.
  constexpr auto kWaits = std::chrono::milliseconds(300);
  std::this_thread::sleep_for(kWaits);
  PreemptiveExecutor executor(options<PreemptiveExecutorOptions>());
  executor.add_node(node);
  const Spinning spinning(executor);
  ASSERT_TRUE(wait_for([&] { return jobs.have_come(1); }));
  EXPECT_LE(jobs.left(0), kDeadline - kWaits / 2);
  EXPECT_GE(jobs.left(0), kDeadline - kNear);
}

TEST_F(MessageStamps, are_missed_in_messages_without_one)
{
  const auto subscription = node->create_subscription<FloatingPointRange>(
    "range", 10, [](const FloatingPointRange &) {}, counting_from(DeadlineFrom::kHeaderStamp));
  PreemptiveExecutor executor(options<PreemptiveExecutorOptions>());
  executor.add_node(node);
  std::string told;
  for (const auto & finding : executor.findings()) {
    told += to_string(finding) + "\n";
  }
  EXPECT_NE(told.find("/stamps/subscription/range: counts its deadlines"), std::string::npos)
    << told;
}

}  // namespace
}  // namespace rclrt_rcl
