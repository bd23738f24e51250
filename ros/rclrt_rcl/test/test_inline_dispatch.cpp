// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// dispatch: inline with the real middleware, which holds locks while it brings a message. A mistake hangs: then the
// watchdog ends the test.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "builtin_interfaces/msg/time.hpp"
#include "fixture.hpp"
#include "rclrt_core/job.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rclrt_front_end/local_publishers.hpp"
#include "rclrt_front_end/on_rcl.hpp"

namespace rclrt_rcl
{
namespace
{

using builtin_interfaces::msg::Time;
using namespace std::chrono_literals;

/// A process of its own that publishes on a topic, every millisecond, until this one lets go of its input. No test waits
/// longer than ten minutes for it, under a sanitizer either.
int publish(const std::string & topic)
{
  const auto context = Context::make();
  NodeOptions options;
  options.context = context;
  options.enable_rosout = false;
  Node node("elsewhere", options);
  const auto publisher = node.create_publisher<Time>(topic, 10);
  fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
  const auto end = std::chrono::steady_clock::now() + 10min;
  char byte = 0;
  Time message;
  while (read(STDIN_FILENO, &byte, 1) != 0 && std::chrono::steady_clock::now() < end) {
    ++message.nanosec;
    publisher->publish(message);
    std::this_thread::sleep_for(1ms);
  }
  return 0;
}

class PublisherElsewhere
{
public:
  explicit PublisherElsewhere(const std::string & topic)
  {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      return;
    }
    to_child_ = ends[1];
    child_ = fork();
    if (child_ == 0) {
      dup2(ends[0], STDIN_FILENO);
      execl("/proc/self/exe", "publisher", "--publish", topic.c_str(), nullptr);
      _exit(1);
    }
    close(ends[0]);
  }
  ~PublisherElsewhere()
  {
    close(to_child_);
    waitpid(child_, nullptr, 0);
  }
  PublisherElsewhere(const PublisherElsewhere &) = delete;
  PublisherElsewhere & operator=(const PublisherElsewhere &) = delete;

private:
  pid_t child_ = -1;
  int to_child_ = -1;
};

bool is_on_a_thread_of_the_middleware()
{
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return rclrt_front_end::middleware_in_use().owns_thread(name);
}

/// A node with an inline subscription to what another process publishes.
class Inline : public ::testing::Test
{
protected:
  Inline()
  {
    if (!rclrt_front_end::middleware_in_use().may_run_callbacks) {
      return;
    }
    context = Context::make();
    NodeOptions options;
    options.context = context;
    options.enable_rosout = false;
    node = std::make_shared<Node>("here", options);
    PreemptiveExecutorOptions executor_options;
    executor_options.context = context;
    executor_options.attributes_mode = rclrt_core::AttributesMode::kOff;
    executor = std::make_unique<PreemptiveExecutor>(executor_options);
  }
  void SetUp() override
  {
    if (!node) {
      GTEST_SKIP() << "this middleware runs no callbacks on its threads";
    }
  }

  template <typename F>
  std::shared_ptr<Subscription<Time>> subscribe(F callback, std::chrono::nanoseconds bound = 1s)
  {
    SubscriptionOptions options;
    options.scheduling.inline_bound = bound;
    return node->create_subscription<Time>(topic, 10, std::move(callback), options);
  }

  rclrt_core::CallbackStatistics statistics()
  {
    return executor->statistics().at("/here/subscription" + topic);
  }
  bool mentions(const std::string & text)
  {
    for (const auto & finding : executor->findings()) {
      if (to_string(finding).find(text) != std::string::npos) {
        return true;
      }
    }
    return false;
  }

  const std::string topic = "/inline_" + std::to_string(getpid()) + "_" +
                            ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const PublisherElsewhere elsewhere{topic};
  std::shared_ptr<Context> context;
  std::shared_ptr<Node> node;
  std::unique_ptr<PreemptiveExecutor> executor;
};

TEST_F(Inline, a_message_of_another_process_runs_its_callback_on_the_middlewares_thread)
{
  std::atomic<int> on_it{0};
  std::atomic<int> elsewhere_count{0};
  std::atomic<bool> knows_it{true};
  const auto subscription = subscribe([&](const Time &) {
    (is_on_a_thread_of_the_middleware() ? on_it : elsewhere_count)++;
    knows_it = knows_it && rclrt_core::runs_inline() == is_on_a_thread_of_the_middleware();
  });
  executor->add_node(node);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return on_it >= 100; }));
  EXPECT_TRUE(knows_it);
  EXPECT_EQ(statistics().over_bound, 0U);
}

TEST_F(Inline, without_a_bound_an_executors_thread_runs_it)
{
  std::atomic<int> count{0};
  std::atomic<int> on_it{0};
  const auto subscription = subscribe(
    [&](const Time &) {
      ++count;
      on_it += is_on_a_thread_of_the_middleware() ? 1 : 0;
    },
    0s);
  executor->add_node(node);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return count >= 20; }));
  EXPECT_EQ(on_it, 0);
}

TEST_F(Inline, it_takes_and_publishes_to_other_topics_of_this_process_and_others)
{
  std::atomic<int> answers{0};
  const auto publisher = node->create_publisher<Time>(topic + "_answer", 10);
  const auto answer =
    node->create_subscription<Time>(topic + "_answer", 10, [&](const Time &) { ++answers; });
  const auto subscription = subscribe([&](const Time & message) { publisher->publish(message); });
  executor->add_node(node);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return answers >= 100; }));
  EXPECT_GT(statistics().inlined, 0U);
}

// The publication would come back to the reader whose lock the thread holds.
TEST_F(Inline, a_callback_that_publishes_to_its_own_topic_is_queued_and_a_finding_says_why)
{
  std::atomic<int> count{0};
  const auto publisher = node->create_publisher<Time>(topic, 10);
  const auto subscription = subscribe([&](const Time & message) {
    ++count;
    if (message.sec == 0) {
      Time back = message;
      back.sec = 1;
      publisher->publish(back);
    }
  });
  executor->add_node(node);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return count >= 100; }));
  EXPECT_EQ(statistics().inlined, 0U);
  EXPECT_TRUE(mentions("this process publishes on its topic itself"));
}

TEST_F(Inline, who_logs_publishes_on_rosout)
{
  const auto publishers = rclrt_front_end::local_publishers("/rosout");
  const int before = publishers->load();
  {
    NodeOptions options;
    options.context = context;
    const Node logs("logs", options);
    EXPECT_EQ(publishers->load(), before + 1);
  }
  EXPECT_EQ(publishers->load(), before);
}

// It holds the lock and waits for the reader; the callback has the reader and waits for the lock.
TEST_F(Inline, it_ends_when_somebody_publishes_under_a_lock_that_the_callback_takes_and_comes_back)
{
  std::mutex mutex;
  std::atomic<int> count{0};
  const auto subscription = subscribe([&](const Time &) {
    const std::lock_guard<std::mutex> lock(mutex);
    ++count;
  });
  executor->add_node(node);
  const Spinning spinning(*executor);
  ASSERT_TRUE(wait_for([&] { return statistics().inlined >= 20; }));
  {
    const auto publisher = node->create_publisher<Time>(topic, 10);
    uint64_t before = 0;
    ASSERT_TRUE(wait_for([&] {  // one may have begun before
      return std::exchange(before, statistics().inlined) == statistics().inlined;
    }));
    before = statistics().inlined;
    for (const int from = count; count < from + 1000;) {
      const std::lock_guard<std::mutex> lock(mutex);
      publisher->publish(Time());
    }
    EXPECT_EQ(statistics().inlined, before);
  }
  EXPECT_TRUE(wait_for([&] { return statistics().inlined > 20; }));
}

TEST_F(Inline, it_creates_nothing)
{
  std::atomic<int> refused{0};
  std::atomic<int> created{0};
  const auto subscription = subscribe([&](const Time &) {
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
    attempt([&] { node->create_publisher<Time>(topic + "_more", 1); });
    attempt([&] { node->create_subscription<Time>(topic + "_more", 1, [](const Time &) {}); });
    attempt([&] { node->create_timer(1s, [] {}); });
  });
  executor->add_node(node);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return refused >= 30; }));
  EXPECT_EQ(created, 0);
}

TEST_F(Inline, it_may_let_go_of_its_own_subscription)
{
  std::atomic<int> count{0};
  std::atomic<bool> goes{false};
  std::atomic<bool> gone{false};
  std::shared_ptr<Subscription<Time>> subscription;
  subscription = subscribe([&](const Time &) {
    ++count;
    if (goes && rclrt_core::runs_inline() && !gone) {
      subscription.reset();
      gone = true;
    }
  });
  executor->add_node(node);
  const Spinning spinning(*executor);
  ASSERT_TRUE(wait_for([&] { return statistics().inlined >= 20; }));
  goes = true;
  EXPECT_TRUE(wait_for([&] { return gone.load(); }));
  EXPECT_TRUE(
    wait_for([&] { return executor->statistics().count("/here/subscription" + topic) == 0; }));
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

TEST_F(Inline, a_subscription_that_lets_go_of_itself_is_closed_also_when_there_are_no_more_threads)
{
  std::atomic<bool> goes{false};
  std::atomic<bool> gone{false};
  std::atomic<int> since{0};
  std::shared_ptr<Subscription<Time>> subscription;
  subscription = subscribe([&](const Time &) {
    since += gone ? 1 : 0;
    if (goes && rclrt_core::runs_inline() && !gone) {
      const NoMoreThreads limit;
      EXPECT_THROW(std::thread([] {}).join(), std::system_error);
      subscription.reset();
      gone = true;
    }
  });
  executor->add_node(node);
  const Spinning spinning(*executor);
  ASSERT_TRUE(wait_for([&] { return statistics().inlined >= 20; }));
  goes = true;
  EXPECT_TRUE(wait_for([&] { return gone.load(); }));
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(since, 0);
}

TEST_F(Inline, another_thread_may_destroy_the_subscription_at_any_time)
{
  executor->add_node(node);
  const Spinning spinning(*executor);
  for (int i = 0; i < 20; ++i) {
    std::atomic<int> count{0};
    auto subscription = subscribe([&](const Time &) {
      std::this_thread::sleep_for(500us);
      ++count;
    });
    ASSERT_TRUE(wait_for([&] { return count >= 2; }));
    subscription.reset();
    const int at_the_end = count;
    std::this_thread::sleep_for(2ms);
    EXPECT_EQ(count, at_the_end);
  }
}

TEST_F(Inline, spinning_may_begin_and_end_at_any_time)
{
  std::atomic<bool> spins{false};
  std::atomic<int> outside{0};
  const auto subscription = subscribe([&](const Time &) {
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
    subscribe([&](const Time &) { throw std::runtime_error("of the callback"); });
  executor->add_node(node);
  EXPECT_THROW(executor->spin(), std::runtime_error);
}

TEST_F(Inline, it_may_shut_the_context_down)
{
  const auto subscription = subscribe([&](const Time &) { context->shutdown(); });
  executor->add_node(node);
  executor->spin();
  EXPECT_FALSE(context->ok());
}

TEST_F(Inline, all_of_it_works_on_one_cpu)
{
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  std::atomic<int> count{0};
  const auto subscription = subscribe([&](const Time &) { ++count; });
  executor->add_node(node);
  const Spinning spinning(*executor);
  ASSERT_TRUE(wait_for([&] { return statistics().inlined >= 1; }));
  for (const auto & [id, name] : rclrt_core::LinuxPlatform().threads()) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    static_cast<void>(sched_setaffinity(id, sizeof(one), &one));
  }
  const int from = count;
  EXPECT_TRUE(wait_for([&] { return count >= from + 100; }));
}

TEST_F(Inline, a_parameters_file_may_ask_for_it)
{
  const std::string file = ::testing::TempDir() + "inline_" + std::to_string(getpid()) + ".yaml";
  std::ofstream(file)
    << "/**:\n  ros__parameters:\n    rclrt:\n      callbacks:\n        /**/subscription/**:"
       " {dispatch: inline, bound: 100ms}\n";
  PreemptiveExecutorOptions options;
  options.context = context;
  options.configuration_file = file;
  executor = std::make_unique<PreemptiveExecutor>(options);
  const auto subscription = subscribe([](const Time &) {}, 0s);
  executor->add_node(node);
  const Spinning spinning(*executor);
  EXPECT_TRUE(wait_for([&] { return statistics().inlined >= 20; }));
}

}  // namespace
}  // namespace rclrt_rcl

int main(int argc, char ** argv)
{
  if (argc == 3 && std::string(argv[1]) == "--publish") {
    return rclrt_rcl::publish(argv[2]);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
