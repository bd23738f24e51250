// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Threads that are not the executor's: those of the middleware outrank the callbacks they wake, and what a file says of
// threads by name and by role is in force while an executor spins. The kernel is asked what they have.

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "conformance/real_time.hpp"
#include "fixture.hpp"
#include "rclrt_front_end/on_rcl.hpp"

namespace rclrt_rcl
{
namespace
{

using conformance::fifo;
using rclrt_core::Attributes;
using rclrt_core::SchedulingPolicy;
using namespace std::chrono_literals;

using Wanted = std::function<bool(const std::string &)>;

/// What is in force on threads of these names.
std::vector<Attributes> attributes_of(const Wanted & is_wanted)
{
  rclrt_core::LinuxPlatform platform;
  std::vector<Attributes> all;
  for (const auto & [id, name] : platform.threads()) {
    Attributes attributes;
    if (is_wanted(name) && platform.read_back(id, &attributes) == 0) {
      all.push_back(attributes);
    }
  }
  return all;
}

/// Whether there are such threads, and all have this.
bool all_have(const Wanted & is_wanted, SchedulingPolicy policy, int priority = 0, int nice = 0)
{
  const auto all = attributes_of(is_wanted);
  return !all.empty() && std::all_of(all.begin(), all.end(), [&](const Attributes & one) {
    return one.scheduling_policy == policy && one.priority == priority && one.nice == nice;
  });
}

Wanted beginning_with(const std::string & begin)
{
  return [begin](const std::string & name) { return name.rfind(begin, 0) == 0; };
}

/// Whether those of the middleware that may be raised all have this.
bool middleware_has(SchedulingPolicy policy, int priority)
{
  const auto middleware = rclrt_front_end::middleware_in_use();
  return all_have(
    [&middleware](const std::string & name) { return middleware.owns_thread(name); }, policy,
    priority);
}

/// A node with a timer, and its executor.
class Threads : public WithContext
{
protected:
  void make(const PreemptiveExecutorOptions & changed)
  {
    executor = std::make_unique<PreemptiveExecutor>(changed);
  }
  /// The timer of 1 ms has this priority.
  void add_urgent(int priority)
  {
    TimerOptions options;
    options.scheduling.attributes = fifo(priority);
    timers.push_back(node->create_wall_timer(1ms, [this] { ++runs; }, options));
  }
  bool mentions(const std::string & text) const
  {
    const auto findings = executor->findings();
    return std::any_of(findings.begin(), findings.end(), [&](const auto & finding) {
      return to_string(finding).find(text) != std::string::npos;
    });
  }

  std::shared_ptr<Node> node = make_node("node");
  std::unique_ptr<PreemptiveExecutor> executor =
    std::make_unique<PreemptiveExecutor>(options<PreemptiveExecutorOptions>());
  std::atomic<int> runs{0};
  std::vector<std::shared_ptr<Timer>> timers;
};

class MiddlewareThreads : public Threads
{
protected:
  void SetUp() override { SKIP_WITHOUT_REAL_TIME(); }
};

TEST_F(MiddlewareThreads, are_one_above_the_most_urgent_callback_while_it_spins)
{
  add_urgent(10);
  executor->add_node(node);
  ASSERT_TRUE(middleware_has(SchedulingPolicy::kOther, 0));
  {
    const Spinning spinning(*executor);
    EXPECT_TRUE(wait_for([] { return middleware_has(SchedulingPolicy::kFifo, 11); }));
    add_urgent(20);
    EXPECT_TRUE(middleware_has(SchedulingPolicy::kFifo, 21));
    EXPECT_FALSE(mentions("middleware")) << "nothing to complain about";
  }
  EXPECT_TRUE(middleware_has(SchedulingPolicy::kOther, 0)) << "they get back what they had";
}

// Fast DDS' dds.asyn.* would keep the CPU from the thread whose lock they want.
TEST_F(MiddlewareThreads, that_wait_without_sleeping_are_not_raised)
{
  const auto middleware = rclrt_front_end::middleware_in_use();
  const auto busy_waiting = [&middleware] {
    return attributes_of([&middleware](const std::string & name) {
      const auto & names = middleware.busy_waiting;
      return std::any_of(names.begin(), names.end(), [&name](const std::string & pattern) {
        return name.rfind(pattern.substr(0, pattern.size() - 1), 0) == 0;
      });
    });
  };
  const auto publisher = node->create_publisher<conformance::Message>("topic", 10);
  if (busy_waiting().empty()) {
    GTEST_SKIP() << "no thread of " << middleware.rmw << " is known to do so";
  }
  add_urgent(10);
  const Spinning spinning(*executor, node);
  EXPECT_TRUE(wait_for([&] { return runs > 3 && middleware_has(SchedulingPolicy::kFifo, 11); }));
  for (const Attributes & attributes : busy_waiting()) {
    EXPECT_EQ(attributes.scheduling_policy, SchedulingPolicy::kOther);
  }
}

TEST_F(MiddlewareThreads, and_the_timer_thread_follow_the_most_urgent_callback)
{
  add_urgent(10);
  const Spinning spinning(*executor, node);
  const auto timer_thread_has = [&](int priority) {
    const auto threads = executor->threads();
    return std::any_of(threads.begin(), threads.end(), [&](const auto & thread) {
      return thread.name == "rclrt timers" && thread.in_force.priority == priority;
    });
  };
  EXPECT_TRUE(wait_for([&] { return timer_thread_has(11); }));
  executor->set_attributes(*timers[0], fifo(30));
  EXPECT_TRUE(wait_for([&] { return timer_thread_has(31); }));
}

TEST_F(MiddlewareThreads, stay_alone_without_urgent_callbacks)
{
  const auto timer = node->create_wall_timer(1ms, [&] { ++runs; });
  const Spinning spinning(*executor, node);
  EXPECT_TRUE(wait_for([&] { return runs > 3; }));
  EXPECT_TRUE(middleware_has(SchedulingPolicy::kOther, 0));
}

TEST_F(MiddlewareThreads, that_appear_later_are_raised_when_they_notify)
{
  auto with_attributes = options<PreemptiveExecutorOptions>();
  with_attributes.middleware_threads.attributes = fifo(30);
  make(with_attributes);
  executor->add_node(node);
  const auto waitable = node->create_waitable(named("w"), [&] { ++runs; });
  const Spinning spinning(*executor);
  ASSERT_TRUE(wait_for([] { return middleware_has(SchedulingPolicy::kFifo, 30); }));
  // By its name this is one of the middleware's; which of the real ones notifies, and when it first
  // does, is up to the middleware.
  Attributes before;
  Attributes after;
  std::thread([&] {
    std::string name = rclrt_front_end::middleware_in_use().threads.at(0);
    if (name.back() == '*') {
      name.replace(name.size() - 1, 1, "late");
    }
    pthread_setname_np(pthread_self(), name.c_str());
    before = conformance::attributes_here();
    waitable->trigger();
    after = conformance::attributes_here();
  }).join();
  EXPECT_EQ(before.scheduling_policy, SchedulingPolicy::kOther);
  EXPECT_EQ(after.scheduling_policy, SchedulingPolicy::kFifo);
  EXPECT_EQ(after.priority, 30);
  EXPECT_TRUE(wait_for([&] { return runs == 1; }));
}

TEST_F(MiddlewareThreads, that_are_outranked_are_a_finding)
{
  auto off = options<PreemptiveExecutorOptions>();
  off.middleware_threads.mode = rclrt_core::AttributesMode::kOff;
  make(off);
  add_urgent(10);
  const Spinning spinning(*executor, node);
  EXPECT_TRUE(
    wait_for([&] { return mentions("are not more urgent than '/node/timer/1ms' (fifo 10)"); }));
  EXPECT_TRUE(middleware_has(SchedulingPolicy::kOther, 0));
}

TEST_F(MiddlewareThreads, cannot_outrank_99)
{
  add_urgent(99);
  timers[0]->cancel();
  const Spinning spinning(*executor, node);
  EXPECT_TRUE(wait_for([&] { return mentions("(fifo 99)"); }));
}

/// A thread with a name, as a driver or a logger has one.
class Foreign
{
public:
  explicit Foreign(const std::string & name) : thread_([this, name] { live(name); })
  {
    wait_for([this] { return named_.load(); });
  }
  ~Foreign()
  {
    ends_ = true;
    thread_.join();
  }
  Foreign(const Foreign &) = delete;
  Foreign & operator=(const Foreign &) = delete;

private:
  void live(const std::string & name)
  {
    pthread_setname_np(pthread_self(), name.c_str());
    named_ = true;
    while (!ends_) {
      std::this_thread::sleep_for(1ms);
    }
  }

  std::atomic<bool> named_{false};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

class ThreadsByName : public Threads
{
protected:
  void SetUp() override
  {
    unsetenv("RCLRT_CONFIGURATION");
    timers.push_back(node->create_wall_timer(1ms, [this] { ++runs; }));
  }
  void make_with(const std::string & fields)
  {
    const conformance::File file(conformance::for_all("      executor: {" + fields + "}\n"));
    auto made = options<PreemptiveExecutorOptions>();
    made.configuration_file = file.path();
    make(made);
    executor->add_node(node);
  }
};

TEST_F(ThreadsByName, have_what_the_file_says_while_an_executor_spins)
{
  const rclrt_core::CpuSet cpu({rclrt_core::LinuxPlatform().usable_cpu_set().cpus().front()});
  make_with(
    "threads: {driver: {scheduling_policy: batch, nice: 7, cpu_affinity: [" + cpu.to_string() +
    "]}}");
  const Foreign driver("driver");
  const Foreign other("other driver");
  const auto as_in_the_file = [&cpu] {
    const auto all = attributes_of(beginning_with("driver"));
    return std::count_if(all.begin(), all.end(), [&cpu](const Attributes & one) {
      return one.scheduling_policy == SchedulingPolicy::kBatch && one.nice == 7 &&
             one.cpu_affinity == cpu;
    });
  };
  {
    const Spinning spinning(*executor);
    EXPECT_TRUE(wait_for([&] { return as_in_the_file() == 1; }));
    const Foreign late("driver");
    EXPECT_TRUE(wait_for([&] { return as_in_the_file() == 2; }));
    EXPECT_TRUE(all_have(beginning_with("other driver"), SchedulingPolicy::kOther));
  }
  EXPECT_TRUE(all_have(beginning_with("driver"), SchedulingPolicy::kOther))
    << "they get back what they had";
}

TEST_F(ThreadsByName, of_an_executor_are_left_alone_whatever_the_pattern)
{
  make_with("threads: {\"*\": {scheduling_policy: batch}}");
  const Foreign driver("driver");
  const Spinning spinning(*executor);
  EXPECT_TRUE(
    wait_for([] { return all_have(beginning_with("driver"), SchedulingPolicy::kBatch); }));
  EXPECT_TRUE(wait_for([&] { return runs > 3; }));
  EXPECT_TRUE(all_have(beginning_with("rclrt"), SchedulingPolicy::kOther));
}

TEST_F(ThreadsByName, that_spin_are_meant_by_their_own_name_only)
{
  make_with("threads: {spin*: {scheduling_policy: batch}, spinner: {scheduling_policy: idle}}");
  std::thread spinning([&] {
    pthread_setname_np(pthread_self(), "spinner");
    executor->spin();
  });
  EXPECT_TRUE(
    wait_for([] { return all_have(beginning_with("spinner"), SchedulingPolicy::kIdle); }));
  executor->cancel();
  spinning.join();
}

TEST_F(ThreadsByName, that_are_not_there_or_cannot_have_it_are_told)
{
  EXPECT_THROW(
    make_with("threads: {driver: {scheduling_policy: other, cpu_affinity: [1023]}}"),
    std::exception);
  make_with("threads: {ghost: {scheduling_policy: batch}}");
  {
    const Spinning spinning(*executor);
    EXPECT_TRUE(wait_for([&] { return runs > 0; }));
  }
  EXPECT_TRUE(mentions("thread 'ghost': was not there while the executor spun"));
}

}  // namespace
}  // namespace rclrt_rcl
