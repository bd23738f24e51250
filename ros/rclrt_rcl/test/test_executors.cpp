// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What only these executors promise of spinning, and of their threads and memory: the rest is in the conformance suite.

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fixture.hpp"
#include "rcl_interfaces/msg/log.hpp"

namespace rclrt_rcl
{
namespace
{

using rcl_interfaces::msg::Log;
using namespace std::chrono_literals;

class Executors : public Suite
{
};
OVER_OUR_EXECUTORS(Executors);

TEST_P(Executors, spin_once_runs_one_callback_and_returns_without_work)
{
  int runs = 0;
  auto timer = node->create_wall_timer(10s, [] {});
  auto first = node->create_waitable(named("first"), [&] { ++runs; });
  auto second = node->create_waitable(named("second"), [&] { ++runs; });
  executor->add_node(node);
  EXPECT_FALSE(executor->spin_once(1ms));
  EXPECT_FALSE(executor->spin_once(0ms));
  first->trigger();
  second->trigger();
  EXPECT_TRUE(executor->spin_once(0ms));
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(executor->spin_once(-1ns));
  EXPECT_EQ(runs, 2);
}

TEST_P(Executors, publishing_after_shutdown_ends_the_callback_and_not_the_program)
{
  std::shared_ptr<Publisher<Log>> publisher;
  std::string error;
  const auto shuts_down = [&] {
    context->shutdown("the test says so");
    context->shutdown("again");
    error = error_of([&] { publisher->publish(Log()); });
    publisher->publish(Log());
  };
  for (const std::string kind : {"timer", "subscription", "waitable"}) {
    executor.reset();
    context = Context::make();
    node = make_node("node");
    publisher = node->create_publisher<Log>("t", QoS(10).transient_local());
    publisher->publish(Log());
    std::shared_ptr<Timer> timer;
    std::shared_ptr<Subscription<Log>> subscription;
    std::shared_ptr<Waitable> waitable;
    if (kind == "timer") {
      timer = node->create_wall_timer(1ms, shuts_down);
    } else if (kind == "subscription") {
      subscription = node->create_subscription<Log>(
        "t", QoS(10).transient_local(), [&](const Log &) { shuts_down(); });
    } else {
      waitable = node->create_waitable(named("w"), shuts_down);
      waitable->trigger();
    }
    executor = make_executor();
    executor->add_node(node);
    error.clear();
    executor->spin();
    EXPECT_EQ(error, "publish() on '/t' after the context was shut down (the test says so)")
      << kind;
  }
}

TEST_P(Executors, name_the_group_that_they_refuse)
{
  CallbackGroupOptions options;
  options.name = "manual";
  options.automatically_add_to_executor_with_node = false;
  const auto group = node->create_callback_group(CallbackGroupType::kMutuallyExclusive, options);
  executor->add_callback_group(group);
  EXPECT_EQ(
    error_of([&] { executor->add_callback_group(group); }),
    "Callback group '/node/group/manual' has already been added to this executor.");
  executor->add_node(node);
  EXPECT_NE(
    error_of([&] {
      executor->remove_callback_group(node->default_callback_group());
    }).find("came with its node"),
    std::string::npos);
}

// What a thread does that has picked a job just before its node is removed, step by step.
TEST_P(Executors, a_job_that_was_picked_and_not_begun_runs_nothing_after_removal)
{
  int runs = 0;
  auto waitable = node->create_waitable(named("w", 3), [&] { ++runs; });
  executor->add_node(node);
  waitable->trigger();
  const auto picked = waitable->job(executor->context());
  executor->remove_node(node);
  EXPECT_FALSE(picked({}));
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(waitable->backlog(), 2U) << "what it was for, and the job that waited, are still there";

  executor->add_node(node);
  EXPECT_FALSE(picked({})) << "an earlier stay, in the same executor";
  executor->spin_some();
  EXPECT_EQ(runs, 3);
}

TEST_P(Executors, are_waited_for_by_the_thread_that_takes_something_from_them_which_runs)
{
  const Spinning spinning(*executor);
  for (const std::string what :
       {"the entity is destroyed", "the node leaves", "the node is destroyed"}) {
    executor->add_node(node);
    std::promise<void> started;
    bool finished = false;  // not atomic on purpose: the wait orders the two accesses
    auto waitable = node->create_waitable(named("w"), [&] {
      started.set_value();
      std::this_thread::sleep_for(20ms);
      finished = true;
    });
    waitable->trigger();
    started.get_future().wait();
    if (what == "the entity is destroyed") {
      waitable.reset();
    } else if (what == "the node leaves") {
      executor->remove_node(node);
    } else {
      node.reset();
      waitable->trigger();  // outlives its node, and never runs again
    }
    EXPECT_TRUE(finished) << what;
    if (what == "the entity is destroyed") {
      executor->remove_node(node);
    }
  }
}

constexpr std::size_t kStack = 512 * 1024;

/// The calling thread's stack, bytes, and how much of it lies in memory below this function.
struct Stack
{
  std::size_t size = 0;
  std::size_t resident_below = 0;

  static Stack here()
  {
    Stack stack;
    pthread_attr_t attributes;
    void * lowest = nullptr;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
      return stack;
    }
    pthread_attr_getstack(&attributes, &lowest, &stack.size);
    pthread_attr_destroy(&attributes);
    // The address sanitizer puts what is local somewhere else.
#if !defined(RCLRT_SANITIZE_address) && !defined(RCLRT_SANITIZE_thread)
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const auto from = reinterpret_cast<std::uintptr_t>(lowest) / page * page;
    const auto to = reinterpret_cast<std::uintptr_t>(&attributes) / page * page;
    std::vector<unsigned char> pages((to - from) / page);
    if (mincore(reinterpret_cast<void *>(from), to - from, pages.data()) == 0) {
      stack.resident_below =
        page * static_cast<std::size_t>(std::count_if(
                 pages.begin(), pages.end(), [](unsigned char flags) { return flags & 1; }));
    }
#endif
    return stack;
  }
};

[[maybe_unused]] int64_t locked_kib()  // not with sanitizers
{
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmLck:", 0) == 0) {
      return std::stoll(line.substr(6));
    }
  }
  return -1;
}

class ExecutorThreads : public WithContext
{
protected:
  /// Look at the stack of a job's thread, once.
  void look()
  {
    if (!seen) {
      stack = Stack::here();
      seen = true;
    }
  }

  std::atomic<bool> seen{false};
  Stack stack;
};

TEST_F(ExecutorThreads, have_the_stack_asked_for)
{
  const auto node = make_node("node");
  const auto timer = node->create_wall_timer(std::chrono::milliseconds(1), [this] { look(); });
  auto executor_options = options<PreemptiveExecutorOptions>();
  executor_options.stack_size = kStack;
  PreemptiveExecutor executor(executor_options);
  executor.add_node(node);
  const Spinning spinning(executor);
  ASSERT_TRUE(wait_for([&] { return seen.load(); }));
  EXPECT_GE(stack.size, kStack);
  EXPECT_LT(stack.size, 4 * kStack) << "not the default, which is 8 MiB";
}

/// Stacks included: so no job of theirs takes a page fault, however deep its calls go.
TEST_F(ExecutorThreads, run_in_locked_memory_or_it_is_a_finding)
{
#if defined(RCLRT_SANITIZE_address) || defined(RCLRT_SANITIZE_thread)
  GTEST_SKIP() << "a sanitizer maps more memory than there is to lock";
#else
  auto executor_options = options<PreemptiveExecutorOptions>();
  executor_options.lock_memory = true;
  executor_options.stack_size = kStack;
  PreemptiveExecutor executor(executor_options);
  const auto node = make_node("node");
  const auto timer = node->create_wall_timer(std::chrono::milliseconds(1), [this] { look(); });
  executor.add_node(node);
  {
    const Spinning spinning(executor);
    const auto refused = [&executor] {
      const auto findings = executor.findings();
      return std::any_of(findings.begin(), findings.end(), [](const auto & finding) {
        return to_string(finding).find("mlockall") != std::string::npos;
      });
    };
    EXPECT_TRUE(wait_for([&] { return locked_kib() > 0 || refused(); }));
    ASSERT_TRUE(wait_for([&] { return seen.load(); }));
    if (!refused()) {
      EXPECT_GE(stack.resident_below, kStack / 2);
    }
  }
  munlockall();
#endif
}

}  // namespace
}  // namespace rclrt_rcl
