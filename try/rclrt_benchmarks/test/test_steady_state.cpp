// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What one dispatch costs once everything is warm, counted, not timed.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../programs/allocations.hpp"
#include "builtin_interfaces/msg/time.hpp"
#include "rcl/error_handling.h"
#include "rcl/subscription.h"
#include "rclrt_core/deadline_scheduler.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rclrt_rcl/rclrt_rcl.hpp"

/// How often this process has called syscall() for what a dispatch may not do often. The function below stands between
/// our libraries and the C library; glibc's own locks and the middleware's do not come by here.
namespace system_calls
{

// Relaxed: statistics, read when nothing is going on.
std::atomic<uint64_t> wakes{0};
std::atomic<uint64_t> scheduling{0};

struct Counts
{
  uint64_t wakes = 0;       ///< futex wakes
  uint64_t scheduling = 0;  ///< changes of policy, priority or CPUs
};

/// So far, from all threads. All 0 in sanitizer builds.
Counts counts() noexcept
{
  return {wakes.load(std::memory_order_relaxed), scheduling.load(std::memory_order_relaxed)};
}

}  // namespace system_calls

#if !defined(RCLRT_SANITIZE_address) && !defined(RCLRT_SANITIZE_thread)
extern "C" long syscall(long number, ...) noexcept
{
  using Call = long (*)(long, ...);
  static const auto next = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "syscall"));
  va_list given;
  va_start(given, number);
  long a[6];
  for (long & argument : a) {
    argument = va_arg(given, long);  // those that were not given are not looked at by the kernel
  }
  va_end(given);
  if (number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAKE) {
    system_calls::wakes.fetch_add(1, std::memory_order_relaxed);
  } else if (number == SYS_sched_setattr || number == SYS_sched_setaffinity) {
    system_calls::scheduling.fetch_add(1, std::memory_order_relaxed);
  }
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
#endif

namespace
{

using rclrt_core::ExecutionModel;

constexpr int kWarmUp = 100;
constexpr int kByDeadline = -1;
constexpr int kDispatches = 1000;
constexpr std::chrono::seconds kPatience(60);

class CountingPlatform : public rclrt_core::LinuxPlatform
{
public:
  void wait(
    const std::atomic<uint32_t> & word, uint32_t expected,
    rclrt_core::TimePoint until) noexcept override
  {
    ++waiting;
    LinuxPlatform::wait(word, expected, until);
    --waiting;
  }
  void wake_one(const std::atomic<uint32_t> & word) noexcept override
  {
    ++wakes;
    LinuxPlatform::wake_one(word);
  }
  int apply(
    rclrt_core::ThreadId thread, const rclrt_core::Attributes & attributes) noexcept override
  {
    ++scheduling_calls;
    return LinuxPlatform::apply(thread, attributes);
  }

  std::atomic<int> waiting{
    0};  ///< threads inside wait(), or so close that the engine knows them idle
  std::atomic<int> wakes{0};
  std::atomic<int> scheduling_calls{0};
};

/// Counts up, and lets another thread wait for a count without allocating.
class Signal
{
public:
  void raise()
  {
    count_.fetch_add(1);
    platform_.wake_one(count_);
  }
  bool wait_for(uint32_t count)
  {
    const auto until = platform_.now() + kPatience;
    for (uint32_t now = count_.load(); now < count; now = count_.load()) {
      if (platform_.now() > until) {
        return false;
      }
      platform_.wait(count_, now, until);
    }
    return true;
  }
  uint32_t count() const { return count_.load(); }

private:
  rclrt_core::LinuxPlatform platform_;
  std::atomic<uint32_t> count_{0};
};

bool may_use_realtime()
{
  rclrt_core::LinuxPlatform platform;
  bool refused = false;
  rclrt_core::ThreadOptions options;
  options.attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kFifo;
  options.attributes.priority = 1;
  std::unique_ptr<rclrt_core::Thread> thread;
  const auto status = platform.start_thread(
    options, [] {}, [&](const rclrt_core::Finding &) { refused = true; }, &thread);
  thread.reset();
  return status.ok() && !refused;
}

TEST(Allocations, are_seen_whoever_makes_them)
{
  if (!memory::counts_allocations()) {
    GTEST_SKIP() << "a sanitizer has replaced malloc()";
  }
  const uint64_t count = memory::allocations();
  const int64_t bytes = memory::allocated_bytes();
  const auto taken = std::make_unique<std::vector<char>>(10000);
  EXPECT_EQ(memory::allocations() - count, 2U);
  EXPECT_GE(memory::allocated_bytes() - bytes, 10000);
}

class EngineSteadyState : public testing::TestWithParam<ExecutionModel>
{
protected:
  EngineSteadyState()
  {
    rclrt_core::EngineOptions options;
    options.model = GetParam();
    engine_ = std::make_unique<rclrt_core::Engine>(platform_, options);
  }

  void add_callback(const std::string & name, int priority)
  {
    std::shared_ptr<rclrt_core::Group> group;
    ASSERT_TRUE(engine_->add_group({name + " group", 1, {}}, &group).ok());
    rclrt_core::CallbackOptions options;
    options.name = name;
    options.depth = 10;
    options.run = [this](const rclrt_core::Job &) {
      ran_.raise();
      return true;
    };
    if (priority == kByDeadline) {
      options.attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kExt;
      options.relative_deadline = std::chrono::milliseconds(10);
    }
    if (priority > 0) {
      options.attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kFifo;
      options.attributes.priority = priority;
    }
    callbacks_.emplace_back();
    ASSERT_TRUE(engine_->add_callback(options, group, &callbacks_.back()).ok());
  }

  /// All callbacks in turn, each when all threads sleep again after the one before.
  void dispatch(int times)
  {
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(wait_until_all_sleep());
      const uint32_t before = ran_.count();
      engine_->notify(*callbacks_[static_cast<std::size_t>(i) % callbacks_.size()]);
      ASSERT_TRUE(ran_.wait_for(before + 1));
    }
  }

  /// Deadlines that processes share have a thread which looks for other processes at the start.
  void wait_until_the_background_rests() const
  {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    uint64_t before = 0;
    do {
      before = memory::allocations();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    } while (memory::allocations() != before && std::chrono::steady_clock::now() < until);
  }

  bool wait_until_all_sleep() const
  {
    // The one that spins, and unless that is all: one a callback. The timer thread waits for its alarm.
    const int callbacks = static_cast<int>(callbacks_.size());
    const int threads = GetParam() == ExecutionModel::kPriorityEvents ? 1 : 1 + callbacks;
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (platform_.waiting != threads) {
      if (std::chrono::steady_clock::now() > until) {
        return false;
      }
      std::this_thread::yield();
    }
    return true;
  }

  void expect_frugal_dispatch(int scheduling_calls_allowed = 0)
  {
    std::thread spinner([this] { EXPECT_TRUE(engine_->spin().ok()); });
    dispatch(kWarmUp);
    wait_until_the_background_rests();
    const uint64_t allocations = memory::allocations();
    const int wakes = platform_.wakes;
    const int scheduling_calls = platform_.scheduling_calls;
    dispatch(kDispatches);
    EXPECT_EQ(memory::allocations() - allocations, 0U);
    EXPECT_LE(platform_.wakes - wakes, kDispatches);
    EXPECT_LE(platform_.scheduling_calls - scheduling_calls, scheduling_calls_allowed);
    engine_->stop();
    spinner.join();
  }

  CountingPlatform platform_;
  Signal ran_;
  std::unique_ptr<rclrt_core::Engine> engine_;
  std::vector<std::shared_ptr<rclrt_core::Callback>> callbacks_;
};

TEST_P(EngineSteadyState, a_dispatch_allocates_nothing_wakes_one_thread_and_changes_no_scheduling)
{
  add_callback("a", 0);
  expect_frugal_dispatch();
}

TEST_P(EngineSteadyState, the_same_with_callbacks_of_different_urgency)
{
  if (!may_use_realtime()) {
    GTEST_SKIP() << "SCHED_FIFO is not permitted";
  }
  add_callback("a", 10);
  add_callback("b", 20);
  // Where there is only one thread, it has to change between two priorities.
  expect_frugal_dispatch(GetParam() == ExecutionModel::kPriorityEvents ? kDispatches : 0);
}

TEST_P(EngineSteadyState, the_same_with_deadlines_in_force)
{
  if (!may_use_realtime()) {
    GTEST_SKIP() << "SCHED_FIFO is not permitted";
  }
  // The table of this process, and then one that processes share.
  const std::string name = "rclrt_test_steady_" + std::to_string(getpid());
  for (const std::string & shared_name : {std::string(), name}) {
    rclrt_core::FifoBandsOptions bands_options;
    bands_options.shared_name = shared_name;
    std::shared_ptr<rclrt_core::FifoBands> bands;
    const rclrt_core::Status made = rclrt_core::FifoBands::make(platform_, bands_options, &bands);
    ASSERT_TRUE(made.ok()) << made.message();
    rclrt_core::EngineOptions options;
    options.model = GetParam();
    options.policy = &rclrt_core::edf_policy();
    options.deadlines = bands;
    callbacks_.clear();
    engine_ = std::make_unique<rclrt_core::Engine>(platform_, options);
    add_callback("a", kByDeadline);
    add_callback("b", kByDeadline);
    expect_frugal_dispatch();
    EXPECT_TRUE(bands->findings().empty());
  }
  const std::string left = "rm -f /dev/shm/" + name + ".*";
  EXPECT_EQ(std::system(left.c_str()), 0);
}

/// Stamps that are not believed are told once, while it warms up.
TEST_P(EngineSteadyState, the_same_with_deadlines_from_stamps_that_are_believed_or_not)
{
  std::shared_ptr<rclrt_core::Group> group;
  ASSERT_TRUE(engine_->add_group({"group", 1, {}}, &group).ok());
  rclrt_core::CallbackOptions options;
  options.name = "stamped";
  options.kind = rclrt_core::CallbackKind::kSubscription;
  options.depth = 10;
  options.relative_deadline = std::chrono::seconds(10);
  options.deadline_from = rclrt_core::DeadlineFrom::kSourceStamp;
  options.clock_error = std::chrono::milliseconds(1);
  options.run = [this](const rclrt_core::Job &) {
    const bool is_true = ran_.count() % 2 == 0;
    rclrt_core::inherit_deadline(std::nullopt, is_true ? platform_.system_now_ns() : 0);
    ran_.raise();
    return true;
  };
  callbacks_.emplace_back();
  ASSERT_TRUE(engine_->add_callback(options, group, &callbacks_.back()).ok());
  expect_frugal_dispatch();
  const auto statistics = engine_->statistics(*callbacks_.back());
  EXPECT_EQ(statistics.stamps_refused, static_cast<uint64_t>(kWarmUp + kDispatches) / 2);
  EXPECT_EQ(engine_->findings().size(), 1U);
}

TEST_P(EngineSteadyState, timers_allocate_nothing_either)
{
  std::shared_ptr<rclrt_core::Group> group;
  ASSERT_TRUE(engine_->add_group({"group", 1, {}}, &group).ok());
  rclrt_core::CallbackOptions options;
  options.name = "timer";
  options.kind = rclrt_core::CallbackKind::kTimer;
  options.run = [this](const rclrt_core::Job &) {
    ran_.raise();
    return true;
  };
  rclrt_core::TimerOptions timer;
  timer.period = std::chrono::milliseconds(1);
  std::shared_ptr<rclrt_core::Callback> callback;
  ASSERT_TRUE(engine_->add_timer(options, timer, group, &callback).ok());
  std::thread spinner([this] { EXPECT_TRUE(engine_->spin().ok()); });
  ASSERT_TRUE(ran_.wait_for(kWarmUp));
  const uint64_t allocations = memory::allocations();
  const int scheduling_calls = platform_.scheduling_calls;
  ASSERT_TRUE(ran_.wait_for(ran_.count() + 200));
  EXPECT_EQ(memory::allocations() - allocations, 0U);
  EXPECT_EQ(platform_.scheduling_calls - scheduling_calls, 0);
  engine_->stop();
  spinner.join();
}

INSTANTIATE_TEST_SUITE_P(
  Models, EngineSteadyState,
  testing::Values(
    ExecutionModel::kPreemptive, ExecutionModel::kPriorityEvents, ExecutionModel::kIsolated),
  [](const auto & model) { return std::string(to_string(model.param)); });

// With the middleware, which allocates by itself: no more than when the callback is run by its
// listener. Both sides of the topic are in this process.
class MiddlewareSteadyState : public testing::Test
{
protected:
  using Message = builtin_interfaces::msg::Time;

  void SetUp() override
  {
    if (!memory::counts_allocations()) {
      GTEST_SKIP() << "a sanitizer has replaced malloc()";
    }
    rclrt_rcl::ContextOptions context_options;
    context_options.configure_logging = false;
    context_ = rclrt_rcl::Context::make(0, nullptr, context_options);
    rclrt_rcl::NodeOptions options;
    options.context = context_;
    options.enable_rosout = false;
    node_ = std::make_shared<rclrt_rcl::Node>("steady_state", options);
    const auto qos = rclrt_rcl::QoS(10).best_effort();
    publisher_ = node_->create_publisher<Message>("steady_state", qos);
    rclrt_rcl::SubscriptionOptions urgent;
    urgent.scheduling.attributes = {rclrt_core::SchedulingPolicy::kFifo, 10};
    subscription_ = node_->create_subscription<Message>(
      "steady_state", qos, [this](const Message &) { ran_.raise(); }, urgent);
    while (publisher_->subscription_count() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void publish(int times)
  {
    for (int i = 0; i < times; ++i) {
      const uint32_t before = ran_.count();
      publisher_->publish(message_);
      ASSERT_TRUE(ran_.wait_for(before + 1));
    }
  }

  /// What 1000 dispatches cost.
  struct Cost
  {
    uint64_t allocations = 0;
    uint64_t wakes = 0;
    uint64_t scheduling_calls = 0;
  };

  Cost of_dispatches()
  {
    publish(kWarmUp);
    const uint64_t allocations = memory::allocations();
    const system_calls::Counts calls = system_calls::counts();
    publish(kDispatches);
    const system_calls::Counts calls_after = system_calls::counts();
    return {
      memory::allocations() - allocations, calls_after.wakes - calls.wakes,
      calls_after.scheduling - calls.scheduling};
  }

  Cost of_listener()
  {
    const auto on_message = [](const void * self, std::size_t count) {
      auto & test = *static_cast<MiddlewareSteadyState *>(const_cast<void *>(self));
      for (std::size_t i = 0; i < count; ++i) {
        rmw_message_info_t info = rmw_get_zero_initialized_message_info();
        if (
          rcl_take(test.subscription_->handle().get(), &test.received_, &info, nullptr) ==
          RCL_RET_OK) {
          test.ran_.raise();
        } else {
          rcl_reset_error();
        }
      }
    };
    rcl_subscription_t * const handle = subscription_->handle().get();
    EXPECT_EQ(rcl_subscription_set_on_new_message_callback(handle, on_message, this), RCL_RET_OK);
    const Cost cost = of_dispatches();
    EXPECT_EQ(rcl_subscription_set_on_new_message_callback(handle, nullptr, nullptr), RCL_RET_OK);
    return cost;
  }

  template <typename Executor, typename Options>
  Cost of_executor()
  {
    Options options;
    options.context = context_;
    Executor executor(options);
    executor.add_node(node_);
    std::thread spinner([&] { executor.spin(); });
    const Cost cost = of_dispatches();
    executor.cancel();
    spinner.join();
    executor.remove_node(node_);
    return cost;
  }

  std::shared_ptr<rclrt_rcl::Context> context_;
  std::shared_ptr<rclrt_rcl::Node> node_;
  std::shared_ptr<rclrt_rcl::Publisher<Message>> publisher_;
  std::shared_ptr<rclrt_rcl::Subscription<Message>> subscription_;
  Signal ran_;
  Message message_;
  Message received_;
};

// The middleware's threads do something of their own now and then: less than once a message. The
// callback itself wakes this thread, also when the listener runs it.
TEST_F(
  MiddlewareSteadyState, executors_add_no_allocation_one_wake_and_raise_a_less_urgent_publisher)
{
  const Cost listener = of_listener();
  const Cost executors[] = {
    of_executor<rclrt_rcl::PreemptiveExecutor, rclrt_rcl::PreemptiveExecutorOptions>(),
    of_executor<rclrt_rcl::CallbackIsolatedExecutor, rclrt_rcl::CallbackIsolatedExecutorOptions>(),
    of_executor<rclrt_rcl::PriorityEventsExecutor, rclrt_rcl::PriorityEventsExecutorOptions>()};
  EXPECT_EQ(listener.wakes, static_cast<uint64_t>(kDispatches)) << "else they are not counted";
  for (const Cost & cost : executors) {
    EXPECT_LE(cost.allocations, listener.allocations + kDispatches / 10);
    EXPECT_LE(cost.wakes, listener.wakes + kDispatches);
    // This thread is SCHED_OTHER and the callback SCHED_FIFO: it is raised for the publication, and lowered.
    EXPECT_EQ(cost.scheduling_calls, uint64_t{2} * kDispatches);
  }
}

TEST_F(MiddlewareSteadyState, executors_add_no_scheduling_call_if_the_publisher_is_urgent_enough)
{
  rclrt_core::LinuxPlatform platform;
  rclrt_core::Attributes before;
  ASSERT_EQ(platform.read_back(platform.current_thread(), &before), 0);
  rclrt_core::Attributes as_urgent;
  as_urgent.scheduling_policy = rclrt_core::SchedulingPolicy::kFifo;
  as_urgent.priority = 10;
  if (platform.apply(platform.current_thread(), as_urgent) != 0) {
    GTEST_SKIP() << "SCHED_FIFO is not permitted";
  }
  const Cost cost =
    of_executor<rclrt_rcl::PreemptiveExecutor, rclrt_rcl::PreemptiveExecutorOptions>();
  EXPECT_EQ(cost.scheduling_calls, 0U);
  EXPECT_EQ(platform.apply(platform.current_thread(), before), 0);
}

}  // namespace
