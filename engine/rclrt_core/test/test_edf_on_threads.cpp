// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The scenarios of EDF on real threads, ordered by the FIFO bands. With RCLRT_EDF_TRACES naming a folder,
// the job records of scenarios are left there for the checker of orders.

#include <gtest/gtest.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "edf_scenarios.hpp"
#include "rclrt_core/deadline_scheduler.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rclrt_core/trace_file.hpp"

namespace rclrt_core
{
namespace
{

void use_cpu_ms(int64_t ms)
{
  const auto now_ns = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  for (const int64_t end = now_ns() + ms * 1'000'000; now_ns() < end;) {
  }
}

/// Why SCHED_FIFO 50, above the bands, is refused here; empty: it is permitted.
std::string why_no_fifo()
{
  LinuxPlatform platform;
  Attributes fifo;
  fifo.scheduling_policy = SchedulingPolicy::kFifo;
  fifo.priority = 50;
  int refused = 0;
  std::thread([&] { refused = platform.apply(platform.current_thread(), fifo); }).join();
  return refused == 0 ? "" : to_string(platform.explain("this test", fifo, refused));
}

struct EdfRun
{
  std::vector<rclrt_job_record> records;
  std::map<uint32_t, std::string> names;
  TraceSource source;
  std::map<std::string, std::atomic<int64_t>> done_ns;  ///< when its work was done; 0: not yet
  std::map<std::string, std::atomic<int64_t>>
    works_ns;                             ///< since when, with all messages taken; 0: not yet
  std::map<std::string, int64_t> due_ns;  ///< when it had to arrive
  int64_t shift_ns = 0;                   ///< how much later jobs came that come after others

  rclrt_job_record of(const std::string & name) const
  {
    for (const rclrt_job_record & record : records) {
      if (names.at(record.callback) == name) {
        return record;
      }
    }
    ADD_FAILURE() << name << " has not run";
    return {};
  }
  /// By that job: the others run meanwhile, or those of another program with the same priority.
  void wait_for(const std::vector<std::string> & others, const std::string & who) const
  {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    for (const std::string & other : others) {
      while (done_ns.at(other) == 0 && std::chrono::steady_clock::now() < give_up) {
        std::this_thread::yield();
      }
      EXPECT_NE(done_ns.at(other), 0) << who << " runs, and " << other << " never does";
    }
  }

  /// Whether the jobs arrived when the scenario says, to half a millisecond. If not, it was another
  /// scenario: something else kept the CPU from the thread that releases them. That is so, too, if
  /// it came so late that deadlines which jobs learn of, from the start, are not the later ones.
  bool arrived_in_time() const
  {
    return shift_ns < 300'000'000 && std::all_of(
                                       due_ns.begin(), due_ns.end(),
                                       [this](const auto & job) {
                                         const int64_t late = of(job.first).ready_ns - job.second;
                                         return late > -500'000 && late < 500'000;
                                       });
  }
};

/// Runs on the calling thread and leaves its affinity changed: use a thread of its own.
EdfRun run_on_threads(
  const EdfScenario & scenario, const std::shared_ptr<DeadlineScheduler> & deadlines,
  const CpuSet & cpus)
{
  LinuxPlatform platform;
  Attributes here;
  here.cpu_affinity = cpus;
  EXPECT_EQ(platform.apply(platform.current_thread(), here), 0);

  EngineOptions options;
  options.policy = &edf_policy();
  options.deadlines = deadlines;
  options.attributes_mode = AttributesMode::kRequire;
  options.timer_thread = deadlines->above();
  Engine engine(platform, options);
  std::map<std::string, std::shared_ptr<Group>> groups;
  std::vector<std::shared_ptr<Callback>> callbacks;
  std::atomic<std::size_t> ended{0};
  std::atomic<int64_t> start_ns{0};
  EdfRun run;
  for (const EdfScenarioJob & job : scenario.jobs) {
    run.done_ns[job.name] = 0;
    run.works_ns[job.name] = 0;
  }
  for (const EdfScenarioJob & job : scenario.jobs) {
    const std::string group_name = job.group.empty() ? "group of " + job.name : job.group;
    std::shared_ptr<Group> & group = groups[group_name];
    if (!group) {
      GroupOptions group_options;
      group_options.name = group_name;
      EXPECT_TRUE(engine.add_group(group_options, &group).ok());
    }
    CallbackOptions callback;
    callback.name = job.name;
    callback.attributes.scheduling_policy = SchedulingPolicy::kExt;
    callback.relative_deadline = std::chrono::milliseconds(job.deadline_ms - job.arrival_ms);
    callback.run = [&, &job = job](const Job &) {
      std::size_t parts = 0;
      run_job(job, time_point_of(start_ns), [&](int64_t ms) {
        if (parts++ == job.takes.size()) {
          run.works_ns.at(job.name) = nanoseconds_of(platform.now());
        }
        use_cpu_ms(ms);
      });
      run.wait_for(job.works_until, job.name);
      run.done_ns.at(job.name) = nanoseconds_of(platform.now());
      run.wait_for(job.stays_for, job.name);
      ++ended;
      return true;
    };
    callbacks.emplace_back();
    const Status status = engine.add_callback(callback, group, &callbacks.back());
    EXPECT_TRUE(status.ok()) << status.message();
    run.names[callbacks.back()->id()] = job.name;
  }

  // More urgent than the jobs, and waits in between.
  std::thread releases([&] {
    EXPECT_EQ(platform.apply(platform.current_thread(), deadlines->above()), 0);
    for (int i = 0; i < 10000 && !engine.is_spinning(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    // Until its threads are there.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    TimePoint start = platform.now();
    start_ns = nanoseconds_of(start);
    for (std::size_t i = 0; i < callbacks.size(); ++i) {
      const EdfScenarioJob & job = scenario.jobs[i];
      TimePoint due = start + std::chrono::milliseconds(job.arrival_ms);
      std::this_thread::sleep_until(due);
      for (int tries = 0; !job.comes_after.empty() && tries < 10000; ++tries) {
        if (run.works_ns.at(job.comes_after) != 0) {
          break;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(500));
        start += platform.now() - due;  // all that follow come later, too
        run.shift_ns = nanoseconds_of(start) - start_ns;
        due = platform.now();
      }
      run.due_ns[job.name] = nanoseconds_of(due);
      engine.notify(*callbacks[i]);
    }
    for (int i = 0; i < 10000 && ended < callbacks.size(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(ended, callbacks.size());
    engine.stop();
  });
  const Status spun = engine.spin();
  EXPECT_TRUE(spun.ok()) << spun.message();
  releases.join();
  run.source = engine.trace_source();
  engine.read_trace([&run](const rclrt_job_record & record) { run.records.push_back(record); });
  return run;
}

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

INSTANTIATE_TEST_SUITE_P(
  FifoBands, EdfOnThreads, ::testing::ValuesIn(edf_scenarios()),
  [](const auto & scenario) { return scenario.param.name; });

}  // namespace
}  // namespace rclrt_core
