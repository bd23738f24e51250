// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "platform/linux/descriptor.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace rclrt_core
{
namespace
{

// The time of a timer of the kernel changes while a thread sleeps on it, and that thread sleeps on. If the program has
// closed the descriptor, another alarm takes its place, within a second: the thread that waits may not be reached before.
class TimerfdAlarm : public Alarm
{
public:
  TimerfdAlarm(LinuxPlatform & platform, linux_platform::Descriptor timer)
  : platform_(platform), timer_(std::move(timer)), instead_(platform.Platform::make_alarm())
  {
  }

  void set(TimePoint time) noexcept override
  {
    constexpr int64_t kSecond = 1'000'000'000;
    const TimePoint latest = platform_.now() + std::chrono::nanoseconds(kSecond);
    // 0 would stop the timer.
    const int64_t ns = std::max<int64_t>(1, nanoseconds_of(std::min(time, latest)));
    itimerspec spec{};
    spec.it_value.tv_sec = static_cast<time_t>(ns / kSecond);
    spec.it_value.tv_nsec = static_cast<long>(ns % kSecond);
    if (is_lost_.load() || timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr) != 0) {
      is_lost_.store(true);
      instead_->set(time);
    }
  }

  void wait() noexcept override
  {
    uint64_t times = 0;
    if (is_lost_.load()) {
      instead_->wait();
    } else if (::read(timer_.get(), &times, sizeof(times)) != sizeof(times) && errno != EINTR) {
      is_lost_.store(true);
    }
  }

private:
  LinuxPlatform & platform_;
  const linux_platform::Descriptor timer_;
  const std::unique_ptr<Alarm> instead_;
  std::atomic<bool> is_lost_{false};
};

}  // namespace

std::unique_ptr<Alarm> LinuxPlatform::make_alarm()
{
  linux_platform::Descriptor timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  if (!timer.is_open()) {
    return Platform::make_alarm();  // the process has no descriptor left
  }
  return std::make_unique<TimerfdAlarm>(*this, std::move(timer));
}

}  // namespace rclrt_core
