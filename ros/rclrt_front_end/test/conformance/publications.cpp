// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A publication is not held up by what it has released, and of that the most urgent comes first. With the real
// middleware, which tells reader after reader in the thread that publishes.

#include "conformance/publications.hpp"

namespace conformance
{
namespace
{

OVER_OUR_EXECUTORS(Publications);

TEST_P(Publications, release_the_more_urgent_first_whichever_reader_was_created_first)
{
  for (const bool high_first : {false, true}) {
    start();
    const auto publisher = low->create_publisher<Message>("topic", 10);
    if (high_first) {
      subscribe_high();
    }
    subscribe_mid();
    if (!high_first) {
      subscribe_high();
    }
    expect_in_order(*publisher, [&] { publisher->publish(Message()); });
  }
}

TEST_P(Publications, in_the_process_release_the_more_urgent_first)
{
  start(true);
  const auto publisher = low->create_publisher<Message>("topic", 10);
  subscribe_mid();
  subscribe_high();
  expect_in_order(*publisher, [&] { publisher->publish(Message()); });
}

TEST_P(Publications, in_the_process_to_owners_release_the_more_urgent_first)
{
  start(true);
  const auto publisher = low->create_publisher<Message>("topic", 10);
  subscribe_mid<std::unique_ptr<Message>>();
  subscribe_high<std::unique_ptr<Message>>();
  expect_in_order(*publisher, [&] { publisher->publish(std::make_unique<Message>()); });
}

TEST_P(Publications, from_threads_that_are_not_ours_release_the_more_urgent_first)
{
  for (const bool intra_process : {false, true}) {
    start(intra_process);
    const auto publisher = outside->create_publisher<Message>("topic", 10);
    subscribe_mid();
    subscribe_high();
    spin();
    ASSERT_TRUE(wait_for([&] { return readers_of(*publisher) == 2; }));
    Attributes before;
    Attributes after;
    std::thread([&] {
      before = attributes_here();
      published_at = now_ns();
      publisher->publish(Message());
      after = attributes_here();
    }).join();
    EXPECT_EQ(before.scheduling_policy, rclrt_core::SchedulingPolicy::kOther);
    EXPECT_EQ(to_string(after), to_string(before)) << "it gets back what it had";
    expect_high_before_mid();
  }
}

TEST_P(Publications, end_with_the_thread_as_urgent_as_before)
{
  for (const bool intra_process : {false, true}) {
    start(intra_process);
    const auto publisher = low->create_publisher<Message>("topic", 10);
    subscribe_high();
    Attributes before;
    Attributes within;
    Attributes after;
    call_when_told([&] { within = attributes_here(); });
    spin();
    ASSERT_TRUE(wait_for([&] { return readers_of(*publisher) == 2; }));
    run_at_low([&] {
      before = attributes_here();
      publisher->publish(Message());
      after = attributes_here();
    });
    EXPECT_EQ(before.priority, kLow);
    if (!intra_process) {
      EXPECT_EQ(within.priority, kHigh);
    }
    if (GetParam() == Kind::kEvents) {
      EXPECT_EQ(after.priority, kHigh)
        << "'high' waits for the one thread there is, and lends it that";
    } else {
      EXPECT_EQ(to_string(after), to_string(before));
    }
  }
}

// While the message is being delivered something else becomes ready that is less urgent than `high`.

TEST_P(Publications, are_not_held_up_by_a_callback_that_is_less_urgent_than_what_they_released)
{
  const auto publisher = low->create_publisher<Message>("topic", 10);
  subscribe_high();
  const auto of_mid = make_waitable(*mid, compute);
  Caller interrupter(kTop, [&] { of_mid->trigger(); });
  call_when_told([&] { interrupter.ask(); });
  expect_in_order(*publisher, [&] { publisher->publish(Message()); });
}

TEST_P(Publications, are_not_held_up_by_a_thread_that_is_less_urgent_than_what_they_released)
{
  const auto publisher = low->create_publisher<Message>("topic", 10);
  subscribe_high();
  std::atomic<int64_t> began{0};
  Caller other(kMid, [&] {
    began = now_ns();
    compute();
  });
  Caller interrupter(kTop, [&] { other.ask(); });
  call_when_told([&] { interrupter.ask(); });
  spin();
  ASSERT_TRUE(wait_for([&] { return readers_of(*publisher) == 2; }));
  run_at_low([&] { publisher->publish(Message()); });
  const int64_t of_high = start_of("high");
  EXPECT_NE(of_high, 0);
  EXPECT_TRUE(wait_for([&] { return began != 0; }));
  EXPECT_LT(of_high, began);
}

// Every server of a name gets the request.
TEST_P(Publications, of_requests_release_the_more_urgent_server_first)
{
  const auto client = make_client(*low, "get", nullptr);
  kept.push_back(make_service(*mid, "get", compute));
  kept.push_back(make_service(*high, "get"));
  spin();
  ASSERT_TRUE(client->wait_for_service(kPatience));
  std::this_thread::sleep_for(100ms);  // nobody says how many there are
  run_at_low([&] { ask(*client, {}); });
  expect_high_before_mid();
}

// Every client of a name is told of the answer. It is for `mid`: `high` finds nothing to take.
TEST_P(Publications, of_answers_release_the_more_urgent_client_first)
{
  counts_empty = true;
  const auto of_high = make_client(*high, "get", nullptr);
  const auto of_mid = make_client(*mid, "get", nullptr);
  kept.push_back(make_service(*low, "get"));
  spin();
  ASSERT_TRUE(of_mid->wait_for_service(kPatience));
  ASSERT_TRUE(of_high->wait_for_service(kPatience));
  published_at = now_ns();
  ask(*of_mid, {});
  expect_high_before_mid();
}

}  // namespace
}  // namespace conformance
