// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "builtin_interfaces/msg/time.hpp"
#include "fixture.hpp"
#include "publications_fixture.hpp"
#include "rcl_interfaces/msg/log.hpp"

namespace rclrt_rcl
{
namespace
{

using builtin_interfaces::msg::Time;

class LoanedMessages : public WithContext
{
protected:
  std::shared_ptr<Node> node = make_node("node");
  PriorityEventsExecutor executor{options<PriorityEventsExecutorOptions>()};

  // Before anything reads it. By default ROS 2 does not lend to subscriptions.
  static void SetUpTestSuite() { setenv("ROS_DISABLE_LOANED_MESSAGES", "0", 1); }
  void SetUp() override { executor.add_node(node); }
};

TEST_F(LoanedMessages, of_plain_types_lie_in_the_middleware)
{
  auto publisher = node->create_publisher<Time>("t", 10);
  int32_t seconds = 0;
  auto subscription =
    node->create_subscription<Time>("t", 10, [&](const Time & time) { seconds = time.sec; });
  if (!publisher->can_loan_messages()) {
    GTEST_SKIP() << "this middleware lends no messages";
  }
  EXPECT_TRUE(subscription->can_loan_messages());
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 1; }));
  for (int32_t i = 1; i <= 30; ++i) {  // more than the middleware has to lend at once
    auto loan = publisher->borrow_loaned_message();
    EXPECT_TRUE(loan.is_lent());
    loan->sec = i;
    loan->nanosec = 0;
    publisher->publish(std::move(loan));
    ASSERT_TRUE(spin_until(executor, [&] { return seconds == i; }));
  }
}

TEST_F(LoanedMessages, not_published_are_given_back)
{
  auto publisher = node->create_publisher<Time>("t", 1);
  if (!publisher->can_loan_messages()) {
    GTEST_SKIP() << "this middleware lends no messages";
  }
  for (int i = 0; i < 100; ++i) {  // more than the middleware has to lend at once
    auto loan = publisher->borrow_loaned_message();
    EXPECT_TRUE(loan.is_lent());
    loan->sec = i;
  }
}

TEST_F(LoanedMessages, of_other_types_are_the_same_program)
{
  auto publisher = node->create_publisher<Log>("t", 10);
  std::string text;
  auto subscription =
    node->create_subscription<Log>("t", 10, [&](const Log & log) { text = log.msg; });
  EXPECT_FALSE(publisher->can_loan_messages());
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 1; }));
  auto loan = publisher->borrow_loaned_message();
  EXPECT_FALSE(loan.is_lent());
  loan->msg = "hello";
  publisher->publish(std::move(loan));
  EXPECT_TRUE(spin_until(executor, [&] { return text == "hello"; }));
}

template <typename T>
class PublicationsOfLoans : public Publications<T>
{
protected:
  static void SetUpTestSuite() { setenv("ROS_DISABLE_LOANED_MESSAGES", "0", 1); }

  void publish_a_loan(bool mid_first)
  {
    const auto publisher = this->node->template create_publisher<Time>("topic", 10);
    if (!publisher->can_loan_messages()) {
      GTEST_SKIP() << "this middleware lends no messages";
    }
    if (mid_first) {
      this->template subscribe_mid<Time>();
    }
    this->template subscribe_high<Time>();
    if (!mid_first) {
      this->template subscribe_mid<Time>();
    }
    this->spin();
    ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 2; }));
    this->run_at_low([&] {
      auto loan = publisher->borrow_loaned_message();
      EXPECT_TRUE(loan.is_lent());
      loan->sec = 1;
      publisher->publish(std::move(loan));
    });
    this->expect_high_before_mid();
  }
};

TYPED_TEST_SUITE(PublicationsOfLoans, ExecutorTypes, ExecutorTypeNames);

TYPED_TEST(PublicationsOfLoans, release_the_more_urgent_first_though_its_reader_was_created_later)
{
  this->publish_a_loan(true);
}

TYPED_TEST(PublicationsOfLoans, release_the_more_urgent_first_if_its_reader_was_created_first)
{
  this->publish_a_loan(false);
}

}  // namespace
}  // namespace rclrt_rcl
