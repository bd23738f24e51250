// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Attributes of callbacks from files and code: in force, refused, impossible.

#include <linux/capability.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <future>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "rcutils/logging.h"
#include "scheduling_fixture.hpp"

namespace rclrt_rclcpp
{
namespace
{

/// For the calling thread and those that it starts. Returns false when it still may.
bool give_up_realtime()
{
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> capabilities{};
  if (syscall(SYS_capget, &header, capabilities.data()) != 0) {
    return false;
  }
  capabilities[0].effective &= ~(1U << CAP_SYS_NICE);
  return syscall(SYS_capset, &header, capabilities.data()) == 0 && realtime_is_refused();
}

using rclrt_core::SchedulingPolicy;

rclrt_core::Attributes batch()
{
  rclrt_core::Attributes attributes;
  attributes.policy = SchedulingPolicy::kBatch;
  return attributes;
}

template <typename ExecutorT>
class AttributesTest : public SchedulingTest<ExecutorT>
{
protected:
  void write_file(const std::string & timer, const std::string & subscription)
  {
    file_.emplace(
      "/planner:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
      "        timer/5ms: " +
      timer + "\n        subscription/map: " + subscription + "\n");
  }

  /// Notes what is in force in each of their callbacks, from the first on.
  void run(bool create_while_it_spins)
  {
    of_timer_.clear();
    of_subscription_.clear();
    std::mutex mutex;
    const auto note = [&](std::vector<rclrt_core::Attributes> & where) {
      const std::lock_guard<std::mutex> lock(mutex);
      where.push_back(attributes_here());
    };
    const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
    const auto publisher = node->create_publisher<Time>("map", 10);
    typename SchedulingTest<ExecutorT>::Options options;
    options.configuration_file = file_->path();
    const auto executor = this->make_executor(options);
    executor->add_node(node);
    std::optional<Spinning> spinning;
    if (create_while_it_spins) {
      spinning.emplace(*executor);
    }
    const auto timer = node->create_wall_timer(milliseconds(5), [&] { note(of_timer_); });
    // In one group the timer would inherit the urgency of a message that waits for it.
    rclcpp::SubscriptionOptions apart;
    apart.callback_group =
      node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
    const auto subscription = node->create_subscription<Time>(
      "map", 10, [&](const Time &) { note(of_subscription_); }, apart);
    if (!create_while_it_spins) {
      spinning.emplace(*executor);
    }
    EXPECT_TRUE(wait_for([&] {
      publisher->publish(Time());
      const std::lock_guard<std::mutex> lock(mutex);
      return of_timer_.size() > 2 && of_subscription_.size() > 2;
    }));
    spinning.reset();
    EXPECT_EQ(executor->statistics().at("/planner/timer/5ms").executed, of_timer_.size());
    // A message that arrives while the subscription is added may be announced twice.
    EXPECT_GE(
      executor->statistics().at("/planner/subscription/map").executed, of_subscription_.size());
  }

  std::optional<File> file_;
  std::vector<rclrt_core::Attributes> of_timer_;
  std::vector<rclrt_core::Attributes> of_subscription_;
};
TYPED_TEST_SUITE(AttributesTest, Configurable, ExecutorNames);

/// The first CPU that this process may use.
int a_cpu()
{
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof(cpus), &cpus);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &cpus)) {
    ++cpu;
  }
  return cpu;
}

// `other`, `batch` and CPUs need no privilege; nice does for the way back.

TYPED_TEST(AttributesTest, attributes_of_the_file_are_in_force_before_the_first_callback)
{
  const rclrt_core::CpuSet cpu({a_cpu()});
  this->write_file(
    "{scheduling_policy: batch, cpu_affinity: [" + cpu.to_string() + "]}",
    "{scheduling_policy: other}");
  for (const bool while_it_spins : {false, true}) {
    this->run(while_it_spins);
    for (const auto & seen : this->of_timer_) {
      EXPECT_EQ(seen.policy, SchedulingPolicy::kBatch) << while_it_spins;
      EXPECT_EQ(seen.cpu_affinity.to_string(), cpu.to_string()) << while_it_spins;
    }
    for (const auto & seen : this->of_subscription_) {
      EXPECT_EQ(seen.policy, SchedulingPolicy::kOther) << while_it_spins;
    }
  }
}

TYPED_TEST(AttributesTest, real_time_attributes_of_the_file_are_in_force_before_the_first_callback)
{
  if (realtime_is_refused()) {
    GTEST_SKIP() << "real-time scheduling is refused: docs/how-to/real-time-permissions.md";
  }
  this->write_file(
    "{scheduling_policy: fifo, priority: 31}", "{scheduling_policy: rr, priority: 32}");
  for (const bool while_it_spins : {false, true}) {
    this->run(while_it_spins);
    for (const auto & seen : this->of_timer_) {
      EXPECT_EQ(seen.policy, SchedulingPolicy::kFifo) << while_it_spins;
      EXPECT_EQ(seen.priority, 31) << while_it_spins;
    }
    for (const auto & seen : this->of_subscription_) {
      EXPECT_EQ(seen.policy, SchedulingPolicy::kRoundRobin) << while_it_spins;
      EXPECT_EQ(seen.priority, 32) << while_it_spins;
    }
  }
}

TYPED_TEST(AttributesTest, attributes_of_the_registry_belong_to_an_entity_or_a_name)
{
  const rclrt_core::CpuSet cpu({a_cpu()});
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
  scheduling.attributes.policy = SchedulingPolicy::kBatch;
  registry->set(first, scheduling);
  scheduling.attributes.policy = SchedulingPolicy::kOther;
  scheduling.attributes.cpu_affinity = cpu;
  registry->set("/planner/timer/7ms", scheduling);
  EXPECT_THROW(registry->set(rclcpp::TimerBase::SharedPtr(), scheduling), std::invalid_argument);
  typename TestFixture::Options options;
  options.scheduling = registry;
  const auto executor = this->make_executor(options);
  executor->add_node(node);
  const Spinning spinning(*executor);
  ASSERT_TRUE(wait_for([&] {
    const std::lock_guard<std::mutex> lock(mutex);
    return by_entity && by_name;
  }));
  {
    const std::lock_guard<std::mutex> lock(mutex);
    EXPECT_EQ(by_entity->policy, SchedulingPolicy::kBatch);
    EXPECT_EQ(by_name->policy, SchedulingPolicy::kOther);
    EXPECT_EQ(by_name->cpu_affinity.to_string(), cpu.to_string());
  }
  executor->set_attributes("/planner/timer/7ms", batch());
  EXPECT_TRUE(wait_for([&] {
    const std::lock_guard<std::mutex> lock(mutex);
    return by_name->policy == SchedulingPolicy::kBatch;
  }));
  EXPECT_THROW(executor->set_attributes("/planner/timer/1h", batch()), std::runtime_error);
  EXPECT_THROW(executor->set_attributes("/planner/timer/7ms", fifo(123)), std::runtime_error);
}

TYPED_TEST(AttributesTest, a_file_of_callback_isolated_executor_is_taken_as_it_is)
{
  const rclrt_core::CpuSet cpu({a_cpu()});
  const bool is_refused = realtime_is_refused();
  const File file(
    "callback_groups:\n"
    "  - id: /planner@Subscription(/map)@Timer(5000000)\n"
    "    policy: " +
    std::string(is_refused ? "SCHED_BATCH\n    nice: 0\n" : "SCHED_FIFO\n    priority: 33\n") +
    "    affinity: [" + cpu.to_string() + "]\n");
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  const auto group = node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  std::promise<rclrt_core::Attributes> seen;
  rclcpp::SubscriptionOptions subscription_options;
  subscription_options.callback_group = group;
  const auto subscription =
    node->create_subscription<Time>("map", 10, [](const Time &) {}, subscription_options);
  const auto timer = node->create_wall_timer(
    milliseconds(5),
    [&](rclcpp::TimerBase & itself) {
      seen.set_value(attributes_here());
      itself.cancel();
    },
    group);
  typename TestFixture::Options options;
  options.configuration_file = file.path();
  const auto executor = this->make_executor(options);
  executor->add_node(node);
  const Spinning spinning(*executor);
  auto first = seen.get_future();
  ASSERT_EQ(first.wait_for(seconds(30)), std::future_status::ready);
  const rclrt_core::Attributes in_force = first.get();
  EXPECT_EQ(in_force.policy, is_refused ? SchedulingPolicy::kBatch : SchedulingPolicy::kFifo);
  EXPECT_EQ(in_force.priority, is_refused ? 0 : 33);
  EXPECT_EQ(in_force.cpu_affinity.to_string(), cpu.to_string());
}

TYPED_TEST(AttributesTest, callbacks_of_a_group_share_a_budget)
{
  for (const bool is_in_file : {true, false}) {
    const File file(
      std::string("/**:\n  ros__parameters:\n    rclrt:\n      groups:\n        ") +
      (is_in_file ? "/planner/group/*: {budget: {runtime: 20ms, period: 10s}}\n"
                  : "/other/group/*: {nice: 0}\n"));
    const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
    const auto group = node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
    typename TestFixture::Options options;
    options.configuration_file = file.path();
    const auto registry = std::make_shared<SchedulingRegistry>();
    if (!is_in_file) {
      rclrt_core::Budget budget;
      budget.runtime = milliseconds(20);
      budget.period = seconds(10);
      registry->set(group, {}, budget);
    }
    options.scheduling = registry;
    // Each of them needs less than the budget, both more.
    const auto once = [](std::atomic<bool> * done) {
      return [done] {
        rclrt_core::LinuxPlatform platform;
        const auto thread = platform.current_thread();
        const int64_t end_ns = platform.cpu_time_ns(thread) + 15'000'000;
        while (!done->load() && platform.cpu_time_ns(thread) < end_ns) {
        }
        done->store(true);
      };
    };
    std::atomic<bool> first{false};
    std::atomic<bool> second{false};
    const auto one = node->create_wall_timer(milliseconds(10), once(&first), group);
    const auto other = node->create_wall_timer(milliseconds(11), once(&second), group);
    const auto executor = this->make_executor(options);
    executor->add_node(node);
    const Spinning spinning(*executor);
    EXPECT_TRUE(wait_for([&] { return first && second; }));
    EXPECT_TRUE(wait_for([&] {
      const auto findings = executor->findings();
      return std::any_of(findings.begin(), findings.end(), [](const auto & finding) {
        return finding.subject.find("group '/planner/group/") == 0 &&
               finding.what.find("needs more than its budget of 20000 us") != std::string::npos;
      });
    }))
      << is_in_file;
  }
}

TYPED_TEST(
  AttributesTest, a_message_whose_deadline_is_over_is_taken_and_not_handled_if_the_budget_is_low)
{
  const File file(
    "/**:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
    "        /planner/subscription/**: {relative_deadline: 100ms,\n"
    "            budget: {runtime: 20ms, period: 10s, criticality: low}}\n");
  const std::shared_ptr<rclcpp::Node> node =
    this->make_node("planner", rclcpp::NodeOptions().use_intra_process_comms(true));
  typename TestFixture::Options options;
  options.configuration_file = file.path();
  std::atomic<int> handled{0};
  const auto subscription =
    node->create_subscription<Time>("map", 10, [&](const Time & time) { handled = time.sec; });
  const auto publisher = node->create_publisher<Time>("map", 10);
  const auto publish = [&](int sec) {
    Time time;
    time.sec = sec;
    publisher->publish(time);
  };
  std::atomic<bool> is_over{false};
  // In the same group: the message waits.
  const auto timer = node->create_wall_timer(milliseconds(10), [&] {
    if (!is_over) {
      publish(1);
      std::this_thread::sleep_for(milliseconds(300));
      is_over = true;
    }
  });
  const auto executor = this->make_executor(options);
  executor->add_node(node);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] {
    const auto statistics = executor->statistics();
    return std::any_of(statistics.begin(), statistics.end(), [](const auto & entry) {
      return entry.second.skipped > 0;
    });
  }));
  EXPECT_EQ(handled, 0);
  EXPECT_TRUE(wait_for([&] {  // on a busy machine also the next one may be late
    publish(2);
    return handled == 2;
  }));
}

/// What was logged, while it exists.
class Log
{
public:
  Log() : before_(rcutils_logging_get_output_handler())
  {
    lines() = "";
    rcutils_logging_set_output_handler([](
                                         const rcutils_log_location_t *, int, const char * logger,
                                         rcutils_time_point_value_t, const char * format,
                                         va_list * arguments) {
      std::array<char, 1000> text{};
      std::vsnprintf(text.data(), text.size(), format, *arguments);
      const std::lock_guard<std::mutex> lock(mutex());
      lines() += std::string(logger) + ": " + text.data() + "\n";
    });
  }
  ~Log() { rcutils_logging_set_output_handler(before_); }
  Log(const Log &) = delete;
  Log & operator=(const Log &) = delete;

  bool has(const std::string & text) const
  {
    const std::lock_guard<std::mutex> lock(mutex());
    return lines().find(text) != std::string::npos;
  }
  std::size_t times(const std::string & what) const
  {
    const std::lock_guard<std::mutex> lock(mutex());
    std::size_t count = 0;
    for (auto at = lines().find(what); at != std::string::npos; at = lines().find(what, at + 1)) {
      ++count;
    }
    return count;
  }
  std::string all() const
  {
    const std::lock_guard<std::mutex> lock(mutex());
    return lines();
  }

private:
  static std::mutex & mutex()
  {
    static std::mutex instance;
    return instance;
  }
  static std::string & lines()
  {
    static std::string instance;
    return instance;
  }

  const rcutils_logging_output_handler_t before_;
};

TYPED_TEST(AttributesTest, callbacks_are_logged_with_their_groups_and_attributes_as_they_are_added)
{
  const File file(
    "/planner:\n  ros__parameters:\n    rclrt:\n      groups:\n"
    "        group/1: {scheduling_policy: batch}\n"
    "      callbacks:\n"
    "        subscription/map: {scheduling_policy: fifo, priority: 31}\n");
  typename TestFixture::Options options;
  options.configuration_file = file.path();
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  const auto group = node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  const auto timer = node->create_wall_timer(milliseconds(5), [] {}, group);
  const auto subscription = node->create_subscription<Time>("map", 10, [](const Time &) {});
  const auto executor = this->make_executor(options);
  rclcpp::Logger logger = rclcpp::get_logger("rclrt");
  const int before = rcutils_logging_get_logger_effective_level(logger.get_name());
  const Log log;
  logger.set_level(rclcpp::Logger::Level::Debug);
  executor->add_node(node);
  EXPECT_EQ(rcutils_logging_set_logger_level(logger.get_name(), before), RCUTILS_RET_OK);
  EXPECT_TRUE(
    log.has("rclrt: callback '/planner/timer/5ms' in group '/planner/group/1': batch, nice 0\n"))
    << log.all();
  EXPECT_TRUE(
    log.has("rclrt: callback '/planner/subscription/map' in group '/planner/group/default': fifo, "
            "priority 31\n"))
    << log.all();
}

TYPED_TEST(AttributesTest, refused_attributes_are_a_finding_in_the_log_and_required_ones_an_error)
{
  const File file(
    "/planner:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
    "        timer/5ms: {scheduling_policy: fifo, priority: 31}\n");
  const std::shared_ptr<rclcpp::Node> node = this->make_node("planner");
  std::atomic<SchedulingPolicy> policy{SchedulingPolicy::kUnchanged};
  const auto timer =
    node->create_wall_timer(milliseconds(5), [&] { policy = attributes_here().policy; });
  typename TestFixture::Options options;
  options.configuration_file = file.path();
  bool may_not = false;
  std::thread unprivileged([&] {
    may_not = give_up_realtime();
    if (!may_not) {
      return;
    }
    {
      const Log log;
      const auto executor = this->make_executor(options);
      executor->add_node(node);
      // Of all that is refused for one reason the log has the first only.
      const std::string text = "is refused for this reason is not told here";
      for (int i = 0; i < 2; ++i) {
        policy = SchedulingPolicy::kUnchanged;
        const Spinning spinning(*executor);
        EXPECT_TRUE(wait_for([&] { return policy != SchedulingPolicy::kUnchanged; }));
        EXPECT_EQ(policy, SchedulingPolicy::kOther);
        const auto findings = executor->findings();
        EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const auto & finding) {
          return finding.error_number == EPERM &&
                 finding.subject.find("timer") != std::string::npos;
        }));
        EXPECT_TRUE(wait_for([&] { return log.times(text) > 0; }));
      }
      EXPECT_EQ(log.times(text), 1U);
    }
    options.attributes_mode = rclrt_core::AttributesMode::kRequire;
    const auto executor = this->make_executor(options);
    executor->add_node(node);
    EXPECT_THROW(executor->spin(), std::runtime_error);
  });
  unprivileged.join();
  if (!may_not) {
    GTEST_SKIP() << "a limit lets everybody have real-time scheduling here";
  }
}

TYPED_TEST(AttributesTest, a_broken_file_is_an_error_with_its_place)
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

TYPED_TEST(AttributesTest, an_entry_that_matches_nothing_is_a_finding_and_required_ones_an_error)
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

}  // namespace
}  // namespace rclrt_rclcpp
