// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The delays of one slice: publication to start of the callback, per subscription.
//
// add() is called by one thread at a time for each subscription, and neither locks nor allocates.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../harness.hpp"
#include "message.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace dispatch
{

class Slice
{
public:
  /// The first `warm_up` samples of each subscription are thrown away.
  Slice(std::size_t subscriptions, std::size_t warm_up, std::size_t samples)
  : warm_up_(warm_up), samples_(samples), series_(subscriptions)
  {
    for (Series & series : series_) {
      series.delays_ns.reserve(samples);
    }
  }

  void add(std::size_t subscription, const Message & message)
  {
    const std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
    Series & series = series_[subscription];
    if (series.seen++ < warm_up_ || series.delays_ns.size() == samples_) {
      return;
    }
    int64_t not_begun = 0;
    if (series.delays_ns.empty()) {
      cpu_before_ns_.compare_exchange_strong(not_begun, harness::process_cpu_ns());
      series.first = numbers_of(message);
    }
    series.last = numbers_of(message);
    series.delays_ns.push_back(now.count() - time_of(message));
    if (series.delays_ns.size() == samples_ && complete_.fetch_add(1) + 1 == series_.size()) {
      cpu_after_ns_ = harness::process_cpu_ns();
      done_.store(1);
      platform_.wake_one(done_);
    }
  }

  /// Returns whether all samples have come.
  bool wait(std::chrono::nanoseconds timeout)
  {
    const auto until = platform_.now() + timeout;
    while (done_.load() == 0 && platform_.now() < until) {
      platform_.wait(done_, 0, until);
    }
    return done_.load() != 0;
  }

  /// All subscriptions' delays. To be called when all threads that add have stopped.
  std::vector<int64_t> delays_ns() const
  {
    std::vector<int64_t> all;
    for (const Series & series : series_) {
      all.insert(all.end(), series.delays_ns.begin(), series.delays_ns.end());
    }
    return all;
  }

  /// How many messages to all subscriptions were published from first to last sample. Called then.
  int64_t published() const
  {
    int64_t all = 0;
    for (const Series & series : series_) {
      all += series.last.number - series.first.number + 1;
    }
    return all;
  }

  /// How many a second, to one subscription. 0: there is only one sample.
  double published_a_second() const
  {
    const Series & series = series_.front();
    const auto took = static_cast<double>(series.last.time_ns - series.first.time_ns);
    return took > 0 ? static_cast<double>(series.last.number - series.first.number) * 1e9 / took
                    : 0;
  }

  /// CPU time of this process from the first sample to the last, a message. Only after wait().
  int64_t cpu_ns_a_message() const
  {
    return (cpu_after_ns_ - cpu_before_ns_.load()) /
           static_cast<int64_t>(samples_ * series_.size());
  }

private:
  struct Numbers
  {
    int64_t time_ns = 0;
    int64_t number = 0;
  };
  static Numbers numbers_of(const Message & message)
  {
    return {time_of(message), number_of(message)};
  }
  struct alignas(64) Series  // no line of memory shared between threads
  {
    std::size_t seen = 0;
    Numbers first;
    Numbers last;
    std::vector<int64_t> delays_ns;
  };

  const std::size_t warm_up_;
  const std::size_t samples_;
  std::vector<Series> series_;
  std::atomic<std::size_t> complete_{0};
  std::atomic<int64_t> cpu_before_ns_{0};
  int64_t cpu_after_ns_ = 0;  // before `done_`
  std::atomic<uint32_t> done_{0};
  rclrt_core::LinuxPlatform platform_;
};

}  // namespace dispatch
