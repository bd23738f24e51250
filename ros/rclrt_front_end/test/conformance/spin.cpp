// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The spin functions: what each of them runs, when it returns, and what it refuses.

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "conformance/suite.hpp"
#include "conformance/watchdog.hpp"
#include "rcl/subscription.h"
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

namespace conformance
{
namespace
{

/// How often a thread has gone to sleep so far.
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

class Spin : public Suite
{
};
OVER_ALL_EXECUTORS(Spin);
class OurSpin : public Suite
{
};
OVER_OUR_EXECUTORS(OurSpin);
/// No node beside the one of the process that exits.
class Exit : public testing::TestWithParam<Kind>
{
};
OVER_OUR_EXECUTORS(Exit);

TEST_P(Spin, without_any_node_ends_by_cancel)
{
  {
    const Spinning spinning(*executor);
    EXPECT_TRUE(executor->is_spinning());
  }
  EXPECT_FALSE(executor->is_spinning());
}

// Rclcpp's executors forget that cancel() before 2026-08 (its pull request 3174).
TEST_P(OurSpin, ends_by_a_cancel_that_came_before_it_and_the_one_after_it_does_not)
{
  const Watchdog watchdog(60s, [] { return "a spin does not return after cancel()"; });
  executor->cancel();
  executor->spin();
  for (int i = 0; i < 300; ++i) {  // the thread may not have entered spin() yet, or may be in it
    std::thread spinner([&] { executor->spin(); });
    executor->cancel();
    spinner.join();
  }
  std::promise<void> never;
  const auto future = never.get_future().share();
  executor->cancel();
  EXPECT_EQ(executor->spin_until_future_complete(future), kInterrupted);

  std::atomic<int> ticks{0};
  const auto timer = node->create_wall_timer(1ms, [&] { ++ticks; });
  executor->add_node(node);
  executor->cancel();
  std::this_thread::sleep_for(3ms);
  executor->spin_some();
  EXPECT_EQ(ticks, 0);
  executor->spin_some();
  EXPECT_EQ(ticks, 1);
  // One that ends a spin ends no other.
  std::thread spinner([&] { executor->spin_until_future_complete(future); });
  EXPECT_TRUE(wait_for([&] { return ticks > 3; }));
  executor->cancel();
  spinner.join();
  const int before = ticks;
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return ticks > before + 2; }));
}

// The destructors of static objects run then, on the thread that called exit(): nothing may wait for that thread. Of
// rclcpp's executors one hangs in this and two read what is destroyed. The node lives on, because its callback runs: in a
// domain of its own, since a thread of Fast DDS that hears of another participant then reads what is destroyed.
TEST_P(Exit, in_a_callback_ends_the_process)
{
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto spin_and_exit = [] {
    alarm(20);  // a process that hangs ends by a signal
    setenv("ROS_DOMAIN_ID", std::to_string(215 + getpid() % 18).c_str(), 1);
    init();
    static const auto exits = make_node_in(default_context(), "exits");
    static const auto timer = exits->create_wall_timer(1ms, [] { std::exit(7); });
    static const auto spins = make_executor_in(default_context(), GetParam());
    spins->add_node(exits);
    spins->spin();
  };
  EXPECT_EXIT(spin_and_exit(), testing::ExitedWithCode(7), "");
}

TEST_P(Spin, ends_by_cancel_while_a_timer_has_long_to_wait)
{
  const auto timer = node->create_wall_timer(kForever, [] {});
  const Spinning spinning(*executor, node);
}

TEST_P(Spin, ends_by_cancel_once_the_callback_that_runs_has_ended)
{
  std::atomic<bool> began{false};
  std::atomic<bool> ended{false};
  const auto timer = node->create_wall_timer(1ms, [&] {
    began = true;
    std::this_thread::sleep_for(50ms);
    ended = true;
  });
  {
    const Spinning spinning(*executor, node);
    EXPECT_TRUE(wait_for([&] { return began.load(); }));
  }
  EXPECT_TRUE(ended);
}

TEST_P(Spin, ends_by_cancel_in_a_callback)
{
  const auto timer = node->create_wall_timer(1ms, [&] { executor->cancel(); });
  executor->add_node(node);
  executor->spin();
  EXPECT_FALSE(executor->is_spinning());
}

// Rclcpp's executors crash in this now and then (rclcpp issue 2217).
TEST_P(OurSpin, ends_by_cancel_while_groups_with_timers_come_and_go)
{
  std::atomic<int> spins{0};
  std::atomic<int> groups{0};
  const Watchdog watchdog(60s, [&] {
    return "spin() does not return after cancel(); it has returned " + std::to_string(spins) +
           " times, and " + std::to_string(groups) + " groups have come and gone";
  });
  executor->add_node(node);
  const auto until = std::chrono::steady_clock::now() + 1500ms;
  const auto goes_on = [until] { return std::chrono::steady_clock::now() < until; };
  std::atomic<bool> spinner_ended{false};
  std::thread spinner([&] {
    while (goes_on()) {
      executor->spin();
      ++spins;
    }
    spinner_ended = true;
  });
  std::thread changer([&] {
    while (goes_on()) {
      const auto group = make_group(*node);
      const auto timer = make_timer(*node, 1ms, [] {}, group);
      std::this_thread::sleep_for(1ms);
      ++groups;
    }
  });
  while (!spinner_ended) {
    executor->cancel();
    std::this_thread::sleep_for(2ms);
  }
  spinner.join();
  changer.join();
  EXPECT_GT(spins, 0);
  EXPECT_GT(groups, 0);
}

TEST_P(Spin, ends_when_the_context_is_shut_down)
{
  for (const std::string by : {"another thread", "a timer", "a subscription"}) {
    const auto of_its_own = make_context();
    const auto shuts_down = [&] {
      of_its_own->shutdown("on purpose");
      of_its_own->shutdown("again");
    };
    const auto qos = QoS(1).transient_local();
    const auto other = make_node_in(of_its_own, "other");
    std::shared_ptr<Timer> timer;
    if (by == "a timer") {
      timer = other->create_wall_timer(1ms, shuts_down);
    }
    const auto publisher = other->create_publisher<Message>("topic", qos);
    const auto subscription =
      other->create_subscription<Message>("topic", qos, [&](const Message &) {
        if (by == "a subscription") {
          shuts_down();
        }
      });
    publisher->publish(Message());
    const auto ends = make_executor_in(of_its_own, GetParam());
    ends->add_node(other);
    std::atomic<bool> ended{false};
    std::thread thread([&] {
      ends->spin();
      ended = true;
    });
    if (by == "another thread") {
      EXPECT_TRUE(wait_for([&] { return ends->is_spinning(); }));
      shuts_down();
    }
    EXPECT_TRUE(wait_for([&] { return ended.load(); })) << by;
    thread.join();
  }
}

TEST_P(OurSpin, does_not_start_after_its_context_was_shut_down)
{
  const Watchdog watchdog(60s, [] { return "a spin begins after the shutdown of its context"; });
  for (const bool has_spun : {false, true}) {  // one that has is told of the shutdown only once
    const auto of_its_own = make_context();
    const auto stays = make_executor_in(of_its_own, GetParam());
    if (has_spun) {
      stays->spin_some();
    }
    of_its_own->shutdown("on purpose");
    stays->spin();
    stays->spin();
    stays->spin_some();
    stays->spin_once();
  }
}

TEST_P(Spin, some_without_work_does_not_wait)
{
  executor->add_node(node);
  executor->spin_some(kForever);
  executor->spin_some();
  executor->spin_all(kForever);
}

TEST_P(OurSpin, some_and_all_do_not_sleep_when_nothing_is_ready)
{
  const rclrt_core::ThreadId here = rclrt_core::LinuxPlatform().current_thread();
  executor->add_node(node);
  for (const auto & spin : std::vector<std::function<void()>>{
         [&] { executor->spin_some(); }, [&] { executor->spin_all(kForever); }}) {
    EXPECT_TRUE(wait_for([&] {  // something else may keep a lock that it wants
      const int before = sleeps_of(here);
      spin();
      return sleeps_of(here) == before;
    }));
  }
}

TEST_P(Spin, some_runs_every_waitable_that_was_triggered_once)
{
  std::vector<std::shared_ptr<Triggered>> waitables;
  for (int i = 0; i < 5; ++i) {
    waitables.push_back(make_waitable(*node, [] {}));
  }
  executor->add_node(node);
  for (std::size_t i = 0; i < 4; ++i) {
    waitables[i]->trigger();
  }
  executor->spin_some(kForever);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(waitables[i]->executed(), i < 4 ? 1 : 0);
  }
}

TEST_P(Spin, some_runs_all_messages_that_wait_but_with_wait_sets_one_of_each_subscription)
{
  std::atomic<int> received{0};
  const auto subscription =
    node->create_subscription<Message>("topic", 10, [&](const Message &) { ++received; });
  const auto publisher = node->create_publisher<Message>("topic", 10);
  executor->add_node(node);
  ASSERT_TRUE(wait_for([&] { return readers_of(*publisher) == 1; }));
  for (int i = 0; i < 5; ++i) {
    publisher->publish(Message());
  }
  if (is_ours(GetParam())) {
    ASSERT_TRUE(wait_for([&] { return statistics_of("/node/subscription/topic").released == 5; }));
  }
  executor->spin_some(kForever);
  EXPECT_EQ(received, waits(GetParam()) ? 1 : 5);
}

TEST_P(Spin, some_ends_after_the_callback_that_used_up_its_time)
{
  std::atomic<int> executed{0};
  const auto slow = [&] {
    ++executed;
    std::this_thread::sleep_for(200ms);
  };
  const auto first = make_waitable(*node, slow);
  const auto second = make_waitable(*node, slow);
  executor->add_node(node);
  first->trigger();
  second->trigger();
  executor->spin_some(100ms);
  EXPECT_EQ(executed, 1);
}

TEST_P(Spin, all_runs_what_its_callbacks_trigger_and_some_does_not)
{
  const auto group = make_group(*node, false, false);
  std::shared_ptr<Triggered> waitable;
  waitable = make_waitable(
    *node,
    [&] {
      if (waitable->executed() % 2 == 1) {
        waitable->trigger();
      }
    },
    group);
  add_group(*executor, group, *node);
  waitable->trigger();
  executor->spin_all(kForever);
  EXPECT_EQ(waitable->executed(), 2);
  waitable->trigger();
  executor->spin_some(kForever);
  EXPECT_EQ(waitable->executed(), 3);
}

TEST_P(Spin, all_ends_when_its_time_is_over_and_by_cancel)
{
  std::shared_ptr<Triggered> waitable;
  int cancel_after = 0;
  waitable = make_waitable(*node, [&] {
    waitable->trigger();
    if (waitable->executed() == cancel_after) {
      executor->cancel();
    }
  });
  executor->add_node(node);
  waitable->trigger();
  executor->spin_all(20ms);
  EXPECT_GT(waitable->executed(), 1);
  cancel_after = waitable->executed() + 3;
  executor->spin_all(kForever);
  EXPECT_EQ(waitable->executed(), cancel_after);
}

TEST_P(Spin, all_refuses_less_than_no_time)
{
  const std::string error = error_of([&] { executor->spin_all(-1ms); });
  EXPECT_NE(error.find("max_duration must be "), std::string::npos) << error;
}

TEST_P(Spin, all_without_a_limit_ends_when_there_is_no_work)
{
  if (GetParam() == Kind::kRclcppEvents) {
    GTEST_SKIP() << "rclcpp's events executor refuses spin_all() without a limit";
  }
  const auto waitable = make_waitable(*node, [] {});
  executor->add_node(node);
  waitable->trigger();
  executor->spin_all(0s);
  EXPECT_EQ(waitable->executed(), 1);
}

TEST_P(Spin, once_comes_back_when_its_time_is_over_and_waits_for_a_timer)
{
  const auto distant = node->create_wall_timer(kForever, [] { FAIL(); });
  executor->add_node(node);
  executor->spin_once(10ms);
  int ticks = 0;
  const auto timer = node->create_wall_timer(100ms, [&] { ++ticks; });
  // Rclcpp's return for what else they do, too.
  for (int i = 0; i < 20 && ticks == 0; ++i) {
    executor->spin_once(kPatience);
  }
  EXPECT_EQ(ticks, 1);
}

TEST_P(Spin, while_it_spins_is_refused_in_rclcpps_words)
{
  std::vector<std::string> errors;
  bool is_spinning = false;
  std::promise<void> promise;
  const std::shared_future<void> done = promise.get_future();
  const auto waitable = make_waitable(*node, [&] {
    is_spinning = executor->is_spinning();
    errors.push_back(error_of([&] { executor->spin(); }));
    errors.push_back(error_of([&] { executor->spin_some(); }));
    errors.push_back(error_of([&] { executor->spin_all(1s); }));
    errors.push_back(error_of([&] { executor->spin_once(); }));
    errors.push_back(error_of([&] { executor->spin_until_future_complete(done, 1s); }));
  });
  executor->add_node(node);
  waitable->trigger();
  // What a node has of its own comes first.
  for (int i = 0; i < 20 && waitable->executed() == 0; ++i) {
    executor->spin_once(1s);
  }
  ASSERT_EQ(waitable->executed(), 1);
  EXPECT_TRUE(is_spinning);
  EXPECT_EQ(errors[0], "spin() called while already spinning");
  EXPECT_EQ(errors[1], "spin_some() called while already spinning");
  EXPECT_NE(errors[2].find(" called while already spinning"), std::string::npos);
  EXPECT_EQ(errors[3], "spin_once() called while already spinning");
  EXPECT_EQ(errors[4], "spin_until_future_complete() called while already spinning");
  const Spinning spinning(*executor);
  EXPECT_EQ(error_of([&] { executor->spin(); }), "spin() called while already spinning")
    << "by another thread";
}

TEST_P(Spin, until_a_future_that_is_there_needs_no_work)
{
  std::promise<bool> promise;
  std::future<bool> future = promise.get_future();
  promise.set_value(true);
  executor->add_node(node);
  EXPECT_EQ(executor->spin_until_future_complete(future, kForever), kSuccess);
}

TEST_P(Spin, until_a_future_that_a_callback_makes_ready)
{
  std::promise<void> promise;
  const std::shared_future<void> future = promise.get_future();
  std::shared_ptr<Triggered> waitable;
  waitable = make_waitable(*node, [&] {
    waitable->trigger();
    if (waitable->executed() == 5) {
      promise.set_value();
    }
  });
  executor->add_node(node);
  EXPECT_EQ(executor->spin_until_future_complete(future, 1ms), kTimeout);
  waitable->trigger();
  EXPECT_EQ(executor->spin_until_future_complete(future, -1ms), kSuccess) << "without a limit";
}

// Rclcpp's look at the future only when they have had work.
TEST_P(OurSpin, until_a_future_that_another_thread_makes_ready)
{
  executor->add_node(node);
  for (const auto limit : {-1ns, std::chrono::nanoseconds(kForever)}) {
    const auto future = std::async(std::launch::async, [] { std::this_thread::sleep_for(20ms); });
    EXPECT_EQ(executor->spin_until_future_complete(future, limit), kSuccess);
  }
}

TEST_P(Spin, until_a_future_ends_when_the_context_is_shut_down)
{
  std::promise<void> promise;
  const std::shared_future<void> future = promise.get_future();
  executor->add_node(node);
  std::thread other([&] {
    wait_for([&] { return executor->is_spinning(); });
    context->shutdown("on purpose");
  });
  EXPECT_EQ(executor->spin_until_future_complete(future, kForever), kInterrupted);
  other.join();
}

TEST_P(OurSpin, ends_by_an_exception_which_comes_out_of_it)
{
  const auto waitable = make_waitable(*node, [] { throw std::domain_error("on purpose"); });
  executor->add_node(node);
  for (const auto & spin : std::vector<std::function<void()>>{
         [&] { executor->spin(); }, [&] { executor->spin_some(); },
         [&] {
           while (true) {  // what a node has of its own may come first
             executor->spin_once(kPatience);
           }
         }}) {
    waitable->trigger();
    EXPECT_THROW(spin(), std::domain_error);
    EXPECT_FALSE(executor->is_spinning());
  }
}

TEST_P(OurSpin, goes_on_after_an_exception_if_the_handler_says_so)
{
  std::atomic<int> handled{0};
  Options options;
  options.on_exception = [&](const std::string & callback, const std::exception_ptr &) {
    EXPECT_EQ(callback, "/node/timer/1ms");
    ++handled;
    return rclrt_core::ExceptionAction::kContinue;
  };
  executor = make_executor(options);
  const auto timer =
    node->create_wall_timer(1ms, []() -> void { throw std::domain_error("on purpose"); });
  const Spinning spinning(*executor, node);
  EXPECT_TRUE(wait_for([&] { return handled > 3; }));
  EXPECT_TRUE(wait_for([&] { return statistics_of("/node/timer/1ms").exceptions > 3; }));
}

TEST_P(Spin, a_message_that_comes_when_the_middleware_has_counted_but_does_not_listen_is_not_late)
{
  std::atomic<int> received{0};
  const auto publisher = node->create_publisher<Message>("gap", 10);
  const auto subscription =
    node->create_subscription<Message>("gap", 10, [&](const Message &) { ++received; });
  ASSERT_TRUE(wait_for([&] { return readers_of(*publisher) == 1; }));
  in_the_gap = [&] { publisher->publish(Message()); };
  const Spinning spinning(*executor, node);
  if (waits(GetParam())) {  // never asks to be told
    std::exchange(in_the_gap, {})();
  }
  EXPECT_TRUE(wait_for([&] { return received > 0; }));
}

TEST_P(OurSpin, polls_nothing_while_nothing_is_ready)
{
#ifdef RCLRT_SANITIZE_thread
  GTEST_SKIP() << "under this sanitizer a thread that waits looks up every 100 ms";
#endif
  const auto waitable = make_waitable(*node, [] {});
  const auto distant = node->create_wall_timer(100s, [] {});
  executor->add_node(node);
  std::promise<rclrt_core::ThreadId> spinner_id;
  std::thread spinner([&] {
    spinner_id.set_value(rclrt_core::LinuxPlatform().current_thread());
    executor->spin();
  });
  waitable->trigger();
  EXPECT_TRUE(wait_for([&] { return waitable->executed() == 1; }));
  std::vector<rclrt_core::ThreadId> threads = {spinner_id.get_future().get()};
  for (const auto & thread : ours(*executor).threads()) {
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
  executor->cancel();
  spinner.join();
}

}  // namespace
}  // namespace conformance
