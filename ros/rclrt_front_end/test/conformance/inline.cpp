// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// inline_bound with the real middleware, which holds locks while it brings a message. A mistake hangs.

#include "conformance/inline.hpp"

#include <sched.h>

#include <mutex>
#include <stdexcept>
#include <thread>

#include "conformance/real_time.hpp"
#include "rclrt_front_end/local_publishers.hpp"

namespace conformance
{
namespace
{

/// On a topic, every millisecond.
void publish(const std::string & topic)
{
  const auto context = make_context();
  const auto node = make_node_in(context, "elsewhere");
  const auto publisher = node->create_publisher<Message>(topic, 10);
  Message message;
  while (goes_on()) {
    ++message.nanosec;
    publisher->publish(message);
    std::this_thread::sleep_for(1ms);
  }
  context->shutdown("over");
}

TEST_F(Inline, a_message_of_another_process_runs_its_callback_on_the_middlewares_thread)
{
  std::atomic<int> on_it{0};
  std::atomic<bool> knows_it{true};
  const auto subscription = subscribe([&](const Message &) {
    on_it += is_on_a_thread_of_the_middleware() ? 1 : 0;
    knows_it = knows_it && rclrt_core::runs_inline() == is_on_a_thread_of_the_middleware();
  });
  const Spinning spinning(*executor, node);
  EXPECT_TRUE(wait_for([&] { return on_it >= 100; }));
  EXPECT_TRUE(knows_it);
  EXPECT_EQ(statistics().over_bound, 0U);
}

TEST_F(Inline, without_a_bound_an_executors_thread_runs_it)
{
  options.say(name, {});
  make();
  std::atomic<int> count{0};
  std::atomic<int> on_it{0};
  const auto subscription = subscribe([&](const Message &) {
    ++count;
    on_it += is_on_a_thread_of_the_middleware() ? 1 : 0;
  });
  const Spinning spinning(*executor, node);
  EXPECT_TRUE(wait_for([&] { return count >= 20; }));
  EXPECT_EQ(on_it, 0);
}

TEST_F(Inline, a_parameters_file_may_ask_for_it)
{
  const File file(for_all("      callbacks: {/**/subscription/**: {inline_bound: 1s}}\n"));
  options = {};
  options.configuration_file = file.path();
  make();
  const auto subscription = subscribe([](const Message &) {});
  const Spinning spinning(*executor, node);
  EXPECT_TRUE(wait_for([&] { return statistics().inlined >= 20; }));
}

TEST_F(Inline, it_takes_and_publishes_to_other_topics_of_this_process_and_others)
{
  std::atomic<int> answers{0};
  const auto publisher = node->create_publisher<Message>(topic + "_answer", 10);
  const auto answer =
    node->create_subscription<Message>(topic + "_answer", 10, [&](const Message &) { ++answers; });
  const auto subscription =
    subscribe([&](const Message & message) { publisher->publish(message); });
  const Spinning spinning(*executor, node);
  EXPECT_TRUE(wait_for([&] { return answers >= 100; }));
  EXPECT_GT(statistics().inlined, 0U);
}

// The publication would come back to the reader whose lock the thread holds.
TEST_F(Inline, a_callback_that_publishes_to_its_own_topic_is_queued_and_a_finding_says_why)
{
  std::atomic<int> count{0};
  const auto publisher = node->create_publisher<Message>(topic, 10);
  const auto subscription = subscribe([&](const Message & message) {
    ++count;
    if (message.sec == 0) {
      Message back = message;
      back.sec = 1;
      publisher->publish(back);
    }
  });
  const Spinning spinning(*executor, node);
  EXPECT_TRUE(wait_for([&] { return count >= 100; }));
  EXPECT_EQ(statistics().inlined, 0U);
  bool is_told = false;
  for (const auto & finding : ours(*executor).findings()) {
    is_told = is_told || to_string(finding).find("this process publishes on its topic itself") !=
                           std::string::npos;
  }
  EXPECT_TRUE(is_told);
}

TEST_F(Inline, who_logs_publishes_on_rosout)
{
  const auto publishers = rclrt_front_end::local_publishers("/rosout");
  const int before = publishers->load();
  {
    const auto logs = make_node("logs");
    EXPECT_EQ(publishers->load(), before + 1);
  }
  EXPECT_EQ(publishers->load(), before);
}

// It holds the lock and waits for the reader; the callback has the reader and waits for the lock.
TEST_F(Inline, it_ends_when_somebody_publishes_under_a_lock_that_the_callback_takes_and_comes_back)
{
  std::mutex mutex;
  std::atomic<int> count{0};
  const auto subscription = subscribe([&](const Message &) {
    const std::lock_guard<std::mutex> lock(mutex);
    ++count;
  });
  const Spinning spinning(*executor, node);
  ASSERT_TRUE(wait_for([&] { return statistics().inlined >= 20; }));
  uint64_t before = 0;
  {
    const auto publisher = node->create_publisher<Message>(topic, 10);
    ASSERT_TRUE(wait_for([&] {  // one may have begun before
      return std::exchange(before, statistics().inlined) == statistics().inlined;
    }));
    before = statistics().inlined;
    for (const int from = count; count < from + 1000;) {
      const std::lock_guard<std::mutex> lock(mutex);
      publisher->publish(Message());
    }
    EXPECT_EQ(statistics().inlined, before);
  }
  EXPECT_TRUE(wait_for([&] { return statistics().inlined > before + 10; }));
}

TEST_F(Inline, entities_and_nodes_may_come_and_go_at_any_time)
{
  const Spinning spinning(*executor, node);
  for (int i = 0; i < 20; ++i) {
    std::atomic<int> count{0};
    auto subscription = subscribe([&](const Message &) {
      std::this_thread::sleep_for(500us);
      ++count;
    });
    ASSERT_TRUE(wait_for([&] { return count >= 2; }));
    const bool node_goes = i % 2 == 0 || kMayStillRun > 0;
    node_goes ? executor->remove_node(node) : subscription.reset();
    const int at_the_end = count;
    std::this_thread::sleep_for(2ms);
    EXPECT_LE(count, at_the_end + kMayStillRun);
    if (node_goes) {
      subscription.reset();
      executor->add_node(node);
    }
  }
}

TEST_F(Inline, it_may_let_go_of_its_own_subscription)
{
  std::atomic<bool> goes{false};
  std::atomic<bool> gone{false};
  std::atomic<int> heard{0};
  std::shared_ptr<Subscription> subscription;
  subscription = subscribe([&](const Message &) {
    if (goes && rclrt_core::runs_inline() && !gone) {
      subscription.reset();
      gone = true;
    }
  });
  const auto another = subscribe([&](const Message &) { ++heard; });
  const Spinning spinning(*executor, node);
  goes = true;
  ASSERT_TRUE(wait_for([&] { return gone.load(); }));
  const int before = heard;
  EXPECT_TRUE(wait_for([&] { return heard > before + 10; }));  // that thread goes on
}

TEST_F(Inline, spinning_may_begin_and_end_at_any_time)
{
  std::atomic<bool> spins{false};
  std::atomic<int> outside{0};
  const auto subscription = subscribe([&](const Message &) {
    std::this_thread::sleep_for(200us);
    outside += spins ? 0 : 1;
  });
  executor->add_node(node);
  {
    spins = true;
    const Spinning spinning(*executor);
    ASSERT_TRUE(wait_for([&] { return statistics().inlined >= 5; }));
  }
  for (int i = 0; i < 20; ++i) {
    spins = true;
    {
      const Spinning spinning(*executor);
      std::this_thread::sleep_for(5ms);
    }
    spins = false;
    std::this_thread::sleep_for(2ms);
  }
  EXPECT_EQ(outside, 0);
}

TEST_F(Inline, what_it_throws_comes_out_of_spin)
{
  const auto subscription =
    subscribe([&](const Message &) { throw std::domain_error("of the callback"); });
  executor->add_node(node);
  EXPECT_THROW(executor->spin(), std::domain_error);
}

TEST_F(Inline, it_may_cancel_the_executor)
{
  const auto subscription = subscribe([&](const Message &) {
    if (rclrt_core::runs_inline()) {
      executor->cancel();
    }
  });
  executor->add_node(node);
  executor->spin();
  EXPECT_GT(statistics().inlined, 0U);
}

TEST_F(Inline, it_may_shut_the_context_down_and_others_log_on)
{
  const auto subscription = subscribe([&](const Message &) {
    if (rclrt_core::runs_inline()) {
      context->shutdown("by an inline callback");
    }
  });
  executor->add_node(node);
  executor->spin();
  EXPECT_GT(statistics().inlined, 0U);
  const auto another = make_context();
  log_line(*make_node_in(another, "another"));
  another->shutdown("the test is over");
}

TEST_F(Inline, all_of_it_works_on_one_cpu)
{
  std::atomic<int> count{0};
  const auto subscription = subscribe([&](const Message &) { ++count; });
  const Spinning spinning(*executor, node);
  ASSERT_TRUE(wait_for([&] { return statistics().inlined >= 1; }));
  for (const auto & [id, name_of_thread] : rclrt_core::LinuxPlatform().threads()) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    static_cast<void>(sched_setaffinity(id, sizeof(one), &one));
  }
  const int from = count;
  EXPECT_TRUE(wait_for([&] { return count >= from + 100; }));
}

}  // namespace
}  // namespace conformance

int main(int argc, char ** argv)
{
  return conformance::run(argc, argv, "--publish", conformance::publish);
}
