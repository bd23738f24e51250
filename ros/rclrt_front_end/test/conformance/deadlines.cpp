// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Deadlines: backends in force, and what messages, requests and answers carry within a process. Between processes:
// rclrt_rcl/test/test_deadlines_across_processes.py, rclrt_rclcpp/test/test_deadlines.cpp.

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

#include "conformance/real_time.hpp"
#include "conformance/suite.hpp"
#include "rclrt_core/deadline_ring.hpp"
#include "rclrt_core/job.hpp"

namespace conformance
{
namespace
{

using rclrt_core::SchedulingPolicy;
using rclrt_core::TimePoint;

TimePoint deadline_here() { return rclrt_core::current_job()->deadline; }

class Deadlines : public Suite
{
protected:
  /// By deadlines. That callback has one, far away.
  Options edf(const std::string & callback) const
  {
    Options options;
    options.policy = &rclrt_core::edf_policy();
    rclrt_core::Scheduling scheduling;
    scheduling.relative_deadline = 100s;
    options.say(callback, scheduling);
    return options;
  }
};
OVER_OUR_EXECUTORS(Deadlines);

TEST_P(Deadlines, of_messages_that_carry_none_are_not_guessed_from_those_before)
{
  std::mutex mutex;
  std::map<int, TimePoint> deadlines;  // by the seconds of the message
  const auto has_come = [&](int number) {
    const std::lock_guard<std::mutex> lock(mutex);
    return deadlines.count(number) > 0;
  };
  const auto subscription =
    node->create_subscription<Message>("said", 10, [&](const Message & message) {
      const std::lock_guard<std::mutex> lock(mutex);
      deadlines[message.sec] = deadline_here();
    });
  const auto publisher = node->create_publisher<Message>("said", 10);
  const auto publish = [&](int number) {
    Message message;
    message.sec = number;
    publisher->publish(message);
  };
  // Another executor, so that a deadline can only come with the message.
  const auto source = make_node("source");
  const auto timer = source->create_wall_timer(10ms, [&] { publish(1); });
  executor = make_executor(edf("/source/timer/10ms"));
  const Spinning spinning(*executor, node);
  {
    const auto of_source = make_executor(edf("/source/timer/10ms"));
    const Spinning source_spinning(*of_source, source);
    ASSERT_TRUE(wait_for([&] { return has_come(1); }));
  }
  for (const int number : {2, 3}) {
    publish(number);  // outside of any job
    ASSERT_TRUE(wait_for([&] { return has_come(number); }));
  }
  const std::lock_guard<std::mutex> lock(mutex);
  EXPECT_NE(deadlines[1], rclrt_core::kNever);
  EXPECT_EQ(deadlines[2], rclrt_core::kNever);
  EXPECT_EQ(deadlines[3], rclrt_core::kNever);
}

/// All in one group: a message is taken after its entry is gone.
TEST_P(Deadlines, of_the_job_that_publishes_stay_where_the_table_has_lost_the_message)
{
  using Ring = rclrt_core::DeadlineRing;
  std::atomic<int> with_deadline{0};
  std::atomic<int> with_entry{0};
  std::atomic<int> taken{0};
  const auto subscription = make_told_subscription<Message>(
    *node, "lost", [&](const Message &, const auto & publisher, int64_t stamp) {
      with_entry += Ring::of_process()->find(publisher, static_cast<uint64_t>(stamp)) ? 1 : 0;
      with_deadline += deadline_here() != rclrt_core::kNever ? 1 : 0;
      ++taken;
    });
  const auto publisher = node->create_publisher<Message>("lost", 10);
  int published = 0;
  const auto timer = node->create_wall_timer(10ms, [&](Timer & itself) {
    publisher->publish(Message());
    if (++published == 3) {  // else it may leave others no time
      itself.cancel();
    }
    const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
    for (uint64_t i = 1; i <= 20 * Ring::kEntries; ++i) {  // others take all places
      Ring::of_process()->put({}, static_cast<uint64_t>(now.count()) + i, rclrt_core::kNever);
    }
  });
  executor = make_executor(edf("/node/timer/10ms"));
  {
    const Spinning spinning(*executor, node);
    ASSERT_TRUE(wait_for([&] { return taken == 3; }));
  }
  EXPECT_EQ(with_entry, 0);
  EXPECT_EQ(with_deadline, taken);
}

/// The thread that sends releases the server.
TEST_P(Deadlines, go_along_with_requests_and_their_answers)
{
  std::atomic<TimePoint> asked{rclrt_core::kNever};
  std::atomic<TimePoint> answering{rclrt_core::kNever};
  std::atomic<TimePoint> answered{rclrt_core::kNever};
  const std::vector<Group> groups = {make_group(*node), make_group(*node), make_group(*node)};
  const auto service =
    make_service(*node, "asked", [&] { answering = deadline_here(); }, groups[0]);
  const auto client = make_client(*node, "asked", groups[1]);
  const auto timer = make_timer(
    *node, 10ms,
    [&](Timer & itself) {
      if (client->service_is_ready()) {
        asked = deadline_here();
        ask(*client, {}, [&] { answered = deadline_here(); });
        itself.cancel();
      }
    },
    groups[2]);
  executor = make_executor(edf("/node/timer/10ms"));
  const Spinning spinning(*executor, node);
  ASSERT_TRUE(wait_for([&] { return answered.load() != rclrt_core::kNever; }));
  EXPECT_EQ(answering.load(), asked.load());
  EXPECT_EQ(answered.load(), asked.load());
}

class DeadlinesInForce : public Suite
{
};
OVER_EXECUTORS(DeadlinesInForce, (std::vector{Kind::kPreemptive, Kind::kIsolated}));

TEST_P(DeadlinesInForce, are_of_the_backend_that_is_named_and_inherited_by_what_is_published)
{
  const File file(
    for_all("      executor: {deadline_scheduler: fifo_bands}\n      callbacks:\n"
            "        /node/timer/5ms: {scheduling_policy: ext, relative_deadline: 700ms}\n"
            "        /node/subscription/map: {scheduling_policy: ext}\n"));
  configure(file.path());
  const auto publisher = node->create_publisher<Message>("map", 10);
  std::atomic<int> matched{0};
  std::atomic<int> taken{0};
  Attributes in_timer;
  Attributes in_subscription;
  std::atomic<bool> has_ticked{false};
  const auto timer = node->create_wall_timer(5ms, [&] {
    if (!has_ticked) {
      in_timer = attributes_here();
      has_ticked = true;
    }
    // Which job it was goes along, as the message's time.
    const int64_t deadline_ns = rclrt_core::nanoseconds_of(deadline_here());
    Message message;
    message.sec = static_cast<int32_t>(deadline_ns / 1'000'000'000);
    message.nanosec = static_cast<uint32_t>(deadline_ns % 1'000'000'000);
    publisher->publish(message);
  });
  const auto subscription = make_subscription(
    *node, "map", 10,
    [&](const Message & message) {
      const int64_t deadline_ns = rclrt_core::nanoseconds_of(deadline_here());
      matched += deadline_ns == int64_t{message.sec} * 1'000'000'000 + message.nanosec ? 1 : 0;
      if (++taken == 1) {
        in_subscription = attributes_here();
      }
    },
    make_group(*node));
  executor->add_node(node);
  EXPECT_EQ(ours(*executor).deadline_scheduler(), "");
  {
    const Spinning spinning(*executor);
    EXPECT_TRUE(wait_for([&] { return taken >= 20; }));
    EXPECT_EQ(ours(*executor).deadline_scheduler(), "fifo bands");
  }
  EXPECT_EQ(matched, taken);
  for (const auto & finding : ours(*executor).findings()) {
    if (finding.error_number != 0) {
      GTEST_SKIP() << "not permitted here: " << to_string(finding);
    }
  }
  for (const Attributes & seen : {in_timer, in_subscription}) {
    EXPECT_EQ(seen.scheduling_policy, SchedulingPolicy::kFifo);
    EXPECT_EQ(seen.priority, 49);
  }
}

}  // namespace
}  // namespace conformance
