// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// One CPU, and nodes of low, middle and high priority: the trace tells which of them has to wait for which.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "conformance/real_time.hpp"
#include "conformance/suite.hpp"

namespace conformance
{

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

class Publications : private OneCpu, public Suite
{
protected:
  void SetUp() override
  {
    SKIP_WITHOUT_REAL_TIME();
    start();
  }
  void TearDown() override
  {
    spinning_.reset();
    kept.clear();
    Suite::TearDown();
  }

  /// Three nodes whose callbacks have these priorities, and one in no executor.
  void start(bool intra_process = false)
  {
    spinning_.reset();
    kept.clear();
    std::string lines = "      callbacks:\n";
    for (const auto & [name, priority] :
         {std::pair("low", kLow), std::pair("mid", kMid), std::pair("high", kHigh)}) {
      lines += "        /" + std::string(name) +
               "/**: {scheduling_policy: fifo, priority: " + std::to_string(priority) + "}\n";
    }
    const File file(for_all(lines));
    Options options;
    options.configuration_file = file.path();
    executor = make_executor(options);
    records_.clear();
    low = make_node("low", by_pointer(intra_process));
    mid = make_node("mid", by_pointer(intra_process));
    high = make_node("high", by_pointer(intra_process));
    outside = make_node("outside", by_pointer(intra_process));
  }

  /// On return it has run something: all its threads are there.
  void spin()
  {
    for (const auto & of : {low, mid, high}) {
      executor->add_node(of);
    }
    std::atomic<bool> is_up{false};
    const auto up = low->create_wall_timer(1ms, [&] { is_up = true; });
    spinning_ = std::make_unique<Spinning<Executor>>(*executor);
    ASSERT_TRUE(wait_for([&] { return is_up.load(); }));
    up->cancel();
    std::this_thread::sleep_for(20ms);  // whatever was woken meanwhile sleeps again
  }

  template <typename M = const Message &>
  void subscribe_mid()
  {
    kept.push_back(mid->create_subscription<Message>("topic", 10, [](M) { compute(); }));
  }
  template <typename M = const Message &>
  void subscribe_high()
  {
    kept.push_back(high->create_subscription<Message>("topic", 10, [](M) {}));
  }

  /// A reader that is created now, and so told after the others, calls this in the thread that publishes.
  void call_when_told(std::function<void()> call)
  {
    called_ = std::move(call);
    const auto reader = outside->create_subscription<Message>("topic", 10, [](const Message &) {});
    kept.push_back(reader);
    EXPECT_EQ(
      rcl_subscription_set_on_new_message_callback(
        handle_of(*reader),
        [](const void * self, std::size_t) { static_cast<const Publications *>(self)->called_(); },
        this),
      RCL_RET_OK);
  }

  /// Once, in a callback at priority kLow. `call` is over when this returns.
  void run_at_low(const std::function<void()> & call)
  {
    std::atomic<bool> done{false};
    const auto timer = low->create_wall_timer(1ms, [&] {
      if (!done) {
        published_at = now_ns();
        call();
        done = true;
      }
    });
    EXPECT_TRUE(wait_for([&] { return done.load(); }));
    timer->cancel();
    std::this_thread::sleep_for(5ms);  // it does not run any more
  }

  /// When the first job of that node which was released since `published_at` began, ns; waits for it. 0: it did not come.
  int64_t start_of(const std::string & of)
  {
    int64_t found = 0;
    wait_for([&] {
      ours(*executor).read_trace(
        [&](const rclrt_job_record & record) { records_.push_back(record); });
      const auto names = ours(*executor).callback_names();
      const auto first = std::find_if(records_.begin(), records_.end(), [&](const auto & record) {
        return record.release_ns >= published_at && rclrt_job_ran(&record) &&
               (record.outcome == RCLRT_JOB_DONE || counts_empty) &&
               names.at(record.callback).rfind("/" + of + "/", 0) == 0;
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

  /// `publish` once the readers are there, in a callback at priority kLow: what comes of it comes in order.
  template <typename Publish>
  void expect_in_order(const Publisher & publisher, Publish publish)
  {
    spin();
    ASSERT_TRUE(wait_for([&] { return readers_of(publisher) == 2; }));
    run_at_low(publish);
    expect_high_before_mid();
  }

  std::shared_ptr<Node> low, mid, high, outside;
  bool counts_empty = false;  // also jobs that find nothing to take
  std::atomic<int64_t> published_at{0};
  std::vector<std::shared_ptr<void>> kept;

private:
  std::function<void()> called_;
  std::vector<rclrt_job_record> records_;
  std::unique_ptr<Spinning<Executor>> spinning_;
};

}  // namespace conformance
