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

#include <linux/futex.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
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

// ---- What switches and wake-ups cost. The clock counts instructions, so that the load of the host does not matter.

enum class Kind
{
  ordinary,
  deadline,
  fifo
};

struct Costs  ///< in ns
{
  int64_t change;
  int64_t idle;
  int64_t busy;
};

constexpr int kSwitches = 2000;
constexpr int kWakes = 101;

void futex(std::atomic<uint32_t> & word, int operation, uint32_t value)
{
  syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

void wait_for(std::atomic<uint32_t> & word, uint32_t old)
{
  while (word.load() == old) {
    futex(word, FUTEX_WAIT_PRIVATE, old);
  }
}

void set(std::atomic<uint32_t> & word, uint32_t value)
{
  word.store(value);
  futex(word, FUTEX_WAKE_PRIVATE, 1);
}

/// For the calling thread, which has its slot as long as what is returned.
rclrt_scx::Slot become(Kind kind, rclrt_scx::Client * client, int64_t deadline_ms, int priority)
{
  rclrt_scx::Slot slot;
  if (kind == Kind::fifo) {
    become_fifo(priority);
    return slot;
  }
  become_other();
  if (kind == Kind::deadline) {
    std::string why;
    slot = client->bind_this_thread(&why);
    if (!slot) {
      std::printf("no slot: %s\n", why.c_str());
    }
    slot.set_deadline(now_ns() + deadline_ms * kMs);
  }
  return slot;
}

/// Two threads on one CPU that wake each other in turns. ns a switch.
int64_t switching(Kind kind, rclrt_scx::Client * client)
{
  std::atomic<uint32_t> ball{0};
  std::atomic<int64_t> took{0};
  const auto play = [&](uint32_t own) {
    const rclrt_scx::Slot slot = become(kind, client, 100000, 10);
    int64_t began = 0;
    for (int i = -100; i < kSwitches / 2; ++i) {
      began = i == 0 ? now_ns() : began;
      wait_for(ball, 1 - own);
      set(ball, 1 - own);
    }
    took.store(now_ns() - began);
  };
  std::thread other(play, 1);
  std::thread one(play, 0);
  one.join();
  other.join();
  return took.load() / kSwitches;
}

/// Median from waking a thread to its first instruction. `busy`: each other CPU runs one that has to give way.
int64_t waking(Kind kind, rclrt_scx::Client * client, bool busy)
{
  const int cpus = cpu_count();
  std::atomic<uint32_t> word{0};
  std::atomic<int64_t> ran{0};
  std::atomic<int> started{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  std::vector<int64_t> samples;
  threads.emplace_back([&] {
    pin_to(cpus == 1 ? 0 : -1);  // Else it would inherit the CPU of the one that wakes it.
    const rclrt_scx::Slot slot = become(kind, client, 100000, 20);
    for (uint32_t i = 1; i <= kWakes; ++i) {
      wait_for(word, i - 1);
      ran.store(now_ns());
    }
  });
  for (int cpu = 1; busy && cpu < cpus; ++cpu) {
    threads.emplace_back([&, cpu] {
      pin_to(cpu);
      const rclrt_scx::Slot slot = become(kind, client, 200000 + 1000 * cpu, 5);
      pin_to(-1);
      ++started;
      while (!stop.load()) {
        end_turn();
      }
    });
  }
  for (sleep_ms(50); busy && started.load() < cpus - 1;) {
    sleep_ms(1);
  }
  for (uint32_t i = 1; i <= kWakes; ++i) {
    sleep_ms(busy ? 2 : 20);  // So long that an idle CPU stops its tick each time.
    const int64_t began = now_ns();
    set(word, i);
    while (ran.load() == 0) {
      cpus == 1 ? sleep_ms(1) : end_turn();
    }
    samples.push_back(ran.exchange(0) - began);
  }
  stop.store(true);
  for (auto & thread : threads) {
    thread.join();
  }
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

/// Without a scheduler in force it prints what the kernel's own classes cost.
SCENARIO(alone, 1, switches_and_wake_ups_cost_little_more_than_those_of_the_kernel)
{
  std::string why;
  const auto client = rclrt_scx::Client::open(&why);
  become_fifo(50);
  pin_to(0);
  const bool several = cpu_count() > 1;
  const auto row = [&](Kind kind, const char * name) {
    const Costs costs{
      switching(kind, client.get()), waking(kind, client.get(), false),
      several && kind != Kind::ordinary ? waking(kind, client.get(), true) : 0};
    const auto us = [](int64_t ns) { return static_cast<double>(ns) / 1e3; };
    std::printf(
      "COST %d CPUs, %s: a switch %.1f us, wake to run on an idle CPU %.1f, by preemption %.1f\n",
      cpu_count(), name, us(costs.change), us(costs.idle), us(costs.busy));
    return costs;
  };
  const Costs fifo = row(Kind::fifo, "SCHED_FIFO");
  const Costs ordinary = row(Kind::ordinary, client == nullptr ? "fair" : "ordinary");
  const Costs urgent = client == nullptr ? fifo : row(Kind::deadline, "with deadline");
  // In hundredths of SCHED_FIFO's. Of the fair class a switch costs 140.
  const auto most = [](int64_t ns, int64_t limit, int64_t of_fifo) {
    return 100 * ns <= limit * of_fifo;
  };
  const bool little =
    most(ordinary.change, 160, fifo.change) && most(urgent.change, 160, fifo.change) &&
    most(urgent.idle, several ? 130 : 200, fifo.idle) && most(urgent.busy, 180, fifo.busy);
  return little ? "" : "too much: see above";
}

}  // namespace
}  // namespace guest
