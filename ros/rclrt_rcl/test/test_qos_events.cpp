// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fixture.hpp"
#include "rcl/event.h"
#include "rcl_interfaces/msg/log.hpp"

namespace
{

/// What happens when the middleware has counted the events that wait, and does not listen for more yet.
std::function<void()> in_the_gap;
/// Events that came then. The middleware tells of them when the function is given to it again.
std::atomic<std::size_t> came_in_the_gap{0};
/// Kinds of events for which the middleware was given a function.
std::set<rmw_event_type_t> listened_for;

}  // namespace

// In this program it comes before the one of rcl.
extern "C" rcl_ret_t rcl_event_set_callback(
  const rcl_event_t * event, rcl_event_callback_t callback, const void * user_data)
{
  static const auto next =
    reinterpret_cast<decltype(&rcl_event_set_callback)>(dlsym(RTLD_NEXT, "rcl_event_set_callback"));
  if (callback != nullptr) {
    listened_for.insert(rcl_event_get_rmw_handle(event)->event_type);
  }
  if (const auto happens = std::exchange(in_the_gap, {})) {
    const rcl_ret_t result =
      next(event, [](const void *, std::size_t count) { came_in_the_gap += count; }, nullptr);
    happens();
    while (came_in_the_gap == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return result == RCL_RET_OK ? next(event, callback, user_data) : result;
  }
  const rcl_ret_t result = next(event, callback, user_data);
  if (const std::size_t count = callback != nullptr ? came_in_the_gap.exchange(0) : 0; count > 0) {
    callback(user_data, count);
  }
  return result;
}

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

TEST_F(QosEvents, one_that_comes_when_the_middleware_has_counted_but_does_not_listen_is_not_late)
{
  const auto peer = make_node("peer");  // in no executor
  std::shared_ptr<Publisher<Log>> other;
  std::size_t seen = 0;
  int current = 0;
  subscription_options.events.matched = [&](const rmw_matched_status_t & status) {
    seen += status.total_count_change;
    current += status.current_count_change;
  };
  in_the_gap = [&] { other = peer->create_publisher<Log>("t", 10); };
  const auto subscription = subscribe(10);
  EXPECT_TRUE(spin_until(executor, [&] { return seen == 1 && current == 1; }));
}

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

// A thread of DDS that tells of these kinds has a lock that a thread that takes any of the entity's events needs.
TEST_F(QosEvents, both_sides_learn_of_lost_liveliness_and_nobody_listens_for_it)
{
  listened_for.clear();
  int publisher_sees = 0;
  int alive = 0;
  int not_alive = 0;
  publisher_options.events.liveliness_lost = [&](const auto &) { ++publisher_sees; };
  publisher_options.events.deadline_missed = [](const auto &) {};
  subscription_options.events.deadline_missed = [](const auto &) {};
  subscription_options.events.message_lost = [](const auto &) {};
  subscription_options.events.matched = [](const auto &) {};
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
  EXPECT_EQ(listened_for, std::set<rmw_event_type_t>{RMW_EVENT_SUBSCRIPTION_MATCHED});
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
    const std::string & name = entry.first;
    const bool looks = name.size() > 5 && name.compare(name.size() - 5, 5, "/look") == 0;
    events += name.find("/waitable/") != std::string::npos && !looks ? 1 : 0;
  }
  EXPECT_EQ(
    events + publisher->unsupported_events().size() + subscription->unsupported_events().size(),
    11U);
}

}  // namespace
}  // namespace rclrt_rcl
