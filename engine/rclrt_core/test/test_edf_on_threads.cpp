// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The scenarios of EDF on real threads, ordered by the FIFO bands. With RCLRT_EDF_TRACES naming a folder,
// the job records of scenarios are left there for the checker of orders.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "edf_on_threads.hpp"
#include "rclrt_core/deadline_scheduler.hpp"
#include "rclrt_core/trace_file.hpp"

namespace rclrt_core
{
namespace
{

void write_trace(const std::string & path, const EdfRun & run)
{
  TraceFile file;
  const Status opened = file.open(path);
  ASSERT_TRUE(opened.ok()) << opened.message();
  for (const rclrt_job_record & record : run.records) {
    file.append(record);
  }
  const Status closed = file.close(run.source);
  ASSERT_TRUE(closed.ok()) << closed.message();
}

class EdfOnThreads : public ::testing::TestWithParam<EdfScenario>
{
protected:
  void SetUp() override
  {
    LinuxPlatform platform;
    Attributes now;
    ASSERT_EQ(platform.read_back(platform.current_thread(), &now), 0);
    std::vector<int> cpus = now.cpu_affinity.cpus();
    const auto wanted = static_cast<std::size_t>(GetParam().cpus);
    if (cpus.size() < wanted) {
      GTEST_SKIP() << "needs " << wanted << " CPUs, and may use " << cpus.size();
    }
    cpus.resize(wanted);
    cpus_ = CpuSet(cpus);
    if (const std::string why = why_no_fifo(); !why.empty()) {
      GTEST_SKIP() << "not permitted here: " << why;
    }
  }

  CpuSet cpus_;
};

TEST_P(EdfOnThreads, jobs_end_in_the_order_of_their_deadlines)
{
  LinuxPlatform platform;
  constexpr int kAttempts = 10;
  FifoBandsOptions options;
  options.runners = GetParam().cpus;
  options.shared_name = "rclrt_test_order_" + std::to_string(getpid());
  std::shared_ptr<FifoBands> bands;
  const Status made = FifoBands::make(platform, options, &bands);
  ASSERT_TRUE(made.ok()) << made.message();
  EdfRun run;
  bool is_it = false;
  for (int i = 0; i < kAttempts && !is_it; ++i) {
    std::thread([&] { run = run_on_threads(GetParam(), bands, cpus_); }).join();
    is_it = run.arrived_in_time();
  }
  if (!is_it) {
    GTEST_SKIP() << "something else kept the CPUs: in " << kAttempts
                 << " attempts the jobs never arrived in time";
  }
  for (const auto & [first, second] : GetParam().ends_before) {
    EXPECT_LT(run.done_ns.at(first), run.done_ns.at(second)) << first << " before " << second;
  }
  EXPECT_TRUE(bands->findings().empty());
  // A record has one deadline: for the checker it must have been the job's from the start.
  const auto & jobs = GetParam().jobs;
  const bool learns =
    std::any_of(jobs.begin(), jobs.end(), [](const auto & job) { return !job.takes.empty(); });
  const char * const folder = std::getenv("RCLRT_EDF_TRACES");
  if (folder && !learns) {
    write_trace(std::string(folder) + "/" + GetParam().name + ".trace", run);
  }
}

/// Counts what changes a thread's priority.
class CountingPlatform : public LinuxPlatform
{
public:
  int apply(ThreadId thread, const Attributes & attributes) noexcept override
  {
    ++changes;
    return LinuxPlatform::apply(thread, attributes);
  }
  int changes = 0;
};

TEST(EdfEvents, change_at_most_two_threads_and_leave_the_m_earliest_with_the_run_priority)
{
  CountingPlatform platform;
  if (const std::string why = why_no_fifo(); !why.empty()) {
    GTEST_SKIP() << "not permitted here: " << why;
  }
  constexpr std::size_t kThreads = 8;
  constexpr std::size_t kRunners = 2;
  FifoBandsOptions options;
  options.runners = kRunners;
  std::shared_ptr<FifoBands> bands;
  ASSERT_TRUE(FifoBands::make(platform, options, &bands).ok());
  // They sleep throughout: what is looked at is what the kernel says about them.
  std::atomic<uint32_t> over{0};
  std::atomic<std::size_t> entered{0};
  std::vector<DeadlineScheduler::Slot> slots(kThreads);
  std::vector<ThreadId> ids(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      ids[i] = platform.current_thread();
      EXPECT_TRUE(bands->enter(&slots[i]).ok());
      ++entered;
      while (over == 0) {
        platform.wait(over, 0, kNever);
      }
      bands->leave(slots[i]);
    });
  }
  while (entered < kThreads) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::mt19937 random(1);
  std::map<std::size_t, int64_t> active;
  for (int event = 0; event < 2000; ++event) {
    const std::size_t thread = random() % kThreads;
    platform.changes = 0;
    if (random() % 2 == 0) {
      active[thread] = event % 7 == 0 ? 1 : static_cast<int64_t>(random());
      ASSERT_EQ(bands->start(slots[thread], time_point_of(active[thread])), 0);
    } else {
      active.erase(thread);
      bands->stop(slots[thread]);
    }
    ASSERT_LE(platform.changes, 2) << "event " << event;
    std::vector<int64_t> deadlines;
    for (const auto & [other, deadline] : active) {
      deadlines.push_back(deadline);
    }
    std::sort(deadlines.begin(), deadlines.end());
    for (const auto & [other, deadline] : active) {
      Attributes has;
      ASSERT_EQ(platform.read_back(ids[other], &has), 0);
      const auto earlier = std::count_if(
        deadlines.begin(), deadlines.end(), [&](int64_t each) { return each < deadline; });
      const auto not_later = std::count_if(
        deadlines.begin(), deadlines.end(), [&](int64_t each) { return each <= deadline; });
      if (not_later <= static_cast<int64_t>(kRunners)) {
        ASSERT_EQ(has.priority, 49) << "event " << event;
      } else if (earlier >= static_cast<int64_t>(kRunners)) {
        ASSERT_LT(has.priority, 49) << "event " << event;
      }
    }
  }
  over = 1;
  for (std::size_t i = 0; i < kThreads; ++i) {
    platform.wake_one(over);
  }
  for (std::thread & thread : threads) {
    thread.join();
  }
}

INSTANTIATE_TEST_SUITE_P(
  FifoBands, EdfOnThreads, ::testing::ValuesIn(edf_scenarios()),
  [](const auto & scenario) { return scenario.param.name; });

}  // namespace
}  // namespace rclrt_core
