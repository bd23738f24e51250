// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Deadlines that count from stamps of messages, however these are taken. Stamps lie 30 s back and deadlines 100 s
// ahead, so that no load of the machine matters.

#include <mutex>
#include <thread>
#include <vector>

#include "conformance/real_time.hpp"
#include "conformance/suite.hpp"
#include "rclrt_core/job.hpp"

namespace conformance
{
namespace
{

using std::chrono::nanoseconds;

constexpr std::chrono::seconds kDeadline(100);
constexpr std::chrono::seconds kBack(30);
constexpr std::chrono::seconds kNear(10);  // beside these

Stamped stamped(nanoseconds since_1970)
{
  Stamped message;
  message.stamp.sec = static_cast<int32_t>(since_1970 / 1s);
  message.stamp.nanosec = static_cast<uint32_t>((since_1970 % 1s).count());
  return message;
}

nanoseconds system_now() { return std::chrono::system_clock::now().time_since_epoch(); }

/// How long before their deadlines jobs were released.
class Left
{
public:
  void note()
  {
    const rclrt_core::Job & job = *rclrt_core::current_job();
    const std::lock_guard<std::mutex> lock(mutex_);
    left_.push_back(job.deadline - job.release);
  }
  bool wait_for_jobs(std::size_t count) const
  {
    return wait_for([&] { return all().size() >= count; });
  }
  std::vector<nanoseconds> all() const
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    return left_;
  }

private:
  mutable std::mutex mutex_;
  std::vector<nanoseconds> left_;
};

class MessageStamps : public Suite
{
protected:
  void count_from(const std::string & stamp)
  {
    const File file(for_all(
      "      callbacks:\n        /node/subscription/*: {relative_deadline: 100s, deadline_from: " +
      stamp + ", clock_error: 1s}\n"));
    configure(file.path());
  }
};
OVER_OUR_EXECUTORS(MessageStamps);

TEST_P(MessageStamps, in_the_header_count_however_a_message_is_taken)
{
  rclrt_core::Scheduling scheduling;
  scheduling.relative_deadline = kDeadline;
  scheduling.deadline_from = rclrt_core::DeadlineFrom::kHeaderStamp;
  scheduling.clock_error = 1s;
  Options options;
  for (const std::string name : {"said", "said#2", "said#3"}) {
    options.say("/node/subscription/" + name, scheduling);
  }
  executor = make_executor(options);
  Left by_reference;
  Left owned;
  Left as_bytes;
  const auto publisher = node->create_publisher<Stamped>("said", 10);
  const auto first = make_subscription<Stamped>(
    *node, "said", 10, [&](const Stamped &) { by_reference.note(); }, make_group(*node));
  const auto second = make_subscription<Stamped>(
    *node, "said", 10, [&](std::unique_ptr<Stamped>) { owned.note(); }, make_group(*node));
#if CONFORMANCE_TAKES_BYTES
  const auto third = make_subscription<Stamped>(
    *node, "said", 10,
    [&](const std::shared_ptr<const rclcpp::SerializedMessage> &) { as_bytes.note(); },
    make_group(*node));
  const std::vector<const Left *> all = {&by_reference, &owned, &as_bytes};
#else
  const std::vector<const Left *> all = {&by_reference, &owned};
#endif
  const Spinning spinning(*executor, node);
  publisher->publish(stamped(system_now() - kBack));
  for (const Left * const left : all) {
    ASSERT_TRUE(left->wait_for_jobs(1));
    EXPECT_LE(left->all()[0], kDeadline - kBack);
    EXPECT_GE(left->all()[0], kDeadline - kBack - kNear);
  }
}

TEST_P(MessageStamps, that_lie_are_told_and_count_for_nothing)
{
  count_from("header_stamp");
  Left left;
  const auto publisher = node->create_publisher<Stamped>("said", 10);
  const auto subscription =
    node->create_subscription<Stamped>("said", 10, [&](const Stamped &) { left.note(); });
  const Spinning spinning(*executor, node);
  publisher->publish(stamped(system_now() - kBack));
  ASSERT_TRUE(left.wait_for_jobs(1));  // now messages are released as they come
  for (const nanoseconds stamp :
       std::vector<nanoseconds>{0s, 12s, system_now() + kBack, system_now() - kDeadline - kBack}) {
    publisher->publish(stamped(stamp));
  }
  ASSERT_TRUE(left.wait_for_jobs(5));
  const auto all = left.all();
  EXPECT_LE(all[0], kDeadline - kBack);
  for (std::size_t i = 1; i < 5; ++i) {
    EXPECT_LE(all[i], kDeadline) << i;
    EXPECT_GE(all[i], kDeadline - kNear) << i;
  }
  EXPECT_TRUE(wait_for([&] {
    return finds("in the future, more than clock_error") &&
           finds("its deadline was over before it came");
  }))
    << findings();
}

TEST_P(MessageStamps, of_the_middleware_count_from_when_a_message_was_published)
{
  count_from("source_stamp");
  Left left;
  const auto publisher = node->create_publisher<Stamped>("said", 10);
  const auto subscription =
    node->create_subscription<Stamped>("said", 10, [&](const Stamped &) { left.note(); });
  ASSERT_TRUE(wait_for([&] { return readers_of(*publisher) == 1; }));
  publisher->publish(stamped(0s));
  // It waits in the middleware, and is released when somebody serves the subscription.
  constexpr auto kWaits = 300ms;
  std::this_thread::sleep_for(kWaits);
  const Spinning spinning(*executor, node);
  ASSERT_TRUE(left.wait_for_jobs(1));
  EXPECT_LE(left.all()[0], kDeadline - kWaits / 2);
  EXPECT_GE(left.all()[0], kDeadline - kNear);
}

TEST_P(MessageStamps, are_missed_in_messages_without_one)
{
  count_from("header_stamp");
  const auto subscription =
    node->create_subscription<Unstamped>("range", 10, [](const Unstamped &) {});
  executor->add_node(node);
  EXPECT_TRUE(finds("/node/subscription/range: counts its deadlines")) << findings();
}

}  // namespace
}  // namespace conformance
