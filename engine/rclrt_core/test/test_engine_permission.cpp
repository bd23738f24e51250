// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The permission to be a real-time thread is taken away while the engine spins. In a process of its own.

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "rclrt_core/engine.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace rclrt_core
{
namespace
{

using std::chrono::milliseconds;

/// The limit is the process's, a capability that of each thread.
void withdraw_permission()
{
  const rlimit none{};
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct no_capability[2] = {};
  if (setrlimit(RLIMIT_RTPRIO, &none) != 0 || syscall(SYS_capset, &header, no_capability) != 0) {
    std::perror("withdraw_permission()");
    std::_Exit(3);
  }
}

/// One thread for "low" (FIFO 20), which publishes to "high" (30).
class Spinning
{
public:
  Spinning()
  {
    EngineOptions options;
    options.max_threads = 1;
    engine_ = std::make_unique<Engine>(platform_, options);
    high_ = add("high", 30, [] {});
    low_ = add("low", 20, [this] {
      if (withdraws_.exchange(false)) {
        withdraw_permission();
      }
      const Publication publication;
      engine_->notify(*high_);
    });
    spinner_ = std::thread([this] { (void)engine_->spin(); });
  }
  ~Spinning()
  {
    engine_->stop();
    spinner_.join();
  }
  Spinning(const Spinning &) = delete;
  Spinning & operator=(const Spinning &) = delete;

  /// What "low" and then "high" were run with.
  std::string run()
  {
    had_.clear();
    ended_ = 0;
    engine_->notify(*low_);
    for (int i = 0; i < 20000 && ended_ < 2; ++i) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    return ended_ == 2 ? had_ : "hangs: " + had_;
  }
  /// From this thread and, in the next "low", from the one that runs both.
  void withdraw()
  {
    withdraw_permission();
    withdraws_ = true;
  }
  /// Who was refused what.
  std::string refusals() const
  {
    std::string text;
    for (const Finding & finding : engine_->findings()) {
      text += finding.error_number == EPERM ? finding.subject + " " + finding.what + "; " : "";
    }
    return text;
  }

private:
  std::shared_ptr<Callback> add(const std::string & name, int priority, std::function<void()> body)
  {
    GroupOptions group_options;
    group_options.name = name;
    std::shared_ptr<Group> group;
    EXPECT_TRUE(engine_->add_group(group_options, &group).ok());
    CallbackOptions options;
    options.name = name;
    options.attributes.policy = SchedulingPolicy::kFifo;
    options.attributes.priority = priority;
    options.run = [this, body = std::move(body)](const Job &) {
      body();
      Attributes mine;
      platform_.read_back(platform_.current_thread(), &mine);
      had_ += to_string(mine.policy) + std::string(" ") + std::to_string(mine.priority) + "; ";
      ++ended_;
      return true;
    };
    std::shared_ptr<Callback> callback;
    EXPECT_TRUE(engine_->add_callback(options, group, &callback).ok());
    return callback;
  }

  LinuxPlatform platform_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<Callback> high_, low_;
  std::string had_;  // of one job after the other
  std::atomic<int> ended_{0};
  std::atomic<bool> withdraws_{false};
  std::thread spinner_;
};

TEST(Permission, that_is_withdrawn_while_it_spins_is_told_and_everything_goes_on)
{
  Attributes highest;
  highest.policy = SchedulingPolicy::kFifo;
  highest.priority = 30;
  int refusal = 0;
  std::thread([&] {
    LinuxPlatform platform;
    refusal = platform.apply(platform.current_thread(), highest);
  }).join();
  if (refusal != 0) {
    GTEST_SKIP() << "real-time scheduling is refused: docs/how-to/real-time-permissions.md";
  }
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto child = [] {
    Spinning spinning;
    std::string seen = spinning.run() + "\n";
    spinning.withdraw();
    seen += spinning.run() + "\n";
    seen += spinning.run() + "\n";
    std::fprintf(stderr, "%s%s\n", seen.c_str(), spinning.refusals().c_str());
    std::_Exit(0);
  };
  // A thread keeps what it has, and nobody gets more.
  EXPECT_EXIT(
    child(), ::testing::ExitedWithCode(0),
    "fifo 20; fifo 30; \nfifo 20; other 0; \nother 0; other 0; \n"
    "high asked for fifo, priority 30; low asked for fifo, priority 20; ");
}

}  // namespace
}  // namespace rclrt_core
