// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Nodes, groups and entities come and go, over all executors.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "error_text.hpp"
#include "executor_types.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rcl_interfaces/srv/get_parameters.hpp"

namespace rclrt_rcl
{
namespace
{

using rcl_interfaces::msg::Log;
using Get = rcl_interfaces::srv::GetParameters;
using namespace std::chrono_literals;

template <typename T>
class Membership : public ExecutorSuite<T>
{
};
TYPED_TEST_SUITE(Membership, ExecutorTypes, ExecutorTypeNames);

CallbackGroupOptions manual(const std::string & name)
{
  CallbackGroupOptions options;
  options.name = name;
  options.automatically_add_to_executor_with_node = false;
  return options;
}

TYPED_TEST(Membership, a_destroyed_executor_lets_go_of_its_nodes)
{
  std::atomic<int> runs{0};
  auto waitable = this->node->create_waitable(this->named("w"), [&] { ++runs; });
  this->executor->add_node(this->node);
  waitable->trigger();
  this->executor.reset();
  auto second = this->make_executor();
  second->add_node(this->node);
  second->spin_some();  // what the first was told of and did not run is not lost
  EXPECT_EQ(runs, 1);
}

TYPED_TEST(Membership, a_node_belongs_to_one_executor)
{
  this->executor->add_node(this->node);
  auto second = this->make_executor();
  EXPECT_EQ(
    error_of([&] { second->add_node(this->node); }),
    "Node '/node' has already been added to an executor.");
  EXPECT_EQ(
    error_of([&] { this->executor->add_node(this->node); }),
    "Node '/node' has already been added to an executor.");
  EXPECT_EQ(
    error_of([&] { second->remove_node(this->node); }),
    "Node '/node' needs to be associated with this executor.");
  this->executor->remove_node(this->node);
  EXPECT_EQ(
    error_of([&] { this->executor->remove_node(this->node); }),
    "Node '/node' needs to be associated with an executor.");
  second->add_node(this->node);
}

TYPED_TEST(Membership, a_group_belongs_to_one_executor)
{
  auto group =
    this->node->create_callback_group(CallbackGroupType::kMutuallyExclusive, manual("manual"));
  EXPECT_EQ(
    error_of([&] { this->executor->remove_callback_group(group); }),
    "Callback group '/node/group/manual' needs to be associated with this executor.");
  this->executor->add_callback_group(group);
  EXPECT_EQ(
    error_of([&] { this->executor->add_callback_group(group); }),
    "Callback group '/node/group/manual' has already been added to this executor.");
  auto second = this->make_executor();
  EXPECT_EQ(
    error_of([&] { second->add_callback_group(group); }),
    "Callback group '/node/group/manual' has already been added to an executor.");
  this->executor->remove_callback_group(group);
  second->add_callback_group(group);
  second->add_node(this->node);
  EXPECT_NE(
    error_of([&] {
      second->remove_callback_group(this->node->default_callback_group());
    }).find("came with its node"),
    std::string::npos);
}

TYPED_TEST(Membership, groups_are_counted_as_they_come_and_go)
{
  auto automatic = this->node->create_callback_group(CallbackGroupType::kReentrant);
  auto by_hand = this->node->create_callback_group(CallbackGroupType::kReentrant, manual("manual"));
  const auto counts = [this] {
    return std::vector<std::size_t>{
      this->executor->callback_groups().size(),
      this->executor->manually_added_callback_groups().size(),
      this->executor->automatically_added_callback_groups().size()};
  };
  EXPECT_EQ(counts(), (std::vector<std::size_t>{0, 0, 0}));
  this->executor->add_node(this->node);
  EXPECT_EQ(counts(), (std::vector<std::size_t>{2, 0, 2}));
  this->executor->add_callback_group(by_hand);
  EXPECT_EQ(counts(), (std::vector<std::size_t>{3, 1, 2}));
  auto later = this->node->create_callback_group(CallbackGroupType::kMutuallyExclusive);
  EXPECT_EQ(counts(), (std::vector<std::size_t>{4, 1, 3}));
  later.reset();
  EXPECT_EQ(counts(), (std::vector<std::size_t>{3, 1, 2}));
  this->executor->remove_node(this->node);
  EXPECT_EQ(counts(), (std::vector<std::size_t>{1, 1, 0}));
  this->executor->remove_callback_group(by_hand);
  EXPECT_EQ(counts(), (std::vector<std::size_t>{0, 0, 0}));
}

TYPED_TEST(Membership, the_groups_of_a_node_may_be_in_several_executors)
{
  auto group =
    this->node->create_callback_group(CallbackGroupType::kMutuallyExclusive, manual("manual"));
  std::string ran;
  auto in_first = this->node->create_waitable(this->named("first"), [&] { ran += "first "; });
  auto in_second =
    this->node->create_waitable(this->named("second"), [&] { ran += "second "; }, group);
  auto second = this->make_executor();
  this->executor->add_node(this->node);
  second->add_callback_group(group);
  in_first->trigger();
  in_second->trigger();
  this->executor->spin_some();
  EXPECT_EQ(ran, "first ");
  second->spin_some();
  EXPECT_EQ(ran, "first second ");
}

TYPED_TEST(Membership, what_is_made_while_spinning_runs)
{
  std::atomic<int> runs{0};
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  auto publisher = this->node->template create_publisher<Log>("t", 10);
  auto first = this->node->template create_subscription<Log>("t", 10, [&](const Log &) { ++runs; });
  auto group = this->node->create_callback_group(CallbackGroupType::kMutuallyExclusive);
  SubscriptionOptions options;
  options.group = group;
  auto second =
    this->node->template create_subscription<Log>("t", 10, [&](const Log &) { ++runs; }, options);
  auto timer = this->node->create_wall_timer(1ms, [&](Timer & self) {
    self.cancel();
    ++runs;
  });
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 2; }));
  publisher->publish(Log());
  EXPECT_TRUE(wait_for([&] { return runs == 3; })) << runs;
}

TYPED_TEST(Membership, a_group_made_while_spinning_gets_what_late_joiners_get)
{
  const QoS latched = QoS(1).transient_local();
  auto publisher = this->node->template create_publisher<Log>("t", latched);
  publisher->publish(Log());
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  std::promise<void> got;
  SubscriptionOptions options;
  options.group = this->node->create_callback_group(CallbackGroupType::kReentrant);
  auto subscription = this->node->template create_subscription<Log>(
    "t", latched, [&](const Log &) { got.set_value(); }, options);
  EXPECT_EQ(got.get_future().wait_for(kPatience), std::future_status::ready);
}

TYPED_TEST(Membership, messages_that_came_before_the_executor_are_delivered)
{
  int runs = 0;
  auto publisher = this->node->template create_publisher<Log>("t", 10);
  auto subscription =
    this->node->template create_subscription<Log>("t", 10, [&](const Log &) { ++runs; });
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 1; }));
  publisher->publish(Log());
  publisher->publish(Log());
  this->executor->add_node(this->node);
  EXPECT_TRUE(spin_until(*this->executor, [&] { return runs == 2; }));
}

TYPED_TEST(Membership, messages_are_not_lost_between_executors)
{
  int runs = 0;
  auto publisher = this->node->template create_publisher<Log>("t", 10);
  auto subscription =
    this->node->template create_subscription<Log>("t", 10, [&](const Log &) { ++runs; });
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 1; }));
  for (int i = 0; i < 4; ++i) {
    publisher->publish(Log());
  }
  for (int i = 1; i <= 4; ++i) {
    auto one = this->make_executor();
    one->add_node(this->node);
    EXPECT_TRUE(one->spin_once(kPatience));
    EXPECT_EQ(runs, i);
  }
}

TYPED_TEST(Membership, nodes_may_be_added_and_removed_while_spinning)
{
  std::atomic<int> runs{0};
  const Spinning spinning(*this->executor);
  auto timer = this->node->create_wall_timer(1ms, [&] { ++runs; });
  for (int i = 0; i < 50; ++i) {
    const int before = runs;
    this->executor->add_node(this->node);
    if (i % 10 == 0) {
      EXPECT_TRUE(wait_for([&] { return runs > before; }));
    }
    this->executor->remove_node(this->node);
    const int after = runs;
    if (i % 10 == 0) {
      std::this_thread::sleep_for(3ms);
      EXPECT_EQ(runs, after) << "a removed node must not run";
    }
  }
}

// What a thread does that has picked a job just before its node is removed, step by step.
TYPED_TEST(Membership, a_job_that_was_picked_and_not_begun_runs_nothing_after_removal)
{
  int runs = 0;
  auto options = this->named("w");
  options.depth = 3;
  auto waitable = this->node->create_waitable(options, [&] { ++runs; });
  this->executor->add_node(this->node);
  waitable->trigger();
  const auto picked = waitable->job(this->executor->context());
  this->executor->remove_node(this->node);
  EXPECT_FALSE(picked({}));
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(waitable->backlog(), 2U) << "what it was for, and the job that waited, are still there";

  this->executor->add_node(this->node);
  EXPECT_FALSE(picked({})) << "an earlier stay, in the same executor";
  this->executor->spin_some();
  EXPECT_EQ(runs, 3);
}

TYPED_TEST(Membership, entities_may_be_made_while_their_node_comes_and_goes)
{
  std::atomic<bool> done{false};
  std::thread mover([&] {
    while (!done) {
      this->executor->add_node(this->node);
      this->executor->remove_node(this->node);
      std::this_thread::sleep_for(1us);  // or the others might not get a lock for a long time
    }
  });
  for (int i = 0; i < 300; ++i) {
    EXPECT_NO_THROW(this->node->create_waitable(this->named("w"), [] {}));
    EXPECT_NO_THROW(this->node->create_wall_timer(1h, [] {}));
  }
  done = true;
  mover.join();
}

TYPED_TEST(Membership, adding_nodes_races_with_the_start_of_spin)
{
  for (int i = 0; i < 20; ++i) {
    auto one = this->make_executor();
    std::atomic<int> runs{0};
    auto timer = this->node->create_wall_timer(1ms, [&] { ++runs; });
    std::thread spinner([&] { one->spin(); });
    one->add_node(this->node);
    EXPECT_TRUE(wait_for([&] { return runs > 0; }));
    one->cancel();
    spinner.join();
  }
}

TYPED_TEST(Membership, entities_may_be_made_and_destroyed_while_spinning)
{
  this->executor->add_node(this->node);
  std::atomic<int> ticks{0};
  auto stays = this->node->create_wall_timer(1ms, [&] { ++ticks; });
  const Spinning spinning(*this->executor);
  std::atomic<int> runs{0};
  auto publisher = this->node->template create_publisher<Log>("t", 10);
  for (int i = 0; i < 20; ++i) {
    const int before = runs;
    SubscriptionOptions options;
    options.group = this->node->create_callback_group(CallbackGroupType::kMutuallyExclusive);
    TimerOptions timer_options;
    timer_options.group = options.group;
    auto timer = this->node->create_wall_timer(1ms, [&] { ++runs; }, timer_options);
    auto subscription =
      this->node->template create_subscription<Log>("t", 10, [&](const Log &) { ++runs; }, options);
    ServiceOptions service_options;
    service_options.group = options.group;
    auto service = this->node->template create_service<Get>(
      "s", [](const Get::Request &, Get::Response &) {}, QoS::services(), service_options);
    ClientOptions client_options;
    client_options.group = options.group;
    auto client = this->node->template create_client<Get>("s", QoS::services(), client_options);
    client->async_send_request(Get::Request());
    publisher->publish(Log());
    EXPECT_TRUE(wait_for([&] { return runs > before; }));
  }
  const int then = ticks;
  EXPECT_TRUE(wait_for([&] { return ticks > then; })) << "the timer that stays goes on";
}

TYPED_TEST(Membership, destroying_an_entity_waits_for_its_callback)
{
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  std::promise<void> started;
  bool finished = false;  // not atomic on purpose: the wait orders the two accesses
  auto waitable = this->node->create_waitable(this->named("w"), [&] {
    started.set_value();
    std::this_thread::sleep_for(20ms);
    finished = true;
  });
  waitable->trigger();
  started.get_future().wait();
  waitable.reset();
  EXPECT_TRUE(finished);
}

TYPED_TEST(Membership, destroying_a_node_waits_for_its_callbacks)
{
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  std::promise<void> started;
  bool finished = false;
  auto waitable = this->node->create_waitable(this->named("w"), [&] {
    started.set_value();
    std::this_thread::sleep_for(20ms);
    finished = true;
  });
  waitable->trigger();
  started.get_future().wait();
  this->node.reset();
  EXPECT_TRUE(finished);
  waitable->trigger();  // outlives its node, and never runs again
}

TYPED_TEST(Membership, removing_a_node_waits_for_its_callbacks)
{
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  std::promise<void> started;
  bool finished = false;
  auto waitable = this->node->create_waitable(this->named("w"), [&] {
    started.set_value();
    std::this_thread::sleep_for(20ms);
    finished = true;
  });
  waitable->trigger();
  started.get_future().wait();
  this->executor->remove_node(this->node);
  EXPECT_TRUE(finished);
}

TYPED_TEST(Membership, a_callback_that_removes_and_adds_its_node_still_excludes_its_group)
{
  auto group = this->node->create_callback_group(CallbackGroupType::kMutuallyExclusive);
  std::atomic<bool> runs{false};
  std::atomic<bool> overlapped{false};
  std::atomic<int> others{0};
  auto other = this->node->create_waitable(
    this->named("other"),
    [&] {
      overlapped = overlapped || runs;
      ++others;
    },
    group);
  auto waitable = this->node->create_waitable(
    this->named("w"),
    [&] {
      runs = true;
      this->executor->remove_node(this->node);
      this->executor->add_node(this->node);
      other->trigger();
      std::this_thread::sleep_for(20ms);  // time to do it wrong
      runs = false;
    },
    group);
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  waitable->trigger();
  EXPECT_TRUE(wait_for([&] { return others > 0; }));
  EXPECT_FALSE(overlapped);
}

TYPED_TEST(Membership, an_entity_may_destroy_itself_and_others_in_its_callback)
{
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  std::promise<void> done;
  auto other = this->node->create_wall_timer(1ms, [] {});
  std::shared_ptr<Waitable> self = this->node->create_waitable(this->named("w"), [&] {
    other.reset();
    self.reset();
    this->executor->remove_node(this->node);
    done.set_value();
  });
  auto * raw = self.get();
  raw->trigger();
  EXPECT_EQ(done.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_TRUE(wait_for([&] { return this->executor->statistics().empty(); }));
}

TYPED_TEST(Membership, a_destroyed_entity_is_never_called)
{
  this->executor->add_node(this->node);
  auto publisher = this->node->template create_publisher<Log>("t", 10);
  bool called = false;
  auto subscription =
    this->node->template create_subscription<Log>("t", 10, [&](const Log &) { called = true; });
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 1; }));
  publisher->publish(Log());
  subscription.reset();
  this->executor->spin_all(10ms);
  EXPECT_FALSE(called);
}

TYPED_TEST(Membership, the_executor_does_not_own_entities_nor_groups)
{
  std::weak_ptr<CallbackGroup> group;
  std::weak_ptr<Waitable> entity;
  {
    auto owned = this->node->create_callback_group(CallbackGroupType::kReentrant);
    auto waitable = this->node->create_waitable(this->named("w"), [] {}, owned);
    this->executor->add_node(this->node);
    this->executor->spin_some();
    group = owned;
    entity = waitable;
    EXPECT_EQ(waitable.use_count(), 1);
  }
  EXPECT_TRUE(entity.expired());
  EXPECT_TRUE(group.expired());
  EXPECT_EQ(this->executor->callback_groups().size(), 1U);
}

TYPED_TEST(Membership, an_exclusive_group_runs_one_callback_at_a_time)
{
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> runs{0};
  const auto body = [&] {
    most = std::max(most.load(), ++inside);
    std::this_thread::sleep_for(100us);
    --inside;
    ++runs;
  };
  std::vector<std::shared_ptr<Timer>> timers;
  for (int i = 0; i < 4; ++i) {
    timers.push_back(this->node->create_wall_timer(1ms, body));
  }
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  EXPECT_TRUE(wait_for([&] { return runs > 40; }));
  EXPECT_EQ(most, 1);
}

TYPED_TEST(Membership, no_callback_of_an_exclusive_group_starves)
{
  std::vector<std::atomic<int>> runs(3);
  std::vector<std::shared_ptr<Timer>> timers;
  for (auto & count : runs) {
    // Under overload: each alone would fill its period.
    timers.push_back(this->node->create_wall_timer(1ms, [&count] {
      ++count;
      std::this_thread::sleep_for(1ms);
    }));
  }
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  for (auto & count : runs) {
    EXPECT_TRUE(wait_for([&count] { return count > 10; }));
  }
}

}  // namespace
}  // namespace rclrt_rcl
