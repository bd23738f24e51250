// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What makes executors with a wait set what they are: processing windows.

#include <gmock/gmock.h>

#include <atomic>

#include "baselines_test.hpp"
#include "rclrt_baselines/baselines.hpp"

namespace rclrt_baselines
{

namespace
{

using std::chrono::milliseconds;
using testing::ElementsAre;

class OneNode : public testing::Test
{
protected:
  std::shared_ptr<rclrt_rcl::Waitable> make(
    const std::string & name, std::function<void()> more = [] {},
    const std::shared_ptr<rclrt_rcl::CallbackGroup> & group = nullptr)
  {
    return make_waitable(
      *node_, name, 10,
      [this, name, more = std::move(more)] {
        record_.add(name);
        more();
      },
      group);
  }
  std::shared_ptr<rclrt_rcl::CallbackGroup> make_group(
    rclrt_rcl::CallbackGroupType type = rclrt_rcl::CallbackGroupType::kMutuallyExclusive)
  {
    return node_->create_callback_group(type);
  }
  std::shared_ptr<rclrt_rcl::Timer> make_one_shot(
    milliseconds delay, std::function<void()> more = [] {})
  {
    rclrt_rcl::TimerOptions once;
    once.one_shot = true;
    return node_->create_wall_timer(
      delay,
      [this, more = std::move(more)] {
        record_.add("timer");
        more();
      },
      once);
  }
  std::shared_ptr<rclrt_rcl::Subscription<Message>> subscribe(
    const std::string & topic, const std::string & name, std::function<void()> more = [] {})
  {
    return node_->create_subscription<Message>(
      topic, 10, [this, name, more = std::move(more)](const Message &) {
        record_.add(name);
        more();
      });
  }

  std::shared_ptr<rclrt_rcl::Context> context_ = make_context();
  std::shared_ptr<rclrt_rcl::Node> node_ = make_node(context_, "baselines_test");
  Record record_;
};

using WaitSetBaselines = OneNode;

// The example of [ROSRT Fig. 2]: timer 1 publishes to 2 and 4, and 2 to 3. All are there when 2 has
// ended, and 3 comes before 4 in the wait set; but it is not looked at before 4 has run.
TEST_F(WaitSetBaselines, what_becomes_ready_within_a_window_waits_for_the_next_polling_point)
{
  WaitSetSingleThreadedExecutor executor(context_);
  const auto to_2_and_4 = node_->create_publisher<Message>("to_2_and_4", 10);
  const auto to_3 = node_->create_publisher<Message>("to_3", 10);
  const auto timer_1 = make_one_shot(milliseconds(1), [&] { to_2_and_4->publish(Message()); });
  const auto subscription_2 = subscribe("to_2_and_4", "2", [&] { to_3->publish(Message()); });
  const auto subscription_3 = subscribe("to_3", "3");
  const auto subscription_4 = subscribe("to_2_and_4", "4");
  executor.add_node(node_);
  const Spinner spinner(executor);
  ASSERT_TRUE(record_.wait_for_count(4));
  EXPECT_THAT(record_.names(), ElementsAre("timer", "2", "4", "3"));
}

TEST_F(WaitSetBaselines, a_timer_that_is_due_within_a_window_waits_for_the_next_polling_point)
{
  WaitSetSingleThreadedExecutor executor(context_);
  const auto timer = make_one_shot(milliseconds(50));
  const auto a = make("a", [&] {
    while (timer->time_until_trigger() > std::chrono::nanoseconds(0)) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  const auto b = make("b");
  executor.add_node(node_);
  a->trigger();
  b->trigger();
  executor.spin_all(kPatience);
  EXPECT_THAT(record_.names(), ElementsAre("a", "b", "timer"));
}

TEST_F(WaitSetBaselines, order_within_a_window_is_timers_then_subscriptions_then_the_rest)
{
  WaitSetSingleThreadedExecutor executor(context_);
  const auto waitable = make("waitable");
  const auto subscription = subscribe("topic", "subscription");
  const auto timer = make_one_shot(milliseconds(0));
  executor.add_node(node_);
  waitable->trigger();
  node_->create_publisher<Message>("topic", 10)->publish(Message());
  executor.spin_some();
  EXPECT_THAT(record_.names(), ElementsAre("timer", "subscription", "waitable"));
}

TEST_F(WaitSetBaselines, static_runs_all_of_a_window_with_subscriptions_before_timers)
{
  StaticExecutor executor(context_);
  const auto waitable = make("waitable");
  const auto timer = make_one_shot(milliseconds(0));
  const auto publisher = node_->create_publisher<Message>("topic", 10);
  const auto first = subscribe("topic", "first", [&] {
    if (record_.names().size() == 1) {
      publisher->publish(Message());  // ready again at once, and still the last
    }
  });
  const auto second = subscribe("topic", "second");
  executor.add_node(node_);
  waitable->trigger();
  publisher->publish(Message());
  executor.spin_all(kPatience);
  EXPECT_THAT(
    record_.names(), ElementsAre("first", "second", "timer", "waitable", "first", "second"));
}

// Nominal releases say which periods were served.
TEST_F(WaitSetBaselines, a_timer_that_was_late_skips_the_periods_it_has_missed)
{
  constexpr milliseconds kPeriod(20);
  WaitSetSingleThreadedExecutor executor(context_);
  std::vector<rclrt_core::TimePoint> releases;
  rclrt_core::TimePoint end_of_first;
  const auto timer =
    node_->create_wall_timer(kPeriod, [&](rclrt_rcl::Timer &, const rclrt_rcl::TimerInfo & info) {
      releases.push_back(info.release);
      if (releases.size() == 1) {
        std::this_thread::sleep_for(7 * kPeriod / 2);
        end_of_first = std::chrono::steady_clock::now();
      }
      if (releases.size() == 3) {
        executor.cancel();
      }
    });
  executor.add_node(node_);
  executor.spin();
  ASSERT_EQ(releases.size(), 3U);
  EXPECT_LT(releases[1], end_of_first) << "one missed release is served, late";
  EXPECT_GT(releases[2], end_of_first) << "the others are not";
  const auto phase = (releases[2] - releases[0]) % kPeriod;
  EXPECT_LT(std::min<std::chrono::nanoseconds>(phase, kPeriod - phase), milliseconds(1));
}

TEST_F(WaitSetBaselines, several_threads_never_run_an_exclusive_group_twice_at_once)
{
  WaitSetMultiThreadedExecutor executor(4, context_);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  const auto work = [&] {
    const int now = ++inside;
    most = std::max(most.load(), now);
    std::this_thread::sleep_for(milliseconds(1));
    --inside;
  };
  const auto group = make_group();
  const auto a = make("a", work, group);
  const auto b = make("b", work, group);
  executor.add_node(node_);
  const Spinner spinner(executor);
  for (int i = 0; i < 10; ++i) {
    a->trigger();
    b->trigger();
  }
  ASSERT_TRUE(record_.wait_for_count(20));
  EXPECT_EQ(most, 1);
}

// Each waits inside of its callback for the other one to have started.
TEST_F(WaitSetBaselines, several_threads_run_different_groups_at_once)
{
  WaitSetMultiThreadedExecutor executor(2, context_);
  const auto meet = [this] { record_.wait_for_count(2); };
  const auto a = make("a", meet, make_group());
  const auto b = make("b", meet, make_group());
  executor.add_node(node_);
  const Spinner spinner(executor);
  const auto start = std::chrono::steady_clock::now();
  a->trigger();
  b->trigger();
  ASSERT_TRUE(record_.wait_for_count(2));
  EXPECT_LT(std::chrono::steady_clock::now() - start, kPatience);
}

TEST_F(WaitSetBaselines, several_threads_run_a_reentrant_group_with_itself)
{
  WaitSetMultiThreadedExecutor executor(2, context_);
  const auto meet = [this] { record_.wait_for_count(2); };
  const auto group = make_group(rclrt_rcl::CallbackGroupType::kReentrant);
  const auto a = make("a", meet, group);
  executor.add_node(node_);
  const Spinner spinner(executor);
  const auto start = std::chrono::steady_clock::now();
  a->trigger();
  a->trigger();
  ASSERT_TRUE(record_.wait_for_count(2));
  EXPECT_LT(std::chrono::steady_clock::now() - start, kPatience);
}

TEST_F(WaitSetBaselines, the_default_number_of_threads_is_at_least_two)
{
  EXPECT_GE(WaitSetMultiThreadedExecutor(0, context_).thread_count(), 2U);
  EXPECT_EQ(WaitSetMultiThreadedExecutor(3, context_).thread_count(), 3U);
}

// What makes the FIFO events executor what it is: strict order of arrival, and debts of timers.

class FifoEvents : public OneNode
{
protected:
  FifoEventsExecutor executor_{context_};
};

TEST_F(FifoEvents, events_run_in_the_order_of_their_arrival)
{
  const auto a = make("a");
  const auto b = make("b");
  const auto c = make("c");
  executor_.add_node(node_);
  for (const auto & waitable : {c, a, b, a, c}) {
    waitable->trigger();
  }
  executor_.spin_some();
  EXPECT_THAT(record_.names(), ElementsAre("c", "a", "b", "a", "c"));
}

TEST_F(FifoEvents, what_becomes_ready_is_seen_at_once_but_runs_last)
{
  const auto c = make("c");
  const auto a = make("a", [&] { c->trigger(); });
  const auto b = make("b");
  executor_.add_node(node_);
  a->trigger();
  b->trigger();
  executor_.spin_all(kPatience);
  EXPECT_THAT(record_.names(), ElementsAre("a", "b", "c"));
}

TEST_F(FifoEvents, an_event_with_a_count_runs_as_many_times_in_a_row)
{
  const auto a = make("a");
  const auto b = make("b");
  for (int i = 0; i < 3; ++i) {
    a->trigger();  // nobody watches yet: announced as one event with count 3
  }
  executor_.add_node(node_);
  b->trigger();
  executor_.spin_some();
  EXPECT_THAT(record_.names(), ElementsAre("a", "a", "a", "b"));
}

TEST_F(FifoEvents, spin_some_runs_what_was_there_when_it_began)
{
  std::shared_ptr<rclrt_rcl::Waitable> a;
  a = make("a", [&] { a->trigger(); });
  executor_.add_node(node_);
  a->trigger();
  executor_.spin_some();
  EXPECT_THAT(record_.names(), ElementsAre("a"));
  executor_.spin_some();
  EXPECT_THAT(record_.names(), ElementsAre("a", "a"));
}

// Nominal releases say which periods were served. The timer thread has to get a CPU once a period;
// on a busy machine it may take more than one attempt.
TEST_F(FifoEvents, a_timer_that_was_late_serves_the_periods_it_has_missed_in_a_burst)
{
  constexpr milliseconds kPeriod(20);
  bool burst = false;
  for (int attempt = 0; attempt < 10 && !burst; ++attempt) {
    std::vector<rclrt_core::TimePoint> releases;
    rclrt_core::TimePoint end_of_first;
    const auto timer =
      node_->create_wall_timer(kPeriod, [&](rclrt_rcl::Timer &, const rclrt_rcl::TimerInfo & info) {
        releases.push_back(info.release);
        if (releases.size() == 1) {
          std::this_thread::sleep_for(7 * kPeriod / 2);
          end_of_first = std::chrono::steady_clock::now();
        }
        if (releases.size() == 4) {
          executor_.cancel();
        }
      });
    executor_.add_node(node_);
    executor_.spin();
    executor_.remove_node(node_);
    ASSERT_EQ(releases.size(), 4U);
    burst = releases[2] < end_of_first && releases[3] < end_of_first;
  }
  EXPECT_TRUE(burst);
}

TEST_F(FifoEvents, events_of_an_entity_that_is_gone_are_skipped)
{
  auto a = make("a");
  const auto b = make("b");
  executor_.add_node(node_);
  a->trigger();
  b->trigger();
  a.reset();
  executor_.spin_some();
  EXPECT_THAT(record_.names(), ElementsAre("b"));
}

}  // namespace

}  // namespace rclrt_baselines
