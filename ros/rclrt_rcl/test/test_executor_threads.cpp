// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What an executor's options say about its threads and its memory is so.

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>
#include <vector>

#include "fixture.hpp"

namespace rclrt_rcl
{
namespace
{

constexpr std::size_t kStack = 512 * 1024;

/// Of the calling thread, bytes: its stack, and how much of that lies in memory below this function.
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
  /// Of the thread of a job, once.
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
