// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "fixture.hpp"
#include "rcl_interfaces/msg/log.hpp"

namespace rclrt_rcl
{
namespace
{

using rcl_interfaces::msg::Log;
using namespace std::chrono_literals;

class QosEvents : public WithContext
{
protected:
  std::shared_ptr<Node> node = make_node("node");
  PriorityEventsExecutor executor{options<PriorityEventsExecutorOptions>()};
  PublisherOptions publisher_options;
  SubscriptionOptions subscription_options;

  void SetUp() override { executor.add_node(node); }

  std::shared_ptr<Publisher<Log>> publish(const QoS & qos)
  {
    return node->create_publisher<Log>("t", qos, publisher_options);
  }
  std::shared_ptr<Subscription<Log>> subscribe(const QoS & qos)
  {
    return node->create_subscription<Log>("t", qos, [](const Log &) {}, subscription_options);
  }
};

TEST_F(QosEvents, both_sides_learn_of_matches)
{
  std::vector<int> publisher_sees;
  std::vector<int> subscription_sees;
  publisher_options.events.matched = [&](const rmw_matched_status_t & status) {
    publisher_sees.push_back(static_cast<int>(status.current_count));
  };
  subscription_options.events.matched = [&](const rmw_matched_status_t & status) {
    subscription_sees.push_back(static_cast<int>(status.current_count));
  };
  auto publisher = publish(10);
  auto subscription = subscribe(10);
  EXPECT_TRUE(spin_until(executor, [&] {
    return publisher_sees == std::vector<int>{1} && subscription_sees == std::vector<int>{1};
  }));
  subscription.reset();
  EXPECT_TRUE(spin_until(executor, [&] { return publisher_sees == std::vector<int>{1, 0}; }));
}

TEST_F(QosEvents, both_sides_learn_of_incompatible_qos)
{
  int publisher_sees = 0;
  int subscription_sees = 0;
  publisher_options.events.incompatible_qos = [&](const auto & status) {
    EXPECT_EQ(status.last_policy_kind, RMW_QOS_POLICY_RELIABILITY);
    ++publisher_sees;
  };
  subscription_options.events.incompatible_qos = [&](const auto & status) {
    EXPECT_EQ(status.last_policy_kind, RMW_QOS_POLICY_RELIABILITY);
    ++subscription_sees;
  };
  auto publisher = publish(QoS(10).best_effort());
  auto subscription = subscribe(QoS(10).reliable());
  EXPECT_TRUE(spin_until(executor, [&] { return publisher_sees == 1 && subscription_sees == 1; }));
}

TEST_F(QosEvents, both_sides_learn_of_missed_deadlines)
{
  int publisher_sees = 0;
  int subscription_sees = 0;
  publisher_options.events.deadline_missed = [&](const auto &) { ++publisher_sees; };
  subscription_options.events.deadline_missed = [&](const auto &) { ++subscription_sees; };
  auto publisher = publish(QoS(10).deadline(20ms));
  auto subscription = subscribe(QoS(10).deadline(20ms));
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 1; }));
  publisher->publish(Log());
  EXPECT_TRUE(spin_until(executor, [&] { return publisher_sees > 0 && subscription_sees > 0; }));
}

TEST_F(QosEvents, both_sides_learn_of_lost_liveliness)
{
  int publisher_sees = 0;
  int alive = 0;
  int not_alive = 0;
  publisher_options.events.liveliness_lost = [&](const auto &) { ++publisher_sees; };
  subscription_options.events.liveliness_changed = [&](const auto & status) {
    alive = std::max(alive, status.alive_count);
    not_alive = std::max(not_alive, status.not_alive_count);
  };
  const QoS qos = QoS(10).liveliness_manual_by_topic(50ms);
  auto publisher = publish(qos);
  auto subscription = subscribe(qos);
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 1; }));
  publisher->assert_liveliness();
  EXPECT_TRUE(
    spin_until(executor, [&] { return publisher_sees > 0 && alive == 1 && not_alive == 1; }));
}

TEST_F(QosEvents, are_entities_of_the_group_with_names_of_their_own)
{
  publisher_options.events.matched = [](const auto &) {};
  subscription_options.events.matched = [](const auto &) {};
  publisher_options.group = node->create_callback_group(CallbackGroupType::kMutuallyExclusive);
  auto publisher = publish(10);
  auto subscription = subscribe(10);
  const auto entities = publisher_options.group->entities();
  ASSERT_EQ(entities.size(), 1U);
  EXPECT_EQ(entities[0]->name(), "/node/waitable/publisher/t/matched");
  EXPECT_EQ(entities[0]->kind(), rclrt_core::CallbackKind::kWaitable);
  const auto statistics = executor.statistics();
  EXPECT_EQ(statistics.count("/node/waitable/subscription/t/matched"), 1U);
  publisher.reset();
  EXPECT_TRUE(publisher_options.group->entities().empty());
}

TEST_F(QosEvents, unsupported_kinds_are_left_out_and_listed)
{
  // Which kinds those are depends on the middleware; that each given one is accounted for does not.
  publisher_options.events = {
    [](const auto &) {}, [](const auto &) {}, [](const auto &) {}, [](const auto &) {},
    [](const auto &) {}};
  subscription_options.events = {[](const auto &) {}, [](const auto &) {}, [](const auto &) {},
                                 [](const auto &) {}, [](const auto &) {}, [](const auto &) {}};
  auto publisher = publish(10);
  auto subscription = subscribe(10);
  std::size_t events = 0;
  for (const auto & entry : executor.statistics()) {
    events += entry.first.find("/waitable/") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(
    events + publisher->unsupported_events().size() + subscription->unsupported_events().size(),
    11U);
}

}  // namespace
}  // namespace rclrt_rcl
