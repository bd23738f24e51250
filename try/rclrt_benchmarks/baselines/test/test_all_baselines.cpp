// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What holds for every executor, so for each baseline too.

#include <gmock/gmock.h>

#include <stdexcept>

#include "baselines_test.hpp"
#include "rclrt_baselines/baselines.hpp"

namespace rclrt_baselines
{
namespace
{

using std::chrono::milliseconds;
using testing::ElementsAre;

class TwoThreads : public WaitSetMultiThreadedExecutor
{
public:
  explicit TwoThreads(std::shared_ptr<rclrt_rcl::Context> context)
  : WaitSetMultiThreadedExecutor(2, std::move(context))
  {
  }
};

template <typename T>
class Baselines : public testing::Test
{
protected:
  std::shared_ptr<rclrt_rcl::Context> context_ = make_context();
  std::shared_ptr<rclrt_rcl::Node> node_ = make_node(context_, "baselines_test");
  T executor_{context_};
  Record record_;
};

using Executors =
  testing::Types<WaitSetSingleThreadedExecutor, TwoThreads, StaticExecutor, FifoEventsExecutor>;
TYPED_TEST_SUITE(Baselines, Executors);

TYPED_TEST(Baselines, messages_arrive_from_publisher_to_subscription)
{
  const auto subscription = this->node_->template create_subscription<Message>(
    "chatter", 10,
    [this](const Message & message) { this->record_.add(std::to_string(message.sec)); });
  const auto publisher = this->node_->template create_publisher<Message>("chatter", 10);
  this->executor_.add_node(this->node_);
  const Spinner spinner(this->executor_);
  for (int i = 1; i <= 3; ++i) {
    Message message;
    message.sec = i;
    publisher->publish(message);
  }
  ASSERT_TRUE(this->record_.wait_for_count(3));
  EXPECT_THAT(this->record_.names(), ElementsAre("1", "2", "3"));
}

TYPED_TEST(Baselines, messages_by_pointer_arrive_too)
{
  rclrt_rcl::SubscriptionOptions by_pointer;
  by_pointer.use_intra_process = true;
  const auto subscription = this->node_->template create_subscription<Message>(
    "chatter", 10,
    [this](std::unique_ptr<Message> message) { this->record_.add(std::to_string(message->sec)); },
    by_pointer);
  rclrt_rcl::PublisherOptions options;
  options.use_intra_process = true;
  const auto publisher = this->node_->template create_publisher<Message>("chatter", 10, options);
  ASSERT_EQ(publisher->intra_process_subscription_count(), 1U);
  this->executor_.add_node(this->node_);
  const Spinner spinner(this->executor_);
  for (int i = 1; i <= 3; ++i) {
    auto message = std::make_unique<Message>();
    message->sec = i;
    publisher->publish(std::move(message));
  }
  ASSERT_TRUE(this->record_.wait_for_count(3));
  EXPECT_THAT(this->record_.names(), ElementsAre("1", "2", "3"));
}

TYPED_TEST(Baselines, a_timer_runs_until_it_is_cancelled_and_again_after_reset)
{
  std::shared_ptr<rclrt_rcl::Timer> timer;
  timer = this->node_->create_wall_timer(milliseconds(2), [this](rclrt_rcl::Timer & self) {
    self.cancel();
    this->record_.add("timer");
  });
  this->executor_.add_node(this->node_);
  const Spinner spinner(this->executor_);
  ASSERT_TRUE(this->record_.wait_for_count(1));
  EXPECT_TRUE(timer->is_canceled());
  std::this_thread::sleep_for(milliseconds(20));
  // One that had expired before may still come: FIFO events are not taken back.
  const std::size_t after_cancel = this->record_.names().size();
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(this->record_.names().size(), after_cancel);
  timer->reset();
  EXPECT_TRUE(this->record_.wait_for_count(after_cancel + 1));
}

TYPED_TEST(Baselines, a_one_shot_timer_runs_once)
{
  rclrt_rcl::TimerOptions once;
  once.one_shot = true;
  const auto one_shot = this->node_->create_wall_timer(
    milliseconds(1), [this] { this->record_.add("one shot"); }, once);
  this->executor_.add_node(this->node_);
  const Spinner spinner(this->executor_);
  ASSERT_TRUE(this->record_.wait_for_count(1));
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(this->record_.names().size(), 1U);
}

TYPED_TEST(Baselines, entities_made_while_spinning_run_and_destroyed_ones_do_not)
{
  this->executor_.add_node(this->node_);
  const Spinner spinner(this->executor_);
  std::this_thread::sleep_for(milliseconds(5));
  auto waitable = make_waitable(*this->node_, "late", 10, [this] { this->record_.add("late"); });
  waitable->trigger();
  ASSERT_TRUE(this->record_.wait_for_count(1));
  for (int i = 0; i < 5; ++i) {
    waitable->trigger();
  }
  waitable.reset();
  const std::size_t at_destruction = this->record_.names().size();
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(this->record_.names().size(), at_destruction);
}

TYPED_TEST(Baselines, a_node_that_was_removed_runs_no_more)
{
  const auto timer =
    this->node_->create_wall_timer(milliseconds(1), [this] { this->record_.add("timer"); });
  this->executor_.add_node(this->node_);
  const Spinner spinner(this->executor_);
  ASSERT_TRUE(this->record_.wait_for_count(1));
  this->executor_.remove_node(this->node_);
  std::this_thread::sleep_for(milliseconds(5));
  const std::size_t at_removal = this->record_.names().size();
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(this->record_.names().size(), at_removal);
  this->executor_.add_node(this->node_);
  EXPECT_TRUE(this->record_.wait_for_count(at_removal + 1));
}

TYPED_TEST(Baselines, spin_some_runs_what_is_ready_and_returns)
{
  const auto a = make_waitable(*this->node_, "a", 1, [this] { this->record_.add("a"); });
  const auto b = make_waitable(*this->node_, "b", 1, [this] { this->record_.add("b"); });
  this->executor_.add_node(this->node_);
  this->executor_.spin_some();
  EXPECT_THAT(this->record_.names(), ElementsAre());
  a->trigger();
  b->trigger();
  this->executor_.spin_some();
  EXPECT_THAT(this->record_.names(), ElementsAre("a", "b"));
}

TYPED_TEST(Baselines, spin_all_also_runs_what_becomes_ready_meanwhile)
{
  std::shared_ptr<rclrt_rcl::Waitable> b;
  const auto a = make_waitable(*this->node_, "a", 1, [&] {
    this->record_.add("a");
    b->trigger();
  });
  b = make_waitable(*this->node_, "b", 1, [&] { this->record_.add("b"); });
  this->executor_.add_node(this->node_);
  a->trigger();
  this->executor_.spin_all(std::chrono::seconds(5));
  EXPECT_THAT(this->record_.names(), ElementsAre("a", "b"));
}

TYPED_TEST(Baselines, spin_once_runs_one)
{
  const auto a = make_waitable(*this->node_, "a", 5, [this] { this->record_.add("a"); });
  this->executor_.add_node(this->node_);
  a->trigger();
  a->trigger();
  for (int i = 0; i < 100 && this->record_.names().empty(); ++i) {
    this->executor_.spin_once(milliseconds(1));
  }
  EXPECT_THAT(this->record_.names(), ElementsAre("a"));
}

TYPED_TEST(Baselines, an_exception_leaves_spin_and_the_executor_goes_on_afterwards)
{
  const auto bad =
    make_waitable(*this->node_, "bad", 1, [] { throw std::runtime_error("from the callback"); });
  const auto good = make_waitable(*this->node_, "good", 1, [this] { this->record_.add("good"); });
  this->executor_.add_node(this->node_);
  bad->trigger();
  try {
    this->executor_.spin();
    FAIL() << "spin() returned";
  } catch (const std::runtime_error & error) {
    EXPECT_STREQ(error.what(), "from the callback");
  }
  const Spinner spinner(this->executor_);
  good->trigger();
  EXPECT_TRUE(this->record_.wait_for_count(1));
}

TYPED_TEST(Baselines, shutdown_ends_spin)
{
  const auto timer =
    this->node_->create_wall_timer(milliseconds(1), [this] { this->record_.add("timer"); });
  this->executor_.add_node(this->node_);
  std::thread thread([this] { this->executor_.spin(); });
  EXPECT_TRUE(this->record_.wait_for_count(1));
  this->context_->shutdown();
  thread.join();
}

TYPED_TEST(Baselines, cancel_from_a_callback_ends_spin)
{
  const auto waitable = make_waitable(*this->node_, "end", 1, [this] { this->executor_.cancel(); });
  this->executor_.add_node(this->node_);
  waitable->trigger();
  this->executor_.spin();
  SUCCEED();
}

}  // namespace
}  // namespace rclrt_baselines
