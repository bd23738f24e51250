// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What a parameters file says of callbacks, groups and the executor: in force, refused, impossible. Nodes and program do
// not know of it.

#include <linux/capability.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <future>
#include <mutex>
#include <optional>

#include "conformance/real_time.hpp"
#include "conformance/suite.hpp"
#include "rclrt_front_end/teller.hpp"

namespace conformance
{
namespace
{

using rclrt_core::SchedulingPolicy;

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

/// What was logged, while it exists.
class Log
{
public:
  Log() : before_(rcutils_logging_get_output_handler())
  {
    lines() = "";
    rclrt_front_end::Told::of_process().forget();
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

  std::size_t times(const std::string & what) const
  {
    const std::lock_guard<std::mutex> lock(mutex());
    std::size_t count = 0;
    for (auto at = lines().find(what); at != std::string::npos; at = lines().find(what, at + 1)) {
      ++count;
    }
    return count;
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

class AttributesOfFiles : public Suite
{
protected:
  static Options with(const File & file)
  {
    Options options;
    options.configuration_file = file.path();
    return options;
  }

  bool has_finding(const std::function<bool(const rclrt_core::Finding &)> & it)
  {
    const auto all = ours(*executor).findings();
    return std::any_of(all.begin(), all.end(), it);
  }

  /// The timer of 5 ms and the subscription to "map" of node "planner", under that file: notes what is in force in each of
  /// their callbacks, from the first on.
  void run(
    const std::string & of_timer, const std::string & of_subscription, bool create_while_it_spins)
  {
    const File file(
      "/planner:\n  ros__parameters:\n    rclrt:\n      callbacks:\n        timer/5ms: " +
      of_timer + "\n        subscription/map: " + of_subscription + "\n");
    in_timer.clear();
    in_subscription.clear();
    std::mutex mutex;
    const auto note = [&](std::vector<Attributes> & where) {
      const std::lock_guard<std::mutex> lock(mutex);
      where.push_back(attributes_here());
    };
    const auto planner = make_node("planner");
    const auto publisher = planner->create_publisher<Message>("map", 10);
    executor = make_executor(with(file));
    executor->add_node(planner);
    std::optional<Spinning<Executor>> spinning;
    if (create_while_it_spins) {
      spinning.emplace(*executor);
    }
    const auto timer = planner->create_wall_timer(5ms, [&] { note(in_timer); });
    // In one group the timer would inherit the urgency of a message that waits for it.
    const auto apart = make_group(*planner);
    const auto subscription = make_subscription(
      *planner, "map", 10, [&](const Message &) { note(in_subscription); }, apart);
    if (!create_while_it_spins) {
      spinning.emplace(*executor);
    }
    EXPECT_TRUE(wait_for([&] {
      publisher->publish(Message());
      const std::lock_guard<std::mutex> lock(mutex);
      return in_timer.size() > 2 && in_subscription.size() > 2;
    }));
    spinning.reset();
    EXPECT_EQ(statistics_of("/planner/timer/5ms").executed, in_timer.size());
    // A message that arrives while the subscription is added may be announced twice.
    EXPECT_GE(statistics_of("/planner/subscription/map").executed, in_subscription.size());
    executor.reset();
  }

  std::vector<Attributes> in_timer;
  std::vector<Attributes> in_subscription;
};
OVER_OUR_EXECUTORS(AttributesOfFiles);

// `other`, `batch` and CPUs need no privilege; nice does for the way back.
TEST_P(AttributesOfFiles, are_in_force_before_the_first_callback)
{
  const rclrt_core::CpuSet cpu({attributes_here().cpu_affinity.cpus().front()});
  for (const bool while_it_spins : {false, true}) {
    run(
      "{scheduling_policy: batch, cpu_affinity: [" + cpu.to_string() + "]}",
      "{scheduling_policy: other}", while_it_spins);
    for (const auto & seen : in_timer) {
      EXPECT_EQ(seen.scheduling_policy, SchedulingPolicy::kBatch) << while_it_spins;
      EXPECT_EQ(seen.cpu_affinity.to_string(), cpu.to_string()) << while_it_spins;
    }
    for (const auto & seen : in_subscription) {
      EXPECT_EQ(seen.scheduling_policy, SchedulingPolicy::kOther) << while_it_spins;
    }
  }
}

TEST_P(AttributesOfFiles, for_real_time_are_in_force_before_the_first_callback)
{
  SKIP_WITHOUT_REAL_TIME();
  for (const bool while_it_spins : {false, true}) {
    run(
      "{scheduling_policy: fifo, priority: 31}", "{scheduling_policy: rr, priority: 32}",
      while_it_spins);
    for (const auto & seen : in_timer) {
      EXPECT_EQ(seen.scheduling_policy, SchedulingPolicy::kFifo) << while_it_spins;
      EXPECT_EQ(seen.priority, 31) << while_it_spins;
    }
    for (const auto & seen : in_subscription) {
      EXPECT_EQ(seen.scheduling_policy, SchedulingPolicy::kRoundRobin) << while_it_spins;
      EXPECT_EQ(seen.priority, 32) << while_it_spins;
    }
  }
}

TEST_P(AttributesOfFiles, of_callback_isolated_executor_are_taken_as_they_are)
{
  const rclrt_core::CpuSet cpu({attributes_here().cpu_affinity.cpus().front()});
  const bool is_refused = realtime_is_refused();
  const char * const domain = std::getenv("ROS_DOMAIN_ID");
  const File file(
    "callback_groups:\n  - id: /node@Subscription(/map)@Timer(5000000)\n    domain_id: " +
    std::string(domain ? domain : "0") + "\n    policy: " +
    std::string(is_refused ? "SCHED_BATCH\n    nice: 0\n" : "SCHED_FIFO\n    priority: 33\n") +
    "    affinity: [" + cpu.to_string() + "]\n");
  const auto group = make_group(*node);
  std::promise<Attributes> seen;
  const auto subscription = make_subscription(*node, "map", 10, [](const Message &) {}, group);
  const auto timer = make_timer(
    *node, 5ms,
    [&](Timer & itself) {
      seen.set_value(attributes_here());
      itself.cancel();
    },
    group);
  executor = make_executor(with(file));
  const Spinning spinning(*executor, node);
  auto first = seen.get_future();
  ASSERT_EQ(first.wait_for(kPatience), std::future_status::ready);
  const Attributes in_force = first.get();
  EXPECT_EQ(
    in_force.scheduling_policy, is_refused ? SchedulingPolicy::kBatch : SchedulingPolicy::kFifo);
  EXPECT_EQ(in_force.priority, is_refused ? 0 : 33);
  EXPECT_EQ(in_force.cpu_affinity.to_string(), cpu.to_string());
}

TEST_P(AttributesOfFiles, give_the_callbacks_of_a_group_one_budget)
{
  const File file(
    for_all("      groups: {/node/group/*: {budget: {runtime: 20ms, period: 10s}}}\n"));
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
  for (const bool in_code : {false, true}) {
    executor.reset();
    node = make_node("node");
    rclrt_core::Budget budget;
    budget.runtime = 20ms;
    budget.period = 10s;
    Options options = in_code ? Options() : with(file);
    const auto group = in_code ? make_group_with(budget, *node, options) : make_group(*node);
    executor = make_executor(options);
    std::atomic<bool> first{false};
    std::atomic<bool> second{false};
    const auto one = make_timer(*node, 10ms, once(&first), group);
    const auto other = make_timer(*node, 11ms, once(&second), group);
    const Spinning spinning(*executor, node);
    EXPECT_TRUE(wait_for([&] { return first && second; }));
    EXPECT_TRUE(wait_for([&] {
      return has_finding([](const auto & finding) {
        return finding.subject.find("group '/node/group/") == 0 &&
               finding.what.find("needs more than its budget of 20000 us") != std::string::npos;
      });
    }));
  }
}

TEST_P(AttributesOfFiles, may_be_by_the_periods_of_timers_and_subscriptions_inherit_them)
{
  SKIP_WITHOUT_REAL_TIME();
  const File file(for_all("      executor: {policy: rate_monotonic}\n"));
  executor = make_executor(with(file));
  node = make_node("node", by_pointer());
  std::atomic<int> slow{0};
  std::atomic<int> fast{0};
  std::atomic<int> downstream{0};
  const auto subscription = node->create_subscription<Message>("topic", 10, [&](const Message &) {
    downstream = std::max(downstream.load(), attributes_here().priority);
  });
  const auto publisher = node->create_publisher<Message>("topic", 10);
  executor->add_node(node);
  // The second to come is the more urgent one: the first must be ranked anew.
  const auto apart = make_group(*node);
  const auto slow_timer =
    make_timer(*node, 40ms, [&] { slow = attributes_here().priority; }, apart);
  const auto fast_timer = node->create_wall_timer(20ms, [&] {
    fast = attributes_here().priority;
    publisher->publish(Message());
  });
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return fast == 59 && slow == 58 && downstream == 59; }))
    << "fast " << fast << " slow " << slow << " downstream " << downstream;
}

TEST_P(AttributesOfFiles, are_logged_with_callbacks_and_their_groups_as_they_are_added)
{
  if (!kLogsCallbacks) {
    GTEST_SKIP() << "this front end logs no callbacks as they are added";
  }
  const File file(
    "/planner:\n  ros__parameters:\n    rclrt:\n      groups:\n"
    "        group/1: {scheduling_policy: batch}\n      callbacks:\n"
    "        subscription/map: {scheduling_policy: fifo, priority: 31}\n");
  const auto planner = make_node("planner");
  const auto group = make_group(*planner);
  const auto timer = make_timer(*planner, 5ms, [] {}, group);
  const auto subscription =
    planner->create_subscription<Message>("map", 10, [](const Message &) {});
  executor = make_executor(with(file));
  const int before = rcutils_logging_get_logger_effective_level("rclrt");
  const Log log;
  EXPECT_EQ(rcutils_logging_set_logger_level("rclrt", RCUTILS_LOG_SEVERITY_DEBUG), RCUTILS_RET_OK);
  executor->add_node(planner);
  EXPECT_EQ(rcutils_logging_set_logger_level("rclrt", before), RCUTILS_RET_OK);
  for (const std::string line :
       {"'/planner/timer/5ms' in group '/planner/group/1': batch, nice 0",
        "'/planner/subscription/map' in group '/planner/group/default': fifo, priority 31"}) {
    EXPECT_EQ(log.times("rclrt: callback " + line + "\n"), 1U) << line;
  }
}

TEST_P(AttributesOfFiles, that_are_refused_are_a_finding_in_the_log_and_required_ones_an_error)
{
  const File file(
    for_all("      callbacks: {timer/5ms: {scheduling_policy: fifo, priority: 31}}\n"));
  std::atomic<SchedulingPolicy> policy{SchedulingPolicy::kUnchanged};
  const auto timer =
    node->create_wall_timer(5ms, [&] { policy = attributes_here().scheduling_policy; });
  bool may_not = false;
  std::thread unprivileged([&] {
    may_not = give_up_realtime();
    if (!may_not) {
      return;
    }
    {
      const Log log;
      executor = make_executor(with(file));
      executor->add_node(node);
      // If several are refused for one reason, the log has the first only.
      const std::string text = "is refused for this reason is not told here";
      for (int i = 0; i < 2; ++i) {
        policy = SchedulingPolicy::kUnchanged;
        const Spinning spinning(*executor);
        EXPECT_TRUE(wait_for([&] { return policy != SchedulingPolicy::kUnchanged; }));
        EXPECT_EQ(policy, SchedulingPolicy::kOther);
        EXPECT_TRUE(has_finding([](const auto & finding) {
          return finding.error_number == EPERM &&
                 finding.subject.find("timer") != std::string::npos;
        }));
        EXPECT_TRUE(wait_for([&] { return log.times(text) > 0; }));
      }
      EXPECT_EQ(log.times(text), 1U);
      executor.reset();
    }
    Options options = with(file);
    options.attributes_mode = rclrt_core::AttributesMode::kRequire;
    executor = make_executor(options);
    executor->add_node(node);
    EXPECT_NE(error_of([&] { executor->spin(); }), "");
    executor.reset();
  });
  unprivileged.join();
  if (!may_not) {
    GTEST_SKIP() << "a limit of this machine lets every user have real-time scheduling";
  }
}

TEST_P(AttributesOfFiles, that_are_impossible_are_an_error_with_its_place)
{
  for (const auto & [lines, place] :
       {std::pair("      callbacks: 7\n", ":4:18"),
        std::pair("      callbacks: {/a/b: {scheduling_policy: fifo, priority: 120}}\n", ":4:")}) {
    const File file(for_all(lines));
    const std::string error = error_of([&, file = &file] { make_executor(with(*file)); });
    EXPECT_NE(error.find(file.path() + place), std::string::npos) << error;
  }
}

TEST_P(AttributesOfFiles, of_nothing_are_a_finding_and_required_ones_an_error)
{
  const File file(
    "/node:\n  ros__parameters:\n    rclrt:\n      callbacks:\n"
    "        timer/6ms: {nice: 1, scheduling_policy: other}\n");
  const auto timer = node->create_wall_timer(5ms, [] {});
  executor = make_executor(with(file));
  executor->add_node(node);
  const auto findings = ours(*executor).findings();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].subject, file.path() + ":5:9");
  EXPECT_NE(to_string(findings[0]).find("/node/timer/5ms"), std::string::npos);
  executor.reset();
  Options options = with(file);
  options.attributes_mode = rclrt_core::AttributesMode::kRequire;
  executor = make_executor(options);
  executor->add_node(node);
  EXPECT_NE(
    error_of([&] { executor->spin(); }).find("'/node/timer/6ms' matches no"), std::string::npos);
  EXPECT_FALSE(executor->is_spinning());
  EXPECT_NE(error_of([&] { executor->spin_some(); }), "") << "attributes are not in force there";
}

}  // namespace
}  // namespace conformance
