// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A publication is not held up by what it has released, and of that the most urgent comes first. One
// CPU and the real middleware, which tells reader after reader in the thread that publishes.

#include "publications_fixture.hpp"
#include "rcl_interfaces/srv/get_parameters.hpp"

namespace rclrt_rcl
{
namespace
{

using Get = rcl_interfaces::srv::GetParameters;

TYPED_TEST_SUITE(Publications, ExecutorTypes, ExecutorTypeNames);

TYPED_TEST(Publications, release_the_more_urgent_first_though_its_reader_was_created_later)
{
  const auto publisher = this->node->template create_publisher<Log>("topic", 10);
  this->subscribe_mid();
  this->subscribe_high();
  this->spin();
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 2; }));
  this->run_at_low([&] { publisher->publish(Log()); });
  this->expect_high_before_mid();
}

TYPED_TEST(Publications, release_the_more_urgent_first_if_its_reader_was_created_first)
{
  const auto publisher = this->node->template create_publisher<Log>("topic", 10);
  this->subscribe_high();
  this->subscribe_mid();
  this->spin();
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 2; }));
  this->run_at_low([&] { publisher->publish(Log()); });
  this->expect_high_before_mid();
}

TYPED_TEST(Publications, by_pointer_release_the_more_urgent_first)
{
  PublisherOptions by_pointer;
  by_pointer.use_intra_process = true;
  const auto publisher = this->node->template create_publisher<Log>("topic", 10, by_pointer);
  this->pointers = true;
  this->subscribe_mid();
  this->subscribe_high();
  this->spin();
  ASSERT_EQ(publisher->intra_process_subscription_count(), 2U);
  this->run_at_low([&] { publisher->publish(Log()); });
  this->expect_high_before_mid();
}

// First by the middleware, then by pointer.
TYPED_TEST(Publications, in_both_ways_are_one)
{
  PublisherOptions by_pointer;
  by_pointer.use_intra_process = true;
  const auto publisher = this->node->template create_publisher<Log>("topic", 10, by_pointer);
  this->subscribe_mid();
  this->pointers = true;
  this->subscribe_high();
  this->spin();
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 2; }));
  this->run_at_low([&] { publisher->publish(std::make_unique<Log>()); });
  this->expect_high_before_mid();
}

TYPED_TEST(Publications, from_threads_that_are_not_ours_release_the_more_urgent_first)
{
  const auto alone = this->make_node("in_no_executor");
  const auto publisher = alone->template create_publisher<Log>("topic", 10);
  this->subscribe_mid();
  this->subscribe_high();
  this->spin();
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 2; }));
  Attributes before;
  Attributes after;
  std::thread([&] {
    before = read_here();
    publisher->publish(Log());
    after = read_here();
  }).join();
  EXPECT_EQ(before.policy, rclrt_core::SchedulingPolicy::kOther);
  EXPECT_EQ(to_string(after), to_string(before)) << "it gets back what it had";
  this->expect_high_before_mid();
}

// What becomes ready for another reason while the message is being delivered.
TYPED_TEST(Publications, are_not_held_up_by_a_callback_that_is_less_urgent_than_what_they_released)
{
  const auto publisher = this->node->template create_publisher<Log>("topic", 10);
  this->subscribe_high();
  const auto mid = this->make_waitable_mid();
  Interrupter interrupter([&] { mid->trigger(); });
  const auto last = this->call_after_high([&] { interrupter.ask(); });
  this->spin();
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 2; }));
  this->run_at_low([&] { publisher->publish(Log()); });
  this->expect_high_before_mid();
}

TYPED_TEST(Publications, are_not_held_up_by_a_thread_that_is_less_urgent_than_what_they_released)
{
  const auto publisher = this->node->template create_publisher<Log>("topic", 10);
  this->subscribe_high();
  std::atomic<int64_t> mid{0};
  sem_t woken;
  sem_init(&woken, 0, 0);
  std::thread other([&] {
    apply_here(fifo(kMid));
    while (sem_wait(&woken) != 0) {
    }
    mid = std::chrono::steady_clock::now().time_since_epoch().count();
    compute();
  });
  Interrupter interrupter([&] { sem_post(&woken); });
  const auto last = this->call_after_high([&] { interrupter.ask(); });
  this->spin();
  EXPECT_TRUE(wait_for([&] { return publisher->subscription_count() == 2; }));
  this->run_at_low([&] { publisher->publish(Log()); });
  const int64_t high = this->start_of("high");
  interrupter.ask();  // if it was not asked
  other.join();
  sem_destroy(&woken);
  EXPECT_NE(high, 0);
  EXPECT_LT(high, mid);
}

TYPED_TEST(Publications, end_with_the_thread_as_urgent_as_before)
{
  const auto publisher = this->node->template create_publisher<Log>("topic", 10);
  this->subscribe_high();
  Attributes before;
  Attributes within;
  Attributes after;
  const auto last = this->call_after_high([&] { within = read_here(); });
  this->spin();
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 2; }));
  std::atomic<bool> done{false};
  this->run_at_low([&] {
    before = read_here();
    publisher->publish(Log());
    after = read_here();
    done = true;
  });
  ASSERT_TRUE(wait_for([&] { return done.load(); }));
  if (before.priority == kLow) {  // release-and-execute runs timers in its timer thread, above all
    EXPECT_EQ(within.priority, kHigh);
  }
  if (std::is_same_v<TypeParam, Events>) {
    EXPECT_EQ(after.priority, kHigh)
      << "'high' waits for the one thread there is, and lends it that";
  } else {
    EXPECT_EQ(to_string(after), to_string(before));
  }
}

// Every server of a name gets the request.
TYPED_TEST(Publications, of_requests_release_the_more_urgent_server_first)
{
  const auto client = this->node->template create_client<Get>("get");
  this->keep(this->node->template create_service<Get>(
    "get", [](const Get::Request &, Get::Response &) { compute(); }, QoS::services(),
    this->template option<ServiceOptions>("mid", kMid)));
  this->keep(this->node->template create_service<Get>(
    "get", [](const Get::Request &, Get::Response &) {}, QoS::services(),
    this->template option<ServiceOptions>("high", kHigh)));
  this->spin();
  ASSERT_TRUE(client->wait_for_service(kPatience));
  std::this_thread::sleep_for(100ms);  // nobody says how many there are
  this->run_at_low([&] { client->async_send_request(Get::Request()); });
  this->expect_high_before_mid();
}

// Every client of a name is told of the answer. It is for `mid`: `high` finds nothing to take.
TYPED_TEST(Publications, of_answers_release_the_more_urgent_client_first)
{
  this->counts_empty = true;
  const auto high = this->node->template create_client<Get>(
    "get", QoS::services(), this->template option<ClientOptions>("high", kHigh));
  const auto mid = this->node->template create_client<Get>(
    "get", QoS::services(), this->template option<ClientOptions>("mid", kMid));
  this->keep(this->node->template create_service<Get>(
    "get", [](const Get::Request &, Get::Response &) {}, QoS::services(),
    this->template option<ServiceOptions>("server", kLow)));
  this->spin();
  ASSERT_TRUE(mid->wait_for_service(kPatience));
  ASSERT_TRUE(high->wait_for_service(kPatience));
  mid->async_send_request(Get::Request(), [](const Get::Response &) { compute(); });
  this->expect_high_before_mid();
}

class PublicationsToDeadline : public ExecutorSuite<Isolated>
{
};

// A budget cannot be lent. FIFO 99 can: above that there are only threads under SCHED_DEADLINE.
TEST_F(PublicationsToDeadline, are_not_held_up_and_are_lent_fifo_99)
{
  Attributes deadline;
  deadline.policy = rclrt_core::SchedulingPolicy::kDeadline;
  deadline.runtime = 2ms;
  deadline.deadline = deadline.period = 100ms;
  int refusal = 0;
  std::thread([&] { refusal = apply_here(deadline); }).join();
  if (refusal != 0) {
    rclrt_core::LinuxPlatform platform;
    GTEST_SKIP() << to_string(platform.explain("this test", deadline, refusal));
  }
  const rclrt_core::CpuSet one({read_here().cpu_affinity.cpus().front()});
  const auto publisher = node->create_publisher<Log>("topic", 10);
  SubscriptionOptions of_deadline;
  of_deadline.group = node->create_callback_group(CallbackGroupType::kMutuallyExclusive);
  of_deadline.scheduling.attributes = deadline;
  std::atomic<int> ran{0};
  const auto first =
    node->create_subscription<Log>("topic", 10, [&](const Log &) { ++ran; }, of_deadline);
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
  const auto last = outside->create_subscription<Log>("topic", 10, [](const Log &) {});
  std::function<void()> tell = [&] {
    within = read_here();
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
    before = read_here();
    publisher->publish(Log());
    after = read_here();
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
  executor->add_node(node);
  {
    const Spinning spinning(*executor);
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
