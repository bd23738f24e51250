// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What only our executors do: attributes from files and code, simulated time without a thread of its
// own, exceptions, and reports.

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "builtin_interfaces/msg/time.hpp"
#include "fixture.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rosgraph_msgs/msg/clock.hpp"

namespace rclrt_rclcpp
{
namespace
{

using builtin_interfaces::msg::Time;

/// Policy and priority of the calling thread.
struct InForce
{
  int policy = -1;
  int priority = -1;

  static InForce here()
  {
    sched_param parameters{};
    InForce in_force;
    in_force.policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    sched_getparam(0, &parameters);
    in_force.priority = parameters.sched_priority;
    return in_force;
  }
};

bool realtime_is_refused()
{
  rclrt_core::LinuxPlatform platform;
  rclrt_core::Attributes before;
  rclrt_core::Attributes fifo;
  fifo.policy = rclrt_core::SchedulingPolicy::kFifo;
  fifo.priority = 1;
  const auto self = platform.current_thread();
  const bool refused = platform.read_back(self, &before) != 0 || platform.apply(self, fifo) != 0;
  if (!refused) {
    platform.apply(self, before);
  }
  return refused;
}

rclrt_core::Attributes fifo(int priority)
{
  rclrt_core::Attributes attributes;
  attributes.policy = rclrt_core::SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

/// A file that is gone with the test.
class File
{
public:
  explicit File(const std::string & text)
  : path_(testing::TempDir() + "rclrt_rclcpp_" + std::to_string(getpid()) + ".yaml")
  {
    std::ofstream(path_) << text;
  }
  ~File() { std::remove(path_.c_str()); }
  File(const File &) = delete;
  File & operator=(const File &) = delete;
  const std::string & path() const { return path_; }

private:
  std::string path_;
};

template <typename ExecutorT>
struct OptionsOf;
template <>
struct OptionsOf<PreemptiveExecutor>
{
  using Type = PreemptiveExecutorOptions;
};
template <>
struct OptionsOf<CallbackIsolatedExecutor>
{
  using Type = CallbackIsolatedExecutorOptions;
};
template <>
struct OptionsOf<PriorityEventsExecutor>
{
  using Type = PriorityEventsExecutorOptions;
};

template <typename ExecutorT>
class SchedulingTest : public WithContext
{
protected:
  using Options = typename OptionsOf<ExecutorT>::Type;

  std::unique_ptr<ExecutorT> make_executor(const Options & options = {})
  {
    return std::make_unique<ExecutorT>(executor_options(), options);
  }
};

using Configurable =
  ::testing::Types<PreemptiveExecutor, CallbackIsolatedExecutor, PriorityEventsExecutor>;
TYPED_TEST_SUITE(SchedulingTest, Configurable, ExecutorNames);

TYPED_TEST(SchedulingTest, attributes_of_the_file_are_in_force_before_the_first_callback)
{
  if (realtime_is_refused()) {
    GTEST_SKIP() << "real-time scheduling is refused";
  }
  const File file(
    "/planner:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
    "        timer/5ms: {scheduling_policy: fifo, priority: 31}\n"
    "        subscription/map: {scheduling_policy: rr, priority: 32}\n");
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  std::mutex mutex;
  std::vector<InForce> of_timer;
  std::vector<InForce> of_subscription;
  const auto timer = node->create_wall_timer(milliseconds(5), [&] {
    const std::lock_guard<std::mutex> lock(mutex);
    of_timer.push_back(InForce::here());
  });
  const auto subscription = node->create_subscription<Time>("map", 10, [&](const Time &) {
    const std::lock_guard<std::mutex> lock(mutex);
    of_subscription.push_back(InForce::here());
  });
  const auto publisher = node->create_publisher<Time>("map", 10);
  typename TestFixture::Options options;
  options.configuration_file = file.path();
  const auto executor = this->make_executor(options);
  executor->add_node(node);
  {
    const Spinning spinning(*executor);
    EXPECT_TRUE(wait_for([&] {
      publisher->publish(Time());
      const std::lock_guard<std::mutex> lock(mutex);
      return of_timer.size() > 2 && of_subscription.size() > 2;
    }));
  }
  for (const InForce & in_force : of_timer) {
    EXPECT_EQ(in_force.policy, SCHED_FIFO);
    EXPECT_EQ(in_force.priority, 31);
  }
  for (const InForce & in_force : of_subscription) {
    EXPECT_EQ(in_force.policy, SCHED_RR);
    EXPECT_EQ(in_force.priority, 32);
  }
  EXPECT_EQ(executor->statistics().count("/planner/timer/5ms"), 1U);
  EXPECT_GT(executor->statistics().at("/planner/subscription/map").executed, 2U);
}

TYPED_TEST(SchedulingTest, attributes_of_the_registry_belong_to_an_entity_or_a_name)
{
  if (realtime_is_refused()) {
    GTEST_SKIP() << "real-time scheduling is refused";
  }
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  std::atomic<int> by_entity{-1};
  std::atomic<int> by_name{-1};
  const auto group = node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  const auto first =
    node->create_wall_timer(milliseconds(5), [&] { by_entity = InForce::here().priority; }, group);
  const auto second =
    node->create_wall_timer(milliseconds(7), [&] { by_name = InForce::here().priority; });
  const auto registry = std::make_shared<SchedulingRegistry>();
  Scheduling scheduling;
  scheduling.attributes = fifo(21);
  registry->set(first, scheduling);
  scheduling.attributes = fifo(22);
  registry->set("/planner/timer/7ms", scheduling);
  EXPECT_THROW(registry->set(rclcpp::TimerBase::SharedPtr(), scheduling), std::invalid_argument);
  typename TestFixture::Options options;
  options.scheduling = registry;
  const auto executor = this->make_executor(options);
  executor->add_node(node);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return by_entity >= 0 && by_name >= 0; }));
  EXPECT_EQ(by_entity, 21);
  EXPECT_EQ(by_name, 22);
  executor->set_attributes("/planner/timer/7ms", fifo(23));
  EXPECT_TRUE(wait_for([&] { return by_name == 23; }));
  EXPECT_THROW(executor->set_attributes("/planner/timer/1h", fifo(23)), std::runtime_error);
  EXPECT_THROW(executor->set_attributes("/planner/timer/7ms", fifo(123)), std::runtime_error);
}

TYPED_TEST(SchedulingTest, a_broken_file_is_an_error_with_its_place)
{
  const File file("/**:\n  ros__parameters:\n    rclrt:\n      callbacks: 7\n");
  typename TestFixture::Options options;
  options.configuration_file = file.path();
  try {
    this->make_executor(options);
    FAIL() << "no error";
  } catch (const std::runtime_error & error) {
    EXPECT_NE(std::string(error.what()).find(file.path() + ":4:"), std::string::npos)
      << error.what();
  }
}

TYPED_TEST(SchedulingTest, an_entry_that_matches_nothing_is_a_finding_and_required_ones_an_error)
{
  const File file(
    "/planner:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
    "        timer/6ms: {nice: 1, scheduling_policy: other}\n");
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  const auto timer = node->create_wall_timer(milliseconds(5), [] {});
  typename TestFixture::Options options;
  options.configuration_file = file.path();
  {
    const auto executor = this->make_executor(options);
    executor->add_node(node);
    ASSERT_EQ(executor->findings().size(), 1U);
    EXPECT_NE(to_string(executor->findings()[0]).find("/planner/timer/5ms"), std::string::npos);
  }
  options.attributes_mode = rclrt_core::AttributesMode::kRequire;
  const auto executor = this->make_executor(options);
  executor->add_node(node);
  EXPECT_THROW(executor->spin(), std::runtime_error);
  EXPECT_THROW(executor->spin_some(), std::runtime_error) << "attributes are not in force there";
}

TYPED_TEST(SchedulingTest, an_exception_ends_spin_and_comes_out_of_it)
{
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  const auto timer = node->create_wall_timer(
    milliseconds(1), []() -> void { throw std::domain_error("on purpose"); });
  const auto executor = this->make_executor();
  executor->add_node(node);
  EXPECT_THROW(executor->spin(), std::domain_error);
  EXPECT_THROW(while (true) { executor->spin_once(seconds(30)); }, std::domain_error);
}

TYPED_TEST(SchedulingTest, an_exception_handler_may_go_on)
{
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  std::atomic<int> handled{0};
  typename TestFixture::Options options;
  options.on_exception = [&](const std::string & callback, const std::exception_ptr &) {
    EXPECT_EQ(callback, "/planner/timer/1ms");
    ++handled;
    return rclrt_core::ExceptionAction::kContinue;
  };
  const auto timer = node->create_wall_timer(
    milliseconds(1), []() -> void { throw std::domain_error("on purpose"); });
  const auto executor = this->make_executor(options);
  executor->add_node(node);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return handled > 3; }));
}

TYPED_TEST(SchedulingTest, timers_follow_simulated_time)
{
  rclcpp::NodeOptions node_options;
  node_options.append_parameter_override("use_sim_time", true);
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner", node_options);
  const std::shared_ptr<rclcpp::Node> clock_node = this->make_node("simulator");
  const auto publisher =
    clock_node->create_publisher<rosgraph_msgs::msg::Clock>("/clock", rclcpp::ClockQoS());
  std::atomic<int> ticks{0};
  const auto timer = node->create_timer(seconds(1), [&] { ++ticks; });
  const auto executor = this->make_executor();
  executor->add_node(node);
  const Spinning spinning(*executor);
  int32_t now_s = 100;
  const auto tell = [&] {
    rosgraph_msgs::msg::Clock clock;
    clock.clock.sec = now_s;
    publisher->publish(clock);
  };
  ASSERT_TRUE(wait_for([&] {
    tell();
    return node->get_clock()->ros_time_is_active() && node->now().seconds() == 100.0;
  }));
  std::this_thread::sleep_for(milliseconds(1200));
  const int then = ticks;
  EXPECT_LE(then, 1) << "wall time does not count, but may have before the simulation was known";
  for (int i = 1; i <= 5; ++i) {
    ++now_s;
    EXPECT_TRUE(wait_for([&] {
      tell();
      return ticks >= then + i;
    }));
  }
  EXPECT_EQ(ticks, then + 5) << "one for each second";
}

TYPED_TEST(SchedulingTest, jobs_are_traced_under_the_names_of_their_callbacks)
{
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  std::atomic<int> ticks{0};
  const auto timer = node->create_wall_timer(milliseconds(1), [&] { ++ticks; });
  const auto executor = this->make_executor();
  executor->add_node(node);
  {
    const Spinning spinning(*executor);
    EXPECT_TRUE(wait_for([&] { return ticks > 3; }));
    EXPECT_FALSE(executor->threads().empty());
  }
  int of_timer = 0;
  const auto names = executor->callback_names();
  executor->read_trace([&](const rclrt_job_record & record) {
    of_timer += names.at(record.callback) == "/planner/timer/1ms" ? 1 : 0;
  });
  EXPECT_GT(of_timer, 3);
  EXPECT_EQ(executor->trace_dropped(), 0U);
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

}  // namespace
}  // namespace rclrt_rclcpp
