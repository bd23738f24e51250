// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What a program may rely on when `rclrt run` has changed how rclcpp's own executors spin. The program knows nothing of
// rclrt: it is linked to rclcpp alone, and runs twice, with librclrt_run preloaded and without.

#include <gtest/gtest.h>
#include <pthread.h>
#include <rcutils/logging.h>
#include <sched.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): masks of threads are POSIX's

#include <rclcpp/version.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <builtin_interfaces/msg/time.hpp>
#include <chrono>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <rclcpp/experimental/executors/events_executor/events_executor.hpp>
#include <rclcpp/rclcpp.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

using namespace std::chrono_literals;
using builtin_interfaces::msg::Time;
using rclcpp::executors::MultiThreadedExecutor;
using rclcpp::executors::SingleThreadedExecutor;
using rclcpp::experimental::executors::EventsExecutor;

thread_local bool looks_at_allocations = false;
std::atomic<int> spared_allocations{0};  // those that a thread made while it was spared signals
std::atomic<rclcpp::Executor *> cancelled_when_spared{nullptr};  // by the first one

bool is_spared()
{
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  return sigismember(&now, SIGINT) == 1 && sigismember(&now, SIGTERM) == 1;
}

const bool is_changed = std::getenv("RCLRT_RUN") != nullptr;

bool comes_true(const std::function<bool()> & condition)
{
  for (int i = 0; i < 5000 && !condition(); ++i) {
    std::this_thread::sleep_for(1ms);
  }
  return condition();
}

/// Spins an executor in a thread of its own, until the test ends.
class Spin
{
public:
  explicit Spin(rclcpp::Executor & executor)
  : executor_(executor), thread_([this] { executor_.spin(); })
  {
    EXPECT_TRUE(comes_true([this] { return executor_.is_spinning(); }));
  }
  ~Spin() { end(); }
  void end()
  {
    if (thread_.joinable()) {
      executor_.cancel();
      thread_.join();
    }
  }

private:
  rclcpp::Executor & executor_;
  std::thread thread_;
};

/// A node of which a timer counts.
struct Counting
{
  explicit Counting(
    const std::string & name, std::chrono::milliseconds period = 1ms, bool is_automatic = true,
    const rclcpp::NodeOptions & options = rclcpp::NodeOptions())
  : node(std::make_shared<rclcpp::Node>(name, options)),
    group(node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive, is_automatic)),
    timer(node->create_wall_timer(period, [this] { ++count; }, group))
  {
  }
  bool goes_on() const
  {
    const int before = count;
    return comes_true([&] { return count > before + 2; });
  }

  std::atomic<int> count{0};
  rclcpp::Node::SharedPtr node;
  rclcpp::CallbackGroup::SharedPtr group;
  rclcpp::TimerBase::SharedPtr timer;
};

class StockExecutors : public testing::Test
{
protected:
  void SetUp() override { rclcpp::init(0, nullptr); }
  void TearDown() override { rclcpp::shutdown(); }
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
using StaticExecutor = rclcpp::executors::StaticSingleThreadedExecutor;
#pragma GCC diagnostic pop

using Executors =
  testing::Types<SingleThreadedExecutor, MultiThreadedExecutor, EventsExecutor, StaticExecutor>;

/// The context must be there before the executor is made.
template <typename ExecutorT>
struct Made : StockExecutors
{
  void SetUp() override
  {
    StockExecutors::SetUp();
    executor_.emplace();
  }
  ExecutorT & executor() { return *executor_; }
  std::optional<ExecutorT> executor_;
};
TYPED_TEST_SUITE(Made, Executors);

TYPED_TEST(Made, runs_nodes_that_come_while_it_spins_and_leaves_those_that_go)
{
  Counting first("first");
  Counting second("second");
  this->executor().add_node(first.node);
  const Spin spin(this->executor());
  EXPECT_TRUE(first.goes_on());
  this->executor().add_node(second.node);
  EXPECT_TRUE(second.goes_on());
  this->executor().remove_node(first.node);
  EXPECT_TRUE(second.goes_on());
  const int count = first.count;
  EXPECT_TRUE(second.goes_on());
  EXPECT_LE(first.count, count + 1);
}

TYPED_TEST(Made, runs_groups_that_are_added_by_hand)
{
  Counting counting("by_hand", 1ms, false);
  const Spin spin(this->executor());
  this->executor().add_callback_group(counting.group, counting.node->get_node_base_interface());
  EXPECT_TRUE(counting.goes_on());
  this->executor().remove_callback_group(counting.group);
  EXPECT_TRUE(comes_true([&] { return !counting.group->get_associated_with_executor_atomic(); }));
}

TYPED_TEST(Made, lets_nodes_go_to_another_executor_while_it_spins)
{
  Counting moved("moved");
  Counting stays("stays");
  this->executor().add_node(moved.node);
  this->executor().add_node(stays.node);
  const Spin spin(this->executor());
  EXPECT_TRUE(moved.goes_on());
  this->executor().remove_node(moved.node);
  EXPECT_TRUE(comes_true(
    [&] { return !moved.node->get_node_base_interface()->get_associated_with_executor_atomic(); }));
  EXPECT_TRUE(stays.goes_on());
  SingleThreadedExecutor other;
  other.add_node(moved.node);
  const Spin other_spin(other);
  EXPECT_TRUE(moved.goes_on());
  EXPECT_TRUE(stays.goes_on());
}

TYPED_TEST(Made, says_that_it_spins_and_refuses_to_spin_twice)
{
  Counting counting("counting");
  this->executor().add_node(counting.node);
  EXPECT_FALSE(this->executor().is_spinning());
  Spin spin(this->executor());
  EXPECT_TRUE(counting.goes_on());
  EXPECT_THROW(this->executor().spin(), std::runtime_error);
  spin.end();
  EXPECT_FALSE(this->executor().is_spinning());
}

TYPED_TEST(Made, spins_again_after_cancel_and_in_every_way)
{
  Counting counting("counting");
  this->executor().add_node(counting.node);
  this->executor().cancel();  // is forgotten when it spins
  for (int i = 0; i < 20; ++i) {
    Spin spin(this->executor());
    EXPECT_TRUE(counting.goes_on());
    spin.end();
    // rclcpp's multi-threaded one leaves it taken if it is cancelled between taking a job and running it.
    counting.group->can_be_taken_from() = true;
  }
  const auto grows = [&](const std::function<void()> & function) {
    const int before = counting.count;
    EXPECT_TRUE(comes_true([&] {
      function();
      return counting.count > before;
    }));
  };
  grows([&] { this->executor().spin_some(); });
  grows([&] { this->executor().spin_all(1ms); });
  grows([&] { this->executor().spin_once(10ms); });
  std::promise<void> promise;
  auto future = promise.get_future().share();
  const auto timer = counting.node->create_wall_timer(1ms, [&] {
    promise.set_value();
    throw std::runtime_error("once");
  });
  EXPECT_THROW(this->executor().spin_until_future_complete(future, 5s), std::runtime_error);
  timer->cancel();
  EXPECT_EQ(
    this->executor().spin_until_future_complete(future, 5s), rclcpp::FutureReturnCode::SUCCESS);
}

TYPED_TEST(Made, throws_what_a_callback_throws_and_goes_on)
{
  Counting counting("counting");
  bool is_thrown = false;
  const auto timer = counting.node->create_wall_timer(1ms, [&] {
    if (!is_thrown) {
      is_thrown = true;
      throw std::invalid_argument("thrown by a callback");
    }
  });
  this->executor().add_node(counting.node);
  if (
    !std::is_same_v<TypeParam, MultiThreadedExecutor> || is_changed) {  // else it ends the program
    EXPECT_THROW(this->executor().spin(), std::invalid_argument);
  }
  is_thrown = true;
  const Spin spin(this->executor());
  EXPECT_TRUE(counting.goes_on());
}

TYPED_TEST(Made, does_not_mind_an_address_that_is_used_again)
{
  alignas(TypeParam) static unsigned char memory[sizeof(TypeParam)];
  for (int i = 0; i < 20; ++i) {
    Counting counting("counting");
    auto * const executor = new (memory) TypeParam;
    executor->add_node(counting.node);
    if (i % 2 == 0) {
      const Spin spin(*executor);
      EXPECT_TRUE(counting.goes_on());
    }
    executor->~TypeParam();
  }
}

TYPED_TEST(Made, returns_when_its_context_is_shut_down)
{
  Counting counting("counting");
  this->executor().add_node(counting.node);
  std::thread spins([this] { this->executor().spin(); });
  EXPECT_TRUE(counting.goes_on());
  rclcpp::shutdown();
  spins.join();
  this->executor().spin();
}

TYPED_TEST(Made, belongs_to_its_own_context)
{
  const auto context = std::make_shared<rclcpp::Context>();
  context->init(0, nullptr);
  rclcpp::ExecutorOptions options;
  options.context = context;
  const auto made = [&options] {
    if constexpr (std::is_same_v<TypeParam, EventsExecutor>) {
      auto queue = std::make_unique<rclcpp::experimental::executors::SimpleEventsQueue>();
      return std::make_unique<TypeParam>(std::move(queue), false, options);
    } else {
      return std::make_unique<TypeParam>(options);
    }
  }();
  TypeParam & other = *made;
  Counting counting("other", 1ms, true, rclcpp::NodeOptions().context(context));
  other.add_node(counting.node);
  std::thread spins([&] { other.spin(); });
  EXPECT_TRUE(counting.goes_on());
  context->shutdown("test");
  spins.join();
  EXPECT_TRUE(rclcpp::ok());
}

TYPED_TEST(Made, runs_no_callback_beside_another_unless_it_has_several_threads)
{
  constexpr bool kIsMulti = std::is_same_v<TypeParam, MultiThreadedExecutor>;
  const auto node = std::make_shared<rclcpp::Node>("overlapping");
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<int> count{0};
  std::vector<rclcpp::TimerBase::SharedPtr> timers;
  std::vector<rclcpp::CallbackGroup::SharedPtr> groups;
  for (int i = 0; i < 8; ++i) {
    groups.push_back(node->create_callback_group(rclcpp::CallbackGroupType::Reentrant));
    timers.push_back(node->create_wall_timer(
      2ms,
      [&] {
        const int here = ++inside;
        for (int seen = most; here > seen && !most.compare_exchange_weak(seen, here);) {
        }
        std::this_thread::sleep_for(1ms);
        --inside;
        ++count;
      },
      groups.back()));
  }
  this->executor().add_node(node);
  const Spin spin(this->executor());
  EXPECT_TRUE(comes_true([&] { return count > 100; }));
  EXPECT_EQ(most > 1, kIsMulti);
  if constexpr (kIsMulti) {
    EXPECT_LE(most, static_cast<int>(this->executor().get_number_of_threads()));
  }
}

/// Five subscriptions of one group. Their messages wait while the timer's callback runs.
struct Ordered
{
  Ordered()
  {
    rclcpp::SubscriptionOptions options;
    options.callback_group = group;
    for (const char * const name : {"a", "b", "c", "d", "e"}) {
      subscriptions.push_back(node->create_subscription<Time>(
        name, 10,
        [this, name](Time::ConstSharedPtr) {
          order += name;
          ++count;
        },
        options));
      publishers.push_back(node->create_publisher<Time>(name, 10));
    }
    timer = node->create_wall_timer(
      10ms,
      [this] {
        for (const auto & publisher : publishers) {
          publisher->publish(Time());
        }
        std::this_thread::sleep_for(50ms);
        timer->cancel();
      },
      group);
  }
  rclcpp::Node::SharedPtr node = std::make_shared<rclcpp::Node>("ordered");
  rclcpp::CallbackGroup::SharedPtr group =
    node->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive);
  std::string order;
  std::atomic<int> count{0};
  std::vector<rclcpp::Subscription<Time>::SharedPtr> subscriptions;
  std::vector<rclcpp::Publisher<Time>::SharedPtr> publishers;
  rclcpp::TimerBase::SharedPtr timer;
};

/// Which is none that rclcpp would choose.
constexpr char kOrderOfFile[] = "dbeac";

/// Jazzy's events executor is left alone.
template <typename ExecutorT>
bool is_served()
{
  return is_changed && (RCLCPP_VERSION_MAJOR >= 29 || !std::is_same_v<ExecutorT, EventsExecutor>);
}

TYPED_TEST(Made, runs_callbacks_in_the_order_of_the_file)
{
  Ordered ordered;
  this->executor().add_node(ordered.node);
  Spin spin(this->executor());
  EXPECT_TRUE(comes_true([&] { return ordered.count == 5; }));
  spin.end();
  if (is_served<TypeParam>()) {
    EXPECT_EQ(ordered.order, kOrderOfFile);
  }
}

std::atomic<int> order_only_lines{0};

/// The file gives a callback of another node a policy, which spin_some() cannot put in force.
TYPED_TEST(Made, runs_callbacks_in_the_order_of_the_file_where_it_is_called_in_a_loop_and_says_so)
{
  Ordered ordered;
  const Counting urgent("urgent");
  this->executor().add_node(ordered.node);
  this->executor().add_node(urgent.node);
  const auto before = rcutils_logging_get_output_handler();
  rcutils_logging_set_output_handler([](auto, int, auto, auto, auto format, va_list * arguments) {
    std::array<char, 1000> text{};
    std::vsnprintf(text.data(), text.size(), format, *arguments);
    order_only_lines += std::strstr(text.data(), "the file gives their order") ? 1 : 0;
  });
  EXPECT_TRUE(comes_true([&] {
    this->executor().spin_some();
    return ordered.count == 5;
  }));
  rcutils_logging_set_output_handler(before);
  if (is_served<TypeParam>()) {
    EXPECT_EQ(ordered.order, kOrderOfFile);
    EXPECT_EQ(order_only_lines, 1) << "once in a process";
  }
}

/// Also on a thread that has run "urgent", to which the file gives another policy and another CPU. (A few have more while
/// "urgent" waits for them.)
TYPED_TEST(Made, runs_callbacks_with_the_cpus_and_the_policy_of_the_thread_that_spins)
{
  const Counting counting("counting");
  const Counting urgent("urgent");
  cpu_set_t all{};
  cpu_set_t one{};
  sched_getaffinity(0, sizeof(all), &all);
  int last = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    last = CPU_ISSET(cpu, &all) ? cpu : last;
  }
  CPU_SET(last, &one);
  sched_param third{};
  third.sched_priority = 3;
  std::atomic<int> with_both{0};
  std::atomic<bool> may_have_fifo{false};
  const auto timer = counting.node->create_wall_timer(1ms, [&] {
    cpu_set_t here{};
    sched_param priority{};
    sched_getaffinity(0, sizeof(here), &here);
    sched_getparam(0, &priority);  // pthread_getschedparam() tells what a thread was started with
    const int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    const bool has_policy = policy == SCHED_FIFO && priority.sched_priority == 3;
    const bool has_both = CPU_EQUAL(&here, &one) && (has_policy || !may_have_fifo);
    with_both += urgent.count > 2 && has_both ? 1 : 0;
  });
  this->executor().add_node(counting.node);
  this->executor().add_node(urgent.node);
  std::thread spins([&] {
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    may_have_fifo = pthread_setschedparam(pthread_self(), SCHED_FIFO, &third) == 0;
    this->executor().spin();
  });
  EXPECT_TRUE(comes_true([&] { return with_both > 20; }));
  this->executor().cancel();
  spins.join();
}

/// rclcpp's handler of them logs, and so would wait for ever for the allocation that it has interrupted.
TYPED_TEST(Made, is_prepared_by_a_thread_that_is_spared_signals_and_may_be_cancelled_meanwhile)
{
  Counting counting("counting");
  this->executor().add_node(counting.node);
  spared_allocations = 0;
  cancelled_when_spared = &this->executor();
  const auto spins = std::async(std::launch::async, [&] {
    looks_at_allocations = true;
    this->executor().spin();
    EXPECT_FALSE(is_spared());
  });
  if (!is_served<TypeParam>()) {
    EXPECT_TRUE(counting.goes_on());
    this->executor().cancel();
  }
  EXPECT_EQ(spins.wait_for(5s), std::future_status::ready);
  this->executor().cancel();
  EXPECT_EQ(spared_allocations > 0, is_served<TypeParam>());
}

/// The middleware tells an executor that listens to it when that happens, and never again.
TYPED_TEST(Made, runs_what_the_middleware_has_told_before_it_spins)
{
  const auto node = std::make_shared<rclcpp::Node>("told");
  this->executor().add_node(node);
  std::atomic<int> matched{0};
  std::atomic<int> got{0};
  rclcpp::PublisherOptions options;
  options.event_callbacks.matched_callback = [&](rclcpp::MatchedInfo &) { ++matched; };
  std::atomic<int> refused{0};
  options.event_callbacks.incompatible_qos_callback = [&](rclcpp::QOSOfferedIncompatibleQoSInfo &) {
    ++refused;
  };
  const auto publisher = node->create_publisher<Time>("told", 10, options);
  const auto wants_more = node->create_subscription<Time>(
    "told", rclcpp::QoS(10).transient_local(), [](Time::ConstSharedPtr) {});
  const auto subscription =
    node->create_subscription<Time>("told", 10, [&](Time::ConstSharedPtr) { ++got; });
  const auto inside =
    std::make_shared<rclcpp::Node>("inside", rclcpp::NodeOptions().use_intra_process_comms(true));
  this->executor().add_node(inside);
  const auto reader =
    inside->create_subscription<Time>("inside", 10, [&](Time::ConstSharedPtr) { ++got; });
  const auto writer = inside->create_publisher<Time>("inside", 10);
  EXPECT_TRUE(comes_true([&] { return publisher->get_subscription_count() == 1; }));
  for (int i = 0; i < 3; ++i) {
    publisher->publish(Time());
    writer->publish(Time());
  }
  std::this_thread::sleep_for(20ms);
  const Spin spin(this->executor());
  EXPECT_TRUE(comes_true([&] { return matched == 1 && refused > 0 && got == 6; }));
}

struct Derived : SingleThreadedExecutor
{
  void spin() override
  {
    is_called = true;
    SingleThreadedExecutor::spin();
  }
  bool is_called = false;
};

TEST_F(StockExecutors, that_a_program_derives_are_its_own)
{
  Derived executor;
  Counting counting("counting");
  executor.add_node(counting.node);
  {
    const Spin spin(executor);
    EXPECT_TRUE(counting.goes_on());
  }
  EXPECT_TRUE(executor.is_called);
}

TEST_F(StockExecutors, spin_beside_each_other)
{
  Counting first("first");
  Counting second("second");
  SingleThreadedExecutor single;
  MultiThreadedExecutor multi(rclcpp::ExecutorOptions(), 2);
  single.add_node(first.node);
  multi.add_node(second.node);
  const Spin one(single);
  const Spin two(multi);
  EXPECT_TRUE(first.goes_on());
  EXPECT_TRUE(second.goes_on());
  EXPECT_EQ(multi.get_number_of_threads(), 2U);
}

TEST_F(StockExecutors, that_are_made_for_one_call_start_no_threads)
{
  Counting counting("counting");
  const auto threads = [] {
    const std::filesystem::directory_iterator first("/proc/self/task");
    return std::distance(first, std::filesystem::directory_iterator());
  };
  const auto before = threads();
  std::ptrdiff_t most = 0;
  const auto timer =
    counting.node->create_wall_timer(1ms, [&] { most = std::max(most, threads()); });
  EXPECT_TRUE(comes_true([&] {
    rclcpp::spin_some(counting.node);
    return counting.count > 3 && most > 0;
  }));
  EXPECT_EQ(most, before);
}

TEST_F(StockExecutors, spin_by_the_functions_of_the_namespace)
{
  Counting counting("counting");
  std::thread canceller([&] {
    EXPECT_TRUE(counting.goes_on());
    rclcpp::shutdown();
  });
  rclcpp::spin(counting.node);
  canceller.join();
}

}  // namespace

void * operator new(std::size_t size)
{
  if (looks_at_allocations && is_spared()) {
    ++spared_allocations;
    if (rclcpp::Executor * const executor = cancelled_when_spared.exchange(nullptr)) {
      executor->cancel();
    }
  }
  if (void * const memory = std::malloc(std::max<std::size_t>(size, 1))) {
    return memory;
  }
  throw std::bad_alloc();
}

void operator delete(void * memory) noexcept { std::free(memory); }
void operator delete(void * memory, std::size_t) noexcept { std::free(memory); }
