// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What only our executors do for nodes of rclcpp: the registry, bounded backlogs, and what they hold.

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

#include "scheduling_fixture.hpp"

namespace rclrt_rclcpp
{
namespace
{

TYPED_TEST_SUITE(SchedulingTest, Configurable, ExecutorNames);

TYPED_TEST(SchedulingTest, messages_wait_up_to_the_depth_of_their_topic)
{
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  int received = 0;
  const auto subscription =
    node->create_subscription<Time>("map", 3, [&](const Time &) { ++received; });
  const auto publisher = node->create_publisher<Time>("map", 10);
  const auto executor = this->make_executor();
  executor->add_node(node);
  const auto statistics = [&] { return executor->statistics().at("/planner/subscription/map"); };
  EXPECT_TRUE(wait_for([&] {
    publisher->publish(Time());
    return statistics().dropped >= 7;
  }));
  executor->spin_some();
  EXPECT_EQ(received, 3);
  EXPECT_EQ(statistics().executed, 3U);
}

TYPED_TEST(SchedulingTest, timers_are_ranked_anew_when_their_periods_are_exchanged)
{
  const File file(
    "/**:\n  ros__parameters:\n    rclrt:\n      executor: {policy: rate_monotonic}\n");
  typename TestFixture::Options options;
  options.configuration_file = file.path();
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  set_time(*node, seconds(100));
  std::string order;
  const auto first =
    rclcpp::create_timer(node, node->get_clock(), seconds(1), [&] { order += '1'; });
  const auto second =
    rclcpp::create_timer(node, node->get_clock(), seconds(2), [&] { order += '2'; });
  const auto executor = this->make_executor(options);
  executor->add_node(node);
  const auto run_at = [&](seconds now) {
    order.clear();
    set_time(*node, now);
    for (int i = 0; i < 3; ++i) {
      executor->spin_once(seconds(0));  // unlike spin_some() does not look at all entities anew
    }
    return order;
  };
  EXPECT_EQ(run_at(seconds(102)), "12");
  exchange_period(*first, seconds(10));
  EXPECT_EQ(run_at(seconds(103)), "1") << "this one was due before, and is told by its call";
  EXPECT_EQ(run_at(seconds(120)), "21") << "the first has waited since 113";
}

TYPED_TEST(SchedulingTest, attributes_of_the_registry_belong_to_an_entity_or_a_name)
{
  const rclrt_core::CpuSet cpu({attributes_here().cpu_affinity.cpus().front()});
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  std::mutex mutex;
  std::optional<rclrt_core::Attributes> by_entity;
  std::optional<rclrt_core::Attributes> by_name;
  const auto group = node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  const auto note = [&](std::optional<rclrt_core::Attributes> & where) {
    const std::lock_guard<std::mutex> lock(mutex);
    where = attributes_here();
  };
  const auto first = node->create_wall_timer(milliseconds(5), [&] { note(by_entity); }, group);
  const auto second = node->create_wall_timer(milliseconds(7), [&] { note(by_name); });
  const auto registry = std::make_shared<SchedulingRegistry>();
  Scheduling scheduling;
  scheduling.attributes.policy = rclrt_core::SchedulingPolicy::kBatch;
  registry->set(first, scheduling);
  scheduling.attributes.policy = rclrt_core::SchedulingPolicy::kOther;
  scheduling.attributes.cpu_affinity = cpu;
  registry->set("/planner/timer/7ms", scheduling);
  EXPECT_THROW(registry->set(rclcpp::TimerBase::SharedPtr(), scheduling), std::invalid_argument);
  typename TestFixture::Options options;
  options.scheduling = registry;
  const auto executor = this->make_executor(options);
  rclrt_core::Attributes batch;
  batch.policy = rclrt_core::SchedulingPolicy::kBatch;
  executor->add_node(node);
  const Spinning spinning(*executor);
  ASSERT_TRUE(wait_for([&] {
    const std::lock_guard<std::mutex> lock(mutex);
    return by_entity && by_name;
  }));
  {
    const std::lock_guard<std::mutex> lock(mutex);
    EXPECT_EQ(by_entity->policy, rclrt_core::SchedulingPolicy::kBatch);
    EXPECT_EQ(by_name->policy, rclrt_core::SchedulingPolicy::kOther);
    EXPECT_EQ(by_name->cpu_affinity.to_string(), cpu.to_string());
  }
  executor->set_attributes("/planner/timer/7ms", batch);
  EXPECT_TRUE(wait_for([&] {
    const std::lock_guard<std::mutex> lock(mutex);
    return by_name->policy == rclrt_core::SchedulingPolicy::kBatch;
  }));
  EXPECT_THROW(executor->set_attributes("/planner/timer/1h", batch), std::runtime_error);
  EXPECT_THROW(executor->set_attributes("/planner/timer/7ms", fifo(123)), std::runtime_error);
}

TYPED_TEST(SchedulingTest, callbacks_of_a_group_share_the_budget_of_the_registry)
{
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  const auto group = node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  const auto registry = std::make_shared<SchedulingRegistry>();
  rclrt_core::Budget budget;
  budget.runtime = milliseconds(5);
  budget.period = seconds(10);
  registry->set(group, {}, budget);
  typename TestFixture::Options options;
  options.scheduling = registry;
  const auto timer = node->create_wall_timer(
    milliseconds(10),
    [] {
      rclrt_core::LinuxPlatform platform;
      const auto thread = platform.current_thread();
      const int64_t end_ns = platform.cpu_time_ns(thread) + 6'000'000;
      while (platform.cpu_time_ns(thread) < end_ns) {
      }
    },
    group);
  const auto executor = this->make_executor(options);
  executor->add_node(node);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] {
    const auto findings = executor->findings();
    return std::any_of(findings.begin(), findings.end(), [](const auto & finding) {
      return finding.subject.find("group '/planner/group/") == 0 &&
             finding.what.find("needs more than its budget of 5000 us") != std::string::npos;
    });
  }));
}

TYPED_TEST(SchedulingTest, the_job_that_takes_a_message_names_it_and_the_job_that_published_it)
{
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  const auto publisher = node->create_publisher<Time>("topic", 10);
  using Message = std::pair<uint64_t, uint64_t>;  // its publisher, its source time stamp
  std::multiset<Message> expected;
  std::atomic<int> received{0};
  const auto subscription = node->create_subscription<Time>(
    "topic", 10, [&](std::unique_ptr<Time>, const rclcpp::MessageInfo & info) {
      const rmw_message_info_t & of_message = info.get_rmw_message_info();
      std::array<uint8_t, 16> gid{};
      std::copy_n(std::begin(of_message.publisher_gid.data), gid.size(), gid.begin());
      expected.emplace(rclrt_core::publisher_in_trace(gid), of_message.source_timestamp);
      ++received;
    });
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 1; }));
  std::shared_ptr<rclcpp::TimerBase> timer;
  timer = node->create_wall_timer(milliseconds(1), [&] {
    publisher->publish(Time());
    publisher->publish(Time());
    timer->cancel();
  });
  const auto executor = this->make_executor();
  executor->add_node(node);
  {
    const Spinning spinning(*executor);
    ASSERT_TRUE(wait_for([&] { return received == 2; }));
  }
  std::multiset<Message> published;
  std::multiset<Message> taken;
  std::vector<rclrt_job_record> takers;
  rclrt_job_record publishing{};
  const auto names = executor->callback_names();
  executor->read_trace([&](const rclrt_job_record & record) {
    const std::string name = names.at(record.callback);
    if (record.outcome == RCLRT_PUBLISHED) {
      published.emplace(record.publisher, record.message);
    } else if (name == "/planner/subscription/topic") {
      taken.emplace(record.publisher, record.message);
      takers.push_back(record);
    } else if (name == "/planner/timer/1ms" && record.outcome == RCLRT_JOB_DONE) {
      publishing = record;
    }
  });
  EXPECT_EQ(published, expected);
  EXPECT_EQ(taken, expected);
  EXPECT_EQ(takers.size(), 2U);
  for (const rclrt_job_record & taker : takers) {
    EXPECT_EQ(taker.cause, RCLRT_CAUSE_JOB);
    EXPECT_EQ(taker.by_sequence, publishing.sequence);
    EXPECT_EQ(taker.by_callback, publishing.callback);
    EXPECT_EQ(taker.by_executor, executor->trace_source().executor);
  }
}

TYPED_TEST(SchedulingTest, a_long_callback_does_not_hold_up_new_entities_of_others)
{
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  std::atomic<bool> go_on{false};
  std::atomic<bool> is_known{false};
  const auto executor = this->make_executor();
  const auto timer = node->create_wall_timer(milliseconds(1), [&] {
    if (!go_on) {
      const auto late = node->create_wall_timer(milliseconds(17), [] {});
      is_known = wait_for([&] { return executor->statistics().count("/planner/timer/17ms") == 1; });
      go_on = true;
    }
  });
  executor->add_node(node);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return go_on.load(); }));
  EXPECT_TRUE(is_known);
}

TYPED_TEST(SchedulingTest, what_it_holds_goes_with_it_though_an_entity_went_before)
{
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  auto subscription = node->create_subscription<Time>("map", 3, [](const Time &) {});
  auto held = std::make_shared<int>();
  const std::weak_ptr<int> left = held;
  typename TestFixture::Options options;
  options.on_exception = [held](const std::string &, const std::exception_ptr &) {
    return rclrt_core::ExceptionAction::kStop;
  };
  auto executor = this->make_executor(options);
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

TYPED_TEST(
  SchedulingTest, what_it_holds_goes_in_the_thread_that_destroys_it_whoever_announces_meanwhile)
{
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  for (int i = 0; i < 100; ++i) {
    const auto restless = std::make_shared<Restless>();
    node->get_node_waitables_interface()->add_waitable(restless, nullptr);
    std::atomic<std::thread::id> destroyed_by{std::thread::id()};
    std::shared_ptr<int> held(new int, [&](const int * gone) {
      destroyed_by = std::this_thread::get_id();
      delete gone;
    });
    typename TestFixture::Options options;
    options.on_exception = [held](const std::string &, const std::exception_ptr &) {
      return rclrt_core::ExceptionAction::kStop;
    };
    held.reset();
    auto executor = this->make_executor(options);
    options.on_exception = nullptr;
    executor->add_node(node);
    executor.reset();
    EXPECT_EQ(destroyed_by.load(), std::this_thread::get_id()) << i;
  }
}

}  // namespace
}  // namespace rclrt_rclcpp
