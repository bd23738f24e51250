// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What only our executors have: options, parameters files, attributes of threads.
#ifndef SCHEDULING_FIXTURE_HPP_
#define SCHEDULING_FIXTURE_HPP_

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "builtin_interfaces/msg/time.hpp"
#include "fixture.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace rclrt_rclcpp
{

using builtin_interfaces::msg::Time;

/// What is in force for the calling thread.
inline rclrt_core::Attributes attributes_here()
{
  rclrt_core::LinuxPlatform platform;
  rclrt_core::Attributes attributes;
  EXPECT_EQ(platform.read_back(platform.current_thread(), &attributes), 0);
  return attributes;
}

inline bool realtime_is_refused()
{
  rclrt_core::LinuxPlatform platform;
  rclrt_core::Attributes before;
  rclrt_core::Attributes fifo;
  fifo.policy = rclrt_core::SchedulingPolicy::kFifo;
  fifo.priority = 1;
  const auto self = platform.current_thread();
  const bool refused = platform.read_back(self, &before) != 0 || platform.apply(self, fifo) != 0;
  if (!refused) {
    platform.apply(self, before);
  }
  return refused;
}

inline rclrt_core::Attributes fifo(int priority)
{
  rclrt_core::Attributes attributes;
  attributes.policy = rclrt_core::SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

/// A file that is gone with the test.
class File
{
public:
  explicit File(const std::string & text)
  : path_(testing::TempDir() + "rclrt_rclcpp_" + std::to_string(getpid()) + ".yaml")
  {
    std::ofstream(path_) << text;
  }
  ~File() { std::remove(path_.c_str()); }
  File(const File &) = delete;
  File & operator=(const File &) = delete;
  const std::string & path() const { return path_; }

private:
  std::string path_;
};

template <typename ExecutorT>
struct OptionsOf;
template <>
struct OptionsOf<PreemptiveExecutor>
{
  using Type = PreemptiveExecutorOptions;
};
template <>
struct OptionsOf<CallbackIsolatedExecutor>
{
  using Type = CallbackIsolatedExecutorOptions;
};
template <>
struct OptionsOf<PriorityEventsExecutor>
{
  using Type = PriorityEventsExecutorOptions;
};

template <typename ExecutorT>
class SchedulingTest : public WithContext
{
protected:
  using Options = typename OptionsOf<ExecutorT>::Type;

  std::unique_ptr<ExecutorT> make_executor(const Options & options = {})
  {
    return std::make_unique<ExecutorT>(executor_options(), options);
  }
};

using Configurable =
  ::testing::Types<PreemptiveExecutor, CallbackIsolatedExecutor, PriorityEventsExecutor>;

}  // namespace rclrt_rclcpp

#endif  // SCHEDULING_FIXTURE_HPP_
