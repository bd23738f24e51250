// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What only this front end lets an inline callback do, and refuses: the rest is in the conformance suite.

#include "conformance/inline.hpp"

namespace rclrt_rcl
{
namespace
{

using namespace conformance;

/// The bound is said where the subscription is made.
class InlineByCode : public Inline
{
protected:
  void SetUp() override
  {
    Inline::SetUp();
    options.callbacks.clear();
    make();
  }
  template <typename F>
  std::shared_ptr<conformance::Subscription> subscribe(F callback)
  {
    SubscriptionOptions with_bound;
    with_bound.scheduling.inline_bound = 1s;
    return node->create_subscription<Message>(topic, 10, std::move(callback), with_bound);
  }
};

TEST_F(InlineByCode, creates_nothing)
{
  std::atomic<int> refused{0};
  std::atomic<int> created{0};
  const auto subscription = subscribe([&](const Message &) {
    if (!rclrt_core::runs_inline()) {
      return;
    }
    const auto attempt = [&](const auto & create) {
      try {
        create();
        ++created;
      } catch (const Error &) {
        ++refused;
      }
    };
    attempt([&] { node->create_publisher<Message>(topic + "_more", 1); });
    attempt(
      [&] { node->create_subscription<Message>(topic + "_more", 1, [](const Message &) {}); });
    attempt([&] { node->create_timer(1s, [] {}); });
  });
  const Spinning spinning(*executor, node);
  EXPECT_TRUE(wait_for([&] { return refused >= 30; }));
  EXPECT_EQ(created, 0);
}

/// While it lives, no thread can be started that does not say how large its stack shall be.
class NoMoreThreads
{
public:
  NoMoreThreads()
  {
    pthread_getattr_default_np(&before_);
    pthread_attr_t larger_than_memory = before_;
    pthread_attr_setstacksize(&larger_than_memory, std::size_t{1} << 50);
    pthread_setattr_default_np(&larger_than_memory);
  }
  ~NoMoreThreads() { pthread_setattr_default_np(&before_); }

private:
  pthread_attr_t before_{};
};

TEST_F(InlineByCode, may_let_go_of_its_own_subscription_also_when_there_are_no_more_threads)
{
  const Spinning spinning(*executor, node);
  for (const bool has_threads : {true, false}) {
    std::atomic<bool> goes{false};
    std::atomic<bool> gone{false};
    std::atomic<int> since{0};
    std::shared_ptr<conformance::Subscription> subscription;
    subscription = subscribe([&](const Message &) {
      since += gone ? 1 : 0;
      if (goes && rclrt_core::runs_inline() && !gone) {
        std::unique_ptr<NoMoreThreads> limit;
        if (!has_threads) {
          limit = std::make_unique<NoMoreThreads>();
          EXPECT_THROW(std::thread([] {}).join(), std::system_error);
        }
        subscription.reset();
        gone = true;
      }
    });
    ASSERT_TRUE(wait_for([&] { return statistics().inlined >= 20; }));
    goes = true;
    EXPECT_TRUE(wait_for([&] { return gone.load(); }));
    EXPECT_TRUE(wait_for([&] { return executor->statistics().count(name) == 0 || !has_threads; }));
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(since, 0);
  }
}

}  // namespace
}  // namespace rclrt_rcl
