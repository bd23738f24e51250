// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/platform.hpp"

namespace rclrt_core
{
namespace
{

class WordAlarm : public Alarm
{
public:
  explicit WordAlarm(Platform & platform) : platform_(platform) {}

  void set(TimePoint time) noexcept override
  {
    const int64_t before_ns = time_ns_.exchange(nanoseconds_of(time));
    if (nanoseconds_of(time) < before_ns) {
      // After the time: a thread that waits with the new word has read the new time, or one that is set later.
      word_.fetch_add(1);
      platform_.wake_one(word_);
    }
  }

  void wait() noexcept override
  {
    for (;;) {
      const uint32_t seen = word_.load();
      const TimePoint time = time_point_of(time_ns_.load());
      if (platform_.now() >= time) {
        return;
      }
      platform_.wait(word_, seen, time);
    }
  }

private:
  Platform & platform_;
  std::atomic<int64_t> time_ns_{nanoseconds_of(kNever)};
  std::atomic<uint32_t> word_{0};  // the number of times that were nearer than the one before
};

}  // namespace

std::unique_ptr<Alarm> Platform::make_alarm() { return std::make_unique<WordAlarm>(*this); }

}  // namespace rclrt_core
