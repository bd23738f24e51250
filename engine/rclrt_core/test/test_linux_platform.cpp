// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "rclrt_core/linux_platform.hpp"

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

namespace rclrt_core
{
namespace
{

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

class LinuxPlatformTest : public ::testing::Test
{
protected:
  std::unique_ptr<Thread> start(const ThreadOptions & options, std::function<void()> body)
  {
    std::unique_ptr<Thread> thread;
    const Status status = platform.start_thread(
      options, std::move(body), [](const Finding & f) { ADD_FAILURE() << to_string(f); }, &thread);
    EXPECT_TRUE(status.ok()) << status.message();
    return thread;
  }

  // Run `body` on a thread under these attributes; false when the kernel refuses them.
  bool run_under(const Attributes & attributes, const std::function<void()> & body)
  {
    ThreadOptions options;
    options.name = "under";
    std::string refusal;
    start(options, [&] {
      const int error_number = platform.apply(platform.current_thread(), attributes);
      if (error_number != 0) {
        // Anything else is no lack of permission, or of room for deadlines.
        EXPECT_TRUE(error_number == EPERM || error_number == EBUSY) << error_number;
        refusal = to_string(platform.explain("this test", attributes, error_number));
      } else {
        body();
      }
    })->join();
    if (!refusal.empty()) {
      std::printf("skipped: %s\n", refusal.c_str());
    }
    return refusal.empty();
  }

  Attributes in_force()
  {
    Attributes attributes;
    EXPECT_EQ(platform.read_back(platform.current_thread(), &attributes), 0);
    return attributes;
  }

  LinuxPlatform platform;
};

Attributes fifo(int priority)
{
  Attributes attributes;
  attributes.scheduling_policy = SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

Attributes deadline()
{
  Attributes attributes;
  attributes.scheduling_policy = SchedulingPolicy::kDeadline;
  attributes.runtime = std::chrono::microseconds(1001);
  attributes.deadline = std::chrono::microseconds(15002);
  attributes.period = std::chrono::microseconds(20003);
  return attributes;
}

#define REQUIRE_PERMISSION(attributes) \
  if (!run_under(attributes, [] {}))   \
  GTEST_SKIP() << "no permission for " << to_string(attributes)

TEST_F(LinuxPlatformTest, name_is_cut_to_what_the_kernel_keeps_and_listed)
{
  ThreadOptions options;
  options.name = "a_name_of_20_letters";
  std::atomic<uint32_t> gate{0};
  ThreadId id = 0;
  std::atomic<bool> started{false};
  const auto thread = start(options, [&] {
    id = platform.current_thread();
    started.store(true);
    while (gate.load() == 0) {
      platform.wait(gate, 0, kNever);
    }
  });
  while (!started.load()) {
    usleep(100);
  }
  EXPECT_THAT(platform.threads(), Contains(Pair(id, "a_name_of_20_le")));
  gate.store(1);
  platform.wake_one(gate);
}

TEST_F(LinuxPlatformTest, a_thread_knows_its_number_also_in_a_child_of_the_process)
{
  const ThreadId mine = platform.current_thread();
  EXPECT_EQ(mine, getpid());
  ThreadId of_other = 0;
  std::thread([&] { of_other = platform.current_thread(); }).join();
  EXPECT_NE(of_other, mine);
  EXPECT_NE(of_other, 0);
  const pid_t child = fork();
  if (child == 0) {
    _exit(platform.current_thread() == getpid() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(LinuxPlatformTest, stack_has_the_size_asked_for_rounded_up_to_pages)
{
  const auto size_of = [this](std::size_t asked) {
    ThreadOptions options;
    options.stack_size = asked;
    std::size_t size = 0;
    start(options, [&size] {
      pthread_attr_t attributes;
      pthread_getattr_np(pthread_self(), &attributes);
      pthread_attr_getstacksize(&attributes, &size);
      pthread_attr_destroy(&attributes);
    })->join();
    return size;
  };
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(size_of(1024 * 1024), 1024u * 1024u);
  EXPECT_EQ(size_of(1024 * 1024 + 1), 1024u * 1024u + page);
#if !defined(RCLRT_SANITIZE_address) && !defined(RCLRT_SANITIZE_thread)
  EXPECT_EQ(size_of(1), static_cast<std::size_t>(PTHREAD_STACK_MIN));
#endif
}

TEST_F(LinuxPlatformTest, a_thread_that_cannot_start_is_an_error_that_names_the_limits)
{
  ThreadOptions options;
  options.name = "huge";
  options.stack_size = std::size_t{1} << 60;
  std::unique_ptr<Thread> thread;
  const Status status = platform.start_thread(options, [] {}, nullptr, &thread);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(thread, nullptr);
  EXPECT_THAT(status.message(), HasSubstr("thread 'huge' cannot start"));
  EXPECT_THAT(status.message(), HasSubstr("RLIMIT_NPROC"));
  EXPECT_THAT(status.message(), HasSubstr("smaller stack"));
}

TEST_F(LinuxPlatformTest, real_time_attributes_are_read_back)
{
  REQUIRE_PERMISSION(fifo(10));
  EXPECT_TRUE(run_under(fifo(10), [&] {
    EXPECT_EQ(in_force().scheduling_policy, SchedulingPolicy::kFifo);
    EXPECT_EQ(in_force().priority, 10);
  }));
  Attributes rr = fifo(20);
  rr.scheduling_policy = SchedulingPolicy::kRoundRobin;
  EXPECT_TRUE(run_under(rr, [&] {
    EXPECT_EQ(in_force().scheduling_policy, SchedulingPolicy::kRoundRobin);
    EXPECT_EQ(in_force().priority, 20);
  }));
}

TEST_F(LinuxPlatformTest, deadline_attributes_are_read_back_to_the_nanosecond)
{
  REQUIRE_PERMISSION(deadline());
  EXPECT_TRUE(run_under(deadline(), [&] {
    Attributes expected = deadline();
    const Attributes actual = in_force();
    expected.cpu_affinity = actual.cpu_affinity;
    EXPECT_EQ(to_string(actual), to_string(expected));
    EXPECT_EQ(actual, expected);
  }));
}

TEST_F(LinuxPlatformTest, pinned_deadline_thread_is_refused_and_explained)
{
  REQUIRE_PERMISSION(deadline());
  if (platform.cpu_count() < 2) {
    GTEST_SKIP() << "skipped: one CPU is all CPUs here";
  }
  Attributes pinned = deadline();
  pinned.cpu_affinity = CpuSet({in_force().cpu_affinity.cpus().front()});
  ThreadOptions options;
  start(options, [&] {
    const int error_number = platform.apply(platform.current_thread(), pinned);
    EXPECT_EQ(error_number, EPERM);
    EXPECT_THAT(
      to_string(platform.explain("a", pinned, error_number)), HasSubstr("remove its cpu_affinity"));
  })->join();
}

TEST_F(LinuxPlatformTest, a_pinned_thread_becomes_deadline_and_back_in_one_call_each)
{
  REQUIRE_PERMISSION(deadline());
  const CpuSet all = in_force().cpu_affinity;
  Attributes pinned = fifo(10);
  pinned.cpu_affinity = CpuSet({all.cpus().front()});
  Attributes free = deadline();
  free.cpu_affinity = all;
  ThreadOptions options;
  start(options, [&] {
    const ThreadId self = platform.current_thread();
    EXPECT_EQ(platform.apply(self, pinned), 0);
    EXPECT_EQ(platform.apply(self, free), 0);
    EXPECT_EQ(platform.apply(self, pinned), 0);
  })->join();
}

TEST_F(LinuxPlatformTest, threads_started_by_a_real_time_thread_are_not_real_time)
{
  REQUIRE_PERMISSION(fifo(10));
  EXPECT_TRUE(run_under(fifo(10), [&] {
    ThreadOptions options;
    start(options, [&] {
      EXPECT_EQ(in_force().scheduling_policy, SchedulingPolicy::kOther);
    })->join();
  }));
}

TEST_F(LinuxPlatformTest, cpus_that_cannot_be_had_are_left_out_and_the_policy_is_in_force)
{
  const CpuSet all = platform.usable_cpu_set();
  const int first = all.cpus().front();
  Attributes attributes;
  attributes.scheduling_policy = SchedulingPolicy::kBatch;
  attributes.cpu_affinity = CpuSet({first, CpuSet::kMaxCpus - 1});
  ThreadOptions options;
  start(options, [&] {
    EXPECT_EQ(platform.apply(platform.current_thread(), attributes), kCpusLeftOut);
    EXPECT_EQ(in_force().scheduling_policy, SchedulingPolicy::kBatch);
    EXPECT_EQ(in_force().cpu_affinity, CpuSet({first}));
    attributes.cpu_affinity = CpuSet({CpuSet::kMaxCpus - 1});
    attributes.scheduling_policy = SchedulingPolicy::kIdle;
    EXPECT_EQ(platform.apply(platform.current_thread(), attributes), kCpusLeftOut);
    EXPECT_EQ(in_force().scheduling_policy, SchedulingPolicy::kIdle);
    EXPECT_EQ(in_force().cpu_affinity, all) << "none can be had: as if none had been asked for";
  })->join();
  EXPECT_THAT(
    to_string(platform.explain("a", attributes, kCpusLeftOut)),
    HasSubstr("CPUs 1023: the process may use " + all.to_string()));
}

TEST_F(LinuxPlatformTest, a_policy_that_is_refused_prevails_over_cpus_that_are_left_out)
{
  Attributes attributes = fifo(0);
  attributes.cpu_affinity = CpuSet({CpuSet::kMaxCpus - 1});
  ThreadOptions options;
  start(options, [&] {
    EXPECT_EQ(platform.apply(platform.current_thread(), attributes), EINVAL);
  })->join();
}

TEST_F(LinuxPlatformTest, the_affinity_of_a_thread_does_not_change_which_cpus_may_be_used)
{
  std::thread([this] {
    const CpuSet all = platform.usable_cpu_set();
    Attributes pinned;
    pinned.cpu_affinity = CpuSet({all.cpus().front()});
    EXPECT_EQ(platform.apply(platform.current_thread(), pinned), 0);
    EXPECT_EQ(platform.usable_cpu_set(), all);
    EXPECT_EQ(in_force().cpu_affinity, pinned.cpu_affinity) << "nor does the question";
  }).join();
}

/// A control group whose cpuset is the first CPU. Empty if there is none to be had.
class SmallCpuset
{
public:
  explicit SmallCpuset(int cpu)
  {
    const std::string parent = "/sys/fs/cgroup/cpuset/";
    std::string mems;
    std::getline(std::ifstream(parent + "cpuset.mems"), mems);
    const std::string made = parent + "rclrt_test." + std::to_string(getpid());
    if (mkdir(made.c_str(), 0700) != 0) {
      return;
    }
    path = made;
    std::ofstream(path + "/cpuset.mems") << mems;
    std::ofstream(path + "/cpuset.cpus") << cpu;
  }
  ~SmallCpuset()
  {
    if (!path.empty()) {
      rmdir(path.c_str());
    }
  }
  SmallCpuset(const SmallCpuset &) = delete;
  SmallCpuset & operator=(const SmallCpuset &) = delete;

  std::string path;
};

TEST_F(
  LinuxPlatformTest, outside_the_cpuset_of_the_process_a_cpu_is_left_out_and_the_priority_stays)
{
  REQUIRE_PERMISSION(fifo(10));
  const std::vector<int> all = platform.usable_cpu_set().cpus();
  if (all.size() < 2) {
    GTEST_SKIP() << "skipped: one CPU is all CPUs here";
  }
  const SmallCpuset small(all[0]);
  if (small.path.empty()) {
    GTEST_SKIP() << "skipped: no control group can be made in /sys/fs/cgroup/cpuset: "
                 << std::generic_category().message(errno);
  }
  const pid_t child = fork();
  if (child == 0) {
    // The number says which of these failed.
    std::ofstream(small.path + "/tasks") << getpid() << std::flush;
    const CpuSet first({all[0]});
    Attributes attributes = fifo(10);
    attributes.cpu_affinity = CpuSet({all[1]});
    const ThreadId self = platform.current_thread();
    if (platform.usable_cpu_set() != first) {
      _exit(1);
    }
    if (platform.apply(self, attributes) != kCpusLeftOut) {
      _exit(2);
    }
    if (in_force().priority != 10 || in_force().cpu_affinity != first) {
      _exit(3);
    }
    attributes.cpu_affinity = first;
    _exit(platform.apply(self, attributes) == 0 ? 0 : 4);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

TEST_F(LinuxPlatformTest, only_cpus_that_may_be_used_are_counted_as_usable)
{
  std::thread([this] {
    const CpuSet all = in_force().cpu_affinity;
    EXPECT_EQ(platform.usable_cpus(), static_cast<int>(all.cpus().size()));
    Attributes pinned;
    pinned.cpu_affinity = CpuSet({all.cpus().front()});
    EXPECT_EQ(platform.apply(platform.current_thread(), pinned), 0);
    EXPECT_EQ(platform.usable_cpus(), 1);
  }).join();
}

TEST_F(LinuxPlatformTest, the_affinity_is_applied_although_the_policy_is_refused)
{
  Attributes attributes = fifo(0);
  attributes.cpu_affinity = CpuSet({in_force().cpu_affinity.cpus().front()});
  ThreadOptions options;
  start(options, [&] {
    EXPECT_EQ(platform.apply(platform.current_thread(), attributes), EINVAL);
    EXPECT_EQ(in_force().cpu_affinity, attributes.cpu_affinity);
  })->join();
}

// Field 18 of the kernel's stat line, counted after the name, which may hold spaces.
int kernel_priority(ThreadId id)
{
  std::ifstream file("/proc/self/task/" + std::to_string(id) + "/stat");
  std::string line;
  std::getline(file, line);
  std::istringstream fields(line.substr(line.rfind(')') + 2));
  std::string field;
  for (int i = 3; i <= 18; ++i) {
    fields >> field;
  }
  return std::stoi(field);
}

TEST_F(LinuxPlatformTest, who_holds_a_mutex_inherits_the_priority_of_who_waits_for_it)
{
  REQUIRE_PERMISSION(fifo(50));
  const auto mutex = platform.make_mutex();
  const ThreadId self = platform.current_thread();
  mutex->lock();
  EXPECT_GE(kernel_priority(self), 0);
  ThreadOptions options;
  options.attributes = fifo(50);
  const auto waiter = start(options, [&] {
    mutex->lock();
    mutex->unlock();
  });
  // A bounded, generous wait: 10 s.
  for (int i = 0; i < 10000 && kernel_priority(self) != -51; ++i) {
    usleep(1000);
  }
  EXPECT_EQ(kernel_priority(self), -51) << "the kernel writes fifo 50 as -51";
  mutex->unlock();
  EXPECT_GE(kernel_priority(self), 0);
}

TEST_F(LinuxPlatformTest, to_release_a_mutex_that_another_thread_holds_ends_the_process)
{
#if defined(RCLRT_SANITIZE_thread)
  GTEST_SKIP() << "this sanitizer reports it first, in words of its own";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
    platform.make_mutex()->unlock(), "rclrt_core: pthread_mutex_unlock: Operation not permitted");
}

// ---- What a thread learns of its own use of the CPU.

class CpuMeters : public ::testing::Test
{
protected:
  LinuxPlatform platform;
};

/// Whether the kernel and the C library have restartable sequences.
bool has_rseq()
{
#if __has_include(<sys/rseq.h>)
  return __rseq_size != 0;
#else
  return false;
#endif
}
constexpr char kNoRseq[] = "this kernel or C library has no restartable sequences (rseq)";

TEST_F(CpuMeters, a_thread_that_loses_its_cpu_now_and_then_has_kept_it_in_between)
{
  if (!has_rseq()) {
    GTEST_SKIP() << kNoRseq;
  }
  CpuUse use;
  for (int i = 0; i < 1000 && !use.has_kept; ++i) {
    use = platform.read_meter(platform.start_meter(true));
  }
  EXPECT_TRUE(use.has_kept);
  EXPECT_EQ(use.preemptions, 0);
  EXPECT_EQ(use.cpu_ns, -1) << "nobody need ask the system";
}

TEST_F(CpuMeters, the_cpu_time_of_a_thread_that_lost_its_cpu_is_what_the_system_says)
{
  const auto cpu_time = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::nanoseconds(std::chrono::seconds(time.tv_sec)).count() + time.tv_nsec;
  };
  const int64_t before = cpu_time();
  const CpuMeter meter = platform.start_meter(true);
  const int64_t begin = cpu_time();
  while (cpu_time() < begin + 1'000'000) {
  }
  const int64_t end = cpu_time();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const CpuUse use = platform.read_meter(meter);
  const int64_t after = cpu_time();
  EXPECT_GE(use.cpu_ns, end - begin);
  EXPECT_LE(use.cpu_ns, after - before);
}

TEST_F(CpuMeters, a_thread_that_slept_has_not_kept_its_cpu_and_its_sleep_is_no_cpu_time)
{
  const CpuMeter meter = platform.start_meter(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const CpuUse use = platform.read_meter(meter);
  EXPECT_FALSE(use.has_kept);
  EXPECT_EQ(use.preemptions, -1);
  EXPECT_GE(use.cpu_ns, 0);
  const CpuMeter unmeasured = platform.start_meter(false);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const CpuUse unknown = platform.read_meter(unmeasured);
  EXPECT_FALSE(unknown.has_kept);
  EXPECT_EQ(unknown.cpu_ns, -1);
}

TEST_F(CpuMeters, a_meter_around_another_learns_that_the_cpu_was_lost_before_the_inner_one)
{
  if (!has_rseq()) {
    GTEST_SKIP() << kNoRseq;
  }
  const CpuMeter outer = platform.start_meter(false);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  bool inner_has_kept = false;
  for (int i = 0; i < 100 && !inner_has_kept; ++i) {
    inner_has_kept = platform.read_meter(platform.start_meter(false)).has_kept;
  }
  EXPECT_TRUE(inner_has_kept);
  EXPECT_FALSE(platform.read_meter(outer).has_kept);
}

TEST_F(CpuMeters, a_meter_around_another_goes_on_when_the_inner_one_has_ended)
{
  if (!has_rseq()) {
    GTEST_SKIP() << kNoRseq;
  }
  bool has_kept = false;
  for (int i = 0; i < 1000 && !has_kept; ++i) {
    const CpuMeter outer = platform.start_meter(false);
    platform.read_meter(platform.start_meter(false));
    has_kept = platform.read_meter(outer).has_kept;
  }
  EXPECT_TRUE(has_kept);
  EXPECT_FALSE(platform.read_meter({}).has_kept) << "nothing is measured any more";
}

}  // namespace
}  // namespace rclrt_core
