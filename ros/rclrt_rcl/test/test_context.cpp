// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fixture.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rcl_interfaces/srv/get_parameters.hpp"

namespace rclrt_rcl
{
namespace
{

using rcl_interfaces::msg::Log;
using rcl_interfaces::srv::GetParameters;
using namespace std::chrono_literals;

/// Whether it comes back. If it hangs, its thread is left alone.
bool returns(const std::function<void()> & what)
{
  const auto done = std::make_shared<std::atomic<bool>>(false);
  std::thread thread([what, done] {
    what();
    *done = true;
  });
  if (wait_for([&] { return done->load(); })) {
    thread.join();
    return true;
  }
  thread.detach();
  return false;
}

TEST(Context, is_shut_down_once_and_says_why)
{
  auto context = Context::make();
  std::string order;
  context->on_shutdown([&] { order += "first "; });
  const auto second = context->on_shutdown([&] { order += "second "; });
  context->on_shutdown([&] { order += "third "; });
  context->remove_on_shutdown(second);
  EXPECT_TRUE(context->ok());
  EXPECT_EQ(context->shutdown_reason(), "");
  EXPECT_TRUE(context->shutdown("enough"));
  EXPECT_FALSE(context->shutdown("again"));
  EXPECT_FALSE(context->ok());
  EXPECT_EQ(context->shutdown_reason(), "enough");
  EXPECT_EQ(order, "first third ");
  context->on_shutdown([&] { order += "late "; });
  EXPECT_EQ(order, "first third late ");
}

TEST(Context, removing_a_shutdown_callback_waits_for_it)
{
  auto context = Context::make();
  std::atomic<bool> entered{false};
  bool left = false;
  const auto handle = context->on_shutdown([&] {
    entered = true;
    std::this_thread::sleep_for(20ms);
    left = true;
  });
  std::thread other([&] { context->shutdown(); });
  ASSERT_TRUE(wait_for([&] { return entered.load(); }));
  context->remove_on_shutdown(handle);
  EXPECT_TRUE(left);
  other.join();
}

TEST(Context, removing_a_shutdown_callback_waits_until_what_it_holds_is_destroyed)
{
  auto context = Context::make();
  std::atomic<bool> entered{false};
  bool left = false;
  std::shared_ptr<void> held(nullptr, [&](void *) {
    entered = true;
    std::this_thread::sleep_for(20ms);
    left = true;
  });
  const auto handle = context->on_shutdown([held] {});
  held.reset();
  std::thread other([&] { context->shutdown(); });
  ASSERT_TRUE(wait_for([&] { return entered.load(); }));
  context->remove_on_shutdown(handle);
  EXPECT_TRUE(left);
  other.join();
}

/// What has a shutdown callback of its own, to be destroyed together with another.
class HeldByAShutdownCallback : public WithContext
{
protected:
  std::shared_ptr<void> client() const { return node->create_client<GetParameters>("silent"); }
  std::shared_ptr<void> executor() const
  {
    auto made = std::make_shared<PriorityEventsExecutor>(options<PriorityEventsExecutorOptions>());
    made->spin_some();
    return made;
  }

  void hold(std::shared_ptr<void> what)
  {
    const std::weak_ptr<void> pointer = what;
    held.emplace_back(context->on_shutdown([last = std::move(what)] {}), pointer);
  }

  std::shared_ptr<Node> node = make_node("node");
  std::vector<std::pair<Context::ShutdownHandle, std::weak_ptr<void>>> held;
};

TEST_F(HeldByAShutdownCallback, the_last_pointer_may_go_when_it_has_run)
{
  hold(client());
  hold(executor());
  EXPECT_TRUE(returns([shut = context] { shut->shutdown(); }));
  for (const auto & one : held) {
    EXPECT_TRUE(one.second.expired());
  }
}

TEST_F(HeldByAShutdownCallback, the_last_pointer_may_go_when_it_is_removed)
{
  hold(client());
  hold(executor());
  for (const auto & [handle, pointer] : held) {
    EXPECT_FALSE(pointer.expired());
    EXPECT_TRUE(returns([from = context, of = handle] { from->remove_on_shutdown(of); }));
    EXPECT_TRUE(pointer.expired());
  }
}

TEST(Context, to_sleep_for_less_than_nothing_is_to_return_at_once)
{
  const auto context = Context::make();
  for (const auto duration : {std::chrono::nanoseconds(-1), std::chrono::nanoseconds::min()}) {
    EXPECT_TRUE(returns([=] { EXPECT_TRUE(context->sleep_for(duration)); }));
  }
}

TEST(Context, sleep_ends_early_on_shutdown)
{
  auto context = Context::make();
  EXPECT_TRUE(context->sleep_for(1ms));
  std::thread other([&] { context->shutdown(); });
  EXPECT_FALSE(context->sleep_for(1h));
  other.join();
}

TEST(Context, one_may_sleep_for_ever)
{
  auto context = Context::make();
  bool went_on = true;
  std::thread sleeper([&] { went_on = context->sleep_for(std::chrono::nanoseconds::max()); });
  std::this_thread::sleep_for(10ms);
  context->shutdown();
  sleeper.join();
  EXPECT_FALSE(went_on);
}

TEST(Context, arguments_that_are_not_for_ros_are_left_over)
{
  const char * const argv[] = {"program", "--mine", "--ros-args", "-r", "a:=b", "--", "yours"};
  auto context = Context::make(7, argv);
  EXPECT_EQ(context->non_ros_arguments(), (std::vector<std::string>{"program", "--mine", "yours"}));
}

TEST(Context, the_domain_may_be_chosen)
{
  ContextOptions options;
  options.domain_id = 17;
  EXPECT_EQ(Context::make(0, nullptr, options)->domain_id(), 17U);
  options.domain_id = 1000000;
  EXPECT_THROW(Context::make(0, nullptr, options), Error);
}

TEST(Context, nothing_can_be_made_or_published_after_shutdown)
{
  auto context = Context::make();
  NodeOptions options;
  options.context = context;
  Node node("node", options);
  auto publisher = node.create_publisher<Log>("t", 10);
  context->shutdown("over");
  EXPECT_THROW(publisher->publish(Log()), ShutdownError);
  EXPECT_THROW(publisher->publish(std::make_unique<Log>()), ShutdownError);
  EXPECT_THROW(node.create_publisher<Log>("u", 10), Error);
  try {
    Node late("late", options);
    FAIL() << "made";
  } catch (const ShutdownError & error) {
    EXPECT_STREQ(error.what(), "creating node 'late': the context was shut down (over)");
  }
}

TEST(Context, several_live_side_by_side)
{
  auto first = Context::make();
  auto second = Context::make();
  NodeOptions options;
  options.context = second;
  Node node("node", options);
  first->shutdown();
  first.reset();
  auto publisher = node.create_publisher<Log>("t", 10);
  publisher->publish(Log());
  EXPECT_TRUE(second->ok());
}

TEST(DefaultContext, init_and_shutdown)
{
  EXPECT_FALSE(ok());
  EXPECT_THROW(default_context(), Error);
  EXPECT_THROW(Node("node"), Error);
  init();
  EXPECT_TRUE(ok());
  EXPECT_THROW(init(), Error);
  {
    Node node("node");
    EXPECT_EQ(node.context(), default_context());
  }
  EXPECT_TRUE(shutdown());
  EXPECT_FALSE(shutdown());
  EXPECT_FALSE(ok());
  init();
  EXPECT_TRUE(shutdown());
}

TEST(SignalHandlers, shut_all_contexts_down_and_are_restored)
{
  struct sigaction before{};
  sigaction(SIGTERM, nullptr, &before);
  EXPECT_TRUE(install_signal_handlers());
  EXPECT_FALSE(install_signal_handlers());
  auto first = Context::make();
  auto second = Context::make();
  raise(SIGTERM);
  EXPECT_TRUE(wait_for([&] { return !first->ok() && !second->ok(); }));
  EXPECT_EQ(first->shutdown_reason(), "signal: Terminated");
  struct sigaction after{};
  sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
  EXPECT_TRUE(uninstall_signal_handlers());
  EXPECT_FALSE(uninstall_signal_handlers());
  EXPECT_TRUE(install_signal_handlers());
  EXPECT_TRUE(uninstall_signal_handlers());
}

/// What the kernel calls when a signal comes.
sighandler_t handler_of(int number)
{
  struct sigaction action{};
  sigaction(number, nullptr, &action);
  return action.sa_handler;
}

int threads_that_serve()
{
  int count = 0;
  for (const auto & thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(thread.path() / "comm"), name);
    count += name == "rclrt signals" ? 1 : 0;
  }
  return count;
}

TEST(SignalHandlers, a_handler_that_was_held_up_until_they_are_gone_does_no_harm)
{
  // It cannot write into the file of somebody else: it has no descriptor.
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  auto context = Context::make();
  const auto before = descriptors();
  ASSERT_TRUE(install_signal_handlers());
  EXPECT_EQ(descriptors(), before);
  const sighandler_t handler = handler_of(SIGTERM);
  ASSERT_TRUE(uninstall_signal_handlers());
  handler(SIGTERM);
  ASSERT_TRUE(install_signal_handlers());
  ASSERT_TRUE(uninstall_signal_handlers());  // waits for what came before
  EXPECT_TRUE(context->ok());
}

TEST(SignalHandlers, need_no_lock_of_the_standard_streams)
{
  auto context = Context::make();
  ASSERT_TRUE(install_signal_handlers());
  std::atomic<bool> locked{false};
  std::atomic<bool> handled{false};
  std::thread writer([&] {  // as one that is in the middle of fprintf() when the signal comes
    flockfile(stdout);
    flockfile(stderr);
    locked = true;
    EXPECT_TRUE(wait_for([&] { return handled && !context->ok(); }));
    funlockfile(stderr);
    funlockfile(stdout);
  });
  EXPECT_TRUE(wait_for([&] { return locked.load(); }));
  raise(SIGTERM);
  handled = true;
  writer.join();
  uninstall_signal_handlers();
}

TEST(SignalHandlers, a_signal_to_a_forked_child_is_not_one_to_the_parent)
{
  auto context = Context::make();
  ASSERT_TRUE(install_signal_handlers());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    raise(SIGTERM);
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(uninstall_signal_handlers());  // waits for what came before
  EXPECT_TRUE(context->ok());
}

TEST(SignalHandlers, a_signal_that_came_before_they_are_gone_is_served)
{
  for (int round = 0; round < 20; ++round) {
    auto context = Context::make();
    ASSERT_TRUE(install_signal_handlers());
    raise(SIGINT);
    ASSERT_TRUE(uninstall_signal_handlers());
    ASSERT_EQ(context->shutdown_reason(), "signal: Interrupt");
  }
}

TEST(SignalHandlers, may_be_installed_anew_by_the_callback_of_a_shutdown)
{
  // The thread that still runs the callback and the new one do not take each other's wake-ups.
  auto first = Context::make();
  auto second = Context::make();
  std::atomic<bool> go_on{false};
  std::atomic<bool> anew{false};
  std::atomic<bool> left{false};
  first->on_shutdown([&] {
    EXPECT_TRUE(uninstall_signal_handlers());
    EXPECT_TRUE(install_signal_handlers());
    anew = true;
    EXPECT_TRUE(wait_for([&] { return go_on.load(); }));
    left = true;
  });
  ASSERT_TRUE(install_signal_handlers());
  raise(SIGTERM);
  ASSERT_TRUE(wait_for([&] { return anew.load(); }));
  EXPECT_TRUE(second->ok());
  raise(SIGTERM);
  EXPECT_TRUE(wait_for([&] { return !second->ok(); }));
  go_on = true;
  EXPECT_TRUE(wait_for([&] { return left.load(); }));
  EXPECT_TRUE(wait_for([] { return threads_that_serve() == 1; }));
  EXPECT_TRUE(returns([] { uninstall_signal_handlers(); }));
}

}  // namespace
}  // namespace rclrt_rcl
