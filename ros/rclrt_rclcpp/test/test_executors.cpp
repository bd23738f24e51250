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

#include "group_names.hpp"
#include "rcl_interfaces/srv/list_parameters.hpp"
#include "rcutils/logging.h"
#include "typed_fixture.hpp"

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

TYPED_TEST(Executors, serve_groups_that_were_added_before_they_had_anything)
{
  if (!kIsOurs<TypeParam> && !std::is_same_v<TypeParam, RclcppEvents>) {
    GTEST_SKIP() << "wait sets see it only when they wait again";
  }
  const std::shared_ptr<rclcpp::Node> node =
    this->make_node("intra", rclcpp::NodeOptions().use_intra_process_comms(true));
  for (const bool by_hand : {false, true}) {
    for (const bool exhaustive : {true, false}) {
      TypeParam executor(this->executor_options());
      const auto make_group = [&] {
        return node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive, !by_hand);
      };
      rclcpp::SubscriptionOptions options;
      if (by_hand) {
        options.callback_group = make_group();
        executor.add_callback_group(options.callback_group, node->get_node_base_interface());
      } else {
        executor.add_node(node);
        options.callback_group = make_group();
      }
      int received = 0;
      const auto subscription =
        node->create_subscription<Time>("topic", 10, [&](const Time &) { ++received; }, options);
      const auto publisher = node->create_publisher<Time>("topic", 10);
      publisher->publish(Time());
      exhaustive ? executor.spin_all(seconds(30)) : executor.spin_some();
      EXPECT_EQ(received, 1) << by_hand << exhaustive;
    }
  }
}

TYPED_TEST(Executors, serve_as_many_responses_of_a_client_as_its_depth)
{
  constexpr int kRequests = 40;
  const auto service = this->node_->template create_service<ListParameters>(
    "service",
    [](
      const std::shared_ptr<ListParameters::Request> &,
      const std::shared_ptr<ListParameters::Response> &) {},
    qos_of_service(rclcpp::QoS(kRequests)));
  const auto client = this->node_->template create_client<ListParameters>(
    "service", qos_of_service(rclcpp::QoS(kRequests)));
  TypeParam of_service(this->executor_options());
  const auto group_of_client = this->make_group(false);
  const auto waiting = this->node_->template create_client<ListParameters>(
    "service", qos_of_service(rclcpp::QoS(kRequests)), group_of_client);
  of_service.add_node(this->node_);
  std::atomic<int> answered{0};
  this->executor_->add_callback_group(group_of_client, this->node_->get_node_base_interface());
  {
    const Spinning spinning(of_service);
    ASSERT_TRUE(waiting->wait_for_service(seconds(30)));
    for (int i = 0; i < kRequests; ++i) {
      waiting->async_send_request(
        std::make_shared<ListParameters::Request>(),
        [&](rclcpp::Client<ListParameters>::SharedFuture) { ++answered; });
    }
    std::this_thread::sleep_for(milliseconds(200));  // so that most of them wait together
  }
  const Spinning spinning(*this->executor_);
  const Spinning of_late_requests(of_service);
  EXPECT_TRUE(wait_for([&] { return answered == kRequests; })) << answered;
}

TYPED_TEST(Executors, run_nothing_of_groups_that_are_destroyed)
{
  auto group = this->make_group();
  auto waitable = this->add_waitable([] {}, group);
  this->executor_->add_node(this->node_);
  waitable->trigger();
  group.reset();
  this->executor_->spin_some();
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

TYPED_TEST(Executors, one_entity_that_cannot_be_served_does_not_stop_the_others)
{
  if constexpr (kIsOurs<TypeParam>) {
    std::atomic<int> ticks{0};
    this->executor_->add_node(this->node_);
    const Spinning spinning(*this->executor_);
    const auto mute = std::make_shared<Mute>(this->context_, [] {});
    const auto its_group = this->make_group();
    this->node_->get_node_waitables_interface()->add_waitable(mute, its_group);
    const auto later = this->make_group();
    const auto timer = this->node_->create_wall_timer(milliseconds(1), [&] { ++ticks; }, later);
    EXPECT_TRUE(wait_for([&] { return ticks > 2; }));
    const auto findings = this->executor_->findings();
    EXPECT_EQ(
      std::count_if(
        findings.begin(), findings.end(),
        [](const auto & finding) {
          return finding.subject == "a waitable of group '/node/group/1'" &&
                 finding.what == "is not served: it cannot say so";
        }),
      1);

    // Another node does not suffer, but the same one is told when it comes anew.
    const std::shared_ptr<rclcpp::Node> other = this->make_node("other");
    this->executor_->add_node(other);
    this->executor_->remove_node(this->node_);
    EXPECT_EQ(error_of([&] { this->executor_->add_node(this->node_); }), "it cannot say so");
    this->executor_->remove_node(other);
  } else {
    GTEST_SKIP()
      << "rclcpp's wait sets do not need to be told; its events executor ends with the error";
  }
}

/// More than there are CPUs: callbacks that wait for each other, as with a synchronous call of a service.
TEST_F(WithContext, reentrant_groups_run_as_many_callbacks_at_once_as_was_asked_for)
{
  const uint32_t all = std::thread::hardware_concurrency() + 3;
  PreemptiveExecutorOptions options;
  options.reentrant_parallelism = all;
  PreemptiveExecutor executor(executor_options(), options);
  const auto node = make_node("node");
  const auto group = node->create_callback_group(rclcpp::CallbackGroupType::Reentrant);
  std::atomic<uint32_t> inside{0};
  std::atomic<bool> met{false};
  std::vector<rclcpp::TimerBase::SharedPtr> timers;
  for (uint32_t i = 0; i < all; ++i) {
    timers.push_back(node->create_wall_timer(
      milliseconds(1),
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

constexpr auto kForever = std::chrono::hours(10);

template <typename ExecutorT>
class Spin : public TypedFixture<ExecutorT>
{
};

TYPED_TEST_SUITE(Spin, AllExecutors, ExecutorNames);

/// Tells nobody.
class Silent : public Triggered
{
public:
  using Triggered::Triggered;
  void set_on_ready_callback(std::function<void(std::size_t, int)>) override {}
};

TYPED_TEST(Spin, some_runs_waitables_that_tell_nobody_with_wait_sets_only)
{
  const auto silent = std::make_shared<Silent>(this->context_, [] {});
  this->node_->get_node_waitables_interface()->add_waitable(silent, nullptr);
  this->executor_->add_node(this->node_);
  silent->trigger();
  this->executor_->spin_some(kForever);
  EXPECT_EQ(silent->executed(), kWaits<TypeParam> ? 1 : 0);
}

TYPED_TEST(Spin, asks_waitables_only_when_something_has_happened)
{
  if (std::is_same_v<TypeParam, rclcpp::executors::MultiThreadedExecutor>) {
    GTEST_SKIP() << "on a busy machine another thread of it asks on while one runs the callback";
  }
  constexpr int kTriggers = 20;
  std::shared_ptr<Triggered> waitable;
  waitable = this->add_waitable([&] {
    if (waitable->executed() < kTriggers) {
      waitable->trigger();
    }
  });
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  waitable->trigger();
  EXPECT_TRUE(wait_for([&] { return waitable->executed() == kTriggers; }));
  std::this_thread::sleep_for(milliseconds(50));  // with nothing to do
  EXPECT_LT(waitable->asked(), kIsOurs<TypeParam> ? 1 : 10 * kTriggers);
}

TYPED_TEST(Spin, a_node_until_a_future)
{
  std::promise<void> promise;
  const std::shared_future<void> future = promise.get_future();
  EXPECT_EQ(
    rclcpp::executors::spin_node_until_future_complete(
      *this->executor_, this->node_, future, milliseconds(1)),
    rclcpp::FutureReturnCode::TIMEOUT);
  const auto waitable = this->add_waitable([&] { promise.set_value(); });
  waitable->trigger();
  EXPECT_EQ(
    rclcpp::executors::spin_node_until_future_complete(
      *this->executor_, this->node_->get_node_base_interface(), future, kForever),
    rclcpp::FutureReturnCode::SUCCESS);
}

TYPED_TEST(Spin, what_another_executor_has_run_meanwhile_is_no_error)
{
  int received = 0;
  int events = 0;
  rclcpp::SubscriptionOptions options;
  options.event_callbacks.incompatible_qos_callback =
    [&](rclcpp::QOSRequestedIncompatibleQoSInfo &) { ++events; };
  const auto subscription = this->node_->template create_subscription<Time>(
    "topic", rclcpp::QoS(1).reliable(), [&](const Time &) { ++received; }, options);
  const auto incompatible =
    this->node_->template create_publisher<Time>("topic", rclcpp::QoS(1).best_effort());
  const auto publisher = this->node_->template create_publisher<Time>("topic", 1);
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 1; }));
  publisher->publish(Time());
  std::this_thread::sleep_for(milliseconds(50));  // most likely both have arrived
  this->executor_->add_node(this->node_);
  this->executor_->remove_node(this->node_);
  rclcpp::executors::SingleThreadedExecutor other(this->executor_options());
  for (int i = 0; i < 10 && (received == 0 || events == 0); ++i) {
    other.spin_node_once(this->node_, milliseconds(100));
  }
  this->executor_->add_node(this->node_);
  this->executor_->spin_some();
  EXPECT_EQ(received, 1);
  EXPECT_EQ(events, 1);
}

}  // namespace
}  // namespace rclrt_rclcpp
