// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// One CPU, and callbacks of low, middle and high priority: who has to wait for whom is seen in the trace.
#ifndef PUBLICATIONS_FIXTURE_HPP_
#define PUBLICATIONS_FIXTURE_HPP_

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
#include "rclrt_core/linux_platform.hpp"

namespace rclrt_rcl
{

using rcl_interfaces::msg::Log;
using rclrt_core::Attributes;
using namespace std::chrono_literals;

constexpr int kLow = 10;
constexpr int kMid = 50;
constexpr int kHigh = 80;
constexpr int kTop = 90;  // above the middleware's threads, which are one above kHigh

/// What `mid` does. Long, so that nobody overlooks it in a trace.
inline void compute()
{
  const auto until = std::chrono::steady_clock::now() + 30ms;
  while (std::chrono::steady_clock::now() < until) {
  }
}

inline Attributes fifo(int priority)
{
  Attributes attributes;
  attributes.policy = rclrt_core::SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

/// Returns errno.
inline int apply_here(const Attributes & attributes)
{
  rclrt_core::LinuxPlatform platform;
  return platform.apply(platform.current_thread(), attributes);
}

inline Attributes read_here()
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

  template <typename M = Log>
  void subscribe_mid()
  {
    auto mid = option<SubscriptionOptions>("mid", kMid);
    mid.use_intra_process = pointers;
    keep(
      this->node->template create_subscription<M>("topic", 10, [](const M &) { compute(); }, mid));
  }
  template <typename M = Log>
  void subscribe_high()
  {
    auto high = option<SubscriptionOptions>("high", kHigh);
    high.use_intra_process = pointers;
    keep(this->node->template create_subscription<M>("topic", 10, [](const M &) {}, high));
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
        if (rclrt_job_ran(&record) && (record.outcome == RCLRT_JOB_DONE || counts_empty)) {
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

}  // namespace rclrt_rcl

#endif  // PUBLICATIONS_FIXTURE_HPP_
