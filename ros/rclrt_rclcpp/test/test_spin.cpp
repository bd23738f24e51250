// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The spin functions: what each of them runs, when it returns, and what it refuses. Every test also
// runs with rclcpp's own executors, except where they are known to behave otherwise.

#include <unistd.h>

#include <cstdlib>
#include <future>
#include <string>
#include <vector>

#include "typed_fixture.hpp"
#include "watchdog.hpp"

namespace rclrt_rclcpp
{
namespace
{

constexpr auto kForever = std::chrono::hours(10);

template <typename ExecutorT>
class Spin : public TypedFixture<ExecutorT>
{
};

TYPED_TEST_SUITE(Spin, AllExecutors, ExecutorNames);

TYPED_TEST(Spin, without_any_node_ends_by_cancel)
{
  const Spinning spinning(*this->executor_);
  EXPECT_TRUE(this->executor_->is_spinning());
}

TYPED_TEST(Spin, ends_by_a_cancel_that_came_before_it_and_the_one_after_it_does_not)
{
  if (!kIsOurs<TypeParam>) {
    GTEST_SKIP()
      << "rclcpp's executors forget that cancel() before 2026-08 (its pull request 3174)";
  }
  auto & executor = *this->executor_;
  const Watchdog watchdog(seconds(60), [] { return "a spin does not return after cancel()"; });
  executor.cancel();
  executor.spin();
  for (int i = 0; i < 300; ++i) {  // the thread may not have entered spin() yet, or may be in it
    std::thread spinner([&] { executor.spin(); });
    executor.cancel();
    spinner.join();
  }
  std::promise<void> never;
  const auto future = never.get_future().share();
  executor.cancel();
  EXPECT_EQ(executor.spin_until_future_complete(future), rclcpp::FutureReturnCode::INTERRUPTED);

  std::atomic<int> ticks{0};
  const auto timer = this->node_->create_wall_timer(milliseconds(1), [&] { ++ticks; });
  executor.add_node(this->node_);
  executor.cancel();
  std::this_thread::sleep_for(milliseconds(3));
  executor.spin_some();
  EXPECT_EQ(ticks, 0);
  executor.spin_some();
  EXPECT_EQ(ticks, 1);
  // One that ends a spin ends no other.
  std::thread spinner([&] { executor.spin_until_future_complete(future); });
  EXPECT_TRUE(wait_for([&] { return ticks > 3; }));
  executor.cancel();
  spinner.join();
  const int before = ticks;
  const Spinning spinning(executor);
  EXPECT_TRUE(wait_for([&] { return ticks > before + 2; }));
}

// The destructors of static objects run then, on the thread that called exit(): nothing may wait for that thread.
TYPED_TEST(Spin, exit_in_a_callback_ends_the_process)
{
  if (!kIsOurs<TypeParam>) {
    GTEST_SKIP() << "of rclcpp's executors one hangs in this and two read what is destroyed";
  }
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto spin_and_exit = [] {
    alarm(20);  // a process that hangs ends by a signal
    rclcpp::init(0, nullptr);
    static const auto node = std::make_shared<rclcpp::Node>("exits");
    static const auto timer = node->create_wall_timer(milliseconds(1), [] { std::exit(7); });
    static TypeParam executor;
    executor.add_node(node);
    executor.spin();
  };
  EXPECT_EXIT(spin_and_exit(), testing::ExitedWithCode(7), "");
}

TYPED_TEST(Spin, ends_by_cancel_while_a_timer_has_long_to_wait)
{
  const auto timer = this->node_->create_wall_timer(kForever, [] {});
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
}

TYPED_TEST(Spin, ends_by_cancel_once_the_callback_that_runs_has_ended)
{
  std::atomic<bool> began{false};
  std::atomic<bool> ended{false};
  const auto timer = this->node_->create_wall_timer(milliseconds(1), [&] {
    began = true;
    std::this_thread::sleep_for(milliseconds(50));
    ended = true;
  });
  this->executor_->add_node(this->node_);
  {
    const Spinning spinning(*this->executor_);
    EXPECT_TRUE(wait_for([&] { return began.load(); }));
  }
  EXPECT_TRUE(ended);
}

TYPED_TEST(Spin, some_without_work_does_not_wait)
{
  this->executor_->add_node(this->node_);
  this->executor_->spin_some(kForever);
  this->executor_->spin_all(kForever);
}

TYPED_TEST(Spin, some_runs_every_waitable_that_was_triggered_once)
{
  std::vector<std::shared_ptr<Triggered>> waitables;
  for (int i = 0; i < 5; ++i) {
    waitables.push_back(this->add_waitable([] {}));
  }
  this->executor_->add_node(this->node_);
  for (int i = 0; i < 4; ++i) {
    waitables[static_cast<std::size_t>(i)]->trigger();
  }
  this->executor_->spin_some(kForever);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(waitables[static_cast<std::size_t>(i)]->executed(), i < 4 ? 1 : 0);
  }
}

TYPED_TEST(Spin, some_runs_all_messages_that_wait_but_with_wait_sets_one_of_each_subscription)
{
  std::atomic<int> received{0};
  const auto subscription =
    this->node_->template create_subscription<Time>("topic", 10, [&](const Time &) { ++received; });
  const auto publisher = this->node_->template create_publisher<Time>("topic", 10);
  this->executor_->add_node(this->node_);
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 1; }));
  for (int i = 0; i < 5; ++i) {
    publisher->publish(Time());
  }
  if constexpr (kIsOurs<TypeParam>) {
    ASSERT_TRUE(wait_for(
      [&] { return this->executor_->statistics().at("/node/subscription/topic").released == 5; }));
  }
  this->executor_->spin_some(kForever);
  EXPECT_EQ(received, kWaits<TypeParam> ? 1 : 5);
}

/// Tells nobody.
class Silent : public Triggered
{
public:
  using Triggered::Triggered;
  void set_on_ready_callback(std::function<void(std::size_t, int)>) override {}
};

TYPED_TEST(Spin, some_runs_waitables_that_tell_nobody_with_wait_sets_only)
{
  const auto silent = std::make_shared<Silent>(this->context_, [] {});
  this->node_->get_node_waitables_interface()->add_waitable(silent, nullptr);
  this->executor_->add_node(this->node_);
  silent->trigger();
  this->executor_->spin_some(kForever);
  EXPECT_EQ(silent->executed(), kWaits<TypeParam> ? 1 : 0);
}

TYPED_TEST(Spin, asks_waitables_only_when_something_has_happened)
{
  if (std::is_same_v<TypeParam, rclcpp::executors::MultiThreadedExecutor>) {
    GTEST_SKIP() << "on a busy machine another thread of it asks on while one runs the callback";
  }
  constexpr int kTriggers = 20;
  std::shared_ptr<Triggered> waitable;
  waitable = this->add_waitable([&] {
    if (waitable->executed() < kTriggers) {
      waitable->trigger();
    }
  });
  this->executor_->add_node(this->node_);
  const Spinning spinning(*this->executor_);
  waitable->trigger();
  EXPECT_TRUE(wait_for([&] { return waitable->executed() == kTriggers; }));
  std::this_thread::sleep_for(milliseconds(50));  // with nothing to do
  EXPECT_LT(waitable->asked(), kIsOurs<TypeParam> ? 1 : 10 * kTriggers);
}

TYPED_TEST(Spin, some_ends_after_the_callback_that_used_up_its_time)
{
  std::atomic<int> executed{0};
  const auto slow = [&] {
    ++executed;
    std::this_thread::sleep_for(milliseconds(200));
  };
  const auto first = this->add_waitable(slow);
  const auto second = this->add_waitable(slow);
  this->executor_->add_node(this->node_);
  first->trigger();
  second->trigger();
  this->executor_->spin_some(milliseconds(100));
  EXPECT_EQ(executed, 1);
}

TYPED_TEST(Spin, all_runs_what_its_callbacks_trigger_and_some_does_not)
{
  const auto group = this->make_group(false);
  std::shared_ptr<Triggered> waitable;
  waitable = this->add_waitable(
    [&] {
      if (waitable->executed() % 2 == 1) {
        waitable->trigger();
      }
    },
    group);
  this->executor_->add_callback_group(group, this->node_->get_node_base_interface());
  waitable->trigger();
  this->executor_->spin_all(kForever);
  EXPECT_EQ(waitable->executed(), 2);
  waitable->trigger();
  this->executor_->spin_some(kForever);
  EXPECT_EQ(waitable->executed(), 3);
}

TYPED_TEST(Spin, all_waits_a_moment_for_what_is_on_its_way)
{
  if (!kIsOurs<TypeParam>) {
    GTEST_SKIP() << "they look at the wait set once more, which takes as long as it takes";
  }
  std::atomic<bool> ran{false};
  const auto waitable = this->add_waitable([&] { ran = true; });
  this->executor_->add_node(this->node_);
  // The machine may make the other thread late, but not every time.
  bool saw_both = false;
  for (int attempt = 0; attempt < 100 && !saw_both; ++attempt) {
    ran = false;
    std::thread other([&] {
      while (!ran) {
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      waitable->trigger();
    });
    const int before = waitable->executed();
    waitable->trigger();
    this->executor_->spin_all(kForever);
    saw_both = waitable->executed() == before + 2;
    other.join();
    this->executor_->spin_all(kForever);  // what came too late
  }
  EXPECT_TRUE(saw_both);
}

TYPED_TEST(Spin, all_ends_by_cancel)
{
  std::shared_ptr<Triggered> waitable;
  waitable = this->add_waitable([&] {
    waitable->trigger();
    if (waitable->executed() == 3) {
      this->executor_->cancel();
    }
  });
  this->executor_->add_node(this->node_);
  waitable->trigger();
  this->executor_->spin_all(kForever);
  EXPECT_EQ(waitable->executed(), 3);
}

TYPED_TEST(Spin, all_refuses_less_than_no_time)
{
  try {
    this->executor_->spin_all(milliseconds(-1));
    FAIL() << "no error";
  } catch (const std::invalid_argument & error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find("max_duration must be "), 0U) << text;
  }
}

TYPED_TEST(Spin, all_without_a_limit_ends_when_there_is_no_work)
{
  if (std::is_same_v<TypeParam, RclcppEvents>) {
    GTEST_SKIP() << "rclcpp's events executor refuses spin_all() without a limit";
  }
  const auto waitable = this->add_waitable([] {});
  this->executor_->add_node(this->node_);
  waitable->trigger();
  this->executor_->spin_all(seconds(0));
  EXPECT_EQ(waitable->executed(), 1);
}

TYPED_TEST(Spin, once_comes_back_when_its_time_is_over)
{
  const auto timer = this->node_->create_wall_timer(kForever, [] { FAIL(); });
  this->executor_->add_node(this->node_);
  this->executor_->spin_once(milliseconds(10));
}

TYPED_TEST(Spin, once_waits_for_a_timer)
{
  int ticks = 0;
  const auto timer = this->node_->create_wall_timer(milliseconds(100), [&] { ++ticks; });
  this->executor_->add_node(this->node_);
  // rclcpp's return for what else they do, too.
  for (int i = 0; i < 20 && ticks == 0; ++i) {
    this->executor_->spin_once(seconds(30));
  }
  EXPECT_EQ(ticks, 1);
}

TYPED_TEST(Spin, a_timer_that_was_due_before_runs_once)
{
  int ticks = 0;
  const auto timer = this->node_->create_wall_timer(seconds(2), [&] { ++ticks; });
  this->executor_->add_node(this->node_);
  std::this_thread::sleep_for(milliseconds(2100));
  this->executor_->spin_some();
  EXPECT_EQ(ticks, 1);
  this->executor_->spin_all(milliseconds(100));
  EXPECT_EQ(ticks, 1);
}

TYPED_TEST(Spin, inside_a_callback_is_refused_in_rclcpps_words)
{
  std::vector<std::string> errors;
  bool is_spinning = false;
  std::promise<void> promise;
  const std::shared_future<void> done = promise.get_future();
  const auto waitable = this->add_waitable([&] {
    auto & executor = *this->executor_;
    is_spinning = executor.is_spinning();
    errors.push_back(error_of([&] { executor.spin(); }));
    errors.push_back(error_of([&] { executor.spin_some(); }));
    errors.push_back(error_of([&] { executor.spin_all(seconds(1)); }));
    errors.push_back(error_of([&] { executor.spin_once(); }));
    errors.push_back(error_of([&] { executor.spin_until_future_complete(done, seconds(1)); }));
  });
  this->executor_->add_node(this->node_);
  waitable->trigger();
  // The node's own parameters come first.
  for (int i = 0; i < 20 && waitable->executed() == 0; ++i) {
    this->executor_->spin_once(seconds(1));
  }
  ASSERT_EQ(waitable->executed(), 1);
  EXPECT_TRUE(is_spinning);
  EXPECT_EQ(errors[0], "spin() called while already spinning");
  EXPECT_EQ(errors[1], "spin_some() called while already spinning");
  EXPECT_NE(errors[2].find(" called while already spinning"), std::string::npos);
  EXPECT_EQ(errors[3], "spin_once() called while already spinning");
  EXPECT_EQ(errors[4], "spin_until_future_complete() called while already spinning");
}

TYPED_TEST(Spin, until_a_future_that_is_there_needs_no_work)
{
  std::promise<bool> promise;
  std::future<bool> future = promise.get_future();
  promise.set_value(true);
  this->executor_->add_node(this->node_);
  EXPECT_EQ(
    this->executor_->spin_until_future_complete(future, kForever),
    rclcpp::FutureReturnCode::SUCCESS);
}

TYPED_TEST(Spin, until_a_future_without_a_limit_of_time)
{
  std::promise<void> promise;
  const std::shared_future<void> future = promise.get_future();
  std::shared_ptr<Triggered> waitable;
  waitable = this->add_waitable([&] {
    waitable->trigger();
    if (waitable->executed() == 5) {
      promise.set_value();
    }
  });
  this->executor_->add_node(this->node_);
  waitable->trigger();
  EXPECT_EQ(
    this->executor_->spin_until_future_complete(future, milliseconds(-1)),
    rclcpp::FutureReturnCode::SUCCESS);
}

TYPED_TEST(Spin, until_a_future_that_another_thread_makes_ready)
{
  if (!kIsOurs<TypeParam>) {
    GTEST_SKIP() << "they look at the future only when they have had work";
  }
  this->executor_->add_node(this->node_);
  rclcpp::Executor & as_any = *this->executor_;
  for (const auto limit : {std::chrono::nanoseconds(-1), std::chrono::nanoseconds(kForever)}) {
    const auto future =
      std::async(std::launch::async, [] { std::this_thread::sleep_for(milliseconds(20)); });
    EXPECT_EQ(as_any.spin_until_future_complete(future, limit), rclcpp::FutureReturnCode::SUCCESS);
  }
}

TYPED_TEST(Spin, until_a_future_ends_when_the_context_is_shut_down)
{
  std::promise<void> promise;
  const std::shared_future<void> future = promise.get_future();
  this->executor_->add_node(this->node_);
  std::thread other([&] {
    wait_for([&] { return this->executor_->is_spinning(); });
    this->context_->shutdown("on purpose");
  });
  EXPECT_EQ(
    this->executor_->spin_until_future_complete(future, kForever),
    rclcpp::FutureReturnCode::INTERRUPTED);
  other.join();
}

TYPED_TEST(Spin, a_node_until_a_future)
{
  std::promise<void> promise;
  const std::shared_future<void> future = promise.get_future();
  EXPECT_EQ(
    rclcpp::executors::spin_node_until_future_complete(
      *this->executor_, this->node_, future, milliseconds(1)),
    rclcpp::FutureReturnCode::TIMEOUT);
  const auto waitable = this->add_waitable([&] { promise.set_value(); });
  waitable->trigger();
  EXPECT_EQ(
    rclcpp::executors::spin_node_until_future_complete(
      *this->executor_, this->node_->get_node_base_interface(), future, kForever),
    rclcpp::FutureReturnCode::SUCCESS);
}

TYPED_TEST(Spin, a_node_once_after_the_other_loses_no_message)
{
  if (std::is_same_v<TypeParam, RclcppEvents>) {
    GTEST_SKIP() << "it forgets what was announced";
  }
  int of_topic = 0;
  int of_queue = 0;
  const auto subscription =
    this->node_->template create_subscription<Time>("topic", 10, [&](const Time &) { ++of_topic; });
  const auto publisher = this->node_->template create_publisher<Time>("topic", 10);
  const std::shared_ptr<rclcpp::Node> intra =
    this->make_node("intra", rclcpp::NodeOptions().use_intra_process_comms(true));
  const auto queue =
    intra->create_subscription<Time>("queue", 10, [&](const Time &) { ++of_queue; });
  const auto to_queue = intra->create_publisher<Time>("queue", 10);
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 1; }));
  for (int i = 0; i < 5; ++i) {
    publisher->publish(Time());
    to_queue->publish(Time());
  }
  std::this_thread::sleep_for(milliseconds(50));  // most likely all have arrived
  for (int i = 0; i < 5; ++i) {
    for (int attempt = 0; attempt < 20 && of_topic == i; ++attempt) {
      this->executor_->spin_node_once(this->node_, milliseconds(500));
    }
    for (int attempt = 0; attempt < 20 && of_queue == i; ++attempt) {
      this->executor_->spin_node_once(intra, milliseconds(500));
    }
    // The next one is run by another executor.
    this->executor_ = std::make_unique<TypeParam>(this->executor_options());
  }
  EXPECT_EQ(of_topic, 5);
  EXPECT_EQ(of_queue, 5);
}

TYPED_TEST(Spin, what_another_executor_has_run_meanwhile_is_no_error)
{
  int received = 0;
  int events = 0;
  rclcpp::SubscriptionOptions options;
  options.event_callbacks.incompatible_qos_callback =
    [&](rclcpp::QOSRequestedIncompatibleQoSInfo &) { ++events; };
  const auto subscription = this->node_->template create_subscription<Time>(
    "topic", rclcpp::QoS(1).reliable(), [&](const Time &) { ++received; }, options);
  const auto incompatible =
    this->node_->template create_publisher<Time>("topic", rclcpp::QoS(1).best_effort());
  const auto publisher = this->node_->template create_publisher<Time>("topic", 1);
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 1; }));
  publisher->publish(Time());
  std::this_thread::sleep_for(milliseconds(50));  // most likely both have arrived
  this->executor_->add_node(this->node_);
  this->executor_->remove_node(this->node_);
  rclcpp::executors::SingleThreadedExecutor other(this->executor_options());
  for (int i = 0; i < 10 && (received == 0 || events == 0); ++i) {
    other.spin_node_once(this->node_, milliseconds(100));
  }
  this->executor_->add_node(this->node_);
  this->executor_->spin_some();
  EXPECT_EQ(received, 1);
  EXPECT_EQ(events, 1);
}

}  // namespace
}  // namespace rclrt_rclcpp
