// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Attributes of threads, files that ask for them, and one CPU.
#pragma once

#include <gtest/gtest.h>
#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "rclrt_core/linux_platform.hpp"

namespace conformance
{

using rclrt_core::Attributes;

inline Attributes fifo(int priority)
{
  Attributes attributes;
  attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

/// What is in force for the calling thread.
inline Attributes attributes_here()
{
  rclrt_core::LinuxPlatform platform;
  Attributes attributes;
  EXPECT_EQ(platform.read_back(platform.current_thread(), &attributes), 0);
  return attributes;
}

/// Returns errno.
inline int apply_here(const Attributes & attributes)
{
  rclrt_core::LinuxPlatform platform;
  return platform.apply(platform.current_thread(), attributes);
}

inline bool realtime_is_refused()
{
  const Attributes before = attributes_here();
  return apply_here(fifo(1)) != 0 || apply_here(before) != 0;
}

#define SKIP_WITHOUT_REAL_TIME()                                                             \
  if (conformance::realtime_is_refused()) {                                                  \
    GTEST_SKIP() << "real-time scheduling is refused: docs/how-to/real-time-permissions.md"; \
  }

/// A file that is gone with the test.
class File
{
public:
  explicit File(const std::string & text)
  : path_(testing::TempDir() + "rclrt_" + std::to_string(getpid()) + ".yaml")
  {
    std::ofstream(path_) << text;
  }
  ~File() { std::remove(path_.c_str()); }
  File(const File &) = delete;
  File & operator=(const File &) = delete;
  const std::string & path() const { return path_; }

private:
  const std::string path_;
};

/// The lines below `rclrt` of a parameters file, for all nodes.
inline std::string for_all(const std::string & lines)
{
  return "/**:\n  ros__parameters:\n    rclrt:\n" + lines;
}

/// While it exists, this thread and those that it starts have one CPU.
class OneCpu
{
public:
  OneCpu() : before_(attributes_here())
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

}  // namespace conformance
