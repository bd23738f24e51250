// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What a file says of threads by name and by role is in force while an executor spins: on a foreign thread, and on those
// of the middleware in use. The kernel is asked what they have.

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "fixture.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rclrt_front_end/on_rcl.hpp"

namespace rclrt_rcl
{
namespace
{

using rclrt_core::Attributes;
using rclrt_core::SchedulingPolicy;
using namespace std::chrono_literals;

/// A thread with a name, as a driver or a logger has one.
class Foreign
{
public:
  explicit Foreign(const std::string & name) : thread_([this, name] { live(name); })
  {
    wait_for([this] { return named_.load(); });
  }
  ~Foreign()
  {
    ends_ = true;
    thread_.join();
  }
  Foreign(const Foreign &) = delete;
  Foreign & operator=(const Foreign &) = delete;

private:
  void live(const std::string & name)
  {
    pthread_setname_np(pthread_self(), name.c_str());
    named_ = true;
    while (!ends_) {
      std::this_thread::sleep_for(1ms);
    }
  }

  std::atomic<bool> named_{false};
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

/// The first one.
rclrt_core::CpuSet usable_cpu()
{
  return rclrt_core::CpuSet(
    std::vector<int>{rclrt_core::LinuxPlatform().usable_cpu_set().cpus().front()});
}

/// What the kernel says that threads have whose names begin so.
std::vector<Attributes> in_force(const std::string & begin)
{
  rclrt_core::LinuxPlatform platform;
  std::vector<Attributes> found;
  for (const auto & [id, name] : platform.threads()) {
    Attributes attributes;
    if (name.rfind(begin, 0) == 0 && platform.read_back(id, &attributes) == 0) {
      found.push_back(attributes);
    }
  }
  return found;
}

std::string text_of(const std::string & begin)
{
  std::string text;
  for (const Attributes & one : in_force(begin)) {
    text += to_string(one) + "; ";
  }
  return text;
}

/// Whether there are such threads, and all have this.
bool all_have(const std::string & begin, SchedulingPolicy policy, int nice = 0)
{
  const auto all = in_force(begin);
  return !all.empty() && std::all_of(all.begin(), all.end(), [&](const Attributes & one) {
    return one.policy == policy && one.nice == nice;
  });
}

bool mentions(const PreemptiveExecutor & executor, const std::string & text)
{
  const auto findings = executor.findings();
  return std::any_of(findings.begin(), findings.end(), [&](const auto & finding) {
    return to_string(finding).find(text) != std::string::npos;
  });
}

class ThreadsByName : public WithContext
{
protected:
  void SetUp() override { unsetenv("RCLRT_CONFIGURATION"); }
  void TearDown() override { std::remove(path_.c_str()); }

  /// With these fields of `executor`.
  PreemptiveExecutorOptions with(const std::string & fields)
  {
    std::ofstream(path_) << "/**:\n  ros__parameters:\n    rclrt:\n      executor: {" << fields
                         << "}\n";
    auto made = options<PreemptiveExecutorOptions>();
    made.configuration_file = path_;
    return made;
  }

private:
  const std::string path_ =
    ::testing::TempDir() + "rclrt_threads_" + std::to_string(getpid()) + ".yaml";
};

TEST_F(ThreadsByName, have_what_the_file_says_while_an_executor_spins)
{
  auto node = make_node("node");
  PreemptiveExecutor executor(with(
    "threads: {driver: {scheduling_policy: batch, nice: 7, cpu_affinity: [" +
    usable_cpu().to_string() + "]}}"));
  executor.add_node(node);
  const Foreign driver("driver");
  const Foreign other("other driver");
  const auto as_in_the_file = [] {
    const auto all = in_force("driver");
    return std::count_if(all.begin(), all.end(), [](const Attributes & one) {
      return one.policy == SchedulingPolicy::kBatch && one.nice == 7 &&
             one.cpu_affinity == usable_cpu();
    });
  };
  {
    const Spinning spinning(executor);
    EXPECT_TRUE(wait_for([&] { return as_in_the_file() == 1; }));
    const Foreign late("driver");
    EXPECT_TRUE(wait_for([&] { return as_in_the_file() == 2; }));
    EXPECT_TRUE(all_have("other driver", SchedulingPolicy::kOther));
  }
  EXPECT_TRUE(all_have("driver", SchedulingPolicy::kOther)) << "they get back what they had";
}

TEST_F(ThreadsByName, of_the_middleware_have_it_by_what_they_do)
{
  const auto middleware = rclrt_front_end::middleware_in_use();
  if (middleware.rmw != "rmw_fastrtps_cpp") {
    GTEST_SKIP() << "names of threads of " << middleware.rmw << " are not in this test";
  }
  auto node = make_node("node");
  PreemptiveExecutor executor(
    with("middleware_threads: {receive: {scheduling_policy: batch}, "
         "events: {scheduling_policy: other, nice: 3}, flow: {scheduling_policy: batch}}"));
  executor.add_node(node);
  ASSERT_TRUE(all_have("dds.udp.", SchedulingPolicy::kOther));
  {
    const Spinning spinning(executor);
    EXPECT_TRUE(wait_for([] { return all_have("dds.udp.", SchedulingPolicy::kBatch); }));
    EXPECT_TRUE(wait_for([] { return all_have("dds.ev.", SchedulingPolicy::kOther, 3); }));
    EXPECT_TRUE(wait_for([&] { return mentions(executor, "middleware_threads flow"); }))
      << "they are left alone";
  }
  EXPECT_TRUE(all_have("dds.", SchedulingPolicy::kOther)) << "they get back what they had";
}

TEST_F(ThreadsByName, of_an_executor_are_left_alone_whatever_the_pattern)
{
  auto node = make_node("node");
  PreemptiveExecutor executor(with("threads: {\"*\": {scheduling_policy: batch}}"));
  std::atomic<int> runs{0};
  auto timer = node->create_wall_timer(1ms, [&] { runs += 1; });
  executor.add_node(node);
  const Foreign driver("driver");
  const Spinning spinning(executor);
  EXPECT_TRUE(wait_for([] { return all_have("driver", SchedulingPolicy::kBatch); }));
  EXPECT_TRUE(wait_for([&] { return runs > 3; }));
  EXPECT_TRUE(all_have("rclrt", SchedulingPolicy::kOther)) << text_of("rclrt");
}

TEST_F(ThreadsByName, that_spin_are_meant_by_their_own_name_only)
{
  auto node = make_node("node");
  PreemptiveExecutor executor(
    with("threads: {spin*: {scheduling_policy: batch}, spinner: {scheduling_policy: idle}}"));
  executor.add_node(node);
  std::thread spinning([&] {
    pthread_setname_np(pthread_self(), "spinner");
    executor.spin();
  });
  EXPECT_TRUE(wait_for([] { return all_have("spinner", SchedulingPolicy::kIdle); }));
  executor.cancel();
  spinning.join();
}

TEST_F(ThreadsByName, that_are_not_there_or_cannot_have_it_are_told)
{
  EXPECT_THROW(
    PreemptiveExecutor(with("threads: {driver: {scheduling_policy: other, cpu_affinity: [1023]}}")),
    std::exception);
  auto node = make_node("node");
  PreemptiveExecutor executor(with("threads: {ghost: {scheduling_policy: batch}}"));
  std::atomic<int> runs{0};
  auto timer = node->create_wall_timer(1ms, [&] { runs += 1; });
  executor.add_node(node);
  {
    const Spinning spinning(executor);
    EXPECT_TRUE(wait_for([&] { return runs > 0; }));
  }
  EXPECT_TRUE(mentions(executor, "thread 'ghost': was not there while the executor spun"));
}

}  // namespace
}  // namespace rclrt_rcl
