// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Executors that go by deadlines, and other processes from which these come.
#ifndef DEADLINES_FIXTURE_HPP_
#define DEADLINES_FIXTURE_HPP_

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "rclrt_core/job.hpp"
#include "rclrt_core/policy.hpp"
#include "scheduling_fixture.hpp"

namespace rclrt_rclcpp
{

constexpr int64_t kNone = -1;

/// Deadline of the calling job, nanoseconds of the steady clock.
inline int64_t deadline_here()
{
  const rclrt_core::TimePoint deadline = rclrt_core::current_job()->deadline;
  return deadline == rclrt_core::kNever ? kNone : rclrt_core::nanoseconds_of(deadline);
}

template <typename ExecutorT>
class CarriedDeadlines : public SchedulingTest<ExecutorT>
{
protected:
  // Before anything reads it. By default ROS 2 does not lend to subscriptions.
  static void SetUpTestSuite() { setenv("ROS_DISABLE_LOANED_MESSAGES", "0", 1); }

  std::unique_ptr<ExecutorT> make_edf_executor()
  {
    typename SchedulingTest<ExecutorT>::Options options;
    options.policy = &rclrt_core::edf_policy();
    return this->make_executor(options);
  }
};

/// A program that is started with arguments, and killed at the end.
class Process
{
public:
  explicit Process(std::vector<const char *> command)
  {
    command.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      execv(command[0], const_cast<char **>(command.data()));
      _exit(127);
    }
  }
  ~Process()
  {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  Process(const Process &) = delete;
  Process & operator=(const Process &) = delete;

private:
  pid_t pid_ = -1;
};

}  // namespace rclrt_rclcpp

#endif  // DEADLINES_FIXTURE_HPP_
