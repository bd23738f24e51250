// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The middleware may call what it was given at any time, also after it was taken back; takes that find
// nothing; and what outlives a node that is dropped while rclcpp's own callbacks run.

#include <dlfcn.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "announce.hpp"
#include "conformance/suite.hpp"
#include "rcl/event.h"
#include "rcl_interfaces/msg/parameter_event.hpp"
#include "rcl_interfaces/srv/list_parameters.hpp"
#include "rclrt_front_end/process_platform.hpp"

namespace
{

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
  return next(event, callback, user_data);
}

namespace rclrt_rclcpp
{
namespace
{

using namespace conformance;
using builtin_interfaces::msg::Time;
using std::chrono::milliseconds;

using rcl_interfaces::msg::ParameterEvent;
using rcl_interfaces::srv::ListParameters;

/// An engine with callbacks that count their releases.
struct Counted
{
  explicit Counted(int count = 1)
  : engine(rclrt_front_end::process_platform(), rclrt_core::EngineOptions())
  {
    std::shared_ptr<rclrt_core::Group> group;
    rclrt_core::GroupOptions group_options;
    group_options.name = "group";
    EXPECT_TRUE(engine.add_group(group_options, &group).ok());
    for (int i = 0; i < count; ++i) {
      rclrt_core::CallbackOptions options;
      options.name = std::to_string(i);
      options.depth = 1000;
      options.run = [](const rclrt_core::Job &) { return true; };
      announces.emplace_back();
      announces.back().engine = &engine;
      EXPECT_TRUE(engine.add_callback(std::move(options), group, &announces.back().callback).ok());
    }
  }
  uint64_t released(int number) const
  {
    return engine.statistics(*announces[number].callback).released;
  }

  rclrt_core::Engine engine;
  std::vector<Announce> announces;
};

TEST(Announcements, that_were_taken_back_do_nothing_however_late_they_are_called)
{
  std::vector<Token> late;
  for (int i = 0; i < 3; ++i) {
    Counted counted;
    const Token token = make_token(counted.announces[0]);
    announce(token, 2);
    EXPECT_EQ(counted.released(0), 2U);
    take_back(token);
    announce(token, 1);
    EXPECT_EQ(counted.released(0), 2U);
    take_back(token);  // twice is once
    late.push_back(token);
  }
  for (const Token token : late) {
    announce(token, 1);  // the engines are gone
  }
}

TEST(Announcements, of_what_came_later_are_not_made_by_what_was_taken_back)
{
  Counted counted(2);
  const Token first = make_token(counted.announces[0]);
  take_back(first);
  const Token second = make_token(counted.announces[1]);  // in the place of the first
  EXPECT_NE(first, second);
  announce(first, 1);
  EXPECT_EQ(counted.released(1), 0U);
  announce(second, 1);
  EXPECT_EQ(counted.released(1), 1U);
  take_back(second);
}

TEST(Announcements, may_be_called_while_they_are_taken_back_and_the_engine_goes)
{
  std::atomic<const void *> token{nullptr};
  std::atomic<bool> ended{false};
  std::vector<std::thread> middleware;
  for (int i = 0; i < 2; ++i) {
    middleware.emplace_back([&] {
      while (!ended) {
        if (const Token it = token) {
          announce(it, 1);
        }
      }
    });
  }
  for (int i = 0; i < 300; ++i) {
    Counted counted;
    token = make_token(counted.announces[0]);
    EXPECT_TRUE(wait_for([&] { return counted.released(0) > 0; }));
    take_back(token);  // and the middleware goes on calling it
  }
  ended = true;
  for (auto & thread : middleware) {
    thread.join();
  }
}

TEST(Announcements, that_are_parked_are_counted_until_they_are_taken_back)
{
  Counted counted;
  const Token token = make_token(counted.announces[0]);
  park(token);
  announce(token, 1);
  announce(token, 2);
  EXPECT_EQ(counted.released(0), 0U);
  EXPECT_EQ(take_back(token), 3U);
  const Token next = make_token(counted.announces[0]);  // in the same place
  announce(next, 1);
  EXPECT_EQ(counted.released(0), 1U);
  EXPECT_EQ(take_back(next), 0U);
}

class OwnParts : public Suite
{
};
OVER_OUR_EXECUTORS(OwnParts);

TEST_P(OwnParts, a_take_of_a_message_that_finds_nothing_is_no_execution)
{
  const auto publisher = node->create_publisher<Time>("topic", 5);
  int messages = 0;
  const auto subscription =
    node->create_subscription<Time>("topic", 5, [&messages](std::unique_ptr<Time>) { ++messages; });
  executor->add_node(node);
  const std::string of_topic = "/node/subscription/topic";
  EXPECT_TRUE(wait_for([&] { return subscription->get_publisher_count() > 0; }));
  publisher->publish(Time());
  EXPECT_TRUE(wait_for([&] { return statistics_of(of_topic).released == 1; }));
  // Somebody else is faster.
  Time message;
  rclcpp::MessageInfo info;
  EXPECT_TRUE(wait_for([&] { return subscription->take(message, info); }));
  executor->spin_some();
  EXPECT_EQ(messages, 0);
  EXPECT_EQ(statistics_of(of_topic).executed, 0U);
  EXPECT_EQ(statistics_of(of_topic).empty, 1U);
}

/// A callback that goes on until it is let.
struct Held
{
  std::atomic<bool> entered{false};
  std::atomic<bool> let{false};
  void hold()
  {
    entered = true;
    EXPECT_TRUE(wait_for([this] { return let.load(); }));
  }
};

#if !RCLRT_RCLCPP_IS_HUMBLE  // which has no matched events

TEST_P(OwnParts, changes_before_an_executor_has_the_event_are_counted)
{
  std::atomic<int> matches{0};
  std::atomic<int> current{0};
  std::atomic<int> incompatible{0};
  rclcpp::SubscriptionOptions options;
  options.event_callbacks.matched_callback = [&](rclcpp::MatchedInfo & info) {
    current += info.current_count_change;
    matches += static_cast<int>(info.total_count_change);
  };
  options.event_callbacks.incompatible_qos_callback =
    [&](rclcpp::QOSRequestedIncompatibleQoSInfo & info) {
      incompatible += info.total_count_change;
    };
  const auto peer = make_node("peer");
  const auto subscription =
    node->create_subscription<Time>("topic", rclcpp::QoS(1), [](const Time &) {}, options);
  auto gone = peer->create_publisher<Time>("topic", 1);
  const auto unreliable = peer->create_publisher<Time>("topic", rclcpp::QoS(1).best_effort());
  const auto stays = peer->create_publisher<Time>("topic", 1);
  EXPECT_TRUE(wait_for([&] { return subscription->get_publisher_count() == 2; }));
  gone.reset();
  EXPECT_TRUE(wait_for([&] { return subscription->get_publisher_count() == 1; }));
  for (int others = 0; others < 2; ++others) {  // of the second, by the next executor
    executor = make_executor();
    executor->add_node(node);
    const auto late = peer->create_publisher<Time>("topic", 1);
    const Spinning spinning(*executor);
    EXPECT_TRUE(wait_for([&] { return matches == 3 + others && current == 2; })) << matches;
    EXPECT_TRUE(wait_for([&] { return incompatible == 1; }));
  }
}

#endif

// A thread of DDS that tells of these kinds has a lock that a thread that takes any of the entity's events needs.
TEST_P(OwnParts, lost_messages_missed_deadlines_and_liveliness_are_looked_for_not_listened_to)
{
  listened_for.clear();
  std::atomic<int> missed{0};
  rclcpp::SubscriptionOptions options;
  options.event_callbacks.deadline_callback = [&](rclcpp::QOSDeadlineRequestedInfo & info) {
    missed += info.total_count_change;
  };
  options.event_callbacks.liveliness_callback = [](rclcpp::QOSLivelinessChangedInfo &) {};
  options.event_callbacks.message_lost_callback = [](rclcpp::QOSMessageLostInfo &) {};
  rclcpp::PublisherOptions publisher_options;
  publisher_options.event_callbacks.deadline_callback = [](rclcpp::QOSDeadlineOfferedInfo &) {};
  publisher_options.event_callbacks.liveliness_callback = [](rclcpp::QOSLivelinessLostInfo &) {};
  const auto qos = rclcpp::QoS(1).deadline(5ms);
  const auto publisher = node->create_publisher<Time>("topic", qos, publisher_options);
  const auto subscription =
    node->create_subscription<Time>("topic", qos, [](const Time &) {}, options);
  executor->add_node(node);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return subscription->get_publisher_count() > 0; }));
  publisher->publish(Time());
  EXPECT_TRUE(wait_for([&] { return missed > 3; }));
  for (const auto kind :
       {RMW_EVENT_MESSAGE_LOST, RMW_EVENT_REQUESTED_DEADLINE_MISSED, RMW_EVENT_LIVELINESS_CHANGED,
        RMW_EVENT_OFFERED_DEADLINE_MISSED, RMW_EVENT_LIVELINESS_LOST}) {
    EXPECT_EQ(listened_for.count(kind), 0U) << kind;
  }
}

TEST_P(OwnParts, requests_that_come_between_two_executors_are_served_by_the_second)
{
  std::atomic<int> served{0};
  const auto service = node->create_service<ListParameters>(
    "service",
    [&served](const ListParameters::Request::SharedPtr, const ListParameters::Response::SharedPtr) {
      ++served;
    });
  const auto peer = make_node("peer");
  const auto client = peer->create_client<ListParameters>("service");
  ASSERT_TRUE(client->wait_for_service(kPatience));
  const auto ask = [&client] {
    client->async_send_request(
      std::make_shared<ListParameters::Request>(),
      [](rclcpp::Client<ListParameters>::SharedFuture) {});
  };
  for (int before = 0; before < 9; before += 3) {
    {
      executor = make_executor();
      executor->add_node(node);
      const Spinning spinning(*executor);
      ask();
      EXPECT_TRUE(wait_for([&] { return served == before + 1; }));
    }
    executor.reset();
    ask();
    ask();
    executor = make_executor();
    executor->add_node(node);
    const Spinning spinning(*executor);
    EXPECT_TRUE(wait_for([&] { return served == before + 3; }));
  }
}

TEST_P(OwnParts, a_node_stays_while_a_parameter_service_runs_whoever_drops_it)
{
  Held held;
  node->declare_parameter("held", 1);
  const auto guard =
    node->add_on_set_parameters_callback([&held](const std::vector<rclcpp::Parameter> &) {
      held.hold();
      rcl_interfaces::msg::SetParametersResult result;
      result.successful = true;
      return result;
    });
  const auto peer = make_node("peer");
  const auto client = std::make_shared<rclcpp::AsyncParametersClient>(peer, "node");
  executor->add_node(node);
  const Spinning spinning(*executor);
  EXPECT_TRUE(client->wait_for_service(kPatience));
  const auto answered = client->set_parameters({rclcpp::Parameter("held", 2)});
  EXPECT_TRUE(wait_for([&] { return held.entered.load(); }));
  const std::weak_ptr<rclcpp::Node> weak = node;
  node.reset();
  EXPECT_FALSE(weak.expired());
  held.let = true;
  EXPECT_TRUE(wait_for([&] { return weak.expired(); }));
}

TEST_P(OwnParts, a_node_stays_while_a_callback_of_parameter_events_runs_whoever_drops_it)
{
  for (const bool within_the_process : {false, true}) {
    Held held;
    node = make_node("dropped", by_pointer(within_the_process));
    auto subscription = node->create_subscription<ParameterEvent>(
      "/parameter_events", 5, [&held](std::unique_ptr<ParameterEvent>) { held.hold(); });
    auto publisher = node->create_publisher<ParameterEvent>("/parameter_events", 5);
    executor->add_node(node);
    const Spinning spinning(*executor);
    EXPECT_TRUE(wait_for([&] { return subscription->get_publisher_count() > 0; }));
    EXPECT_TRUE(wait_for([&] {
      publisher->publish(std::make_unique<ParameterEvent>());
      return held.entered.load();
    }));
    const std::weak_ptr<rclcpp::Node> weak = node;
    node.reset();
    EXPECT_FALSE(weak.expired()) << within_the_process;
    held.let = true;
    EXPECT_TRUE(wait_for([&] { return weak.expired(); }));
  }
}

}  // namespace
}  // namespace rclrt_rclcpp
