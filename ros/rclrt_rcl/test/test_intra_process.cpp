// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Delivery by pointer, and beside it.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fixture.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rclrt_core/deadline_ring.hpp"

namespace rclrt_rcl
{
namespace
{

using rcl_interfaces::msg::Log;
using namespace std::chrono_literals;

class IntraProcess : public WithContext
{
protected:
  static NodeOptions by_pointer()
  {
    NodeOptions options;
    options.use_intra_process = true;
    return options;
  }
  static std::unique_ptr<Log> message(uint32_t line = 0)
  {
    auto made = std::make_unique<Log>();
    made->line = line;
    return made;
  }

  std::shared_ptr<Node> node = make_node("node", by_pointer());
  PriorityEventsExecutor executor{options<PriorityEventsExecutorOptions>()};

  void SetUp() override { executor.add_node(node); }
};

TEST_F(IntraProcess, one_owner_gets_the_very_message)
{
  const Log * got = nullptr;
  bool by_pointer_said = false;
  auto publisher = node->create_publisher<Log>("t", 10);
  auto subscription =
    node->create_subscription<Log>("t", 10, [&](std::unique_ptr<Log> m, const MessageInfo & info) {
      got = m.get();
      by_pointer_said = info.from_intra_process;
      EXPECT_EQ(info.publisher_gid, publisher->gid());
      EXPECT_EQ(info.publication_sequence_number, 1U);
    });
  EXPECT_EQ(publisher->intra_process_subscription_count(), 1U);
  auto sent = message();
  const Log * const address = sent.get();
  publisher->publish(std::move(sent));
  executor.spin_all(0ns);
  EXPECT_EQ(got, address);
  EXPECT_TRUE(by_pointer_said);
}

TEST_F(IntraProcess, several_share_the_very_message_and_an_owner_gets_a_copy)
{
  std::vector<const Log *> shared;
  const Log * owned = nullptr;
  auto publisher = node->create_publisher<Log>("t", 10);
  const auto keep = [&](std::shared_ptr<const Log> m) { shared.push_back(m.get()); };
  auto first = node->create_subscription<Log>("t", 10, keep);
  auto second = node->create_subscription<Log>("t", 10, keep);
  auto third =
    node->create_subscription<Log>("t", 10, [&](const Log & m) { shared.push_back(&m); });
  auto owner =
    node->create_subscription<Log>("t", 10, [&](std::unique_ptr<Log> m) { owned = m.get(); });
  auto sent = message();
  const Log * const address = sent.get();
  publisher->publish(std::move(sent));
  executor.spin_all(0ns);
  EXPECT_EQ(shared, std::vector<const Log *>(3, address));
  EXPECT_NE(owned, nullptr);
  EXPECT_NE(owned, address);
}

TEST_F(IntraProcess, others_are_served_by_the_middleware_and_nobody_twice)
{
  // One subscription of another context, one here that wants no pointers, one that does.
  auto other_context = Context::make();
  NodeOptions other_options;
  other_options.context = other_context;
  Node other("other", other_options);
  PriorityEventsExecutorOptions other_executor_options;
  other_executor_options.context = other_context;
  PriorityEventsExecutor other_executor(other_executor_options);
  other_executor.add_node(other);
  std::vector<uint32_t> far;
  auto far_subscription =
    other.create_subscription<Log>("t", 10, [&](const Log & m) { far.push_back(m.line); });

  std::vector<uint32_t> near;
  std::vector<uint32_t> plain;
  bool plain_by_pointer = false;
  auto publisher = node->create_publisher<Log>("t", 10);
  auto subscription =
    node->create_subscription<Log>("t", 10, [&](const Log & m) { near.push_back(m.line); });
  SubscriptionOptions no_pointers;
  no_pointers.use_intra_process = false;
  auto plain_subscription = node->create_subscription<Log>(
    "t", 10,
    [&](const Log & m, const MessageInfo & info) {
      plain.push_back(m.line);
      plain_by_pointer = plain_by_pointer || info.from_intra_process;
    },
    no_pointers);
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 3; }));
  EXPECT_EQ(publisher->intra_process_subscription_count(), 1U);
  for (uint32_t line = 1; line <= 3; ++line) {
    publisher->publish(message(line));
  }
  EXPECT_TRUE(spin_until(other_executor, [&] { return far.size() == 3; }));
  EXPECT_TRUE(spin_until(executor, [&] { return plain.size() == 3 && near.size() == 3; }));
  executor.spin_all(10ms);  // the copies that came by the middleware
  EXPECT_EQ(near, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(plain, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_FALSE(plain_by_pointer);
}

TEST_F(IntraProcess, a_publisher_that_wants_no_pointers_is_heard)
{
  int runs = 0;
  PublisherOptions no_pointers;
  no_pointers.use_intra_process = false;
  auto publisher = node->create_publisher<Log>("t", 10, no_pointers);
  auto subscription = node->create_subscription<Log>("t", 10, [&](const Log &) { ++runs; });
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 1; }));
  publisher->publish(message());
  EXPECT_TRUE(spin_until(executor, [&] { return runs == 1; }));
}

TEST_F(IntraProcess, the_ring_keeps_the_last_and_only_depth)
{
  std::vector<uint32_t> lines;
  auto publisher = node->create_publisher<Log>("t", 100);
  auto subscription =
    node->create_subscription<Log>("t", 3, [&](const Log & m) { lines.push_back(m.line); });
  for (uint32_t line = 1; line <= 10; ++line) {
    publisher->publish(message(line));
  }
  executor.spin_all(0ns);
  EXPECT_EQ(lines, (std::vector<uint32_t>{8, 9, 10}));
  // The other seven: a job was given up for each, or found its message gone.
  const auto statistics = executor.statistics().at("/node/subscription/t");
  EXPECT_EQ(statistics.dropped + statistics.empty, 7U);
}

TEST_F(IntraProcess, the_depth_may_be_left_to_the_system)
{
  std::vector<uint32_t> lines;
  auto publisher = node->create_publisher<Log>("t", 10);
  auto subscription =
    node->create_subscription<Log>("t", QoS(0), [&](const Log & m) { lines.push_back(m.line); });
  publisher->publish(message(1));
  publisher->publish(message(2));
  executor.spin_all(0ns);
  EXPECT_EQ(lines, std::vector<uint32_t>{2});
}

TEST_F(IntraProcess, nobody_is_served_twice_though_the_publisher_has_gone)
{
  std::vector<uint32_t> lines;
  std::vector<uint32_t> others;
  auto subscription =
    node->create_subscription<Log>("t", 10, [&](const Log & m) { lines.push_back(m.line); });
  SubscriptionOptions by_middleware;
  by_middleware.use_intra_process = false;
  auto other = node->create_subscription<Log>(
    "t", 10, [&](const Log & m) { others.push_back(m.line); }, by_middleware);
  for (uint32_t line = 1; line <= 3; ++line) {
    auto publisher = node->create_publisher<Log>("t", 10);
    ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 2; }));
    publisher->publish(message(line));
  }
  ASSERT_TRUE(spin_until(executor, [&] { return others.size() == 3; }));
  executor.spin_all(0ns);
  EXPECT_EQ(lines, (std::vector<uint32_t>{1, 2, 3}));
}

TEST(Inbox, knows_its_publishers_and_the_last_that_have_gone)
{
  detail::TypedInbox<Log> inbox(1, [](std::size_t) {});
  EXPECT_FALSE(inbox.serves(detail::Gid{}));
  const auto gid = [](std::size_t number) { return detail::Gid{static_cast<uint8_t>(number)}; };
  const std::size_t bound = detail::Inbox::kRemembered;
  inbox.set_publishers({gid(0)});
  for (std::size_t number = 1; number <= bound; ++number) {
    inbox.set_publishers({gid(number), gid(200)});
    EXPECT_TRUE(inbox.serves(gid(0))) << number;
    EXPECT_TRUE(inbox.serves(gid(number)));
    EXPECT_TRUE(inbox.serves(gid(200)));
  }
  inbox.set_publishers({});
  EXPECT_FALSE(inbox.serves(gid(0)));
  EXPECT_FALSE(inbox.serves(gid(1)));
  for (std::size_t number = 2; number <= bound; ++number) {
    EXPECT_TRUE(inbox.serves(gid(number))) << number;
  }
  EXPECT_TRUE(inbox.serves(gid(200)));
}

TEST_F(IntraProcess, no_message_stays_behind_when_one_comes_by_pointer_and_one_does_not)
{
  int got = 0;
  auto subscription = node->create_subscription<Log>("t", 1, [&](const Log &) { ++got; });
  auto local = node->create_publisher<Log>("t", 1);
  PublisherOptions by_middleware;
  by_middleware.use_intra_process = false;
  auto other = node->create_publisher<Log>("t", 1, by_middleware);
  ASSERT_TRUE(wait_for([&] { return node->count_publishers("t") == 2; }));
  other->publish(*message(1));
  local->publish(message(2));
  ASSERT_TRUE(wait_for([&] {
    executor.spin_all(0ns);
    return got == 2;
  }))
    << got;
}

TEST_F(IntraProcess, deadlines_count_from_stamps_in_the_header)
{
  std::chrono::nanoseconds left(0);
  SubscriptionOptions options;
  options.scheduling.relative_deadline = 100s;
  options.scheduling.deadline_from = rclrt_core::DeadlineFrom::kHeaderStamp;
  options.scheduling.clock_error = 1s;
  auto publisher = node->create_publisher<Log>("t", 10);
  auto subscription = node->create_subscription<Log>(
    "t", 10,
    [&](const Log &) {
      left = rclrt_core::current_job()->deadline - rclrt_core::current_job()->release;
    },
    options);
  auto sent = message();
  sent->stamp = to_message(std::chrono::system_clock::now().time_since_epoch() - 30s);
  publisher->publish(std::move(sent));
  executor.spin_all(0ns);
  EXPECT_LE(left, 70s);
  EXPECT_GE(left, 60s);
}

TEST_F(IntraProcess, every_form_of_callback_gets_what_comes_through_the_middleware)
{
  std::string seen;
  auto plain = make_node("plain");
  executor.add_node(plain);
  auto by_reference = plain->create_subscription<Log>(
    "t", 10, [&](const Log & m) { seen += "reference " + m.msg + "\n"; });
  auto with_info =
    plain->create_subscription<Log>("t", 10, [&](const Log & m, const MessageInfo & i) {
      seen += "info " + m.msg + (i.source_timestamp.count() > 0 ? " stamped\n" : "\n");
    });
  auto owned = plain->create_subscription<Log>(
    "t", 10, [&](std::unique_ptr<Log> m) { seen += "owned " + m->msg + "\n"; });
  auto shared = plain->create_subscription<Log>(
    "t", 10, [&](std::shared_ptr<const Log> m) { seen += "shared " + m->msg + "\n"; });
  auto publisher = plain->create_publisher<Log>("t", 10);
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 4; }));
  auto sent = message();
  sent->msg = "hello";
  publisher->publish(*sent);
  EXPECT_TRUE(spin_until(executor, [&] { return std::count(seen.begin(), seen.end(), '\n') == 4; }))
    << seen;
  for (const char * line :
       {"reference hello", "info hello stamped", "owned hello", "shared hello"}) {
    EXPECT_NE(seen.find(line), std::string::npos) << seen;
  }
}

TEST_F(IntraProcess, incompatible_qos_and_other_topics_are_not_matched)
{
  auto publisher = node->create_publisher<Log>("t", QoS(10).best_effort());
  auto reliable = node->create_subscription<Log>("t", QoS(10).reliable(), [](const Log &) {});
  auto elsewhere = node->create_subscription<Log>("u", QoS(10).best_effort(), [](const Log &) {});
  EXPECT_EQ(publisher->intra_process_subscription_count(), 0U);
  auto fits = node->create_subscription<Log>("t", QoS(10).best_effort(), [](const Log &) {});
  EXPECT_EQ(publisher->intra_process_subscription_count(), 1U);
  fits.reset();
  EXPECT_EQ(publisher->intra_process_subscription_count(), 0U);
}

TEST_F(IntraProcess, late_joiners_get_history_through_the_middleware)
{
  int runs = 0;
  const QoS latched = QoS(1).transient_local();
  auto publisher = node->create_publisher<Log>("t", latched);
  publisher->publish(message());
  auto subscription = node->create_subscription<Log>("t", latched, [&](const Log &) { ++runs; });
  EXPECT_TRUE(spin_until(executor, [&] { return runs == 1; }));
}

TEST_F(IntraProcess, messages_nobody_took_are_freed)
{
  // For the leak checker: owned, shared, and closed before they run.
  auto publisher = node->create_publisher<Log>("t", 10);
  auto first = node->create_subscription<Log>("t", 10, [](const Log &) {});
  publisher->publish(message());
  auto second = node->create_subscription<Log>("t", 10, [](const Log &) {});
  publisher->publish(message());
  first.reset();
  publisher->publish(message());
}

TEST_F(IntraProcess, a_published_message_inherits_the_deadline_of_its_publisher)
{
  rclrt_core::TimePoint published{};
  rclrt_core::TimePoint received{};
  auto publisher = node->create_publisher<Log>("t", 10);
  auto subscription = node->create_subscription<Log>(
    "t", 10, [&](const Log &) { received = rclrt_core::current_job()->deadline; });
  Scheduling urgent;
  urgent.name = "urgent";
  urgent.relative_deadline = 5ms;
  auto waitable = node->create_waitable(urgent, [&] {
    published = rclrt_core::current_job()->deadline;
    publisher->publish(message());
  });
  waitable->trigger();
  executor.spin_all(0ns);
  EXPECT_NE(published, rclrt_core::kNever);
  EXPECT_EQ(received, published);
}

TEST_F(IntraProcess, a_message_keeps_its_deadline_when_the_job_of_another_takes_it)
{
  ASSERT_TRUE(rclrt_core::DeadlineRing::join().ok());
  std::vector<std::pair<uint32_t, rclrt_core::TimePoint>> received;
  auto subscription = node->create_subscription<Log>("t", 10, [&](const Log & m) {
    received.emplace_back(m.line, rclrt_core::current_job()->deadline);
  });
  auto publisher = node->create_publisher<Log>("t", 10);
  PublisherOptions by_middleware;
  by_middleware.use_intra_process = false;
  auto other = node->create_publisher<Log>("t", 10, by_middleware);
  ASSERT_TRUE(wait_for([&] { return other->subscription_count() == 1; }));
  rclrt_core::TimePoint published{};
  Scheduling urgent;
  urgent.name = "urgent";
  urgent.queue_priority = 90;  // before both messages are taken
  urgent.relative_deadline = 5ms;
  auto waitable = node->create_waitable(urgent, [&] {
    published = rclrt_core::current_job()->deadline;
    publisher->publish(message(2));
  });
  other->publish(*message(1));  // releases the first job, without a deadline, which takes message 2
  waitable->trigger();
  EXPECT_TRUE(spin_until(executor, [&] { return received.size() == 2; }));
  ASSERT_EQ(received.size(), 2U);
  EXPECT_NE(published, rclrt_core::kNever);
  EXPECT_EQ(received.front(), std::make_pair(uint32_t{2}, published));
  EXPECT_EQ(received.back(), std::make_pair(uint32_t{1}, rclrt_core::kNever));
}

TEST_F(IntraProcess, so_does_one_that_goes_through_the_middleware_to_the_same_process)
{
  // Fast DDS hands messages to readers in this process in the thread that publishes.
  rclrt_core::TimePoint published{};
  rclrt_core::TimePoint received{};
  auto plain = make_node("plain");
  executor.add_node(plain);
  auto publisher = plain->create_publisher<Log>("t", 10);
  auto subscription = plain->create_subscription<Log>(
    "t", 10, [&](const Log &) { received = rclrt_core::current_job()->deadline; });
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 1; }));
  Scheduling urgent;
  urgent.name = "urgent";
  urgent.relative_deadline = 5ms;
  auto waitable = plain->create_waitable(urgent, [&] {
    published = rclrt_core::current_job()->deadline;
    publisher->publish(message());
  });
  waitable->trigger();
  EXPECT_TRUE(spin_until(executor, [&] { return received != rclrt_core::TimePoint{}; }));
  EXPECT_NE(published, rclrt_core::kNever);
  EXPECT_EQ(received, published);
}

}  // namespace
}  // namespace rclrt_rcl
