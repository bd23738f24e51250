// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// One CPU, and nodes of low, middle and high priority: who has to wait for whom is seen in the trace.
#ifndef PUBLICATIONS_FIXTURE_HPP_
#define PUBLICATIONS_FIXTURE_HPP_

#include <semaphore.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "scheduling_fixture.hpp"

namespace rclrt_rclcpp
{

using rclrt_core::Attributes;

constexpr int kLow = 10;
constexpr int kMid = 50;
constexpr int kHigh = 80;
constexpr int kTop = 90;  // above the middleware's threads, which are one above kHigh

inline int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

/// What `mid` does. Long, so that nobody overlooks it in a trace.
inline void compute()
{
  const int64_t until = now_ns() + 30'000'000;
  while (now_ns() < until) {
  }
}

inline void apply_here(const Attributes & attributes)
{
  rclrt_core::LinuxPlatform platform;
  EXPECT_EQ(platform.apply(platform.current_thread(), attributes), 0);
}

/// While it exists, this thread and those that it starts have one CPU.
class OneCpu
{
public:
  OneCpu() : before_(attributes_here())
  {
    Attributes one;
    one.cpu_affinity = rclrt_core::CpuSet({before_.cpu_affinity.cpus().front()});
    apply_here(one);
  }
  ~OneCpu() { apply_here(before_); }
  OneCpu(const OneCpu &) = delete;
  OneCpu & operator=(const OneCpu &) = delete;

private:
  const Attributes before_;
};

/// Calls a function in a thread of this priority each time it is asked to. Asking does not block.
class Caller
{
public:
  Caller(int priority, std::function<void()> call) : priority_(priority), call_(std::move(call)) {}
  ~Caller()
  {
    ended_ = true;
    ask();
    thread_.join();
    sem_destroy(&asked_);
  }
  Caller(const Caller &) = delete;
  Caller & operator=(const Caller &) = delete;

  void ask() { sem_post(&asked_); }

private:
  static sem_t none()
  {
    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    return semaphore;
  }

  const int priority_;
  const std::function<void()> call_;
  sem_t asked_ = none();
  std::atomic<bool> ended_{false};
  std::thread thread_{[this] {
    apply_here(fifo(priority_));
    while (sem_wait(&asked_) != 0 || !ended_) {
      call_();
    }
  }};
};

template <typename ExecutorT>
class Publications : private OneCpu, public SchedulingTest<ExecutorT>
{
protected:
  void SetUp() override
  {
    SchedulingTest<ExecutorT>::SetUp();
    if (realtime_is_refused()) {
      GTEST_SKIP() << "real-time scheduling is refused: docs/how-to/real-time-permissions.md";
    }
    start(rclcpp::NodeOptions());
  }

  void TearDown() override
  {
    spinning_.reset();
    kept.clear();
    executor_.reset();
    SchedulingTest<ExecutorT>::TearDown();
  }

  /// Three nodes whose callbacks have these priorities, and one in no executor.
  void start(const rclcpp::NodeOptions & options)
  {
    const auto registry = std::make_shared<SchedulingRegistry>();
    typename SchedulingTest<ExecutorT>::Options executor_options;
    executor_options.scheduling = registry;
    executor_ = this->make_executor(executor_options);
    const auto make = [&](const std::string & name, int priority) {
      auto node = this->make_node(name, options);
      registry->set(node->get_node_base_interface()->get_default_callback_group(), fifo(priority));
      return node;
    };
    low = make("low", kLow);
    mid = make("mid", kMid);
    high = make("high", kHigh);
    outside = this->make_node("outside", options);
  }

  void spin()
  {
    for (const auto & node : {low, mid, high}) {
      executor_->add_node(node);
    }
    std::atomic<bool> is_up{false};
    const auto up = low->create_wall_timer(milliseconds(1), [&] { is_up = true; });
    spinning_ = std::make_unique<Spinning>(*executor_);
    ASSERT_TRUE(wait_for([&] { return is_up.load(); }));
    up->cancel();
    std::this_thread::sleep_for(milliseconds(20));  // whoever was woken meanwhile sleeps again
  }

  template <typename M = const Time &>
  void subscribe_mid()
  {
    kept.push_back(mid->create_subscription<Time>("topic", 10, [](M) { compute(); }));
  }
  template <typename M = const Time &>
  void subscribe_high()
  {
    kept.push_back(high->create_subscription<Time>("topic", 10, [](M) {}));
  }

  /// A reader that is created now, and so told after the others, calls this in the thread that publishes.
  void call_when_told(std::function<void()> call)
  {
    const auto reader = outside->create_subscription<Time>("topic", 10, [](const Time &) {});
    reader->set_on_new_message_callback([call = std::move(call)](std::size_t) { call(); });
    kept.push_back(reader);
  }

  /// Once, in a callback at priority kLow. `call` is over when this returns.
  void run_at_low(const std::function<void()> & call)
  {
    std::atomic<bool> done{false};
    const auto timer = low->create_wall_timer(milliseconds(1), [&] {
      if (!done) {
        published_at = now_ns();
        call();
        done = true;
      }
    });
    EXPECT_TRUE(wait_for([&] { return done.load(); }));
    timer->cancel();
    std::this_thread::sleep_for(milliseconds(5));  // it does not run any more
  }

  /// When the first job of that node which was released since `published_at` began, ns; waits for it.
  int64_t start_of(const std::string & node)
  {
    int64_t found = 0;
    wait_for([&] {
      executor_->read_trace([&](const rclrt_job_record & record) { records_.push_back(record); });
      const auto names = executor_->callback_names();
      const auto first = std::find_if(records_.begin(), records_.end(), [&](const auto & record) {
        return record.release_ns >= published_at && rclrt_job_ran(&record) &&
               (record.outcome == RCLRT_JOB_DONE || counts_empty) &&
               names.at(record.callback).rfind("/" + node + "/", 0) == 0;
      });
      found = first != records_.end() ? first->start_ns : 0;
      return found != 0;
    });
    return found;
  }

  void expect_high_before_mid()
  {
    const int64_t of_high = start_of("high");
    const int64_t of_mid = start_of("mid");
    ASSERT_NE(of_high, 0);
    ASSERT_NE(of_mid, 0);
    EXPECT_LT(of_high, of_mid) << "'high' waited for " << (of_high - of_mid) / 1000
                               << " us of 'mid'";
  }

  std::vector<rclrt_core::Finding> findings() const { return executor_->findings(); }

  std::shared_ptr<rclcpp::Node> low, mid, high, outside;
  bool counts_empty = false;  // also jobs that find nothing to take
  std::atomic<int64_t> published_at{0};
  std::vector<std::shared_ptr<void>> kept;

private:
  std::unique_ptr<ExecutorT> executor_;
  std::vector<rclrt_job_record> records_;
  std::unique_ptr<Spinning> spinning_;
};

}  // namespace rclrt_rclcpp

#endif  // PUBLICATIONS_FIXTURE_HPP_
