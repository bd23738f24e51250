// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Mistakes get a clear error and leave everything else as it was.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "fixture.hpp"
#include "rcl_interfaces/msg/log.hpp"

namespace rclrt_rcl
{
namespace
{

using rcl_interfaces::msg::Log;
using rclrt_core::SchedulingPolicy;
using namespace std::chrono_literals;

#define EXPECT_ERROR(action, part)                         \
  do {                                                     \
    const std::string said = error_of([&] { action; });    \
    EXPECT_NE(said.find(part), std::string::npos) << said; \
  } while (false)

class BadInput : public WithContext
{
protected:
  std::shared_ptr<Node> node = make_node("node");
  PreemptiveExecutor executor{options<PreemptiveExecutorOptions>()};

  static Scheduling with(const std::function<void(Scheduling &)> & change)
  {
    Scheduling scheduling;
    scheduling.name = "w";
    change(scheduling);
    return scheduling;
  }
};

TEST_F(BadInput, names)
{
  EXPECT_ERROR(make_node("no spaces"), "creating node 'no spaces' in namespace ''");
  EXPECT_ERROR(node->create_publisher<Log>("no spaces", 10), "no spaces");
  EXPECT_ERROR(node->create_subscription<Log>("9", 10, [](const Log &) {}), "topic name '9'");
  EXPECT_ERROR(node->create_waitable({}, [] {}), "give it a Scheduling::name");
  NodeOptions options;
  options.arguments = {"--ros-args", "--no-such"};
  EXPECT_ERROR(make_node("n", options), "unknown ROS arguments '--no-such'");
}

TEST_F(BadInput, names_that_are_taken)
{
  auto first = node->create_waitable(with([](Scheduling &) {}), [] {});
  EXPECT_ERROR(
    node->create_waitable(with([](Scheduling &) {}), [] {}),
    "creating '/node/waitable/w': the name is taken");
  first.reset();
  first = node->create_waitable(with([](Scheduling &) {}), [] {});

  CallbackGroupOptions group;
  group.name = "default";
  EXPECT_ERROR(
    node->create_callback_group(CallbackGroupType::kReentrant, group),
    "node '/node' has a callback group 'default' already");
}

TEST_F(BadInput, unnamed_duplicates_get_a_number)
{
  const auto make = [&] { return node->create_wall_timer(100ms, [] {}); };
  auto first = make();
  auto second = make();
  auto third = make();
  EXPECT_EQ(first->name(), "/node/timer/100ms");
  EXPECT_EQ(second->name(), "/node/timer/100ms#2");
  EXPECT_EQ(third->name(), "/node/timer/100ms#3");
  second.reset();
  EXPECT_EQ(make()->name(), "/node/timer/100ms#2");
  EXPECT_EQ(node->create_wall_timer(0ns, [] {})->name(), "/node/timer/0ns");
  EXPECT_EQ(node->create_wall_timer(1500us, [] {})->name(), "/node/timer/1500us");
  EXPECT_EQ(node->create_timer(2s, [] {})->name(), "/node/timer/2s");
  EXPECT_EQ(
    node->create_subscription<Log>("t", 10, [](const Log &) {})->name(), "/node/subscription/t");
}

TEST_F(BadInput, two_nodes_of_one_name_in_one_executor)
{
  auto twin = make_node("node");
  auto first = node->create_wall_timer(1h, [] {});
  auto second = twin->create_wall_timer(1h, [] {});
  executor.add_node(node);
  EXPECT_ERROR(executor.add_node(twin), "the name is taken");
  EXPECT_EQ(executor.callback_groups().size(), 1U);
  PreemptiveExecutor other(options<PreemptiveExecutorOptions>());
  other.add_node(twin);  // nothing of the attempt is left
}

TEST_F(BadInput, timers)
{
  EXPECT_ERROR(
    node->create_wall_timer(-1ms, [] {}),
    "timer '/node/timer/-1ms': period -1000000 ns is negative");
  auto timer = node->create_wall_timer(1ms, [] {});
  EXPECT_ERROR(timer->set_period(-1ns), "is negative");
  EXPECT_EQ(timer->period(), 1ms);
}

TEST_F(BadInput, scheduling)
{
  executor.add_node(node);
  const auto make = [&](const std::function<void(Scheduling &)> & change) {
    auto waitable = node->create_waitable(with(change), [] {});
  };
  EXPECT_ERROR(
    make([](Scheduling & s) { s.queue_priority = 100; }), "'/node/waitable/w': queue_priority 100");
  EXPECT_ERROR(make([](Scheduling & s) { s.relative_deadline = -1ms; }), "/node/waitable/w");
  EXPECT_ERROR(
    make([](Scheduling & s) {
      s.attributes.scheduling_policy = SchedulingPolicy::kFifo;
      s.attributes.priority = 0;
    }),
    "/node/waitable/w");
  for (const int cpu : {1000, 1024, -1}) {
    EXPECT_ERROR(
      make([cpu](Scheduling & s) { s.attributes.cpu_affinity = rclrt_core::CpuSet({cpu}); }),
      "names CPU " + std::to_string(cpu) + ",");
  }
  EXPECT_EQ(executor.statistics().count("/node/waitable/w"), 0U);
  make([](Scheduling &) {});  // the name is free
}

TEST_F(BadInput, subscriptions_that_would_lag_behind_their_queue)
{
  executor.add_node(node);
  const auto make = [&](const std::function<void(Scheduling &)> & change) {
    SubscriptionOptions options;
    change(options.scheduling);
    auto subscription = node->create_subscription<Log>("t", 5, [](const Log &) {}, options);
  };
  EXPECT_ERROR(make([](Scheduling & s) { s.depth = 2; }), "give the QoS the depth");
  EXPECT_ERROR(
    make([](Scheduling & s) { s.overrun_rule = rclrt_core::OverrunRule::kSkip; }),
    "overruns skip is for timers");
  make([](Scheduling & s) { s.depth = 20; });
  // However deep the queue is, there are as many jobs.
  EXPECT_GE(node->create_subscription<Log>("t", 6000, [](const Log &) {})->depth(), 6000U);
}

TEST_F(BadInput, an_executor_that_would_have_a_subscription_lag_behind_its_queue)
{
  auto made = options<PreemptiveExecutorOptions>();
  made.configure = [](const Entity &, Scheduling & scheduling) { scheduling.depth = 1; };
  PreemptiveExecutor configured(made);
  auto subscription = node->create_subscription<Log>("t", 5, [](const Log &) {});
  EXPECT_ERROR(configured.add_node(node), "give the QoS the depth");
}

TEST_F(BadInput, groups)
{
  auto other = make_node("other");
  SubscriptionOptions options;
  options.group = other->default_callback_group();
  EXPECT_ERROR(
    node->create_subscription<Log>(
      "t", 10, [](const Log &) {}, options),
    "callback group '/other/group/default' is not one of this node");

  executor.add_node(node);
  CallbackGroupOptions group;
  group.attributes.scheduling_policy = SchedulingPolicy::kFifo;
  group.attributes.priority = 1000;
  EXPECT_ERROR(
    node->create_callback_group(CallbackGroupType::kMutuallyExclusive, group), "/node/group/1");
}

TEST_F(BadInput, qos)
{
  std::string reason;
  EXPECT_FALSE(compatible(QoS(1).best_effort(), QoS(1).reliable(), &reason));
  EXPECT_NE(reason, "");
  EXPECT_TRUE(compatible(QoS(1), QoS(1).best_effort()));
}

TEST_F(BadInput, bytes_that_are_no_message)
{
  auto publisher = node->create_publisher<Log>("t", 10);
  int runs = 0;
  auto subscription = node->create_subscription<Log>("t", 10, [&](const Log &) { ++runs; });
  executor.add_node(node);
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 1; }));
  SerializedMessage rubbish;
  rubbish.resize(64);
  std::fill_n(rubbish.data(), rubbish.size(), uint8_t{0xff});
  ASSERT_EQ(
    rcl_publish_serialized_message(publisher->handle().get(), &rubbish.handle(), nullptr),
    RCL_RET_OK);
  publisher->publish(Log());
  EXPECT_TRUE(spin_until(executor, [&] { return runs > 0; })) << "one bad message ends nothing";
}

TEST_F(BadInput, required_attributes_that_are_refused_fail_the_start)
{
  PreemptiveExecutorOptions strict = options<PreemptiveExecutorOptions>();
  strict.attributes_mode = rclrt_core::AttributesMode::kRequire;
  PreemptiveExecutor required(strict);
  // A budget that no machine admits.
  auto waitable = node->create_waitable(
    with([](Scheduling & s) {
      s.attributes.scheduling_policy = SchedulingPolicy::kDeadline;
      s.attributes.runtime = s.attributes.deadline = s.attributes.period = 10s;
    }),
    [] {});
  required.add_node(node);
  EXPECT_ERROR(required.spin(), "/node/waitable/w");
  EXPECT_FALSE(required.is_spinning());
  EXPECT_ERROR(required.spin_some(), "use spin()");
  EXPECT_ERROR(required.spin_once(1ms), "use spin()");
}

}  // namespace
}  // namespace rclrt_rcl
