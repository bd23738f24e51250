// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Programs that share FIFO bands, in one process or in several. The priorities go to a table of the
/// test instead of to the OS, so no permission is needed, and the clock may be moved on.
#pragma once

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "platform/linux/edf_neighbours.hpp"
#include "platform/linux/other_process.hpp"
#include "platform/linux/roll.hpp"
#include "platform/linux/sealed_memory.hpp"
#include "rclrt_core/deadline_scheduler.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace rclrt_core
{

class RecordingPlatform : public LinuxPlatform
{
public:
  int apply(ThreadId thread, const Attributes & attributes) noexcept override
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (refuses) {
      return EPERM;
    }
    priorities_[thread] = attributes.priority;
    return 0;
  }
  /// Only the thread of the test speaks for others; what it has started speaks for itself.
  ThreadId current_thread() noexcept override
  {
    return std::this_thread::get_id() == owner_ ? self.load() : 9999;
  }
  TimePoint now() noexcept override { return LinuxPlatform::now() + Duration(later_ns.load()); }

  int priority_of(ThreadId thread)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    return priorities_[thread];
  }
  std::size_t threads()
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    return priorities_.size();
  }

  std::atomic<ThreadId> self{9999};  ///< who asks
  std::atomic<int64_t> later_ns{0};
  std::atomic<bool> refuses{false};

private:
  const std::thread::id owner_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::map<ThreadId, int> priorities_;
};

inline void wait_until(const std::function<bool()> & condition, const std::string & what)
{
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition() && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(condition()) << what;
}

/// What killed processes of a test have left, if nobody has looked since.
inline void remove_entries(const std::string & name)
{
  linux_platform::Roll roll;
  const auto places = linux_platform::OwnDirectory::places();
  if (linux_platform::Roll::open(name, 0, places, &roll).ok()) {
    for (const linux_platform::RollEntry & entry : roll.entries()) {
      roll.remove(entry.file);
    }
  }
}

/// One that has threads 1, 2, ...
class EdfProgram
{
public:
  EdfProgram(const std::string & name, int runners, int run_priority = 49, int threads = 8)
  {
    FifoBandsOptions options;
    options.shared_name = name;
    options.runners = runners;
    options.run_priority = run_priority;
    made = FifoBands::make(platform, options, &bands);
    for (int i = 0; made.ok() && i < threads; ++i) {
      enter();
    }
  }

  void enter()
  {
    platform.self = static_cast<ThreadId>(slots_.size() + 1);
    slots_.emplace_back();
    EXPECT_TRUE(bands->enter(&slots_.back()).ok());
    platform.self = 9999;
  }
  int start(int thread, int64_t deadline)
  {
    return bands->start(slots_[static_cast<std::size_t>(thread - 1)], time_point_of(deadline));
  }
  void stop(int thread) { bands->stop(slots_[static_cast<std::size_t>(thread - 1)]); }
  int priority_of(int thread) { return platform.priority_of(thread); }
  std::string findings() const
  {
    std::string text;
    for (const Finding & finding : bands->findings()) {
      // A CI machine may refuse the attendant its priority; that is another test's matter.
      text += to_string(finding) + "\n";
    }
    return text;
  }

  RecordingPlatform platform;
  Status made;
  std::shared_ptr<FifoBands> bands;

private:
  std::vector<DeadlineScheduler::Slot> slots_;
};

/// Has all that a real program shares, but may be written all over: it publishes whatever it likes.
struct Liar
{
  Liar(const std::string & name, uint32_t runners, const std::vector<EdfPublished> & claims)
  {
    using linux_platform::OtherProcess;
    using linux_platform::SealedMemory;
    linux_platform::ProcessFacts self;
    const auto places = linux_platform::OwnDirectory::places();
    const auto writers = SealedMemory::Writers::kEverybody;
    if (
      linux_platform::Roll::open(name, EdfRegion::kVersion, places, &roll).ok() &&
      OtherProcess::facts_of_self(&self) &&
      SealedMemory::make("lies", sizeof(EdfRegion), writers, &jobs).ok() &&
      SealedMemory::make("lies", sizeof(EdfBell), writers, &bell).ok()) {
      region = new (jobs.data()) EdfRegion{};
      region->runners = runners;
      region->run_priority = 49;
      publish(*region, claims.data(), static_cast<uint32_t>(claims.size()));
      is_in = roll.add(self.born, jobs.descriptor(), bell.descriptor()).ok();
    }
  }
  /// As a program that ends: this process goes on.
  ~Liar()
  {
    if (region != nullptr) {
      region->closed = 1;
    }
    roll.remove(roll.own());
  }
  Liar(const Liar &) = delete;
  Liar & operator=(const Liar &) = delete;

  linux_platform::Roll roll;
  linux_platform::SealedMemory jobs;
  linux_platform::SealedMemory bell;
  EdfRegion * region = nullptr;
  bool is_in = false;
};

/// A program in a process of its own, which is asked to do one thing after another.
class EdfProcess
{
public:
  /// `body` gets each command and answers with one byte. It ends with this object.
  explicit EdfProcess(const std::function<std::function<char(int64_t)>()> & begin)
  {
    EXPECT_EQ(pipe(to_), 0);
    EXPECT_EQ(pipe(from_), 0);
    const pid_t parent = getpid();
    child_ = fork();
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) {
        _exit(1);
      }
      close(to_[1]);
      close(from_[0]);
      const auto body = begin();
      int64_t command = 0;
      while (::read(to_[0], &command, sizeof(command)) == sizeof(command)) {
        const char answer = body(command);
        if (write(from_[1], &answer, 1) != 1) {
          break;
        }
      }
      _exit(0);
    }
    close(to_[0]);
    close(from_[1]);
  }
  ~EdfProcess()
  {
    end();
    close(to_[1]);
    close(from_[0]);
  }
  EdfProcess(const EdfProcess &) = delete;
  EdfProcess & operator=(const EdfProcess &) = delete;

  pid_t id() const { return child_; }
  char ask(int64_t command)
  {
    char answer = 0;
    EXPECT_EQ(write(to_[1], &command, sizeof(command)), static_cast<ssize_t>(sizeof(command)));
    EXPECT_EQ(::read(from_[0], &answer, 1), 1) << "it has ended";
    return answer;
  }
  /// Returns when all its threads are stopped.
  void pause()
  {
    kill(child_, SIGSTOP);
    int status = 0;
    EXPECT_EQ(waitpid(child_, &status, WUNTRACED), child_);
    EXPECT_TRUE(WIFSTOPPED(status));
  }
  void go_on() { kill(child_, SIGCONT); }
  /// Without a word to anybody.
  void end()
  {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
      child_ = 0;
    }
  }

private:
  pid_t child_ = 0;
  int to_[2] = {-1, -1};
  int from_[2] = {-1, -1};
};

}  // namespace rclrt_core
