// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What users of rclcpp's executors rely on, over all executors: the ways to spin.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "error_text.hpp"
#include "executor_types.hpp"
#include "rcl/subscription.h"
#include "rcl_interfaces/msg/log.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace
{

/// What happens when the middleware has counted what waits for "/gap", and does not listen to it yet.
std::function<void()> in_the_gap;
/// Messages that came then. The middleware tells of them when the function is given to it again.
std::atomic<std::size_t> came_in_the_gap{0};

}  // namespace

// In this program it comes before the one of rcl. As with rmw_fastrtps 9.3, but the gap is never too short.
extern "C" rcl_ret_t rcl_subscription_set_on_new_message_callback(
  const rcl_subscription_t * subscription, rcl_event_callback_t callback, const void * user_data)
{
  static const auto next =
    reinterpret_cast<decltype(&rcl_subscription_set_on_new_message_callback)>(
      dlsym(RTLD_NEXT, "rcl_subscription_set_on_new_message_callback"));
  const bool is_it = std::string(rcl_subscription_get_topic_name(subscription)) == "/gap";
  if (callback == nullptr || !is_it) {
    return next(subscription, callback, user_data);
  }
  if (const auto happens = std::exchange(in_the_gap, {})) {
    const rcl_ret_t result = next(
      subscription, [](const void *, std::size_t count) { came_in_the_gap += count; }, nullptr);
    happens();
    while (came_in_the_gap == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return result == RCL_RET_OK ? next(subscription, callback, user_data) : result;
  }
  const rcl_ret_t result = next(subscription, callback, user_data);
  if (const std::size_t count = came_in_the_gap.exchange(0); count > 0) {
    callback(user_data, count);
  }
  return result;
}

namespace rclrt_rcl
{
namespace
{

using rcl_interfaces::msg::Log;
using namespace std::chrono_literals;

template <typename T>
class Executors : public ExecutorSuite<T>
{
};
TYPED_TEST_SUITE(Executors, ExecutorTypes, ExecutorTypeNames);

TYPED_TEST(Executors, an_empty_executor_spins_until_cancelled)
{
  std::thread spinner([this] { this->executor->spin(); });
  EXPECT_TRUE(wait_for([this] { return this->executor->is_spinning(); }));
  this->executor->cancel();
  spinner.join();
  EXPECT_FALSE(this->executor->is_spinning());
}

TYPED_TEST(Executors, cancel_before_spin_ends_that_spin)
{
  this->executor->cancel();
  this->executor->spin();         // would hang
  for (int i = 0; i < 50; ++i) {  // the thread may not have entered it yet
    std::thread spinner([this] { this->executor->spin(); });
    this->executor->cancel();
    spinner.join();
  }

  // ... and only that one.
  std::atomic<int> runs{0};
  auto waitable = this->node->create_waitable(this->named("w"), [&] { ++runs; });
  this->executor->add_node(this->node);
  waitable->trigger();
  this->executor->spin_some();
  EXPECT_EQ(runs, 1);
}

// The destructors of static objects run then, on the thread that called exit(): nothing may wait for that thread.
TYPED_TEST(Executors, exit_in_a_callback_ends_the_process)
{
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto spin_and_exit = [] {
    alarm(20);  // a process that hangs ends by a signal
    init(0, nullptr);
    static const auto exits = std::make_shared<Node>("exits");
    static const auto timer = exits->create_wall_timer(1ms, [](Timer &) { std::exit(7); });
    static typename TypeParam::Executor spins{typename TypeParam::Options()};
    spins.add_node(exits);
    spins.spin();
  };
  EXPECT_EXIT(spin_and_exit(), testing::ExitedWithCode(7), "");
}

TYPED_TEST(Executors, a_wall_timer_fires_under_spin)
{
  std::promise<void> fired;
  auto timer = this->node->create_wall_timer(1ms, [&](Timer & self) {
    self.cancel();
    fired.set_value();
  });
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  EXPECT_EQ(fired.get_future().wait_for(kPatience), std::future_status::ready);
}

TYPED_TEST(
  Executors, a_message_that_comes_when_the_middleware_has_counted_but_does_not_listen_is_not_late)
{
  std::atomic<int> received{0};
  const auto publisher = this->node->template create_publisher<Log>("gap", 10);
  const auto subscription =
    this->node->template create_subscription<Log>("gap", 10, [&](const Log &) { ++received; });
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 1; }));
  in_the_gap = [&] { publisher->publish(Log()); };
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
  EXPECT_TRUE(wait_for([&] { return received > 0; }));
}

TYPED_TEST(Executors, an_expired_node_does_no_harm)
{
  this->executor->add_node(this->node);
  auto timer = this->node->create_wall_timer(1ms, [] {});
  this->node.reset();
  const Spinning spinning(*this->executor);
  EXPECT_TRUE(this->executor->statistics().empty());
}

TYPED_TEST(Executors, spinning_twice_is_an_error)
{
  const Spinning spinning(*this->executor);
  EXPECT_EQ(error_of([this] { this->executor->spin(); }), "spin() called while already spinning");
}

TYPED_TEST(Executors, spinning_inside_a_callback_is_an_error)
{
  std::vector<std::string> errors;
  bool spinning = false;
  std::promise<void> never;
  auto waitable = this->node->create_waitable(this->named("w"), [&] {
    Executor & here = *this->executor;
    spinning = here.is_spinning();
    errors.push_back(error_of([&] { here.spin(); }));
    errors.push_back(error_of([&] { here.spin_some(); }));
    errors.push_back(error_of([&] { here.spin_all(1s); }));
    errors.push_back(error_of([&] { here.spin_once(); }));
    auto future = never.get_future();
    errors.push_back(error_of([&] { here.spin_until_future_complete(future, 1s); }));
  });
  this->executor->add_node(this->node);
  waitable->trigger();
  this->executor->spin_some();
  EXPECT_TRUE(spinning);
  const std::vector<std::string> expected = {
    "spin() called while already spinning", "spin_some() called while already spinning",
    "spin_all() called while already spinning", "spin_once() called while already spinning",
    "spin_until_future_complete() called while already spinning"};
  EXPECT_EQ(errors, expected);
}

TYPED_TEST(Executors, a_ready_future_succeeds_at_once)
{
  std::promise<void> promise;
  std::future<void> future = promise.get_future();
  promise.set_value();
  EXPECT_EQ(this->executor->spin_until_future_complete(future, 1h), FutureReturnCode::kSuccess);
  const std::shared_future<void> shared = future.share();
  EXPECT_EQ(this->executor->spin_until_future_complete(shared, 1h), FutureReturnCode::kSuccess);
}

TYPED_TEST(Executors, a_future_may_be_made_ready_by_a_callback)
{
  std::promise<int> promise;
  auto future = promise.get_future();
  auto timer = this->node->create_wall_timer(1ms, [&](Timer & self) {
    self.cancel();
    promise.set_value(7);
  });
  this->executor->add_node(this->node);
  EXPECT_EQ(this->executor->spin_until_future_complete(future), FutureReturnCode::kSuccess);
  EXPECT_EQ(future.get(), 7);
}

TYPED_TEST(Executors, a_future_may_be_made_ready_by_another_thread)
{
  auto future = std::async(std::launch::async, [] { std::this_thread::sleep_for(10ms); });
  EXPECT_EQ(this->executor->spin_until_future_complete(future), FutureReturnCode::kSuccess);
}

TYPED_TEST(Executors, a_future_that_is_not_ready_times_out)
{
  std::promise<void> promise;
  auto future = promise.get_future();
  EXPECT_EQ(this->executor->spin_until_future_complete(future, 1ms), FutureReturnCode::kTimeout);
}

TYPED_TEST(Executors, waiting_for_a_future_is_interrupted_by_shutdown)
{
  std::promise<void> promise;
  auto future = promise.get_future();
  auto timer = this->node->create_wall_timer(1ms, [this] { this->context->shutdown(); });
  this->executor->add_node(this->node);
  EXPECT_EQ(this->executor->spin_until_future_complete(future), FutureReturnCode::kInterrupted);
}

TYPED_TEST(Executors, spin_ends_on_shutdown_and_does_not_start_after_it)
{
  auto shutdown = std::async(std::launch::async, [this] {
    wait_for([this] { return this->executor->is_spinning(); });
    this->context->shutdown();
  });
  this->executor->spin();
  this->executor->spin();
  this->executor->spin_some();
  EXPECT_FALSE(this->executor->spin_once());
}

TYPED_TEST(Executors, spin_some_runs_each_ready_callback_once)
{
  std::vector<int> runs(3, 0);
  std::vector<std::shared_ptr<Waitable>> waitables;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    waitables.push_back(
      this->node->create_waitable(this->named("w" + std::to_string(i)), [&runs, i, &waitables] {
        ++runs[i];
        waitables[i]->trigger();  // ready again, but not for this call
      }));
  }
  this->executor->add_node(this->node);
  for (auto & waitable : waitables) {
    waitable->trigger();
  }
  this->executor->spin_some(1h);
  EXPECT_EQ(runs, std::vector<int>(3, 1));
}

TYPED_TEST(Executors, spin_some_runs_all_messages_that_wait)
{
  int received = 0;
  const auto publisher = this->node->template create_publisher<Log>("t", 100);
  const auto subscription =
    this->node->template create_subscription<Log>("t", 100, [&](const Log &) { ++received; });
  this->executor->add_node(this->node);
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 1; }));
  for (int i = 0; i < 100; ++i) {
    publisher->publish(Log());
  }
  ASSERT_TRUE(wait_for(
    [&] { return this->executor->statistics().at("/node/subscription/t").released == 100; }));
  this->executor->spin_some();
  EXPECT_EQ(received, 100);
}

TYPED_TEST(Executors, spin_some_without_work_returns)
{
  this->executor->add_node(this->node);
  this->executor->spin_some(1h);
  this->executor->spin_some();
}

TYPED_TEST(Executors, spin_some_starts_nothing_after_its_budget)
{
  int runs = 0;
  const auto slow = [&] {
    ++runs;
    std::this_thread::sleep_for(20ms);
  };
  auto first = this->node->create_waitable(this->named("first"), slow);
  auto second = this->node->create_waitable(this->named("second"), slow);
  this->executor->add_node(this->node);
  first->trigger();
  second->trigger();
  this->executor->spin_some(10ms);
  EXPECT_EQ(runs, 1);
  this->executor->spin_some(10ms);
  EXPECT_EQ(runs, 2);
}

TYPED_TEST(Executors, spin_all_runs_what_becomes_ready_meanwhile)
{
  int runs = 0;
  std::shared_ptr<Waitable> waitable = this->node->create_waitable(this->named("w"), [&] {
    if (++runs < 5) {
      waitable->trigger();
    }
  });
  this->executor->add_node(this->node);
  waitable->trigger();
  this->executor->spin_all(1h);
  EXPECT_EQ(runs, 5);
}

TYPED_TEST(Executors, spin_all_ends_on_cancel_and_on_its_budget)
{
  int runs = 0;
  bool cancel = false;
  std::shared_ptr<Waitable> waitable = this->node->create_waitable(this->named("w"), [&] {
    ++runs;
    waitable->trigger();
    if (cancel) {
      this->executor->cancel();
    }
  });
  this->executor->add_node(this->node);
  waitable->trigger();
  this->executor->spin_all(10ms);
  EXPECT_GT(runs, 1);
  cancel = true;
  runs = 0;
  this->executor->spin_all(0ms);  // no limit
  EXPECT_EQ(runs, 1);
}

TYPED_TEST(Executors, spin_all_refuses_a_negative_duration)
{
  EXPECT_EQ(
    error_of([this] { this->executor->spin_all(-1ms); }),
    "spin_all(): max_duration must be greater than or equal to 0");
}

TYPED_TEST(Executors, spin_once_runs_one_callback_and_returns_without_work)
{
  int runs = 0;
  auto timer = this->node->create_wall_timer(10s, [] {});
  auto first = this->node->create_waitable(this->named("first"), [&] { ++runs; });
  auto second = this->node->create_waitable(this->named("second"), [&] { ++runs; });
  this->executor->add_node(this->node);
  EXPECT_FALSE(this->executor->spin_once(1ms));
  EXPECT_FALSE(this->executor->spin_once(0ms));
  first->trigger();
  second->trigger();
  EXPECT_TRUE(this->executor->spin_once(0ms));
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(this->executor->spin_once(-1ns));
  EXPECT_EQ(runs, 2);
}

// KEEP_LAST drops the oldest message of both at each publication. Both have the same messages also where the thread that
// publishes gets little of a CPU.
TYPED_TEST(Executors, equals_take_turns_in_an_overload)
{
  std::array<std::atomic<int>, 2> runs{};
  std::vector<std::shared_ptr<Subscription<Log>>> subscriptions;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    SubscriptionOptions options;
    options.scheduling.name = "equal" + std::to_string(i);
    subscriptions.push_back(this->node->template create_subscription<Log>(
      "flood", QoS(10),
      [&run = runs[i]](const Log &) {
        ++run;
        std::this_thread::sleep_for(2500us);
      },
      options));
  }
  auto publisher = this->node->template create_publisher<Log>("flood", QoS(10));
  this->executor->add_node(this->node);
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 2; }));
  const Spinning spinning(*this->executor);
  EXPECT_TRUE(wait_for([&] {
    publisher->publish(Log());
    return runs[0] + runs[1] >= 60;
  }));
  EXPECT_GE(std::min<int>(runs[0], runs[1]), 25) << runs[0] << " and " << runs[1];
}

TYPED_TEST(Executors, an_exception_ends_spin_and_comes_out_of_it)
{
  auto waitable = this->node->create_waitable(
    this->named("w"), [] { throw std::runtime_error("from the callback"); });
  this->executor->add_node(this->node);
  for (const bool inline_spin : {false, true}) {
    waitable->trigger();
    try {
      inline_spin ? this->executor->spin_some() : this->executor->spin();
      FAIL() << "nothing thrown";
    } catch (const std::runtime_error & error) {
      EXPECT_STREQ(error.what(), "from the callback");
    }
    EXPECT_FALSE(this->executor->is_spinning());
  }
}

TYPED_TEST(Executors, an_exception_handler_may_go_on)
{
  std::string whose;
  auto options = this->executor_options();
  options.on_exception = [&whose](const std::string & callback, std::exception_ptr) {
    whose = callback;
    return rclrt_core::ExceptionAction::kContinue;
  };
  typename TypeParam::Executor tolerant(options);
  std::promise<void> second;
  int runs = 0;
  auto waitable = this->node->create_waitable(this->named("w"), [&] {
    if (++runs == 1) {
      throw std::runtime_error("once");
    }
    second.set_value();
  });
  tolerant.add_node(this->node);
  const Spinning spinning(tolerant);
  waitable->trigger();
  EXPECT_TRUE(
    wait_for([&] { return tolerant.statistics().at("/node/waitable/w").exceptions == 1; }));
  waitable->trigger();
  EXPECT_EQ(second.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(whose, "/node/waitable/w");
}

TYPED_TEST(Executors, publishing_after_shutdown_ends_the_callback_and_not_the_program)
{
  std::shared_ptr<Publisher<Log>> publisher;
  std::string error;
  const auto shuts_down = [&] {
    this->context->shutdown("the test says so");
    this->context->shutdown("again");
    error = error_of([&] { publisher->publish(Log()); });
    publisher->publish(Log());
  };
  for (const std::string kind : {"timer", "subscription", "waitable"}) {
    this->executor.reset();
    this->context = Context::make();
    this->node = this->make_node("node");
    publisher = this->node->template create_publisher<Log>("t", QoS(10).transient_local());
    publisher->publish(Log());
    std::shared_ptr<Timer> timer;
    std::shared_ptr<Subscription<Log>> subscription;
    std::shared_ptr<Waitable> waitable;
    if (kind == "timer") {
      timer = this->node->create_wall_timer(1ms, shuts_down);
    } else if (kind == "subscription") {
      subscription = this->node->template create_subscription<Log>(
        "t", QoS(10).transient_local(), [&](const Log &) { shuts_down(); });
    } else {
      waitable = this->node->create_waitable(this->named("w"), shuts_down);
      waitable->trigger();
    }
    this->executor = this->make_executor();
    this->executor->add_node(this->node);
    error.clear();
    this->executor->spin();
    EXPECT_EQ(error, "publish() on '/t' after the context was shut down (the test says so)")
      << kind;
  }
}

TYPED_TEST(Executors, cancel_does_not_wait_for_a_distant_timer)
{
  auto timer = this->node->create_wall_timer(24h, [] {});
  this->executor->add_node(this->node);
  const Spinning spinning(*this->executor);
}

TYPED_TEST(Executors, cancel_while_a_callback_runs_lets_it_finish)
{
  std::promise<void> started;
  std::atomic<bool> finished{false};
  auto waitable = this->node->create_waitable(this->named("w"), [&] {
    started.set_value();
    std::this_thread::sleep_for(50ms);
    finished = true;
  });
  this->executor->add_node(this->node);
  waitable->trigger();
  std::thread spinner([this] { this->executor->spin(); });
  started.get_future().wait();
  this->executor->cancel();
  spinner.join();
  EXPECT_TRUE(finished);
}

// How often a thread has gone to sleep so far.
int sleeps_of(rclrt_core::ThreadId thread)
{
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  std::string word;
  while (status >> word && word != "voluntary_ctxt_switches:") {
  }
  int sleeps = -1;
  status >> sleeps;
  return sleeps;
}

TYPED_TEST(Executors, nothing_is_polled_while_nothing_is_ready)
{
#ifdef RCLRT_SANITIZE_thread
  GTEST_SKIP() << "under this sanitizer a thread that waits looks up every 100 ms";
#endif
  std::atomic<int> runs{0};
  auto waitable = this->node->create_waitable(this->named("w"), [&] { ++runs; });
  auto distant = this->node->create_wall_timer(100s, [] {});
  this->executor->add_node(this->node);
  std::promise<rclrt_core::ThreadId> spinner_id;
  std::thread spinner([&] {
    spinner_id.set_value(rclrt_core::LinuxPlatform().current_thread());
    this->executor->spin();
  });
  waitable->trigger();
  EXPECT_TRUE(wait_for([&] { return runs == 1; }));
  std::vector<rclrt_core::ThreadId> threads = {spinner_id.get_future().get()};
  for (const auto & thread : this->executor->threads()) {
    threads.push_back(thread.id);
  }
  const auto sleeps = [&] {
    int sum = 0;
    for (const rclrt_core::ThreadId thread : threads) {
      EXPECT_GE(sleeps_of(thread), 0);
      sum += sleeps_of(thread);
    }
    return sum;
  };
  std::this_thread::sleep_for(50ms);  // until the last of them sleeps
  const int before = sleeps();
  std::this_thread::sleep_for(500ms);
  // One that has not yet slept goes to sleep now; one that polls does so again and again.
  EXPECT_LE(sleeps() - before, static_cast<int>(threads.size()));
  EXPECT_TRUE(
    wait_for([&] { return this->executor->statistics().at("/node/waitable/w").executed == 1; }));
  EXPECT_EQ(this->executor->statistics().at("/node/waitable/w").empty, 0U);
  EXPECT_EQ(this->executor->statistics().at("/node/waitable/w").released, 1U);
  this->executor->cancel();
  spinner.join();
}

TYPED_TEST(Executors, jobs_are_traced_under_the_names_of_their_entities)
{
  auto waitable = this->node->create_waitable(this->named("w"), [] {});
  this->executor->add_node(this->node);
  waitable->trigger();
  this->executor->spin_some();
  std::vector<std::string> ran;
  this->executor->read_trace([&](const rclrt_job_record & record) {
    if (rclrt_job_ran(&record)) {
      ran.push_back(this->executor->callback_names().at(record.callback));
    }
  });
  EXPECT_EQ(ran, std::vector<std::string>{"/node/waitable/w"});
  EXPECT_EQ(this->executor->trace_source().dropped, 0U);
}

}  // namespace
}  // namespace rclrt_rcl
