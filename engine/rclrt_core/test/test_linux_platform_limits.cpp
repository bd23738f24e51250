// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Findings about what the process may not do. Each case runs in a child process that first gives
/// up its privileges and sets its limits, so that the outcome is the same for root and for users.

#include <grp.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "platform/linux/limits.hpp"
#include "platform/linux/other_process.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace rclrt_core
{
namespace
{

constexpr uid_t kNobody = 65534;

void limit(linux_platform::Resource resource, rlim_t value)
{
  rlimit wanted{};
  getrlimit(resource, &wanted);
  wanted.rlim_cur = value;
  if (wanted.rlim_max < value) {
    wanted.rlim_max = value;
  }
  if (setrlimit(resource, &wanted) != 0) {
    std::perror("setrlimit");
    std::exit(3);
  }
}

// The child stays the user it is: capabilities go, files of the build stay readable.
void drop_capabilities()
{
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) != 0) {
    std::perror("capset");
    std::exit(3);
  }
}

Attributes fifo(int priority)
{
  Attributes attributes;
  attributes.scheduling_policy = SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

// Writes for the parent whether apply() refused, and how that is explained.
[[noreturn]] void apply_and_explain(const Attributes & attributes)
{
  LinuxPlatform platform;
  const int error_number = platform.apply(platform.current_thread(), attributes);
  const Finding finding = platform.explain("callback 'a'", attributes, error_number);
  std::fprintf(stderr, "%s\n", to_string(finding).c_str());
  std::exit(error_number == 0 ? 1 : 0);
}

void print(const std::vector<Finding> & findings)
{
  for (const Finding & finding : findings) {
    std::fprintf(stderr, "%s\n", to_string(finding).c_str());
  }
}

class LinuxLimits : public ::testing::Test
{
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(LinuxLimits, fifo_without_permission_is_explained_with_the_line_to_add)
{
  EXPECT_EXIT(
    {
      drop_capabilities();
      limit(RLIMIT_RTPRIO, 0);
      apply_and_explain(fifo(80));
    },
    ::testing::ExitedWithCode(0),
    "callback 'a': asked for fifo, priority 80 \\(Operation not permitted\\). RLIMIT_RTPRIO is 0. "
    "Add the line '@realtime - rtprio 99' to /etc/security/limits.d/realtime.conf.*"
    "LimitRTPRIO=99.*--ulimit rtprio=99\\), or give CAP_SYS_NICE");
}

/// Has all capabilities, none of which counts for the machine.
void enter_user_namespace()
{
  if (unshare(CLONE_NEWUSER) != 0) {
    std::fprintf(stderr, "no user namespace here\n");
    std::exit(0);
  }
}

TEST_F(LinuxLimits, capabilities_of_a_user_namespace_are_not_taken_for_those_of_the_machine)
{
  constexpr char kNone[] = "no user namespace here";
  EXPECT_EXIT(
    {
      limit(RLIMIT_RTPRIO, 0);
      enter_user_namespace();
      apply_and_explain(fifo(80));
    },
    ::testing::ExitedWithCode(0),
    std::string(kNone) + "|RLIMIT_RTPRIO is 0, and CAP_SYS_NICE of a user namespace");
  EXPECT_EXIT(
    {
      limit(RLIMIT_RTPRIO, 0);
      limit(RLIMIT_MEMLOCK, 65536);
      enter_user_namespace();
      print(LinuxPlatform().check_system(true));
      std::exit(0);
    },
    ::testing::ExitedWithCode(0),
    std::string(kNone) + "|priorities above 0 will be refused(.|\n)*RLIMIT_MEMLOCK is 65536 bytes");
  EXPECT_EXIT(
    {
      enter_user_namespace();
      linux_platform::ProcessFacts facts;
      std::exit(linux_platform::OtherProcess::facts_of_self(&facts) && !facts.may_raise ? 0 : 1);
    },
    ::testing::ExitedWithCode(0), "");
}

TEST(RealtimeRefusal, names_one_cause_and_what_helps_against_that)
{
  using linux_platform::RealtimeFacts;
  RealtimeFacts facts;
  facts.limit = "50";
  const auto why = [&facts] { return why_no_realtime(facts); };
  EXPECT_EQ(why().find("RLIMIT_RTPRIO is 50. Add the line"), 0U);
  facts.group_runtime_us = 0;
  facts.group_file = "/sys/fs/cgroup/cpu/box/cpu.rt_runtime_us";
  EXPECT_EQ(why().find("RLIMIT_RTPRIO is 50. Add the line"), 0U) << "that comes first";
  facts.is_permitted = true;
  EXPECT_EQ(why().find("/sys/fs/cgroup/cpu/box/cpu.rt_runtime_us is 0, and then"), 0U);
  for (const auto & runtime : {std::optional<int64_t>(), std::optional<int64_t>(950'000)}) {
    facts.group_runtime_us = runtime;
    EXPECT_NE(why().find("CONFIG_RT_GROUP_SCHED"), std::string::npos);
    EXPECT_NE(why().find("There is no file to set in cgroup v2"), std::string::npos);
    EXPECT_EQ(why().find("cpu.rt_runtime_us"), std::string::npos) << "cgroup v2 has none";
  }
  facts.is_filtered = true;
  EXPECT_NE(why().find("RestrictRealtime=no"), std::string::npos);
}

/// With cgroup v1 and CONFIG_RT_GROUP_SCHED a new group has no budget for real-time threads.
TEST_F(LinuxLimits, a_control_group_without_a_budget_is_named_by_its_file)
{
  const std::string group = "/sys/fs/cgroup/cpu/rclrt_test_" + std::to_string(getpid());
  if (
    mkdir(group.c_str(), 0755) != 0 || access((group + "/cpu.rt_runtime_us").c_str(), F_OK) != 0) {
    rmdir(group.c_str());
    GTEST_SKIP() << "skipped: no cgroup v1 with CONFIG_RT_GROUP_SCHED that this process may use";
  }
  EXPECT_EXIT(
    {
      std::ofstream(group + "/cgroup.procs") << getpid() << std::flush;
      LinuxPlatform platform;
      const int error = platform.apply(platform.current_thread(), fifo(10));
      const std::string said = to_string(platform.explain("callback 'a'", fifo(10), error));
      std::ofstream("/sys/fs/cgroup/cpu/cgroup.procs") << getpid() << std::flush;
      rmdir(group.c_str());  // the child begins this test anew, with a group of its own
      std::fprintf(stderr, "%s\n", said.c_str());
      std::exit(error == EPERM ? 0 : 1);
    },
    ::testing::ExitedWithCode(0), "cpu.rt_runtime_us is 0, and then no process|RLIMIT_RTPRIO is");
  rmdir(group.c_str());
}

TEST_F(LinuxLimits, fifo_above_the_limit_is_refused)
{
  rlimit present{};
  getrlimit(RLIMIT_RTPRIO, &present);
  if (present.rlim_max < 20 && !linux_platform::has_capability(CAP_SYS_RESOURCE)) {
    GTEST_SKIP() << "skipped: RLIMIT_RTPRIO is at most " << present.rlim_max
                 << " and raising it needs CAP_SYS_RESOURCE";
  }
  EXPECT_EXIT(
    {
      limit(RLIMIT_RTPRIO, 20);
      drop_capabilities();
      LinuxPlatform platform;
      if (platform.apply(platform.current_thread(), fifo(20)) != 0) {
        std::exit(2);
      }
      // Back to plain and up again: reset-on-fork must not stand in the way.
      Attributes plain;
      plain.scheduling_policy = SchedulingPolicy::kOther;
      plain.nice = getpriority(PRIO_PROCESS, 0);
      if (platform.apply(platform.current_thread(), plain) != 0) {
        std::exit(4);
      }
      apply_and_explain(fifo(21));
    },
    ::testing::ExitedWithCode(0), "priority 21 \\(Operation not permitted\\). RLIMIT_RTPRIO is 20");
}

// Clearing the reset-on-fork flag needs a privilege; leaving SCHED_FIFO does not.
TEST_F(LinuxLimits, a_real_time_thread_becomes_plain_without_permission)
{
  if (!linux_platform::has_capability(CAP_SYS_NICE)) {
    GTEST_SKIP() << "skipped: no CAP_SYS_NICE to become real-time in the first place";
  }
  EXPECT_EXIT(
    {
      LinuxPlatform platform;
      if (platform.apply(platform.current_thread(), fifo(20)) != 0) {
        std::exit(2);
      }
      drop_capabilities();
      Attributes plain;
      plain.scheduling_policy = SchedulingPolicy::kOther;
      plain.nice = getpriority(PRIO_PROCESS, 0);  // a smaller one needs a permission of its own
      std::exit(platform.apply(platform.current_thread(), plain));
    },
    ::testing::ExitedWithCode(0), "");
}

TEST_F(LinuxLimits, deadline_without_permission_is_explained)
{
  EXPECT_EXIT(
    {
      drop_capabilities();
      Attributes attributes;
      attributes.scheduling_policy = SchedulingPolicy::kDeadline;
      attributes.runtime = std::chrono::milliseconds(1);
      attributes.deadline = attributes.period = std::chrono::milliseconds(10);
      apply_and_explain(attributes);
    },
    ::testing::ExitedWithCode(0), "SCHED_DEADLINE always needs CAP_SYS_NICE.*--cap-add sys_nice");
}

TEST_F(LinuxLimits, smaller_nice_without_permission_is_explained)
{
  EXPECT_EXIT(
    {
      drop_capabilities();
      limit(RLIMIT_NICE, 0);
      Attributes attributes;
      attributes.scheduling_policy = SchedulingPolicy::kOther;
      attributes.nice = -5;
      apply_and_explain(attributes);
    },
    ::testing::ExitedWithCode(0), "RLIMIT_NICE, which is 0.*'@realtime - nice -5'");
}

TEST_F(LinuxLimits, check_system_reports_limits_that_refuse_or_kill_real_time_threads)
{
  EXPECT_EXIT(
    {
      drop_capabilities();
      limit(RLIMIT_RTPRIO, 0);
      limit(RLIMIT_RTTIME, 200'000);
      limit(RLIMIT_MEMLOCK, 65536);
      print(LinuxPlatform().check_system(true));
      std::exit(0);
    },
    ::testing::ExitedWithCode(0),
    "priorities above 0 will be refused \\(RLIMIT_RTPRIO\\)(.|\n)*200000 us without blocking ends "
    "the process(.|\n)*RLIMIT_MEMLOCK is 65536 bytes");
}

TEST_F(LinuxLimits, check_system_is_silent_about_real_time_when_nobody_wants_it)
{
  EXPECT_EXIT(
    {
      limit(RLIMIT_RTTIME, 200'000);
      std::exit(LinuxPlatform().check_system(false).empty() ? 0 : 1);
    },
    ::testing::ExitedWithCode(0), "");
}

TEST_F(LinuxLimits, throttling_is_reported_exactly_when_the_kernel_has_it)
{
  const auto runtime_us = linux_platform::number_in("/proc/sys/kernel/sched_rt_runtime_us");
  const auto period_us = linux_platform::number_in("/proc/sys/kernel/sched_rt_period_us");
  if (!runtime_us || !period_us) {
    GTEST_SKIP() << "skipped: no /proc/sys/kernel/sched_rt_runtime_us here";
  }
  std::string lost;
  for (const Finding & finding : LinuxPlatform().check_system(true)) {
    if (finding.what.find("sched_rt_runtime_us") != std::string::npos) {
      lost = finding.what;
    }
  }
  if (*runtime_us < 0 || *runtime_us >= *period_us) {
    EXPECT_EQ(lost, "");
  } else {
    const std::string expected =
      "lose their CPU for " + std::to_string(*period_us - *runtime_us) + " us in each";
    EXPECT_NE(lost.find(expected), std::string::npos) << lost;
  }
}

#if !defined(RCLRT_SANITIZE_address) && !defined(RCLRT_SANITIZE_thread)
// The sanitizers replace mlockall() by nothing.
TEST_F(LinuxLimits, refused_memory_lock_is_a_finding_with_the_line_to_add)
{
  EXPECT_EXIT(
    {
      drop_capabilities();
      limit(RLIMIT_MEMLOCK, 65536);
      print(LinuxPlatform().lock_memory());
      std::exit(0);
    },
    ::testing::ExitedWithCode(0),
    "machine: asked to lock all memory; RLIMIT_MEMLOCK is 65536 bytes \\(.*\\). Add the line "
    "'@realtime - memlock unlimited'.*LimitMEMLOCK=infinity");
}

TEST_F(LinuxLimits, permitted_memory_lock_locks)
{
  if (!linux_platform::has_capability(CAP_IPC_LOCK)) {
    GTEST_SKIP() << "skipped: no CAP_IPC_LOCK";
  }
  EXPECT_EXIT(
    {
      const auto findings = LinuxPlatform().lock_memory();
      print(findings);
      FILE * status = std::fopen("/proc/self/status", "r");
      char line[256];
      while (std::fgets(line, sizeof(line), status) != nullptr) {
        std::fputs(line, stderr);
      }
      std::exit(findings.empty() ? 0 : 1);
    },
    ::testing::ExitedWithCode(0), "VmLck:[ \t]*[1-9]");
}
#endif

TEST_F(LinuxLimits, too_many_threads_is_an_error_that_names_the_limit)
{
  if (geteuid() != 0) {
    GTEST_SKIP() << "skipped: only root can become a user whose thread limit is known to be full";
  }
  EXPECT_EXIT(
    {
      limit(RLIMIT_NPROC, 1);
      if (setgroups(0, nullptr) != 0 || setgid(kNobody) != 0 || setuid(kNobody) != 0) {
        std::exit(3);
      }
      LinuxPlatform platform;
      std::unique_ptr<Thread> first;
      std::unique_ptr<Thread> second;
      ThreadOptions options;
      options.name = "worker";
      const auto body = [] { usleep(10'000'000); };
      Status status = platform.start_thread(options, body, nullptr, &first);
      if (status.ok()) {
        status = platform.start_thread(options, body, nullptr, &second);
      }
      std::fprintf(stderr, "%s\n", status.message().c_str());
      std::_Exit(status.ok() ? 1 : 0);
    },
    ::testing::ExitedWithCode(0),
    "thread 'worker' cannot start \\(Resource temporarily unavailable\\).*RLIMIT_NPROC is 1;");
}

}  // namespace
}  // namespace rclrt_core
