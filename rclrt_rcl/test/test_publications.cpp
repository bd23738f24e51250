// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// A publication is not held up by what it has released, and of that the most urgent comes first. One
// CPU and the real middleware, which tells reader after reader in the thread that publishes.

#include <gtest/gtest.h>
#include <rcl/rcl.h>
#include <semaphore.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "executor_types.hpp"
#include "rcl_interfaces/msg/log.hpp"
#include "rcl_interfaces/srv/get_parameters.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace rclrt_rcl
{
namespace
{

using rcl_interfaces::msg::Log;
using rclrt_core::Attributes;
using Get = rcl_interfaces::srv::GetParameters;
using namespace std::chrono_literals;

constexpr int kLow = 10;
constexpr int kMid = 50;
constexpr int kHigh = 80;
constexpr int kTop = 90;  // above the middleware's threads, which are one above kHigh

/// What `mid` does. Long, so that nobody overlooks it in a trace.
void compute()
{
  const auto until = std::chrono::steady_clock::now() + 30ms;
  while (std::chrono::steady_clock::now() < until) {
  }
}

Attributes fifo(int priority)
{
  Attributes attributes;
  attributes.policy = rclrt_core::SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

/// Returns errno.
int apply_here(const Attributes & attributes)
{
  rclrt_core::LinuxPlatform platform;
  return platform.apply(platform.current_thread(), attributes);
}

Attributes read_here()
{
  rclrt_core::LinuxPlatform platform;
  Attributes attributes;
  EXPECT_EQ(platform.read_back(platform.current_thread(), &attributes), 0);
  return attributes;
}

/// While it exists, this thread and those that it starts have one CPU.
class OneCpu
{
public:
  OneCpu() : before_(read_here())
  {
    Attributes one;
    one.cpu_affinity = rclrt_core::CpuSet({before_.cpu_affinity.cpus().front()});
    EXPECT_EQ(apply_here(one), 0);
  }
  ~OneCpu() { apply_here(before_); }
  OneCpu(const OneCpu &) = delete;
  OneCpu & operator=(const OneCpu &) = delete;

private:
  const Attributes before_;
};

/// Calls a function at priority kTop each time it is asked to. Asking does not block.
class Interrupter
{
public:
  explicit Interrupter(std::function<void()> call) : call_(std::move(call)) {}
  ~Interrupter()
  {
    ended_ = true;
    ask();
    thread_.join();
    sem_destroy(&asked_);
  }
  Interrupter(const Interrupter &) = delete;
  Interrupter & operator=(const Interrupter &) = delete;

  void ask() { sem_post(&asked_); }

private:
  static sem_t none()
  {
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    return semaphore;
  }

  const std::function<void()> call_;
  sem_t asked_ = none();
  std::atomic<bool> ended_{false};
  std::thread thread_{[this] {
    apply_here(fifo(kTop));
    while (sem_wait(&asked_) != 0 || !ended_) {
      call_();
    }
  }};
};

template <typename T>
class Publications : private OneCpu, public ExecutorSuite<T>
{
protected:
  void SetUp() override
  {
    rclrt_core::LinuxPlatform platform;
    const Attributes before = read_here();
    if (const int error = apply_here(fifo(1))) {
      GTEST_SKIP() << "real-time scheduling is refused: "
                   << to_string(platform.explain("this test", fifo(1), error));
    }
    ASSERT_EQ(apply_here(before), 0);
  }

  void TearDown() override
  {
    spinning_.reset();
    kept_.clear();
  }

  template <typename E>
  void keep(std::shared_ptr<E> entity)
  {
    kept_.push_back(std::move(entity));
  }

  /// Of a callback in a group of its own, "/node/.../<name>".
  template <typename Options>
  Options option(const std::string & name, int priority)
  {
    Options made;
    made.group = this->node->create_callback_group(CallbackGroupType::kMutuallyExclusive);
    made.scheduling.name = name;
    made.scheduling.attributes = fifo(priority);
    return made;
  }

  void subscribe_mid()
  {
    auto mid = option<SubscriptionOptions>("mid", kMid);
    mid.use_intra_process = pointers;
    keep(this->node->template create_subscription<Log>(
      "topic", 10, [](const Log &) { compute(); }, mid));
  }
  void subscribe_high()
  {
    auto high = option<SubscriptionOptions>("high", kHigh);
    high.use_intra_process = pointers;
    keep(this->node->template create_subscription<Log>("topic", 10, [](const Log &) {}, high));
  }
  std::shared_ptr<Waitable> make_waitable_mid()
  {
    Scheduling mid;
    mid.name = "mid";
    mid.attributes = fifo(kMid);
    return this->node->create_waitable(
      mid, compute, this->node->create_callback_group(CallbackGroupType::kMutuallyExclusive));
  }

  /// A reader that is created now, and so told after `high`, calls `call` in the thread that publishes.
  std::shared_ptr<SubscriptionBase> call_after_high(std::function<void()> call)
  {
    called_ = std::move(call);
    const auto reader = outside->template create_subscription<Log>("topic", 10, [](const Log &) {});
    EXPECT_EQ(
      rcl_subscription_set_on_new_message_callback(
        reader->handle().get(),
        [](const void * self, std::size_t) { static_cast<const Publications *>(self)->called_(); },
        this),
      RCL_RET_OK);
    return reader;
  }

  /// On return it has run something: all its threads are there.
  void spin()
  {
    std::atomic<bool> is_up{false};
    Scheduling named;
    named.name = "up";
    const auto up = this->node->create_waitable(named, [&] { is_up = true; });
    this->executor->add_node(this->node);
    spinning_ = std::make_unique<Spinning>(*this->executor);
    up->trigger();
    ASSERT_TRUE(wait_for([&] { return is_up.load(); }));
    up->close();
  }

  /// In a callback at priority kLow.
  void run_at_low(const std::function<void()> & call)
  {
    auto timer_options = option<TimerOptions>("low", kLow);
    timer_options.one_shot = true;
    keep(this->node->create_wall_timer(1ms, call, timer_options));
  }

  /// When the first job of `name` that found something to do began, ns; waits for it. 0: it did not come.
  int64_t start_of(const std::string & name)
  {
    wait_for([&] {
      const auto names = this->executor->callback_names();
      this->executor->read_trace([&](const rclrt_job_record & record) {
        if (record.outcome == RCLRT_JOB_DONE || counts_empty) {
          const std::string & full = names.at(record.callback);
          started_.emplace(full.substr(full.rfind('/') + 1), record.start_ns);
        }
      });
      return started_.count(name) > 0;
    });
    return started_.count(name) > 0 ? started_[name] : 0;
  }

  void expect_high_before_mid()
  {
    const int64_t high = start_of("high");
    const int64_t mid = start_of("mid");
    ASSERT_NE(high, 0);
    ASSERT_NE(mid, 0);
    EXPECT_LT(high, mid) << "'high' waited for " << (high - mid) / 1000 << " us of 'mid'";
  }

  bool counts_empty = false;  // also jobs that find nothing to take
  bool pointers = false;      // of subscriptions made from now on
  std::shared_ptr<Node> outside = this->make_node("outside");

private:
  std::function<void()> called_;
  std::vector<std::shared_ptr<void>> kept_;
  std::map<std::string, int64_t> started_;
  std::unique_ptr<Spinning> spinning_;
};

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

TYPED_TEST(Publications, of_serialized_messages_release_the_more_urgent_first)
{
  const auto publisher = this->node->template create_publisher<Log>("topic", 10);
  this->subscribe_mid();
  this->subscribe_high();
  this->spin();
  ASSERT_TRUE(wait_for([&] { return publisher->subscription_count() == 2; }));
  const auto bytes = SerializedMessage::from(Log());
  this->run_at_low([&] { publisher->publish(bytes); });
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

}  // namespace
}  // namespace rclrt_rcl
