// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Publications in ways that only this front end has: the rest is in the conformance suite.

#include "conformance/publications.hpp"

namespace rclrt_rcl
{
namespace
{

using namespace conformance;

class PublicationsInBothWays : public Publications
{
};
OVER_OUR_EXECUTORS(PublicationsInBothWays);

// First by the middleware, then by pointer.
TEST_P(PublicationsInBothWays, release_the_more_urgent_first)
{
  start(true);
  const auto publisher = low->create_publisher<Message>("topic", 10);
  SubscriptionOptions no_pointers;
  no_pointers.use_intra_process = false;
  kept.push_back(mid->create_subscription<Message>(
    "topic", 10, [](const Message &) { compute(); }, no_pointers));
  subscribe_high();
  expect_in_order(*publisher, [&] { publisher->publish(std::make_unique<Message>()); });
}

class PublicationsToDeadline : public conformance::Suite
{
};
OVER_EXECUTORS(PublicationsToDeadline, std::vector{Kind::kIsolated});

// A budget cannot be lent. FIFO 99 can: above that there are only threads under SCHED_DEADLINE.
TEST_P(PublicationsToDeadline, are_not_held_up_and_are_lent_fifo_99)
{
  Attributes deadline;
  deadline.scheduling_policy = rclrt_core::SchedulingPolicy::kDeadline;
  deadline.runtime = 2ms;
  deadline.deadline = deadline.period = 100ms;
  int refusal = 0;
  std::thread([&] { refusal = apply_here(deadline); }).join();
  if (refusal != 0) {
    rclrt_core::LinuxPlatform platform;
    GTEST_SKIP() << to_string(platform.explain("this test", deadline, refusal));
  }
  const rclrt_core::CpuSet one({attributes_here().cpu_affinity.cpus().front()});
  const auto publisher = node->create_publisher<Message>("topic", 10);
  SubscriptionOptions of_deadline;
  of_deadline.group = node->create_callback_group(CallbackGroupType::kMutuallyExclusive);
  of_deadline.scheduling.attributes = deadline;
  std::atomic<int> ran{0};
  const auto first =
    node->create_subscription<Message>("topic", 10, [&](const Message &) { ++ran; }, of_deadline);
  // On the publisher's CPU and more urgent than that.
  std::atomic<int> events{0};
  std::atomic<int> mid_began{0};
  sem_t woken;
  sem_init(&woken, 0, 0);
  std::atomic<bool> ended{false};
  std::thread mid([&] {
    Attributes here = fifo(kMid);
    here.cpu_affinity = one;
    apply_here(here);
    while (sem_wait(&woken) != 0 || !ended) {
      mid_began = ++events;
    }
  });
  // Is told after `first`, in the thread that publishes.
  int told = 0;
  Attributes within;
  const auto outside = make_node("outside");
  const auto last = outside->create_subscription<Message>("topic", 10, [](const Message &) {});
  std::function<void()> tell = [&] {
    within = attributes_here();
    sem_post(&woken);
    told = ++events;
  };
  ASSERT_EQ(
    rcl_subscription_set_on_new_message_callback(
      last->handle().get(),
      [](const void * call, std::size_t) { (*static_cast<const std::function<void()> *>(call))(); },
      &tell),
    RCL_RET_OK);
  Attributes low = fifo(kLow);
  low.cpu_affinity = one;
  Attributes before;
  Attributes after;
  const auto publish = [&] {
    before = attributes_here();
    publisher->publish(Message());
    after = attributes_here();
  };
  TimerOptions of_low;
  of_low.group = node->create_callback_group(CallbackGroupType::kMutuallyExclusive);
  of_low.scheduling.attributes = low;
  of_low.one_shot = true;
  of_low.autostart = false;
  std::atomic<int> published{0};
  const auto timer = node->create_wall_timer(
    1ms,
    [&] {
      publish();
      ++published;
    },
    of_low);
  {
    const Spinning spinning(*executor, node);
    EXPECT_TRUE(wait_for([&] { return publisher->subscription_count() == 2; }));
    for (const bool in_a_callback : {true, false}) {
      const int ran_before = ran;
      events = 0;
      mid_began = 0;
      if (in_a_callback) {
        timer->reset();
        EXPECT_TRUE(wait_for([&] { return published == 1; }));
      } else {
        std::thread([&] {
          apply_here(low);
          publish();
        }).join();
      }
      EXPECT_TRUE(wait_for([&] { return ran > ran_before && mid_began != 0; }));
      EXPECT_EQ(to_string(within), to_string(fifo(99)) + ", cpu_affinity " + one.to_string());
      EXPECT_LT(told, mid_began) << "the publication waited for a thread at " << kMid;
      EXPECT_EQ(to_string(after), to_string(before));
    }
  }
  EXPECT_EQ(
    rcl_subscription_set_on_new_message_callback(last->handle().get(), nullptr, nullptr),
    RCL_RET_OK);
  ended = true;
  sem_post(&woken);
  mid.join();
  sem_destroy(&woken);
}

}  // namespace
}  // namespace rclrt_rcl
