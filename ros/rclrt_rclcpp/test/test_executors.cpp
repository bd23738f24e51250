// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What any executor of rclcpp does, ours do: every test also runs with rclcpp's own.

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "conformance/suite.hpp"
#include "group_names.hpp"
#include "rcl_interfaces/srv/list_parameters.hpp"
#include "rcutils/logging.h"

namespace rclrt_rclcpp
{
namespace
{

using namespace conformance;
using builtin_interfaces::msg::Time;
using std::chrono::milliseconds;

using rcl_interfaces::srv::ListParameters;

class Executors : public Suite
{
};
OVER_ALL_EXECUTORS(Executors);

TEST_P(Executors, entities_may_be_dropped_by_any_thread_while_it_spins)
{
  executor->add_node(node);
  const Spinning spinning(*executor);
  const auto publisher = node->create_publisher<Time>("topic", 10);
  std::atomic<int> calls{0};
  for (int i = 0; i < 30; ++i) {
    auto timer = node->create_wall_timer(1ms, [&] { ++calls; });
    auto subscription =
      node->create_subscription<Time>("topic", 10, [&](const Time &) { ++calls; });
    auto generic = node->create_generic_subscription(
      "topic", "builtin_interfaces/msg/Time", 10,
      [&](const std::shared_ptr<const rclcpp::SerializedMessage> &) { ++calls; });
    publisher->publish(Time());
    std::this_thread::sleep_for(3ms);
    publisher->publish(Time());
  }
  EXPECT_GT(calls, 0);
}

// However long after its request: nothing here counts the time.
TEST_P(Executors, answers_may_come_later_than_those_to_later_requests)
{
  using Service = rclcpp::Service<ListParameters>;
  using Header = std::shared_ptr<rmw_request_id_t>;
  std::mutex mutex;
  std::vector<Header> open;
  const auto service = node->create_service<ListParameters>(
    "later", [&](
               const std::shared_ptr<Service> &, const Header & header,
               const std::shared_ptr<ListParameters::Request> &) {
      const std::lock_guard<std::mutex> lock(mutex);
      open.push_back(header);
    });
  const auto client = node->create_client<ListParameters>("later");
  executor->add_node(node);
  const Spinning spinning(*executor);
  ASSERT_TRUE(client->wait_for_service(kPatience));
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
    ASSERT_EQ(answers[i].wait_for(kPatience), std::future_status::ready);
    EXPECT_EQ(answers[i].get()->result.names, std::vector<std::string>{std::to_string(i)});
  }
}

TEST_P(Executors, messages_within_the_process_arrive)
{
  node = make_node("intra", by_pointer());
  std::atomic<int> received{0};
  std::atomic<const Time *> got{nullptr};
  const auto subscription =
    node->create_subscription<Time>("topic", 10, [&](std::unique_ptr<Time> message) {
      got = message.get();
      ++received;
    });
  const auto publisher = node->create_publisher<Time>("topic", 10);
  executor->add_node(node);
  const Spinning spinning(*executor);
  auto message = std::make_unique<Time>();
  const Time * const sent = message.get();
  publisher->publish(std::move(message));
  ASSERT_TRUE(wait_for([&] { return received > 0; }));
  EXPECT_EQ(got, sent) << "without a copy";
}

std::atomic<int> complaints{0};

TEST_P(Executors, what_nobody_listens_for_is_logged)
{
  const auto before = rcutils_logging_get_output_handler();
  complaints = 0;
  rcutils_logging_set_output_handler([](
                                       const rcutils_log_location_t *, int, const char *,
                                       rcutils_time_point_value_t, const char * format, va_list *) {
    complaints += std::string(format).find("incompatible QoS") != std::string::npos ? 1 : 0;
  });
  {
    executor->add_node(node);
    const Spinning spinning(*executor);
    const auto subscription =
      node->create_subscription<Time>("topic", rclcpp::QoS(1).reliable(), [](const Time &) {});
    const auto publisher = node->create_publisher<Time>("topic", rclcpp::QoS(1).best_effort());
    EXPECT_TRUE(wait_for([] { return complaints >= 2; })) << "one of either side";
  }
  rcutils_logging_set_output_handler(before);
}

TEST_P(Executors, take_the_place_of_the_users_function_for_new_messages_if_they_want_to_be_told)
{
  std::atomic<int> told{0};
  std::atomic<int> received{0};
  const auto subscription =
    node->create_subscription<Time>("topic", 10, [&](const Time &) { ++received; });
  const auto publisher = node->create_publisher<Time>("topic", 10);
  subscription->set_on_new_message_callback([&](std::size_t) { ++told; });
  executor->add_node(node);
  {
    const Spinning spinning(*executor);
    EXPECT_TRUE(wait_for([&] {
      publisher->publish(Time());
      return received > 0;
    }));
  }
  executor->remove_node(node);
  publisher->publish(Time());
  EXPECT_EQ(told > 0, waits(GetParam()));
}

TEST_P(Executors, parameters_of_another_node_are_set_through_it)
{
  const std::shared_ptr<Executor> of_client = make_executor();
  const auto asking = make_node("asking");
  rclcpp::SyncParametersClient client(of_client, asking, "node");
  executor->add_node(node);
  const Spinning spinning(*executor);
  ASSERT_TRUE(client.wait_for_service(kPatience));
  EXPECT_FALSE(node->get_clock()->ros_time_is_active());
  const auto results = client.set_parameters({rclcpp::Parameter("use_sim_time", true)}, kPatience);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_TRUE(results[0].successful) << results[0].reason;
  EXPECT_TRUE(client.get_parameter("use_sim_time", false));
  EXPECT_TRUE(wait_for([&] { return node->get_clock()->ros_time_is_active(); }));
}

TEST_P(Executors, entities_with_events_may_be_dropped_by_any_thread_while_it_spins)
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
  executor->add_node(node);
  const Spinning spinning(*executor);
  // Each has new partners, and loses them, all the time.
  const auto come_and_go = [&](const rclcpp::QoS & qos, bool publishes) {
    for (int i = 0; i < 20; ++i) {
      if (publishes) {
        node->create_publisher<Time>("topic", qos, publisher_options);
      } else {
        node->create_subscription<Time>("topic", qos, [](const Time &) {}, options);
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
  const auto subscription =
    node->create_subscription<Time>("topic", rclcpp::QoS(1), [](const Time &) {}, options);
  const auto incompatible =
    node->create_publisher<Time>("topic", rclcpp::QoS(1).best_effort(), publisher_options);
  EXPECT_TRUE(wait_for([&] { return late_events > 0; }));
}

TEST_P(Executors, events_may_be_the_last_to_hold_what_they_are_of)
{
  auto subscription = node->create_subscription<Time>("topic", 10, [](const Time &) {});
  auto publisher = node->create_publisher<Time>("topic", 10);
  auto of_subscription = subscription->get_event_handlers();
  auto of_publisher = publisher->get_event_handlers();
  ASSERT_FALSE(of_subscription.empty());
  ASSERT_FALSE(of_publisher.empty());
  subscription.reset();
  publisher.reset();
  executor->add_node(node);
  executor->spin_some();
  mallopt(M_PERTURB, 0x55);  // what uses memory that was freed crashes
  of_subscription.clear();
  of_publisher.clear();
  mallopt(M_PERTURB, 0);
  executor->spin_some();
}

TEST_P(Executors, serve_groups_that_were_added_before_they_had_anything)
{
  if (!is_ours(GetParam()) && GetParam() != Kind::kRclcppEvents) {
    GTEST_SKIP() << "wait sets see it only when they wait again";
  }
  node = make_node("intra", by_pointer());
  for (const bool by_hand : {false, true}) {
    for (const bool exhaustive : {true, false}) {
      executor = make_executor();
      rclcpp::SubscriptionOptions options;
      if (by_hand) {
        options.callback_group = make_group(*node, false, false);
        add_group(*executor, options.callback_group, *node);
      } else {
        executor->add_node(node);
        options.callback_group = make_group(*node);
      }
      int received = 0;
      const auto subscription =
        node->create_subscription<Time>("topic", 10, [&](const Time &) { ++received; }, options);
      const auto publisher = node->create_publisher<Time>("topic", 10);
      publisher->publish(Time());
      exhaustive ? executor->spin_all(kPatience) : executor->spin_some();
      EXPECT_EQ(received, 1) << by_hand << exhaustive;
    }
  }
}

TEST_P(Executors, serve_as_many_responses_of_a_client_as_its_depth)
{
  constexpr int kRequests = 40;
  const auto service = node->create_service<ListParameters>(
    "service",
    [](
      const std::shared_ptr<ListParameters::Request> &,
      const std::shared_ptr<ListParameters::Response> &) {},
    qos_of_service(rclcpp::QoS(kRequests)));
  const auto client =
    node->create_client<ListParameters>("service", qos_of_service(rclcpp::QoS(kRequests)));
  const auto of_service = make_executor();
  const auto group_of_client = make_group(*node, false, false);
  const auto waiting = node->create_client<ListParameters>(
    "service", qos_of_service(rclcpp::QoS(kRequests)), group_of_client);
  of_service->add_node(node);
  std::atomic<int> answered{0};
  add_group(*executor, group_of_client, *node);
  {
    const Spinning spinning(*of_service);
    ASSERT_TRUE(waiting->wait_for_service(kPatience));
    for (int i = 0; i < kRequests; ++i) {
      waiting->async_send_request(
        std::make_shared<ListParameters::Request>(),
        [&](rclcpp::Client<ListParameters>::SharedFuture) { ++answered; });
    }
    std::this_thread::sleep_for(200ms);  // so that most of them wait together
  }
  const Spinning spinning(*executor);
  const Spinning of_late_requests(*of_service);
  EXPECT_TRUE(wait_for([&] { return answered == kRequests; })) << answered;
}

TEST_P(Executors, run_nothing_of_groups_that_are_destroyed)
{
  auto group = make_group(*node);
  auto waitable = make_waitable(*node, [] {}, group);
  executor->add_node(node);
  waitable->trigger();
  group.reset();
  executor->spin_some();
  EXPECT_EQ(waitable->executed(), 0);
}

TEST(Kept, goes_in_reverse)
{
  std::vector<int> gone;
  {
    detail::Kept kept;
    for (const int number : {1, 2, 3}) {
      kept.emplace_back(&gone, [&gone, number](const void *) { gone.push_back(number); });
    }
  }
  EXPECT_EQ(gone, (std::vector<int>{3, 2, 1}));
}

/// As all custom waitables are that cannot say when they are ready.
class Mute : public Triggered
{
public:
  using Triggered::Triggered;
  void set_on_ready_callback(std::function<void(std::size_t, int)>) override
  {
    throw std::runtime_error("it cannot say so");
  }
};

TEST_P(Executors, one_entity_that_cannot_be_served_does_not_stop_the_others)
{
  if (is_ours(GetParam())) {
    std::atomic<int> ticks{0};
    executor->add_node(node);
    const Spinning spinning(*executor);
    const auto mute = std::make_shared<Mute>(context, [] {});
    const auto its_group = make_group(*node);
    node->get_node_waitables_interface()->add_waitable(mute, its_group);
    const auto later = make_group(*node);
    const auto timer = node->create_wall_timer(1ms, [&] { ++ticks; }, later);
    EXPECT_TRUE(wait_for([&] { return ticks > 2; }));
    const auto findings = ours(*executor).findings();
    EXPECT_EQ(
      std::count_if(
        findings.begin(), findings.end(),
        [](const auto & finding) {
          return finding.subject == "a waitable of group '/node/group/1'" &&
                 finding.what == "is not served: it cannot say so";
        }),
      1);

    // Another node does not suffer, but the same one is told when it comes anew.
    const auto other = make_node("other");
    executor->add_node(other);
    executor->remove_node(node);
    EXPECT_EQ(error_of([&] { executor->add_node(node); }), "it cannot say so");
    executor->remove_node(other);
  } else {
    GTEST_SKIP()
      << "rclcpp's wait sets do not need to be told; its events executor ends with the error";
  }
}

/// More than there are CPUs: callbacks that wait for each other, as with a synchronous call of a service.
TEST_F(WithContext, reentrant_groups_run_as_many_callbacks_at_once_as_was_asked_for)
{
  const uint32_t all = std::thread::hardware_concurrency() + 3;
  rclcpp::ExecutorOptions in_context;
  in_context.context = context;
  PreemptiveExecutorOptions options;
  options.reentrant_parallelism = all;
  PreemptiveExecutor executor(in_context, options);
  const auto node = make_node("node");
  const auto group = conformance::make_group(*node, true);
  std::atomic<uint32_t> inside{0};
  std::atomic<bool> met{false};
  std::vector<rclcpp::TimerBase::SharedPtr> timers;
  for (uint32_t i = 0; i < all; ++i) {
    timers.push_back(node->create_wall_timer(
      1ms,
      [&] {
        ++inside;
        met = wait_for([&] { return met || inside >= all; });
        --inside;
      },
      group));
  }
  executor.add_node(node);
  const Spinning spinning(executor);
  EXPECT_TRUE(wait_for([&] { return met.load(); }));
}

class Spin : public Suite
{
};

OVER_ALL_EXECUTORS(Spin);

/// Tells nobody.
class Silent : public Triggered
{
public:
  using Triggered::Triggered;
  void set_on_ready_callback(std::function<void(std::size_t, int)>) override {}
};

TEST_P(Spin, some_runs_waitables_that_tell_nobody_with_wait_sets_only)
{
  const auto silent = std::make_shared<Silent>(context, [] {});
  node->get_node_waitables_interface()->add_waitable(silent, nullptr);
  executor->add_node(node);
  silent->trigger();
  executor->spin_some(kForever);
  EXPECT_EQ(silent->executed(), waits(GetParam()) ? 1 : 0);
}

TEST_P(Spin, asks_waitables_only_when_something_has_happened)
{
  if (GetParam() == Kind::kRclcppMulti) {
    GTEST_SKIP() << "on a busy machine another thread of it asks on while one runs the callback";
  }
  constexpr int kTriggers = 20;
  std::shared_ptr<Triggered> waitable;
  waitable = make_waitable(*node, [&] {
    if (waitable->executed() < kTriggers) {
      waitable->trigger();
    }
  });
  executor->add_node(node);
  const Spinning spinning(*executor);
  waitable->trigger();
  EXPECT_TRUE(wait_for([&] { return waitable->executed() == kTriggers; }));
  std::this_thread::sleep_for(50ms);  // with nothing to do
  EXPECT_LT(waitable->asked(), is_ours(GetParam()) ? 1 : 10 * kTriggers);
}

TEST_P(Spin, a_node_until_a_future)
{
  std::promise<void> promise;
  const std::shared_future<void> future = promise.get_future();
  EXPECT_EQ(
    rclcpp::executors::spin_node_until_future_complete(*executor, node, future, 1ms),
    rclcpp::FutureReturnCode::TIMEOUT);
  const auto waitable = make_waitable(*node, [&] { promise.set_value(); });
  waitable->trigger();
  EXPECT_EQ(
    rclcpp::executors::spin_node_until_future_complete(
      *executor, node->get_node_base_interface(), future, kForever),
    rclcpp::FutureReturnCode::SUCCESS);
}

TEST_P(Spin, what_another_executor_has_run_meanwhile_is_no_error)
{
  int received = 0;
  int events = 0;
  rclcpp::SubscriptionOptions options;
  options.event_callbacks.incompatible_qos_callback =
    [&](rclcpp::QOSRequestedIncompatibleQoSInfo &) { ++events; };
  const auto subscription = node->create_subscription<Time>(
    "topic", rclcpp::QoS(1).reliable(), [&](const Time &) { ++received; }, options);
  const auto incompatible = node->create_publisher<Time>("topic", rclcpp::QoS(1).best_effort());
  const auto publisher = node->create_publisher<Time>("topic", 1);
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 1; }));
  publisher->publish(Time());
  std::this_thread::sleep_for(50ms);  // most likely both have arrived
  executor->add_node(node);
  executor->remove_node(node);
  const auto other = make_executor_in(context, Kind::kRclcppSingle);
  for (int i = 0; i < 10 && (received == 0 || events == 0); ++i) {
    other->spin_node_once(node, 100ms);
  }
  executor->add_node(node);
  executor->spin_some();
  EXPECT_EQ(received, 1);
  EXPECT_EQ(events, 1);
}

}  // namespace
}  // namespace rclrt_rclcpp
