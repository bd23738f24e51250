// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Periodic threads with deadlines, as a file says; a test holds their responses against the bounds of the analysis.
//
//   set NAME CPU LENGTH           CPU: of all its threads, and of one thread of the background; -1: any, and one on each
//   task NAME PERIOD WORK DEADLINE FIRST RUNTIME BUDGET_PERIOD      RUNTIME 0: without a budget
//
// Times in us. A job uses the CPU for WORK of its thread's own time. What comes out, in ns of CLOCK_MONOTONIC:
//
//   JOB SET TASK TID RELEASE END

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "scenarios.hpp"

namespace guest
{
namespace
{

constexpr char kFile[] = "/tmp/sets";
constexpr int64_t kUs = 1000;
constexpr int64_t kStartMs = 40;

struct Job
{
  int64_t release_ns;
  int64_t end_ns;
};

struct Task
{
  std::string name;
  int64_t period_ns = 0;
  int64_t work_ns = 0;
  int64_t deadline_ns = 0;
  int64_t first_ns = 0;
  int64_t runtime_ns = 0;
  int64_t budget_period_ns = 0;
  int tid = 0;
  std::vector<Job> jobs{};
  std::string why{};
};

struct Set
{
  std::string name;
  int cpu = -1;
  int64_t length_ns = 0;
  std::vector<Task> tasks{};
};

std::vector<Set> read_sets()
{
  std::vector<Set> sets;
  std::ifstream file(kFile);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "set") {
      Set set;
      words >> set.name >> set.cpu >> set.length_ns;
      set.length_ns *= kUs;
      sets.push_back(set);
    } else if (word == "task" && !sets.empty()) {
      Task task;
      words >> task.name;
      for (int64_t * value :
           {&task.period_ns, &task.work_ns, &task.deadline_ns, &task.first_ns, &task.runtime_ns,
            &task.budget_period_ns}) {
        words >> *value;
        *value *= kUs;
      }
      sets.back().tasks.push_back(task);
    }
  }
  return sets;
}

void sleep_until(int64_t time_ns)
{
  const timespec time{time_ns / 1000000000, time_ns % 1000000000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
}

void run(rclrt_scx::Client & client, int cpu, int64_t start_ns, int64_t length_ns, Task & task)
{
  move_to(cpu);
  prctl(PR_SET_TIMERSLACK, 1);
  task.tid = static_cast<int>(syscall(SYS_gettid));
  rclrt_scx::Slot slot = client.bind_this_thread(&task.why);
  if (!slot) {
    return;
  }
  if (task.runtime_ns > 0) {
    set_budget(slot, task.runtime_ns, task.budget_period_ns);
  }
  int64_t release_ns = start_ns + task.first_ns;
  for (; release_ns + task.period_ns < start_ns + length_ns; release_ns += task.period_ns) {
    set_due(slot, release_ns + task.deadline_ns);
    if (now_ns() < release_ns) {
      sleep_until(release_ns);
    } else {
      sched_yield();  // It is late already, and its deadline became later.
    }
    const int64_t done_at_ns = cpu_time_ns() + task.work_ns;
    while (cpu_time_ns() < done_at_ns && now_ns() < start_ns + length_ns) {
      end_turn();
    }
    task.jobs.push_back({release_ns, now_ns()});
  }
  set_due(slot, 0);
}

std::string run_set(rclrt_scx::Client & client, Set & set)
{
  const int64_t start_ns = now_ns() + kStartMs * kMs;
  std::vector<std::unique_ptr<Background>> background;
  for (int cpu = 0; cpu < cpu_count(); ++cpu) {
    if (set.cpu < 0 || set.cpu == cpu) {
      background.push_back(std::make_unique<Background>(cpu));
    }
  }
  std::vector<std::thread> threads;
  for (Task & task : set.tasks) {
    task.jobs.reserve(1000);
    threads.emplace_back(
      [&client, &set, &task, start_ns] { run(client, set.cpu, start_ns, set.length_ns, task); });
  }
  for (std::thread & thread : threads) {
    thread.join();
  }
  for (const auto & one : background) {
    one->stop();
  }
  std::string why;
  for (const Task & task : set.tasks) {
    why += task.why;
  }
  return why;
}

SCENARIO(alone, 1, sets_of_periodic_threads_run)
{
  Stage stage(0);
  std::vector<Set> sets = read_sets();
  std::string why = sets.empty() ? "no sets" : "";
  for (Set & set : sets) {
    why += run_set(*stage.client, set);
  }
  for (const Set & set : sets) {
    for (const Task & task : set.tasks) {
      for (const Job & job : task.jobs) {
        std::printf(
          "JOB %s %s %d %lld %lld\n", set.name.c_str(), task.name.c_str(), task.tid,
          static_cast<long long>(job.release_ns), static_cast<long long>(job.end_ns));
      }
    }
  }
  return why + (stage.client->in_force() ? "" : "ejected: " + stage.client->exit_reason());
}

}  // namespace
}  // namespace guest
