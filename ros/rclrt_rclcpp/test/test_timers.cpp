// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What timers do to clocks of rclcpp, and clocks to timers: the rest is in the conformance suite.

#include <atomic>
#include <mutex>
#include <string>

#include "rosgraph_msgs/msg/clock.hpp"
#include "typed_fixture.hpp"

namespace rclrt_rclcpp
{
namespace
{

template <typename ExecutorT>
class OurTimers : public TypedFixture<ExecutorT>
{
protected:
  void set_time(seconds now) { rclrt_rclcpp::set_time(*this->node_, now); }

  /// In time of the node.
  template <typename Callback>
  rclcpp::TimerBase::SharedPtr make_timer(seconds period, Callback callback)
  {
    return rclcpp::create_timer(this->node_, this->node_->get_clock(), period, callback);
  }
};

using OurExecutors = ::testing::Types<
  PreemptiveExecutor, CallbackIsolatedExecutor, PriorityEventsExecutor, ReleaseAndExecute>;
TYPED_TEST_SUITE(OurTimers, OurExecutors, ExecutorNames);

TYPED_TEST(OurTimers, leave_the_jump_callbacks_of_their_clock_to_those_who_made_them)
{
  // An action server adds and removes its own without the clock's mutex.
  const rcl_clock_t & clock = *this->node_->get_clock()->get_clock_handle();
  const std::weak_ptr<rclcpp::Clock> weak = this->node_->get_clock();
  std::atomic<int> ticks{0};
  auto timer = this->make_timer(seconds(1), [&] { ++ticks; });  // has one of its own
  const auto count = [&] {
    const std::lock_guard<std::mutex> lock(weak.lock()->get_clock_mutex());
    return clock.num_jump_callbacks;
  };
  const auto before = count();
  this->set_time(seconds(100));
  {
    const Spinning spinning(*this->executor_);
    this->executor_->add_node(this->node_);
    EXPECT_EQ(count(), before);
    EXPECT_TRUE(wait_for([&] {
      this->set_time(seconds(101 + ticks));
      return ticks > 1;
    }));
    EXPECT_EQ(count(), before);
    timer.reset();
    this->executor_->remove_node(this->node_);
  }
  EXPECT_EQ(count(), before - 1);
}

using rosgraph_msgs::msg::Clock;

// Each on a topic of its own, so that no other test hears it.
template <typename ExecutorT>
class ToldClock : public OurTimers<ExecutorT>
{
protected:
  void SetUp() override
  {
    OurTimers<ExecutorT>::SetUp();
    other_ = this->make_node("simulator");
  }
  void TearDown() override
  {
    publisher_.reset();
    other_.reset();
    OurTimers<ExecutorT>::TearDown();
  }
  /// Whether rclcpp is to hear the clock in a thread of its own, which is its default.
  void set_up(bool use_clock_thread)
  {
    const std::string topic = "/clock_" + std::to_string(getpid());
    rclcpp::NodeOptions options;
    options.use_clock_thread(use_clock_thread);
    options.parameter_overrides({{"use_sim_time", true}});
    options.arguments({"--ros-args", "-r", "/clock:=" + topic});
    this->node_ = this->make_node("simulated", options);
    publisher_ = other_->template create_publisher<Clock>(topic, rclcpp::QoS(100));
    ASSERT_TRUE(wait_for([&] { return publisher_->get_subscription_count() == 1; }));
  }
  void tell(int64_t now_s)
  {
    Clock clock;
    clock.clock.sec = static_cast<int32_t>(now_s);
    publisher_->publish(clock);
  }
  bool is_told(int64_t now_s)
  {
    return wait_for([&] { return this->node_->now().nanoseconds() / 1000000000 == now_s; });
  }

  rclcpp::Node::SharedPtr other_;
  rclcpp::Publisher<Clock>::SharedPtr publisher_;
};
TYPED_TEST_SUITE(ToldClock, OurExecutors, ExecutorNames);

// Both come from one thread, so they arrive in the order in which they were sent.
TYPED_TEST(ToldClock, what_a_message_makes_due_comes_before_what_arrives_after_it)
{
  if (std::is_same_v<TypeParam, ReleaseAndExecute>) {
    GTEST_SKIP() << "timers have a thread of their own, and here it has no priority";
  }
  for (const bool use_clock_thread : {true, false}) {
    this->set_up(use_clock_thread);
    std::mutex mutex;
    std::string order;
    const auto note = [&](const char * what) {
      const std::lock_guard<std::mutex> lock(mutex);
      order += what;
    };
    const auto size = [&] {
      const std::lock_guard<std::mutex> lock(mutex);
      return order.size();
    };
    const auto timer = this->make_timer(seconds(1), [&] { note("t"); });
    const auto subscription = this->node_->template create_subscription<Time>(
      "data", 100, [&](const Time &) { note("m"); });
    const auto data = this->other_->template create_publisher<Time>("data", 100);
    ASSERT_TRUE(wait_for([&] { return data->get_subscription_count() == 1; }));
    this->executor_->add_node(this->node_);
    const Spinning spinning(*this->executor_);
    ASSERT_TRUE(wait_for([&] {
      this->tell(1);
      return size() > 0;
    }));
    std::string expected = order;
    for (int i = 2; i < 42; ++i) {
      const bool is_clock_first = i % 2 == 0;
      if (!is_clock_first) {
        data->publish(Time());
      }
      this->tell(i);
      if (is_clock_first) {
        std::this_thread::sleep_for(std::chrono::microseconds(i % 4 == 0 ? 0 : 200));
        data->publish(Time());
      }
      expected += is_clock_first ? "tm" : "mt";
      ASSERT_TRUE(wait_for([&] { return size() == expected.size(); })) << order;
    }
    EXPECT_EQ(order, expected) << (use_clock_thread ? "with" : "without") << " a clock thread";
    this->executor_->remove_node(this->node_);
  }
}

TYPED_TEST(ToldClock, is_told_while_nobody_spins_and_while_every_thread_waits_for_it)
{
  this->set_up(true);
  std::atomic<bool> waits{false};
  std::atomic<bool> ended{false};
  const auto timer = this->node_->create_wall_timer(milliseconds(1), [&] {
    waits = true;
    this->node_->get_clock()->sleep_until(rclcpp::Time(1003, 0, RCL_ROS_TIME), this->context_);
    ended = this->node_->now().seconds() >= 1003;
  });
  this->executor_->add_node(this->node_);
  this->tell(1000);
  EXPECT_TRUE(this->is_told(1000)) << "before it spins";
  {
    const Spinning spinning(*this->executor_);
    ASSERT_TRUE(wait_for([&] { return waits.load(); }));
    for (int now_s = 1001; now_s <= 1003; ++now_s) {
      this->tell(now_s);
      EXPECT_TRUE(this->is_told(now_s));
    }
    EXPECT_TRUE(wait_for([&] { return ended.load(); }));
  }
  this->tell(1004);
  EXPECT_TRUE(this->is_told(1004)) << "after it has spun";
}

}  // namespace
}  // namespace rclrt_rclcpp
