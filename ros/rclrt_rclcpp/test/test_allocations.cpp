// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Our executors allocate nothing for a dispatch: with them it costs what it costs without any executor.

#include <sys/prctl.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "conformance/suite.hpp"

namespace
{

// Allocations by this thread, threads that run callbacks and the executors' own. The middleware's
// threads have work of theirs now and then.
std::atomic<uint64_t> allocations{0};
thread_local bool is_counted = false;

bool is_of_an_executor()
{
  char name[16] = {};
  prctl(PR_GET_NAME, name);
  return std::strncmp(name, "rclrt", 5) == 0;
}

}  // namespace

// All that is written in C++ in this process comes here, rclcpp too.
void * operator new(std::size_t size)
{
  if (is_counted || is_of_an_executor()) {
    allocations.fetch_add(1, std::memory_order_relaxed);
  }
  void * const memory = std::malloc(size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}
void operator delete(void * memory) noexcept { std::free(memory); }
void operator delete(void * memory, std::size_t) noexcept { std::free(memory); }

namespace rclrt_rclcpp
{
namespace
{

using namespace conformance;
using builtin_interfaces::msg::Time;
using std::chrono::milliseconds;

constexpr int kDispatches = 500;

struct NoExecutor : rclcpp::Executor
{
  static void run(const rclcpp::SubscriptionBase::SharedPtr & subscription)
  {
    execute_subscription(subscription);
  }
  static void run(const rclcpp::TimerBase::SharedPtr & timer)
  {
    const auto called = timer->call();
#if RCLRT_RCLCPP_IS_HUMBLE
    ASSERT_TRUE(called);
    execute_timer(timer);
#else
    execute_timer(timer, called);
#endif
  }
};

class Allocations : public Suite
{
protected:
  /// Counts the allocations of the second time; the first time may allocate.
  static uint64_t of(const std::function<void()> & many_dispatches)
  {
    is_counted = true;
    many_dispatches();
    const uint64_t before = allocations;
    many_dispatches();
    const uint64_t after = allocations;
    is_counted = false;
    return after - before;
  }

  /// What every callback does.
  static void run(std::atomic<int> & count)
  {
    is_counted = true;
    ++count;
  }

  /// `begin` has `count` go up, sooner or later.
  template <typename Begin>
  static void dispatch(const std::atomic<int> & count, Begin begin)
  {
    for (int i = 0; i < kDispatches; ++i) {
      const int before = count;
      begin();
      while (count == before) {
        std::this_thread::yield();
      }
    }
  }
};

OVER_OUR_EXECUTORS(Allocations);

TEST_P(Allocations, are_none_for_a_waitable)
{
  std::atomic<int> count{0};
  const auto waitable = make_waitable(*node, [&] { run(count); });
  executor->add_node(node);
  const Spinning spinning(*executor);
  EXPECT_EQ(of([&] { dispatch(count, [&] { waitable->trigger(); }); }), 0U);
}

TEST_P(Allocations, of_a_message_are_those_of_publishing_and_taking_it)
{
  std::atomic<int> count{0};
  const auto subscription =
    node->create_subscription<Time>("topic", 10, [&](const Time &) { run(count); });
  const auto publisher = node->create_publisher<Time>("topic", 10);
  ASSERT_TRUE(wait_for([&] { return publisher->get_subscription_count() == 1; }));
  const uint64_t without = of([&] {
    dispatch(count, [&] {
      const int before = count;
      publisher->publish(Time());
      while (count == before) {
        NoExecutor::run(subscription);  // within the process it is there at once
      }
    });
  });
  executor->add_node(node);
  const Spinning spinning(*executor);
  const uint64_t with = of([&] { dispatch(count, [&] { publisher->publish(Time()); }); });
  EXPECT_LE(with, without);
}

TEST_P(Allocations, of_a_timer_are_those_of_calling_it)
{
  // It runs by itself: what is counted is from one call to that which is kDispatches later.
  std::atomic<int> count{0};
  std::atomic<int> first{std::numeric_limits<int>::max() - kDispatches};  // none yet
  uint64_t at_first = 0;
  uint64_t at_last = 0;
  std::atomic<bool> done{false};
  const auto timer = node->create_wall_timer(0ms, [&] {
    run(count);
    if (count == first) {
      at_first = allocations;
    } else if (count == first + kDispatches) {
      at_last = allocations;
      done = true;
    }
  });
  const uint64_t without = of([&] { dispatch(count, [&] { NoExecutor::run(timer); }); });
  executor->add_node(node);
  const Spinning spinning(*executor);
  dispatch(count, [] {});  // until all is in place
  first = count + kDispatches;
  EXPECT_TRUE(wait_for([&] { return done.load(); }));
  EXPECT_LE(at_last - at_first, without);
}

}  // namespace
}  // namespace rclrt_rclcpp
