// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What any executor of rclcpp does, ours do: every test also runs with rclcpp's own.

#include <dlfcn.h>
#include <malloc.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "rcl/subscription.h"
#include "rcl_interfaces/srv/list_parameters.hpp"
#include "rcutils/logging.h"
#include "typed_fixture.hpp"

namespace
{

/// What happens when the middleware has counted what waits for "/gap", and does not listen to it yet.
std::function<void()> in_the_gap;
/// Messages that came then. The middleware tells of them when the function is given to it again.
std::atomic<std::size_t> came_in_the_gap{0};

}  // namespace

// In this program it comes before the one of rcl. As with rmw_fastrtps 9.3, but the gap is never too short.
extern "C" rcl_ret_t rcl_subscription_set_on_new_message_callback(
  const rcl_subscription_t * subscription, rcl_event_callback_t callback, const void * user_data)
{
  static const auto next =
    reinterpret_cast<decltype(&rcl_subscription_set_on_new_message_callback)>(
      dlsym(RTLD_NEXT, "rcl_subscription_set_on_new_message_callback"));
  const bool is_it = std::string(rcl_subscription_get_topic_name(subscription)) == "/gap";
  if (callback == nullptr || !is_it) {
    return next(subscription, callback, user_data);
  }
  if (const auto happens = std::exchange(in_the_gap, {})) {
    const rcl_ret_t result = next(
      subscription, [](const void *, std::size_t count) { came_in_the_gap += count; }, nullptr);
    happens();
    while (came_in_the_gap == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return result == RCL_RET_OK ? next(subscription, callback, user_data) : result;
  }
  const rcl_ret_t result = next(subscription, callback, user_data);
  if (const std::size_t count = came_in_the_gap.exchange(0); count > 0) {
    callback(user_data, count);
  }
  return result;
}

namespace rclrt_rclcpp
{
namespace
{

using rcl_interfaces::srv::ListParameters;

template <typename ExecutorT>
class Executors : public TypedFixture<ExecutorT>
{
protected:
  /// Publish until the condition holds.
  bool publish_until(rclcpp::Publisher<Time> & publisher, const std::function<bool()> & condition)
  {
    return wait_for([&] {
      publisher.publish(Time());
      return condition();
    });
  }
};

TYPED_TEST_SUITE(Executors, AllExecutors, ExecutorNames);

TYPED_TEST(Executors, timers_subscriptions_services_and_clients_are_served)
{
  std::atomic<int> ticks{0};
  std::atomic<int> received{0};
  const auto timer = this->node_->create_wall_timer(milliseconds(2), [&] { ++ticks; });
  const auto subscription =
    this->node_->template create_subscription<Time>("topic", 10, [&](const Time &) { ++received; });
  const auto publisher = this->node_->template create_publisher<Time>("topic", 10);
  const auto service = this->node_->template create_service<ListParameters>(
    "service", [](
                 const std::shared_ptr<ListParameters::Request> & request,
                 const std::shared_ptr<ListParameters::Response> & response) {
      response->result.names = request->prefixes;
    });
  const auto client = this->node_->template create_client<ListParameters>("service");
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  EXPECT_TRUE(wait_for([&] { return ticks > 5; }));
  EXPECT_TRUE(this->publish_until(*publisher, [&] { return received > 5; }));
  ASSERT_TRUE(client->wait_for_service(seconds(30)));
  auto request = std::make_shared<ListParameters::Request>();
  request->prefixes = {"answer"};
  auto answer = client->async_send_request(request);
  ASSERT_EQ(answer.wait_for(seconds(30)), std::future_status::ready);
  EXPECT_EQ(answer.get()->result.names, std::vector<std::string>{"answer"});
}

TYPED_TEST(Executors, what_is_created_while_it_spins_is_served)
{
  if (!kFollowsGroups<TypeParam>) {
    GTEST_SKIP() << "Humble's own executors lose track of groups that come and go";
  }
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  std::atomic<int> ticks{0};
  std::atomic<int> received{0};
  const auto group =
    this->node_->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  const auto timer = this->node_->create_wall_timer(milliseconds(2), [&] { ++ticks; }, group);
  EXPECT_TRUE(wait_for([&] { return ticks > 2; }));
  const auto publisher = this->node_->template create_publisher<Time>("topic", 10);
  const auto subscription =
    this->node_->template create_subscription<Time>("topic", 10, [&](const Time &) { ++received; });
  EXPECT_TRUE(this->publish_until(*publisher, [&] { return received > 2; }));
}

TYPED_TEST(Executors, entities_may_be_dropped_by_any_thread_while_it_spins)
{
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  const auto publisher = this->node_->template create_publisher<Time>("topic", 10);
  std::atomic<int> calls{0};
  for (int i = 0; i < 30; ++i) {
    auto timer = this->node_->create_wall_timer(milliseconds(1), [&] { ++calls; });
    auto subscription =
      this->node_->template create_subscription<Time>("topic", 10, [&](const Time &) { ++calls; });
    auto generic = this->node_->create_generic_subscription(
      "topic", "builtin_interfaces/msg/Time", 10,
      [&](const std::shared_ptr<const rclcpp::SerializedMessage> &) { ++calls; });
    publisher->publish(Time());
    std::this_thread::sleep_for(milliseconds(3));
    publisher->publish(Time());
  }
  EXPECT_GT(calls, 0);
}

TYPED_TEST(Executors, a_service_that_lets_go_of_itself_its_group_and_others_still_answers)
{
  auto group = this->node_->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  rclcpp::SubscriptionOptions options;
  options.callback_group = group;
  auto subscription =
    this->node_->template create_subscription<Time>("topic", 10, [](const Time &) {}, options);
  rclcpp::Service<ListParameters>::SharedPtr service;
  service = this->node_->template create_service<ListParameters>(
    "service",
    [&](
      const std::shared_ptr<ListParameters::Request> & request,
      const std::shared_ptr<ListParameters::Response> & response) {
      subscription.reset();
      service.reset();
      group.reset();
      response->result.names = request->prefixes;
    },
    qos_of_service(rclcpp::ServicesQoS()), group);
  options.callback_group.reset();
  const auto client = this->node_->template create_client<ListParameters>("service");
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  ASSERT_TRUE(client->wait_for_service(seconds(30)));
  auto request = std::make_shared<ListParameters::Request>();
  request->prefixes = {"answer"};
  auto answer = client->async_send_request(request);
  ASSERT_EQ(answer.wait_for(seconds(30)), std::future_status::ready);
  EXPECT_EQ(answer.get()->result.names, std::vector<std::string>{"answer"});
}

// However long after its request: nothing here counts the time.
TYPED_TEST(Executors, answers_may_come_later_than_those_to_later_requests)
{
  using Service = rclcpp::Service<ListParameters>;
  using Header = std::shared_ptr<rmw_request_id_t>;
  std::mutex mutex;
  std::vector<Header> open;
  const auto service = this->node_->template create_service<ListParameters>(
    "later", [&](
               const std::shared_ptr<Service> &, const Header & header,
               const std::shared_ptr<ListParameters::Request> &) {
      const std::lock_guard<std::mutex> lock(mutex);
      open.push_back(header);
    });
  const auto client = this->node_->template create_client<ListParameters>("later");
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  ASSERT_TRUE(client->wait_for_service(seconds(30)));
  std::vector<typename rclcpp::Client<ListParameters>::FutureAndRequestId> answers;
  for (std::size_t i = 0; i < 3; ++i) {
    answers.push_back(client->async_send_request(std::make_shared<ListParameters::Request>()));
    ASSERT_TRUE(wait_for([&] {
      const std::lock_guard<std::mutex> lock(mutex);
      return open.size() == i + 1;
    }));
  }
  for (std::size_t i = 3; i-- > 0;) {
    ListParameters::Response response;
    response.result.names = {std::to_string(i)};
    service->send_response(*open[i], response);
    ASSERT_EQ(answers[i].wait_for(seconds(30)), std::future_status::ready);
    EXPECT_EQ(answers[i].get()->result.names, std::vector<std::string>{std::to_string(i)});
  }
}

TYPED_TEST(Executors, a_service_may_wait_for_a_client_of_another_group)
{
  if (
    !std::is_same_v<TypeParam, PreemptiveExecutor> &&
    !std::is_same_v<TypeParam, CallbackIsolatedExecutor> &&
    !std::is_same_v<TypeParam, rclcpp::executors::MultiThreadedExecutor>) {
    GTEST_SKIP() << "it has one thread";
  }
  using Request = std::shared_ptr<ListParameters::Request>;
  using Response = std::shared_ptr<ListParameters::Response>;
  const auto qos = qos_of_service(rclcpp::ServicesQoS());
  const auto make_group = [&] {
    return this->node_->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  };
  const auto far = this->node_->template create_service<ListParameters>(
    "far", [](const Request &, const Response & response) { response->result.names = {"far"}; });
  const auto group_of_client = make_group();
  const auto group_of_relay = make_group();
  const auto to_far =
    this->node_->template create_client<ListParameters>("far", qos, group_of_client);
  const auto relay = this->node_->template create_service<ListParameters>(
    "relay",
    [&](const Request & request, const Response & response) {
      auto answer = to_far->async_send_request(request);
      if (answer.wait_for(seconds(30)) == std::future_status::ready) {
        *response = *answer.get();
      }
    },
    qos, group_of_relay);
  const auto client = this->node_->template create_client<ListParameters>("relay");
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  ASSERT_TRUE(client->wait_for_service(seconds(30)) && to_far->wait_for_service(seconds(30)));
  auto answer = client->async_send_request(std::make_shared<ListParameters::Request>());
  ASSERT_EQ(answer.wait_for(seconds(30)), std::future_status::ready);
  EXPECT_EQ(answer.get()->result.names, std::vector<std::string>{"far"});
}

TYPED_TEST(Executors, a_node_that_is_removed_runs_no_more_and_one_that_is_added_does)
{
  std::atomic<int> ticks{0};
  const auto timer = this->node_->create_wall_timer(milliseconds(1), [&] { ++ticks; });
  const Spinning spinning(*this->executor_);
  this->executor_->add_node(this->node_);
  EXPECT_TRUE(wait_for([&] { return ticks > 2; }));
  this->executor_->remove_node(this->node_);
  std::this_thread::sleep_for(milliseconds(20));  // one may have been running
  const int then = ticks;
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(ticks, then);
  this->executor_->add_node(this->node_);
  EXPECT_TRUE(wait_for([&] { return ticks > then; }));
}

TYPED_TEST(Executors, groups_may_be_added_by_hand)
{
  std::atomic<int> ticks{0};
  const auto group =
    this->node_->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive, false);
  const auto timer = this->node_->create_wall_timer(milliseconds(1), [&] { ++ticks; }, group);
  const Spinning spinning(*this->executor_);
  this->executor_->add_callback_group(group, this->node_->get_node_base_interface());
  EXPECT_TRUE(wait_for([&] { return ticks > 2; }));
  EXPECT_THROW(
    this->executor_->add_callback_group(group, this->node_->get_node_base_interface()),
    std::runtime_error);
  this->executor_->remove_callback_group(group);
}

TYPED_TEST(Executors, messages_within_the_process_arrive)
{
  const std::shared_ptr<rclcpp::Node> node =
    this->make_node("intra", rclcpp::NodeOptions().use_intra_process_comms(true));
  std::atomic<int> received{0};
  std::atomic<const Time *> got{nullptr};
  const auto subscription =
    node->create_subscription<Time>("topic", 10, [&](std::unique_ptr<Time> message) {
      got = message.get();
      ++received;
    });
  const auto publisher = node->create_publisher<Time>("topic", 10);
  this->executor_->add_node(node);
  const Spinning spinning(*this->executor_);
  auto message = std::make_unique<Time>();
  const Time * const sent = message.get();
  publisher->publish(std::move(message));
  ASSERT_TRUE(wait_for([&] { return received > 0; }));
  EXPECT_EQ(got, sent) << "without a copy";
}

TYPED_TEST(Executors, quality_of_service_events_arrive)
{
  std::atomic<int> events{0};
  rclcpp::SubscriptionOptions options;
  options.event_callbacks.incompatible_qos_callback =
    [&](rclcpp::QOSRequestedIncompatibleQoSInfo &) { ++events; };
  this->executor_->add_node(this->node_);
  // A handler of rclcpp's own uses it: it goes after the threads.
  rclcpp::PublisherBase::SharedPtr publisher;
  const Spinning spinning(*this->executor_);
  const auto subscription = this->node_->template create_subscription<Time>(
    "topic", rclcpp::QoS(1).reliable(), [](const Time &) {}, options);
  publisher = this->node_->template create_publisher<Time>("topic", rclcpp::QoS(1).best_effort());
  EXPECT_TRUE(wait_for([&] { return events > 0; }));
}

std::atomic<int> complaints{0};

TYPED_TEST(Executors, what_nobody_listens_for_is_logged)
{
  const auto before = rcutils_logging_get_output_handler();
  complaints = 0;
  rcutils_logging_set_output_handler([](
                                       const rcutils_log_location_t *, int, const char *,
                                       rcutils_time_point_value_t, const char * format, va_list *) {
    complaints += std::string(format).find("incompatible QoS") != std::string::npos ? 1 : 0;
  });
  {
    this->executor_->add_node(this->node_);
    const Spinning spinning(*this->executor_);
    const auto subscription = this->node_->template create_subscription<Time>(
      "topic", rclcpp::QoS(1).reliable(), [](const Time &) {});
    const auto publisher =
      this->node_->template create_publisher<Time>("topic", rclcpp::QoS(1).best_effort());
    EXPECT_TRUE(wait_for([] { return complaints >= 2; })) << "one of either side";
  }
  rcutils_logging_set_output_handler(before);
}

TYPED_TEST(Executors, take_the_place_of_the_users_function_for_new_messages_if_they_want_to_be_told)
{
  std::atomic<int> told{0};
  std::atomic<int> received{0};
  const auto subscription =
    this->node_->template create_subscription<Time>("topic", 10, [&](const Time &) { ++received; });
  const auto publisher = this->node_->template create_publisher<Time>("topic", 10);
  subscription->set_on_new_message_callback([&](std::size_t) { ++told; });
  this->executor_->add_node(this->node_);
  {
    const Spinning spinning(*this->executor_);
    EXPECT_TRUE(this->publish_until(*publisher, [&] { return received > 0; }));
  }
  this->executor_->remove_node(this->node_);
  publisher->publish(Time());
  EXPECT_EQ(told > 0, kWaits<TypeParam>);
}

TYPED_TEST(
  Executors, a_message_that_comes_when_the_middleware_has_counted_but_does_not_listen_is_not_late)
{
  std::atomic<int> received{0};
  const auto publisher = this->node_->template create_publisher<Time>("gap", 10);
  const auto subscription =
    this->node_->template create_subscription<Time>("gap", 10, [&](const Time &) { ++received; });
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 1; }));
  in_the_gap = [&] { publisher->publish(Time()); };
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  if (kWaits<TypeParam>) {  // never asks to be told
    std::exchange(in_the_gap, {})();
  }
  EXPECT_TRUE(wait_for([&] { return received > 0; }));
}

TYPED_TEST(Executors, parameters_of_another_node_are_set_through_it)
{
  const auto of_client = std::make_shared<TypeParam>(this->executor_options());
  const std::shared_ptr<rclcpp::Node> asking = this->make_node("asking");
  rclcpp::SyncParametersClient client(of_client, asking, "node");
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  ASSERT_TRUE(client.wait_for_service(seconds(30)));
  EXPECT_FALSE(this->node_->get_clock()->ros_time_is_active());
  const auto results =
    client.set_parameters({rclcpp::Parameter("use_sim_time", true)}, seconds(30));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_TRUE(results[0].successful) << results[0].reason;
  EXPECT_TRUE(client.get_parameter("use_sim_time", false));
  EXPECT_TRUE(wait_for([&] { return this->node_->get_clock()->ros_time_is_active(); }));
}

TYPED_TEST(Executors, entities_with_events_may_be_dropped_by_any_thread_while_it_spins)
{
  std::atomic<int> events{0};
  rclcpp::PublisherOptions publisher_options;
  publisher_options.event_callbacks.incompatible_qos_callback =
    [&](rclcpp::QOSOfferedIncompatibleQoSInfo &) { ++events; };
  rclcpp::SubscriptionOptions options;
  options.event_callbacks.incompatible_qos_callback =
    [&](rclcpp::QOSRequestedIncompatibleQoSInfo &) { ++events; };
#if !RCLRT_RCLCPP_IS_HUMBLE  // which has no such event
  publisher_options.event_callbacks.matched_callback = [&](rclcpp::MatchedInfo &) { ++events; };
  options.event_callbacks.matched_callback = [&](rclcpp::MatchedInfo &) { ++events; };
#endif
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  // Each has new partners, and loses them, all the time.
  const auto come_and_go = [&](const rclcpp::QoS & qos, bool publishes) {
    for (int i = 0; i < 20; ++i) {
      if (publishes) {
        this->node_->template create_publisher<Time>("topic", qos, publisher_options);
      } else {
        this->node_->template create_subscription<Time>("topic", qos, [](const Time &) {}, options);
      }
    }
  };
  std::thread unreliable([&] { come_and_go(rclcpp::QoS(1).best_effort(), true); });
  std::thread publisher([&] { come_and_go(rclcpp::QoS(1), true); });
  come_and_go(rclcpp::QoS(1), false);
  unreliable.join();
  publisher.join();
  // Whatever those were told, what comes now is told, too.
  std::atomic<int> late_events{0};
  options.event_callbacks.incompatible_qos_callback =
    [&](rclcpp::QOSRequestedIncompatibleQoSInfo &) { ++late_events; };
  const auto subscription = this->node_->template create_subscription<Time>(
    "topic", rclcpp::QoS(1), [](const Time &) {}, options);
  const auto incompatible = this->node_->template create_publisher<Time>(
    "topic", rclcpp::QoS(1).best_effort(), publisher_options);
  EXPECT_TRUE(wait_for([&] { return late_events > 0; }));
}

TYPED_TEST(Executors, events_may_be_the_last_to_hold_what_they_are_of)
{
  auto subscription =
    this->node_->template create_subscription<Time>("topic", 10, [](const Time &) {});
  auto publisher = this->node_->template create_publisher<Time>("topic", 10);
  auto of_subscription = subscription->get_event_handlers();
  auto of_publisher = publisher->get_event_handlers();
  ASSERT_FALSE(of_subscription.empty());
  ASSERT_FALSE(of_publisher.empty());
  subscription.reset();
  publisher.reset();
  this->executor_->add_node(this->node_);
  this->executor_->spin_some();
  mallopt(M_PERTURB, 0x55);  // what uses memory that was freed crashes
  of_subscription.clear();
  of_publisher.clear();
  mallopt(M_PERTURB, 0);
  this->executor_->spin_some();
}

TYPED_TEST(Executors, a_cancelled_timer_rests_until_it_is_reset)
{
  std::atomic<int> ticks{0};
  const auto timer = this->node_->create_wall_timer(milliseconds(1), [&] { ++ticks; });
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  for (int round = 0; round < 3; ++round) {
    const int before = ticks;
    EXPECT_TRUE(wait_for([&] { return ticks > before + 2; }));
    timer->cancel();
    std::this_thread::sleep_for(milliseconds(10));
    const int then = ticks;
    std::this_thread::sleep_for(milliseconds(30));
    EXPECT_EQ(ticks, then);
    timer->reset();
  }
}

TYPED_TEST(Executors, it_ends_when_the_context_is_shut_down)
{
  for (const std::string by : {"another thread", "a timer", "a subscription"}) {
    const auto context = std::make_shared<rclcpp::Context>();
    context->init(0, nullptr);
    const auto shuts_down = [&] {
      context->shutdown("on purpose");
      context->shutdown("again");
    };
    const auto qos = rclcpp::QoS(1).transient_local();
    const auto node =
      std::make_shared<rclcpp::Node>("node", rclcpp::NodeOptions().context(context));
    rclcpp::TimerBase::SharedPtr timer;
    if (by == "a timer") {
      timer = node->create_wall_timer(milliseconds(1), shuts_down);
    }
    const auto publisher = node->create_publisher<Time>("topic", qos);
    const auto subscription = node->create_subscription<Time>("topic", qos, [&](const Time &) {
      if (by == "a subscription") {
        shuts_down();
      }
    });
    publisher->publish(Time());
    rclcpp::ExecutorOptions options;
    options.context = context;
    TypeParam executor(options);
    executor.add_node(node);
    std::atomic<bool> ended{false};
    std::thread thread([&] {
      executor.spin();
      ended = true;
    });
    if (by == "another thread") {
      EXPECT_TRUE(wait_for([&] { return executor.is_spinning(); }));
      shuts_down();
    }
    EXPECT_TRUE(wait_for([&] { return ended.load(); })) << by;
    thread.join();
  }
}

TYPED_TEST(Executors, a_callback_may_cancel_it)
{
  const auto timer =
    this->node_->create_wall_timer(milliseconds(1), [&] { this->executor_->cancel(); });
  this->executor_->add_node(this->node_);
  this->executor_->spin();
  EXPECT_FALSE(this->executor_->is_spinning());
}

template <typename ExecutorT>
class OurExecutorsOnly : public TypedFixture<ExecutorT>
{
};
using OurExecutors = ::testing::Types<
  PreemptiveExecutor, CallbackIsolatedExecutor, PriorityEventsExecutor, ReleaseAndExecute>;
TYPED_TEST_SUITE(OurExecutorsOnly, OurExecutors, ExecutorNames);

// KEEP_LAST drops the oldest message of both at each publication. Both have the same messages also where the thread that
// publishes gets little of a CPU.
TYPED_TEST(OurExecutorsOnly, let_equals_take_turns_in_an_overload)
{
  std::array<std::atomic<int>, 2> runs{};
  std::vector<rclcpp::SubscriptionBase::SharedPtr> subscriptions;
  for (auto & run : runs) {
    subscriptions.push_back(
      this->node_->template create_subscription<Time>("flood", 10, [&run](const Time &) {
        ++run;
        std::this_thread::sleep_for(std::chrono::microseconds(2500));
      }));
  }
  const auto publisher = this->node_->template create_publisher<Time>("flood", 10);
  this->executor_->add_node(this->node_);
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 2; }));
  const Spinning spinning(*this->executor_);
  EXPECT_TRUE(wait_for([&] {
    publisher->publish(Time());
    return runs[0] + runs[1] >= 60;
  }));
  EXPECT_GE(std::min<int>(runs[0], runs[1]), 25) << runs[0] << " and " << runs[1];
}

}  // namespace
}  // namespace rclrt_rclcpp
