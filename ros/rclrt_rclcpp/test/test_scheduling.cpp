// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What only our executors do for nodes of rclcpp: the registry, bounded backlogs, what they hold, and which callback
// and group a name in a file means. That is seen by the CPUs of threads, which everybody may restrict.

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/real_time.hpp"
#include "conformance/suite.hpp"

namespace rclrt_rclcpp
{
namespace
{

using namespace conformance;
using builtin_interfaces::msg::Time;

class Scheduled : public Suite
{
};
OVER_OUR_EXECUTORS(Scheduled);

TEST_P(Scheduled, messages_wait_up_to_the_depth_of_their_topic)
{
  node = make_node("planner");
  int received = 0;
  const auto subscription =
    node->create_subscription<Time>("map", 3, [&](const Time &) { ++received; });
  const auto publisher = node->create_publisher<Time>("map", 10);
  executor->add_node(node);
  const auto statistics = [&] { return statistics_of("/planner/subscription/map"); };
  EXPECT_TRUE(wait_for([&] {
    publisher->publish(Time());
    return statistics().dropped >= 7;
  }));
  executor->spin_some();
  EXPECT_EQ(received, 3);
  EXPECT_EQ(statistics().executed, 3U);
}

TEST_P(Scheduled, timers_are_ranked_anew_when_their_periods_are_exchanged)
{
  const File file(for_all("      executor: {policy: rate_monotonic}\n"));
  configure(file.path());
  node = make_node("planner");
  set_time(*node, 100s);
  std::string order;
  const auto first = make_ros_timer(*node, 1s, [&] { order += '1'; });
  const auto second = make_ros_timer(*node, 2s, [&] { order += '2'; });
  executor->add_node(node);
  const auto run_at = [&](std::chrono::seconds now) {
    order.clear();
    set_time(*node, now);
    for (int i = 0; i < 3; ++i) {
      executor->spin_once(0s);  // unlike spin_some() does not look at all entities anew
    }
    return order;
  };
  EXPECT_EQ(run_at(102s), "12");
  exchange_period(*first, 10s);
  EXPECT_EQ(run_at(103s), "1") << "this one was due before, and is told by its call";
  EXPECT_EQ(run_at(120s), "21") << "the first has waited since 113";
}

TEST_P(Scheduled, attributes_of_the_registry_belong_to_an_entity_or_a_name)
{
  const rclrt_core::CpuSet cpu({attributes_here().cpu_affinity.cpus().front()});
  node = make_node("planner");
  std::mutex mutex;
  std::optional<rclrt_core::Attributes> by_entity;
  std::optional<rclrt_core::Attributes> by_name;
  const auto group = make_group(*node);
  const auto note = [&](std::optional<rclrt_core::Attributes> & where) {
    const std::lock_guard<std::mutex> lock(mutex);
    where = attributes_here();
  };
  const auto first = node->create_wall_timer(5ms, [&] { note(by_entity); }, group);
  const auto second = node->create_wall_timer(7ms, [&] { note(by_name); });
  const auto registry = std::make_shared<SchedulingRegistry>();
  Scheduling scheduling;
  scheduling.attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kBatch;
  registry->set(first, scheduling);
  scheduling.attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kOther;
  scheduling.attributes.cpu_affinity = cpu;
  registry->set("/planner/timer/7ms", scheduling);
  EXPECT_THROW(registry->set(rclcpp::TimerBase::SharedPtr(), scheduling), std::invalid_argument);
  Options options;
  options.scheduling = registry;
  executor = make_executor(options);
  rclrt_core::Attributes batch;
  batch.scheduling_policy = rclrt_core::SchedulingPolicy::kBatch;
  executor->add_node(node);
  const Spinning spinning(*executor);
  ASSERT_TRUE(wait_for([&] {
    const std::lock_guard<std::mutex> lock(mutex);
    return by_entity && by_name;
  }));
  {
    const std::lock_guard<std::mutex> lock(mutex);
    EXPECT_EQ(by_entity->scheduling_policy, rclrt_core::SchedulingPolicy::kBatch);
    EXPECT_EQ(by_name->scheduling_policy, rclrt_core::SchedulingPolicy::kOther);
    EXPECT_EQ(by_name->cpu_affinity.to_string(), cpu.to_string());
  }
  ours(*executor).set_attributes("/planner/timer/7ms", batch);
  EXPECT_TRUE(wait_for([&] {
    const std::lock_guard<std::mutex> lock(mutex);
    return by_name->scheduling_policy == rclrt_core::SchedulingPolicy::kBatch;
  }));
  EXPECT_THROW(ours(*executor).set_attributes("/planner/timer/1h", batch), std::runtime_error);
  EXPECT_THROW(ours(*executor).set_attributes("/planner/timer/7ms", fifo(123)), std::runtime_error);
}

TEST_P(Scheduled, a_long_callback_does_not_hold_up_new_entities_of_others)
{
  node = make_node("planner");
  std::atomic<bool> go_on{false};
  std::atomic<bool> is_known{false};
  const auto timer = node->create_wall_timer(1ms, [&] {
    if (!go_on) {
      const auto late = node->create_wall_timer(17ms, [] {});
      is_known =
        wait_for([&] { return ours(*executor).statistics().count("/planner/timer/17ms") == 1; });
      go_on = true;
    }
  });
  executor->add_node(node);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return go_on.load(); }));
  EXPECT_TRUE(is_known);
}

TEST_P(Scheduled, what_it_holds_goes_with_it_though_an_entity_went_before)
{
  node = make_node("planner");
  auto subscription = node->create_subscription<Time>("map", 3, [](const Time &) {});
  auto held = std::make_shared<int>();
  const std::weak_ptr<int> left = held;
  Options options;
  options.on_exception = [held](const std::string &, const std::exception_ptr &) {
    return rclrt_core::ExceptionAction::kStop;
  };
  executor = make_executor(options);
  executor->add_node(node);
  options.on_exception = nullptr;
  held.reset();
  subscription.reset();
  executor.reset();
  EXPECT_TRUE(left.expired());
}

/// Calls what it was given without a pause, also when that has been taken back: as the middleware may, of
/// an entity that is dropped by another thread.
class Restless : public rclcpp::Waitable
{
public:
  Restless() = default;
  ~Restless() override
  {
    ended_ = true;
    thread_.join();
  }
  Restless(const Restless &) = delete;
  Restless & operator=(const Restless &) = delete;

  void add_to_wait_set(WaitSet) override {}
  bool is_ready(ReadyWaitSet) override { return false; }
  std::shared_ptr<void> take_data() override { return nullptr; }
  std::shared_ptr<void> take_data_by_entity_id(std::size_t) override { return nullptr; }
  void execute(Data) override {}
  void set_on_ready_callback(std::function<void(std::size_t, int)> callback) override
  {
    thread_ = std::thread([this, callback] {
      while (!ended_) {
        callback(1, 0);
      }
    });
  }
  void clear_on_ready_callback() override {}

private:
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

TEST_P(Scheduled, what_it_holds_goes_in_the_thread_that_destroys_it_whoever_announces_meanwhile)
{
  node = make_node("planner");
  for (int i = 0; i < 100; ++i) {
    const auto restless = std::make_shared<Restless>();
    node->get_node_waitables_interface()->add_waitable(restless, nullptr);
    std::atomic<std::thread::id> destroyed_by{std::thread::id()};
    std::shared_ptr<int> held(new int, [&](const int * gone) {
      destroyed_by = std::this_thread::get_id();
      delete gone;
    });
    Options options;
    options.on_exception = [held](const std::string &, const std::exception_ptr &) {
      return rclrt_core::ExceptionAction::kStop;
    };
    held.reset();
    executor = make_executor(options);
    options.on_exception = nullptr;
    executor->add_node(node);
    executor.reset();
    EXPECT_EQ(destroyed_by.load(), std::this_thread::get_id()) << i;
  }
}

/// The CPU that the calling thread is restricted to; -2 if it is not restricted to one.
int only_cpu()
{
  const auto cpus = attributes_here().cpu_affinity.cpus();
  return cpus.size() == 1 ? cpus.front() : -2;
}

class Names : public Suite
{
};
OVER_OUR_EXECUTORS(Names);

TEST_P(Names, of_callbacks_that_are_alike_are_numbered_in_the_order_of_their_groups_creation)
{
  const auto first = make_node("node");
  const auto second = make_node("other");
  constexpr std::size_t kGroups = 12;
  std::array<std::atomic<std::size_t>, 2 * kGroups> calls{};
  std::array<Group, 2 * kGroups> groups;
  std::array<std::shared_ptr<Timer>, 2 * kGroups> timers;
  // Leaves holes in memory, so that what is created later does not lie in order.
  std::vector<Group> between;
  {
    const auto gone = make_node("gone");
    for (std::size_t i = 0; i < groups.size(); ++i) {
      make_group(*gone);
      between.push_back(make_group(*first, false, false));
    }
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i] = make_group(i < kGroups ? *first : *second);
  }
  for (std::size_t i = 0; i < timers.size(); ++i) {
    const auto & of = i < kGroups ? first : second;
    // Told apart by how often they run: the first once, the second twice, ...
    timers[i] = of->create_wall_timer(
      1ms,
      [&calls, &timers, i] {
        if (++calls[i] == i % kGroups + 1) {
          timers[i]->cancel();
        }
      },
      groups[i]);
  }
  executor->add_node(first);
  executor->add_node(second);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] {
    return std::all_of(
      timers.begin(), timers.end(), [](auto & timer) { return timer->is_canceled(); });
  }));
  for (std::size_t i = 0; i < timers.size(); ++i) {
    const std::size_t number = i % kGroups + 1;
    const std::string name = std::string(i < kGroups ? "/node" : "/other") + "/timer/1ms" +
                             (number > 1 ? "#" + std::to_string(number) : "");
    // Counted when the callback has returned.
    EXPECT_TRUE(wait_for([&] { return statistics_of(name).executed >= number; }));
    EXPECT_EQ(statistics_of(name).executed, number) << name;
  }
}

TEST_P(Names, of_groups_are_the_same_with_simulated_time)
{
  const int cpu = attributes_here().cpu_affinity.cpus().front();
  const File file(
    "/planner:\n  ros__parameters:\n    rclrt:\n      groups:\n"
    "        group/1: {cpu_affinity: [" +
    std::to_string(cpu) + "]}\n");
  for (const bool simulated : {false, true}) {
    node = make_node(
      "planner", rclcpp::NodeOptions().append_parameter_override("use_sim_time", simulated));
    const auto group = make_group(*node);
    std::atomic<int> seen{-1};
    const auto timer = node->create_wall_timer(1ms, [&] { seen = only_cpu(); }, group);
    configure(file.path());
    executor->add_node(node);
    EXPECT_EQ(findings(), "");
    const Spinning spinning(*executor);
    EXPECT_TRUE(wait_for([&] { return seen != -1; }));
    EXPECT_EQ(seen, cpu) << simulated;
  }
}

TEST_P(Names, of_callback_isolated_executor_are_of_what_a_group_has_when_it_spins)
{
  const int cpu = attributes_here().cpu_affinity.cpus().front();
  const File file(
    "callback_groups:\n"
    "  - id: /planner@Subscription(/map)@Timer(5000000)\n"
    "    policy: SCHED_OTHER\n"
    "    priority: 0\n"
    "    affinity: [" +
    std::to_string(cpu) + "]\n");
  node = make_node("planner");
  configure(file.path());
  executor->add_node(node);
  const auto group = make_group(*node);
  const auto subscription = make_subscription(*node, "map", 10, [](const Time &) {}, group);
  executor->spin_some();  // sees half of it
  std::atomic<int> seen{-1};
  const auto timer = node->create_wall_timer(5ms, [&] { seen = only_cpu(); }, group);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return seen != -1; }));
  EXPECT_EQ(seen, cpu);
  EXPECT_EQ(findings(), "");
}

}  // namespace
}  // namespace rclrt_rclcpp
