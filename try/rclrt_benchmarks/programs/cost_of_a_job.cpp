// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What the engine and this machine cost a job, for `./rclrt model calibrate`: jobs that do nothing, on one CPU, with cold
// caches. And what takes the CPU from a thread above all others. Writes JSON to standard output: every sample, in
// nanoseconds.
//
//   cost_of_a_job SAMPLES SECONDS CPU...
//   cost_of_a_job stalls CPU...
//
// `stalls` tells when a CPU was not there: a thread of the highest priority on each wakes every half millisecond; a
// line "CPU DUE WOKE" for each time that it was late by more than 0.1 ms. Until its standard input ends.
//
// All is measured on the first CPU, by a thread of SCHED_FIFO that is less urgent than the jobs; what takes a CPU away
// on each of them. No loop runs for longer than kSlice without sleeping after it, so other programs are not kept out.
// Exits with 77, and says why, if the machine does not allow it.

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <limits>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "harness.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace
{

using harness::now_ns;

using std::chrono::milliseconds;

constexpr int kBelow = 10;
constexpr int kJobs = 50;
constexpr int kAbove = 60;
constexpr int kTimers = 90;
constexpr int kHighest = 98;
constexpr int64_t kNsPerMs = 1000000;
constexpr int64_t kSlice = 400 * kNsPerMs;
constexpr milliseconds kRest{150};
constexpr int64_t kGap = 2000;  ///< ns between two looks at the clock; less is the look itself
constexpr std::size_t kMaxGaps = 1 << 18;
constexpr std::size_t kGroups = 8;
constexpr std::size_t kAsleep =
  3;  ///< jobs with budgets that have begun, beside the one that is measured
constexpr std::chrono::microseconds kBudget{300};
constexpr milliseconds kBudgetPeriod{1};
constexpr milliseconds kUnused{500};  ///< a budget that nothing uses up meanwhile
constexpr std::size_t kCache = 1 << 21;

[[noreturn]] void skip(const std::string & why)
{
  std::printf("%s\n", why.c_str());
  std::fflush(stdout);
  std::_Exit(harness::kNotPermitted);
}

void check(const rclrt_core::Status & status)
{
  if (!status.ok()) {
    skip(status.message());
  }
}

void become(int priority)
{
  sched_param parameter{};
  parameter.sched_priority = priority;
  if (sched_setscheduler(0, SCHED_FIFO, &parameter) != 0) {
    skip("SCHED_FIFO is not permitted");
  }
}

void run_on(int cpu)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    skip("there is no CPU " + std::to_string(cpu));
  }
}

rclrt_core::Attributes fifo(int priority)
{
  rclrt_core::Attributes attributes;
  attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

/// Other work has been done since: what a job needs is in no cache any more.
void forget()
{
  static std::vector<char> memory(kCache);
  for (std::size_t i = 0; i < memory.size(); i += 64) {
    ++memory[i];
  }
}

/// Isolated groups with a callback each, which notes when it ran. The workers and the measuring thread share one CPU,
/// so what a worker writes is there once that thread runs again; atomics say so to the compiler.
class Jobs
{
public:
  /// All on the caller's CPU, or the jobs of messages on `cpu`. With budgets the last kAsleep jobs sleep to the end.
  explicit Jobs(int cpu = -1, bool have_budgets = false)
  {
    rclrt_core::EngineOptions options;
    options.model = rclrt_core::ExecutionModel::kIsolated;
    options.attributes_mode = rclrt_core::AttributesMode::kRequire;
    options.timer_thread = fifo(kTimers);
    engine_ = std::make_unique<rclrt_core::Engine>(platform_, options);
    for (std::size_t i = 0; i < kGroups; ++i) {
      std::shared_ptr<rclrt_core::Group> group;
      check(engine_->add_group({}, &group));
      rclrt_core::CallbackOptions what;
      what.name = "job " + std::to_string(i);
      what.attributes = fifo(kJobs);
      if (cpu >= 0) {
        what.attributes.cpu_affinity = rclrt_core::CpuSet(std::vector<int>{cpu});
      }
      const bool sleeps = have_budgets && i >= kGroups - kAsleep;
      if (have_budgets && i > 0) {
        what.budget.runtime = sleeps ? kUnused : kBudget;
        what.budget.period = sleeps ? 2 * kUnused : kBudgetPeriod;
      }
      what.run = [this, i, sleeps](const rclrt_core::Job & job) {
        release[i].store(job.release.time_since_epoch().count(), std::memory_order_relaxed);
        start[i].store(now_ns(), std::memory_order_relaxed);
        count[i].fetch_add(1, std::memory_order_release);
        if (sleeps) {
          std::unique_lock<std::mutex> lock(mutex_);
          ended_.wait(lock, [this] { return has_ended_; });
        }
        return true;
      };
      if (i > 0) {
        check(engine_->add_callback(what, group, &callbacks_[i]));
        continue;
      }
      rclrt_core::TimerOptions timer;
      timer.period = milliseconds(2);
      timer.autostart = false;
      check(engine_->add_timer(what, timer, group, &callbacks_[i]));
    }
    spinner_ = std::thread([this] { check(engine_->spin()); });
    for (std::size_t i = 1; i < kGroups; ++i) {
      notify(i);
      while (count[i].load(std::memory_order_acquire) == 0) {
        std::this_thread::sleep_for(milliseconds(1));
      }
    }
  }
  ~Jobs()
  {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      has_ended_ = true;
    }
    ended_.notify_all();
    engine_->stop();
    spinner_.join();
  }
  Jobs(const Jobs &) = delete;
  Jobs & operator=(const Jobs &) = delete;

  void notify(std::size_t i) { engine_->notify(*callbacks_[i]); }
  void start_timer() { check(engine_->reset_timer(callbacks_[0])); }
  void stop_timer() { check(engine_->cancel_timer(callbacks_[0])); }

  /// Each callback's last job. The worker that ran it writes; `count` last, with release, and the
  /// measuring thread reads `count` first, with acquire.
  std::array<std::atomic<int64_t>, kGroups> release{};
  std::array<std::atomic<int64_t>, kGroups> start{};
  std::array<std::atomic<uint64_t>, kGroups> count{};

private:
  rclrt_core::LinuxPlatform platform_;
  std::unique_ptr<rclrt_core::Engine> engine_;
  std::array<std::shared_ptr<rclrt_core::Callback>, kGroups> callbacks_;
  std::thread spinner_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
};

using Samples = std::vector<int64_t>;

/// Sleeps now and then, so that other programs get the CPU.
class Turns
{
public:
  void rest()
  {
    if (now_ns() - begin_ > kSlice) {
      std::this_thread::sleep_for(kRest);
      begin_ = now_ns();
    }
  }

private:
  int64_t begin_ = now_ns();
};

/// A job preempts this thread as soon as it is released: how long until it starts, and until this thread is back.
void whole_jobs(Jobs & jobs, std::size_t samples, nlohmann::json & out)
{
  become(kBelow);
  Samples until_start;
  Samples whole;
  Turns turns;
  for (std::size_t n = 0; n < samples; ++n) {
    const std::size_t i = 1 + n % (kGroups - 1);
    const uint64_t before = jobs.count[i].load(std::memory_order_acquire);
    forget();
    const int64_t begin = now_ns();
    jobs.notify(i);
    const int64_t end = now_ns();
    if (jobs.count[i].load(std::memory_order_acquire) == before + 1) {
      until_start.push_back(jobs.start[i].load(std::memory_order_relaxed) - begin);
      whole.push_back(end - begin);
    }
    turns.rest();
  }
  out["start_ns"] = until_start;
  out["job_ns"] = whole;
}

/// Jobs with budgets: the thread that watches them looks before the job goes on. When the next job
/// comes, it has looked again, after the job. Other jobs have begun, and are looked at as well.
void watched_jobs(std::size_t samples, nlohmann::json & out)
{
  Jobs jobs(-1, true);
  become(kBelow);
  Samples whole;
  for (std::size_t n = 0; n < samples; ++n) {
    const std::size_t i = 1 + n % (kGroups - 1 - kAsleep);
    const uint64_t before = jobs.count[i].load(std::memory_order_acquire);
    std::this_thread::sleep_for(2 * kBudgetPeriod);
    forget();
    const int64_t begin = now_ns();
    jobs.notify(i);
    const int64_t end = now_ns();
    if (jobs.count[i].load(std::memory_order_acquire) == before + 1) {
      whole.push_back(end - begin);
    }
  }
  out["watched_ns"] = whole;
}

/// This thread is more urgent than two jobs that it releases: what a release costs it, and how long after the start
/// of the first, which does nothing, the second starts.
void released_and_next(Jobs & jobs, std::size_t samples, nlohmann::json & out)
{
  become(kAbove);
  Samples release;
  Samples next;
  Turns turns;
  for (std::size_t n = 0; n < samples; ++n) {
    const std::size_t first = 1 + n % (kGroups - 1);
    const std::size_t second = 1 + (n + 1) % (kGroups - 1);
    forget();
    const int64_t begin = now_ns();
    jobs.notify(first);
    release.push_back(now_ns() - begin);
    jobs.notify(second);
    std::this_thread::sleep_for(milliseconds(1));
    const int64_t apart = jobs.start[second].load(std::memory_order_relaxed) -
                          jobs.start[first].load(std::memory_order_relaxed);
    if (apart > 0) {
      next.push_back(apart);
    }
    turns.rest();
  }
  out["release_ns"] = release;
  out["next_ns"] = next;
}

/// Two threads of one priority hand the CPU to each other.
void switches(int cpu, std::size_t samples, nlohmann::json & out)
{
  // The other one reads it after each of its turns; this thread sets it once.
  std::atomic<bool> ended{false};
  std::thread other([cpu, &ended] {
    run_on(cpu);
    become(kBelow);
    while (!ended.load(std::memory_order_relaxed)) {
      sched_yield();
    }
  });
  std::this_thread::sleep_for(milliseconds(10));
  become(kBelow);
  Samples found;
  for (std::size_t n = 0; n < samples; ++n) {
    const int64_t begin = now_ns();
    sched_yield();  // there and back
    found.push_back((now_ns() - begin) / 2);
    if (n % 64 == 63) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  ended.store(true, std::memory_order_relaxed);
  other.join();
  out["switch_ns"] = found;
}

/// A timer's job preempts this thread, which looks at the clock again and again: how late the job starts, and for how
/// long this thread was away.
void timers(Jobs & jobs, std::size_t samples, nlohmann::json & out)
{
  become(kBelow);
  Samples late;
  Samples whole;
  Turns turns;
  jobs.start_timer();
  uint64_t before = jobs.count[0].load(std::memory_order_acquire);
  int64_t last = now_ns();
  const int64_t stop = last + static_cast<int64_t>(samples) * 8 * kNsPerMs;
  while (late.size() < samples && last < stop) {
    const uint64_t count = jobs.count[0].load(std::memory_order_acquire);
    const int64_t now = now_ns();
    if (count == before + 1) {
      late.push_back(
        jobs.start[0].load(std::memory_order_relaxed) -
        jobs.release[0].load(std::memory_order_relaxed));
      whole.push_back(now - last);
    }
    turns.rest();
    before = jobs.count[0].load(std::memory_order_acquire);
    last = now_ns();
  }
  jobs.stop_timer();
  out["late_ns"] = late;
  out["timer_job_ns"] = whole;
}

/// A timer's job on a CPU that has nothing else to do, so that may sleep.
void idle_timers(Jobs & jobs, std::size_t samples, nlohmann::json & out)
{
  become(kHighest);
  Samples late;
  jobs.start_timer();
  for (std::size_t n = 0; n < samples; ++n) {
    const uint64_t before = jobs.count[0].load(std::memory_order_acquire);
    std::this_thread::sleep_for(milliseconds(3));
    if (jobs.count[0].load(std::memory_order_acquire) != before) {
      late.push_back(
        jobs.start[0].load(std::memory_order_relaxed) -
        jobs.release[0].load(std::memory_order_relaxed));
    }
  }
  jobs.stop_timer();
  out["idle_late_ns"] = late;
}

/// A job is released from another CPU than its own, which a program without real time keeps busy: how long until it
/// starts.
void from_another_cpu(int cpu, std::size_t samples, nlohmann::json & out)
{
  // The busy thread reads it; this one sets it once.
  std::atomic<bool> ended{false};
  sched_param none{};
  sched_setscheduler(0, SCHED_OTHER, &none);
  std::thread busy([cpu, &ended] {
    run_on(cpu);
    while (!ended.load(std::memory_order_relaxed)) {
    }
  });
  {
    Jobs jobs(cpu);
    become(kAbove);
    Samples found;
    for (std::size_t n = 0; n < samples; ++n) {
      const std::size_t i = 1 + n % (kGroups - 1);
      const uint64_t before = jobs.count[i].load(std::memory_order_acquire);
      const int64_t begin = now_ns();
      jobs.notify(i);
      for (int looks = 0; looks < 100 && jobs.count[i].load(std::memory_order_acquire) == before;
           ++looks) {
        std::this_thread::sleep_for(milliseconds(1));
      }
      if (jobs.count[i].load(std::memory_order_acquire) != before) {
        found.push_back(jobs.start[i].load(std::memory_order_relaxed) - begin);
      }
    }
    out["wake_ns"] = found;
  }
  ended.store(true, std::memory_order_relaxed);
  busy.join();
}

/// What takes the CPU from the most urgent thread: [begin, end] of each time, and of each time it was looked at.
nlohmann::json stolen(int cpu, double seconds)
{
  run_on(cpu);
  std::vector<std::array<int64_t, 2>> gaps;
  std::vector<std::array<int64_t, 2>> spans;
  gaps.reserve(kMaxGaps);
  become(kHighest);
  const int64_t end = now_ns() + static_cast<int64_t>(seconds * 1e9);
  while (now_ns() < end && gaps.size() < gaps.capacity()) {
    const int64_t begin = now_ns();
    int64_t last = begin;
    while (last - begin < kSlice && last < end && gaps.size() < gaps.capacity()) {
      const int64_t now = now_ns();
      if (now - last > kGap) {
        gaps.push_back({last, now});
      }
      last = now;
    }
    spans.push_back({begin, last});
    std::this_thread::sleep_for(kRest);
  }
  return {{"cpu", cpu}, {"gaps", gaps}, {"spans", spans}};
}

constexpr int64_t kLate = 100000;
constexpr int64_t kLookEvery = kNsPerMs / 2;
constexpr int kMost = 99;

/// Notes when the thread is late; `ended` is set once, by the main thread.
void look_for_stalls(int cpu, const std::atomic<bool> & ended)
{
  run_on(cpu);
  become(kMost);
  std::vector<std::array<int64_t, 2>> late;
  late.reserve(kMaxGaps);
  int64_t due = now_ns() + kLookEvery;
  while (!ended.load(std::memory_order_relaxed) && late.size() < late.capacity()) {
    const timespec until{due / 1000000000, due % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    const int64_t now = now_ns();
    if (now - due > kLate) {
      late.push_back({due, now});
    }
    due = now + kLookEvery;
  }
  for (const auto & [wanted, woke] : late) {
    std::printf("%d %" PRId64 " %" PRId64 "\n", cpu, wanted, woke);
  }
}

int stalls(int argc, char ** argv)
{
  std::atomic<bool> ended{false};
  std::vector<std::thread> threads;
  mlockall(MCL_CURRENT | MCL_FUTURE);  // if permitted: no page faults
  for (int i = 2; i < argc; ++i) {
    threads.emplace_back([cpu = std::atoi(argv[i]), &ended] { look_for_stalls(cpu, ended); });
  }
  std::cin.ignore(std::numeric_limits<std::streamsize>::max());
  ended.store(true, std::memory_order_relaxed);
  for (std::thread & thread : threads) {
    thread.join();
  }
  return 0;
}

}  // namespace

int main(int argc, char ** argv)
{
  if (argc > 2 && std::string(argv[1]) == "stalls") {
    return stalls(argc, argv);
  }
  const int samples = argc > 3 ? std::atoi(argv[1]) : 0;
  const double seconds = argc > 3 ? std::atof(argv[2]) : 0;
  if (samples <= 0 || seconds <= 0 || seconds > 3600) {
    std::cerr << "usage: cost_of_a_job SAMPLES SECONDS CPU... | cost_of_a_job stalls CPU...\n";
    return 2;
  }
  const int cpu = std::atoi(argv[3]);
  // Whatever happens, no thread outlasts that.
  alarm(static_cast<unsigned>(60 + seconds * (argc - 3) * 2 + samples / 15));
  mlockall(MCL_CURRENT | MCL_FUTURE);  // if permitted: no page faults
  nlohmann::json out;
  run_on(cpu);  // this thread, and all that it starts
  {
    const auto count = static_cast<std::size_t>(samples);
    Jobs jobs;
    whole_jobs(jobs, count, out);
    released_and_next(jobs, count, out);
    switches(cpu, count, out);
    timers(jobs, count, out);
    idle_timers(jobs, count, out);
  }
  watched_jobs(static_cast<std::size_t>(samples), out);
  if (argc > 4) {
    from_another_cpu(std::atoi(argv[4]), static_cast<std::size_t>(samples), out);
  }
  for (int i = 3; i < argc; ++i) {
    out["stolen"].push_back(stolen(std::atoi(argv[i]), seconds));
  }
  std::cout << out << '\n';
  return std::cout ? 0 : 1;
}
