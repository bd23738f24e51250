// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Nodes, callback groups and entities that come and go, and who keeps them alive. Every test also runs
// with rclcpp's own executors, except where they are known to behave otherwise.

#include <algorithm>
#include <array>
#include <future>
#include <string>
#include <vector>

#include "group_names.hpp"
#include "rcl_interfaces/srv/list_parameters.hpp"
#include "typed_fixture.hpp"

namespace rclrt_rclcpp
{
namespace
{

using rcl_interfaces::srv::ListParameters;

template <typename ExecutorT>
class Groups : public TypedFixture<ExecutorT>
{
protected:
  /// All, added by hand, added with their nodes.
  std::array<std::size_t, 3> counts() const
  {
    auto & executor = *this->executor_;
    return {
      executor.get_all_callback_groups().size(),
      executor.get_manually_added_callback_groups().size(),
      executor.get_automatically_added_callback_groups_from_nodes().size()};
  }
};

TYPED_TEST_SUITE(Groups, AllExecutors, ExecutorNames);

TYPED_TEST(Groups, are_counted_as_they_are_added_and_removed)
{
  using Counts = std::array<std::size_t, 3>;
  const auto node = this->node_->get_node_base_interface();
  const auto by_hand = this->make_group(false);
  this->executor_->add_callback_group(by_hand, node);
  EXPECT_EQ(this->counts(), (Counts{1, 1, 0}));
  this->executor_->add_node(node);
  EXPECT_EQ(this->counts(), (Counts{2, 1, 1}));  // the default group
  const auto later = this->make_group();
  const auto not_ours = this->make_group(false);
  this->executor_->spin_some();
  EXPECT_EQ(this->counts(), (Counts{3, 1, 2}));
  this->executor_->remove_callback_group(by_hand);
  EXPECT_EQ(this->counts(), (Counts{2, 0, 2}));
  this->executor_->remove_node(node);
  EXPECT_EQ(this->counts(), (Counts{0, 0, 0}));
}

TYPED_TEST(Groups, what_is_wrong_about_them_is_said_in_rclcpps_words)
{
  const auto node = this->node_->get_node_base_interface();
  const std::string name = RCLRT_RCLCPP_IS_HUMBLE ? "" : " '/node'";
  const auto group = this->make_group(false);
  this->executor_->add_callback_group(group, node);
  EXPECT_EQ(
    error_of([&] { this->executor_->add_callback_group(group, node); }),
    "Callback group has already been added to an executor.");
  EXPECT_NE(error_of([&] { this->executor_->remove_callback_group(this->make_group(false)); }), "");
  EXPECT_EQ(
    error_of([&] { this->executor_->remove_node(this->node_); }),
    "Node" + name + " needs to be associated with an executor.");
  TypeParam other(this->executor_options());
  other.add_node(this->node_);
  EXPECT_EQ(
    error_of([&] { this->executor_->add_node(this->node_); }),
    "Node '/node' has already been added to an executor.");
  EXPECT_EQ(
    error_of([&] { this->executor_->remove_node(this->node_); }),
    "Node" + name + " needs to be associated with this executor.");
}

TYPED_TEST(Groups, of_one_node_may_be_in_several_executors)
{
  std::atomic<int> first_ticks{0};
  std::atomic<int> second_ticks{0};
  const auto node = this->node_->get_node_base_interface();
  const auto first = this->make_group(false);
  const auto second = this->make_group(false);
  const auto first_timer =
    this->node_->create_wall_timer(milliseconds(1), [&] { ++first_ticks; }, first);
  const auto second_timer =
    this->node_->create_wall_timer(milliseconds(1), [&] { ++second_ticks; }, second);
  TypeParam other(this->executor_options());
  this->executor_->add_callback_group(first, node);
  other.add_callback_group(second, node);
  EXPECT_NE(error_of([&] { other.add_callback_group(first, node); }), "");
  {
    const Spinning spinning(*this->executor_);
    EXPECT_TRUE(wait_for([&] { return first_ticks > 2; }));
    EXPECT_EQ(second_ticks, 0);
  }
  const Spinning spinning(other);
  EXPECT_TRUE(wait_for([&] { return second_ticks > 2; }));
}

TYPED_TEST(Groups, that_were_added_before_they_had_anything)
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

TYPED_TEST(Groups, that_come_while_it_spins_get_what_was_published_before)
{
  if (!kFollowsGroups<TypeParam>) {
    GTEST_SKIP() << "Humble's own executors lose track of groups that come and go";
  }
  const auto publisher =
    this->node_->template create_publisher<Time>("topic", rclcpp::QoS(1).transient_local());
  publisher->publish(Time());
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  std::atomic<int> received{0};
  rclcpp::SubscriptionOptions options;
  options.callback_group = this->make_group();
  const auto subscription = this->node_->template create_subscription<Time>(
    "topic", rclcpp::QoS(1).transient_local(), [&](const Time &) { ++received; }, options);
  EXPECT_TRUE(wait_for([&] { return received == 1; }));
}

TYPED_TEST(Groups, two_subscriptions_one_after_the_other_are_both_served)
{
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  const auto publisher = this->node_->template create_publisher<Time>("topic", 10);
  std::atomic<int> first_received{0};
  std::atomic<int> second_received{0};
  const auto first = this->node_->template create_subscription<Time>(
    "topic", 10, [&](const Time &) { ++first_received; });
  const auto second = this->node_->template create_subscription<Time>(
    "topic", 10, [&](const Time &) { ++second_received; });
  EXPECT_TRUE(wait_for([&] {
    publisher->publish(Time());
    return first_received > 0 && second_received > 0;
  }));
}

TYPED_TEST(Groups, all_messages_that_wait_in_the_process_are_delivered)
{
  const std::shared_ptr<rclcpp::Node> node =
    this->make_node("intra", rclcpp::NodeOptions().use_intra_process_comms(true));
  std::atomic<int> received{0};
  const auto subscription =
    node->create_subscription<Time>("topic", 200, [&](const Time &) { ++received; });
  const auto publisher = node->create_publisher<Time>("topic", 200);
  publisher->publish(Time());
  this->executor_->add_node(node);
  for (int i = 0; i < 100; ++i) {
    publisher->publish(Time());
  }
  const Spinning spinning(*this->executor_);
  EXPECT_TRUE(wait_for([&] { return received == 101; })) << received;
}

TYPED_TEST(Groups, of_a_client_serve_as_many_responses_as_its_depth)
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

TYPED_TEST(Groups, nodes_leave_with_their_executor)
{
  std::atomic<int> ticks{0};
  const auto timer = this->node_->create_wall_timer(milliseconds(1), [&] { ++ticks; });
  {
    TypeParam former(this->executor_options());
    former.add_node(this->node_);
    const Spinning spinning(former);
    EXPECT_TRUE(wait_for([&] { return ticks > 2; }));
  }
  const int then = ticks;
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  EXPECT_TRUE(wait_for([&] { return ticks > then; }));
}

TYPED_TEST(Groups, a_node_that_is_gone_is_no_error)
{
  std::atomic<int> ticks{0};
  auto timer = this->node_->create_wall_timer(milliseconds(1), [&] { ++ticks; });
  this->executor_->add_node(this->node_);
  {
    const Spinning spinning(*this->executor_);
    EXPECT_TRUE(wait_for([&] { return ticks > 2; }));
    timer.reset();
    this->node_.reset();
  }
  const Spinning spinning(*this->executor_);
}

TYPED_TEST(Groups, nothing_is_kept_alive_while_there_is_nothing_to_do)
{
  auto service = this->node_->template create_service<ListParameters>(
    "service", [](
                 const std::shared_ptr<ListParameters::Request> &,
                 const std::shared_ptr<ListParameters::Response> &) {});
  std::atomic<int> ticks{0};
  const auto timer = this->node_->create_wall_timer(milliseconds(1), [&] { ++ticks; });
  this->executor_->add_node(this->node_);
  {
    const Spinning spinning(*this->executor_);
    EXPECT_TRUE(wait_for([&] { return ticks > 2; }));
    if (kIsOurs<TypeParam>) {
      EXPECT_TRUE(wait_for([&] { return service.use_count() == 1; }));
    }
  }
  EXPECT_EQ(service.use_count(), 1);
}

TYPED_TEST(Groups, a_node_and_what_it_had_are_gone_with_the_last_owner)
{
  for (const bool leaves_first : {true, false}) {
    auto node = this->make_node("dropped");
    auto subscription = node->template create_subscription<Time>("topic", 1, [](const Time &) {});
    auto client = node->template create_client<ListParameters>("service");
    std::atomic<int> ticks{0};
    auto timer = node->create_wall_timer(milliseconds(1), [&] { ++ticks; });
    auto executor = std::make_unique<TypeParam>(this->executor_options());
    executor->add_node(node);
    {
      const Spinning spinning(*executor);
      EXPECT_TRUE(wait_for([&] { return ticks > 0; }));
    }
    if (leaves_first) {
      executor->remove_node(node);
    } else {
      executor.reset();
    }
    const std::weak_ptr<rclcpp::node_interfaces::NodeBaseInterface> base =
      node->get_node_base_interface();
    subscription.reset();
    client.reset();
    timer.reset();
    node.reset();
    EXPECT_TRUE(base.expired()) << (leaves_first ? "it was removed" : "its executor is gone");
  }
}

TYPED_TEST(Groups, a_node_is_gone_with_its_last_owner_while_the_executor_spins)
{
  if (!kIsOurs<TypeParam>) {
    GTEST_SKIP() << "rclcpp's executors may have what they look at";
  }
  auto node = this->make_node("dropped");
  auto subscription = node->template create_subscription<Time>("topic", 1, [](const Time &) {});
  auto client = node->template create_client<ListParameters>("service");
  std::atomic<int> ticks{0};
  auto timer = node->create_wall_timer(milliseconds(1), [&] { ++ticks; });
  this->executor_->add_node(node);
  const Spinning spinning(*this->executor_);
  EXPECT_TRUE(wait_for([&] { return ticks > 0; }));
  const std::weak_ptr<rclcpp::node_interfaces::NodeBaseInterface> base =
    node->get_node_base_interface();
  timer.reset();
  subscription.reset();
  client.reset();
  node.reset();
  EXPECT_TRUE(wait_for([&] { return base.expired(); }));
}

TYPED_TEST(Groups, that_are_destroyed_run_nothing_any_more)
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

TYPED_TEST(Groups, may_be_made_and_destroyed_by_another_thread_while_it_spins)
{
  if (!kFollowsGroups<TypeParam>) {
    GTEST_SKIP() << "Humble's own executors lose track of groups that come and go";
  }
  std::atomic<int> of_the_default_group{0};
  const auto stays =
    this->node_->create_wall_timer(milliseconds(1), [&] { ++of_the_default_group; });
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  std::atomic<int> ticks{0};
  for (int i = 0; i < 20; ++i) {
    auto group = this->make_group();
    auto timer = this->node_->create_wall_timer(milliseconds(1), [&] { ++ticks; }, group);
    const auto client = this->node_->template create_client<ListParameters>(
      "service", qos_of_service(rclcpp::ServicesQoS()), group);
    const auto service = this->node_->template create_service<ListParameters>(
      "service",
      [](
        const std::shared_ptr<ListParameters::Request> &,
        const std::shared_ptr<ListParameters::Response> &) {},
      qos_of_service(rclcpp::ServicesQoS()), group);
    client->async_send_request(std::make_shared<ListParameters::Request>());
    if (i % 2 == 0) {
      const int before = ticks;
      EXPECT_TRUE(wait_for([&] { return ticks > before; }));
    }
    i % 3 == 0 ? timer.reset() : group.reset();
  }
  const int then = of_the_default_group;
  EXPECT_TRUE(wait_for([&] { return of_the_default_group > then; })) << "what stays goes on";
}

TYPED_TEST(Groups, nodes_may_be_added_and_removed_while_it_spins)
{
  if (!kIsOurs<TypeParam>) {
    GTEST_SKIP() << "rclcpp's own sometimes lose track of the node";
  }
  std::atomic<int> ticks{0};
  const auto timer = this->node_->create_wall_timer(milliseconds(1), [&] { ++ticks; });
  const std::shared_ptr<rclcpp::Node> other = this->make_node("other");
  const auto of_other = other->create_wall_timer(milliseconds(1), [] {});
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  for (int i = 0; i < 100; ++i) {
    this->executor_->add_node(other);
    this->executor_->remove_node(other);
  }
  const int then = ticks;
  EXPECT_TRUE(wait_for([&] { return ticks > then + 2; })) << "the one that stays goes on";
}

TYPED_TEST(Groups, that_go_and_come_back_still_exclude_what_runs)
{
  if (!kIsOurs<TypeParam>) {
    GTEST_SKIP() << "rclcpp's own sometimes lose track of the node";
  }
  std::promise<void> begun;
  std::promise<void> may_end;
  std::atomic<bool> runs{false};
  std::atomic<bool> overlapped{false};
  std::atomic<int> ticks{0};
  const auto group = this->make_group();
  const auto waitable = this->add_waitable(
    [&] {
      runs = true;
      begun.set_value();
      may_end.get_future().wait();
      runs = false;
    },
    group);
  const auto timer = this->node_->create_wall_timer(
    milliseconds(1),
    [&] {
      overlapped = overlapped || runs;
      ++ticks;
    },
    group);
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  waitable->trigger();
  begun.get_future().wait();
  for (int i = 0; i < 3; ++i) {
    this->executor_->remove_node(this->node_);
    this->executor_->add_node(this->node_);
    std::this_thread::sleep_for(milliseconds(20));  // time to do it wrong
  }
  may_end.set_value();
  const int then = ticks;
  EXPECT_TRUE(wait_for([&] { return ticks > then + 2; }));
  EXPECT_FALSE(overlapped);
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

TYPED_TEST(Groups, one_entity_that_cannot_be_served_does_not_stop_the_others)
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

TYPED_TEST(Groups, a_node_that_is_added_while_spin_starts_is_served)
{
  for (int i = 0; i < 20; ++i) {
    std::atomic<int> ticks{0};
    const std::shared_ptr<rclcpp::Node> node = this->make_node("other");
    const auto timer = node->create_wall_timer(milliseconds(1), [&] { ++ticks; });
    TypeParam executor(this->executor_options());
    std::thread thread([&] { executor.spin(); });
    executor.add_node(node);
    EXPECT_TRUE(wait_for([&] { return ticks > 0; }));
    executor.cancel();
    thread.join();
  }
}

TYPED_TEST(Groups, a_subscription_that_is_gone_is_never_called)
{
  int received = 0;
  auto subscription =
    this->node_->template create_subscription<Time>("topic", 10, [&](const Time &) { ++received; });
  const auto publisher = this->node_->template create_publisher<Time>("topic", 10);
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 1; }));
  this->executor_->add_node(this->node_);
  publisher->publish(Time());
  std::this_thread::sleep_for(milliseconds(20));  // most likely it waits by now
  subscription.reset();
  this->executor_->spin_some();
  this->executor_->spin_all(seconds(1));
  EXPECT_EQ(received, 0);
}

TYPED_TEST(Groups, reentrant_ones_run_callbacks_at_once_where_there_are_threads)
{
  if (
    !std::is_same_v<TypeParam, PreemptiveExecutor> &&
    !std::is_same_v<TypeParam, CallbackIsolatedExecutor> &&
    !std::is_same_v<TypeParam, rclcpp::executors::MultiThreadedExecutor>) {
    GTEST_SKIP() << "it has one thread";
  }
  const auto group = this->node_->create_callback_group(rclcpp::CallbackGroupType::Reentrant);
  std::atomic<int> inside{0};
  std::atomic<bool> met{false};
  const auto meet = [&] {
    ++inside;
    if (!met && wait_for([&] { return inside > 1 || met; })) {
      met = true;
    }
    --inside;
  };
  const auto first = this->node_->create_wall_timer(milliseconds(1), meet, group);
  const auto second = this->node_->create_wall_timer(milliseconds(1), meet, group);
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  EXPECT_TRUE(wait_for([&] { return met.load(); }));
}

TYPED_TEST(Groups, mutually_exclusive_ones_run_their_callbacks_in_turns)
{
  const auto group = this->make_group();
  std::atomic<int> inside{0};
  std::atomic<bool> overlap{false};
  std::array<std::atomic<int>, 2> ran{};
  const auto run = [&](int which) {
    overlap = overlap || ++inside > 1;
    std::this_thread::sleep_for(milliseconds(2));
    ++ran[static_cast<std::size_t>(which)];
    --inside;
  };
  // Both always have something to do.
  const auto first = this->node_->create_wall_timer(milliseconds(1), [&] { run(0); }, group);
  const auto second = this->node_->create_wall_timer(milliseconds(1), [&] { run(1); }, group);
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  const bool may_starve = std::is_same_v<TypeParam, rclcpp::executors::MultiThreadedExecutor>;
  EXPECT_TRUE(
    wait_for([&] { return may_starve ? ran[0] + ran[1] > 20 : ran[0] > 10 && ran[1] > 10; }));
  EXPECT_FALSE(overlap);
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

}  // namespace
}  // namespace rclrt_rclcpp
