// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// dispatch: inline with rclcpp's entities and the real middleware. A mistake hangs. What the engine and the middleware
// have to do with it is tested in rclrt_core and rclrt_rcl.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "builtin_interfaces/msg/time.hpp"
#include "fixture.hpp"
#include "rclrt_core/job.hpp"
#include "rclrt_front_end/on_rcl.hpp"

namespace rclrt_rclcpp
{
namespace
{

using builtin_interfaces::msg::Time;

/// Until this program lets go of its input, or for a minute.
int publish(const std::string & topic)
{
  rclcpp::init(0, nullptr);
  const auto node = std::make_shared<rclcpp::Node>("elsewhere");
  const auto publisher = node->create_publisher<Time>(topic, 10);
  fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
  const auto end = std::chrono::steady_clock::now() + seconds(60);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) != 0 && std::chrono::steady_clock::now() < end) {
    publisher->publish(Time());
    std::this_thread::sleep_for(milliseconds(1));
  }
  rclcpp::shutdown();
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

class Inline : public WithContext
{
protected:
  void SetUp() override
  {
    if (!rclrt_front_end::middleware_in_use().may_run_callbacks) {
      GTEST_SKIP() << "this middleware runs no callbacks on its threads";
    }
    WithContext::SetUp();
    node = make_node("here");
    options.scheduling = registry;
    options.attributes_mode = rclrt_core::AttributesMode::kOff;
    executor = std::make_unique<PreemptiveExecutor>(executor_options(), options);
    spinner = std::thread([this] { executor->spin(); });
    executor->add_node(node);
  }
  void TearDown() override
  {
    if (executor) {
      executor->cancel();
      spinner.join();
      executor.reset();
      node.reset();
      WithContext::TearDown();
    }
  }
  template <typename F>
  rclcpp::Subscription<Time>::SharedPtr subscribe(F callback)
  {
    Scheduling scheduling;
    scheduling.inline_bound = seconds(1);
    registry->set("/here/subscription" + topic, scheduling);
    return node->create_subscription<Time>(topic, 10, std::move(callback));
  }
  uint64_t inlined()
  {
    const auto all = executor->statistics();
    const auto found = all.find("/here/subscription" + topic);
    return found == all.end() ? 0 : found->second.inlined;
  }

  const std::string topic = "/inline_" + std::to_string(getpid()) + "_" +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
  const PublisherElsewhere elsewhere{topic};
  std::shared_ptr<SchedulingRegistry> registry = std::make_shared<SchedulingRegistry>();
  PreemptiveExecutorOptions options;
  std::shared_ptr<rclcpp::Node> node;
  std::unique_ptr<PreemptiveExecutor> executor;
  std::thread spinner;
};

TEST_F(Inline, a_message_of_another_process_runs_its_callback_on_the_middlewares_thread)
{
  std::atomic<int> right{0};
  std::atomic<int> wrong{0};
  const auto subscription = subscribe([&](const Time &) {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof(name));
    const bool is_there = rclrt_front_end::middleware_in_use().owns_thread(name);
    (is_there == rclrt_core::runs_inline() ? right : wrong)++;
  });
  EXPECT_TRUE(wait_for([&] { return right >= 50 && inlined() >= 50; }));
  EXPECT_EQ(wrong, 0);
}

TEST_F(Inline, while_this_process_publishes_on_the_topic_it_is_queued)
{
  std::atomic<int> count{0};
  const auto subscription = subscribe([&](const Time &) { ++count; });
  ASSERT_TRUE(wait_for([&] { return inlined() >= 10; }));
  {
    const auto publisher = node->create_publisher<Time>(topic, 10);
    const int began = count;
    ASSERT_TRUE(wait_for([&] { return count > began; }));  // one may have begun before
    const uint64_t before = inlined();
    for (const int from = count; count < from + 500;) {
      publisher->publish(Time());
    }
    EXPECT_EQ(inlined(), before);
  }
  const uint64_t before = inlined();
  EXPECT_TRUE(wait_for([&] { return inlined() > before + 10; }));
}

TEST_F(Inline, entities_and_nodes_may_come_and_go_meanwhile)
{
  for (int i = 0; i < 10; ++i) {
    std::atomic<int> count{0};
    auto subscription = subscribe([&](const Time &) {
      std::this_thread::sleep_for(std::chrono::microseconds(500));
      ++count;
    });
    ASSERT_TRUE(wait_for([&] { return count >= 2; }));
    executor->remove_node(node);
    const int after = count;
    std::this_thread::sleep_for(milliseconds(2));
    EXPECT_LE(count, after + 1) << "a job that had begun";
    subscription.reset();
    executor->add_node(node);
  }
}

TEST_F(Inline, one_may_cancel_the_executor)
{
  const auto subscription = subscribe([&](const Time &) {
    if (rclrt_core::runs_inline()) {
      executor->cancel();
    }
  });
  EXPECT_TRUE(wait_for([&] { return inlined() > 0 && !executor->is_spinning(); }));
}

TEST_F(Inline, one_may_shut_the_context_down)
{
  const auto subscription = subscribe([&](const Time &) {
    if (rclrt_core::runs_inline()) {
      context_->shutdown("by an inline callback");
    }
  });
  EXPECT_TRUE(wait_for([&] { return inlined() > 0 && !executor->is_spinning(); }));
  // The next one may log.
  WithContext::SetUp();
  const auto other = make_node("other");
  RCLCPP_INFO(other->get_logger(), "after a shutdown by an inline callback");
}

}  // namespace
}  // namespace rclrt_rclcpp

int main(int argc, char ** argv)
{
  if (argc == 3 && std::string(argv[1]) == "--publish") {
    return rclrt_rclcpp::publish(argv[2]);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
