// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Runs a graph of callbacks on real threads under SCHED_FIFO and tells what happened, for
// see/rclrt_tools/test/test_bounds_on_engine.py, which holds it against the bounds.
//
//   graph_on_threads MILLISECONDS FOLDER < GRAPH
//
// A graph is lines of words; a line belongs to what the lines before it have begun. Times are ns.
//
//   engine priority_events|preemptive|isolated fixed_priority|edf CPU...
//   callback NAME GROUP RANK FIFO DEADLINE INHERIT   FIFO: of its thread; the last two may be 0
//   shared GROUP RUNTIME PERIOD                      a budget that the callbacks of a group share
//   budget RUNTIME PERIOD                            of the callback
//   timer PERIOD FIRST                               else others release it
//   burn TIME                                        of its thread's CPU time
//   release NAME                                     as a publication does
//   hold NAME TIME                                   the same, by a publication that then takes so much CPU time
//
// Engine i writes FOLDER/i.trace. What the engines leave of a CPU goes to a thread of SCHED_FIFO 1, which never
// sleeps while the graph runs. When it does not run, something else does: each line on stdout,
// "gap BEGIN END", is a time in which a CPU was busy, be it with the graph, with interrupts, with other programs,
// or because the machine's host had taken it. "limited BEGIN END" is a time in which a callback ran that has a budget,
// or whose group has one.
//
// Exits with 77, and says why, if the machine does not allow it.

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "rclrt_core/engine.hpp"
#include "rclrt_core/linux_platform.hpp"
#include "rclrt_core/trace_file.hpp"

namespace
{

using rclrt_core::Engine;
using rclrt_core::Status;
using std::chrono::nanoseconds;

constexpr int kSkipped = 77;
constexpr int kFillerPriority = 1;
constexpr int kTimerPriority = 95;
constexpr int kConductorPriority = 98;
constexpr int64_t kNsPerMs = 1000000;
constexpr int64_t kGap =
  100000;  ///< ns; less than a job, more than most of what a machine does aside
constexpr int64_t kDrain = 200 * kNsPerMs;
constexpr std::size_t kMaxGaps = 1 << 16;

int64_t now_ns(clockid_t clock = CLOCK_MONOTONIC)
{
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * int64_t{1000000000} + time.tv_nsec;
}

/// The main thread writes it before it starts timers, and so before any callback runs.
std::atomic<int64_t> must_end{0};

void skip(const std::string & why)
{
  std::printf("skipped: %s\n", why.c_str());
  std::fflush(stdout);
  std::_Exit(kSkipped);
}

void check(const Status & status)
{
  if (!status.ok()) {
    skip(status.message());
  }
}

bool become_fifo(int priority)
{
  sched_param parameter{};
  parameter.sched_priority = priority;
  return sched_setscheduler(0, SCHED_FIFO, &parameter) == 0;
}

void run_on(const std::vector<int> & cpus)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    CPU_SET(static_cast<unsigned>(cpu), &set);
  }
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    skip("the machine lacks one of the CPUs");
  }
}

void sleep_until(int64_t time)
{
  std::this_thread::sleep_for(nanoseconds(std::max<int64_t>(0, time - now_ns())));
}

/// Some virtual machines learn that another CPU wants this one only when they leave for the host: on one of
/// them a thread that was woken from another CPU came up to 4 ms late, at the next tick. So leave.
void leave_virtual_machine()
{
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  __cpuid(0, a, b, c, d);
#endif
}

struct Gap
{
  int64_t begin;
  int64_t end;
};

/// Uses CPU time of the calling thread. Ends early when the whole run is over, so that no mistake
/// keeps the machine. With `ran` it also notes when the thread ran.
void burn(int64_t cpu_time, std::vector<Gap> * ran = nullptr)
{
  const int64_t until = now_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_time;
  Gap part{now_ns(), now_ns()};
  while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until && part.end < must_end) {
    leave_virtual_machine();
    const int64_t now = now_ns();
    if (now - part.end > kGap && ran && ran->size() < ran->capacity()) {
      ran->push_back(part);
      part.begin = now;
    }
    part.end = now;
  }
  if (ran && ran->size() < ran->capacity()) {
    ran->push_back(part);
  }
}

struct Step
{
  int64_t burn = 0;
  std::string release;
  int64_t hold = 0;
};

struct Node
{
  std::string group;
  int64_t period = 0;
  int64_t first = 0;
  rclrt_core::CallbackOptions options;
  std::vector<Step> steps;
  Engine * engine = nullptr;
  std::shared_ptr<rclrt_core::Callback> callback;
  std::vector<Gap> ran;  ///< with a budget; its jobs write it one after the other
};

struct Part
{
  std::vector<int> cpus;
  rclrt_core::EngineOptions options;
  std::deque<Node> nodes;
  std::map<std::string, rclrt_core::Budget> shared;
  std::unique_ptr<Engine> engine;
  std::shared_ptr<rclrt_core::Callback> once;
};

rclrt_core::LinuxPlatform platform;  // outlives the engines
std::deque<Part> parts;
std::map<std::string, Node *> nodes;

rclrt_core::Attributes fifo(int priority)
{
  rclrt_core::Attributes attributes;
  attributes.scheduling_policy = rclrt_core::SchedulingPolicy::kFifo;
  attributes.priority = priority;
  return attributes;
}

void read_engine(std::istream & words)
{
  std::string model;
  std::string policy;
  words >> model >> policy;
  Part & part = parts.emplace_back();
  for (int cpu = 0; words >> cpu;) {
    part.cpus.push_back(cpu);
  }
  words.clear();
  part.options.model = model == "priority_events" ? rclrt_core::ExecutionModel::kPriorityEvents
                       : model == "preemptive"    ? rclrt_core::ExecutionModel::kPreemptive
                                                  : rclrt_core::ExecutionModel::kIsolated;
  part.options.policy =
    policy == "edf" ? &rclrt_core::edf_policy() : &rclrt_core::fixed_priority_policy();
  part.options.attributes_mode = rclrt_core::AttributesMode::kRequire;
  part.options.timer_thread = fifo(kTimerPriority);
  part.options.trace_capacity = 1 << 13;
}

void read_budget(std::istream & words, rclrt_core::Budget & budget)
{
  int64_t runtime = 0;
  int64_t period = 0;
  words >> runtime >> period;
  budget.runtime = nanoseconds(runtime);
  budget.period = nanoseconds(period);
}

void read_graph()
{
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "engine") {
      read_engine(words);
    } else if (what == "callback") {
      Node & node = parts.back().nodes.emplace_back();
      int priority = 0;
      int64_t deadline = 0;
      words >> node.options.name >> node.group >> node.options.queue_priority >> priority >>
        deadline >> node.options.inherit_priority;
      node.options.attributes = fifo(priority);
      node.options.relative_deadline = nanoseconds(deadline);
      node.options.depth = 1000;
      nodes[node.options.name] = &node;
    } else if (what == "shared") {
      std::string group;
      words >> group;
      read_budget(words, parts.back().shared[group]);
    } else if (what == "budget") {
      read_budget(words, parts.back().nodes.back().options.budget);
    } else if (what == "timer") {
      words >> parts.back().nodes.back().period >> parts.back().nodes.back().first;
    } else {
      Step & step = parts.back().nodes.back().steps.emplace_back();
      what == "burn" ? words >> step.burn : words >> step.release;
      if (what == "hold") {
        words >> step.hold;
      }
    }
    if (!words) {
      std::fprintf(stderr, "not understood: %s\n", line.c_str());
      std::exit(EXIT_FAILURE);
    }
  }
}

void work(Node & node)
{
  for (const Step & step : node.steps) {
    burn(step.burn, node.ran.capacity() > 0 ? &node.ran : nullptr);
    if (!step.release.empty()) {
      const rclrt_core::Publication publication;
      const Node & released = *nodes.at(step.release);
      released.engine->notify(*released.callback);
      burn(step.hold);
    }
  }
}

void add_nodes(Part & part)
{
  std::map<std::string, std::shared_ptr<rclrt_core::Group>> groups;
  for (Node & node : part.nodes) {
    std::shared_ptr<rclrt_core::Group> & group = groups[node.group];
    if (!group) {
      rclrt_core::GroupOptions options;
      options.name = node.group;
      options.attributes = node.options.attributes;
      options.budget = part.shared[node.group];
      check(part.engine->add_group(options, &group));
    }
    node.engine = part.engine.get();
    if (node.options.budget.exists() || part.shared[node.group].exists()) {
      node.ran.reserve(kMaxGaps / 16);
    }
    node.options.run = [&node](const rclrt_core::Job &) {
      work(node);
      return true;
    };
    if (node.period == 0) {
      check(part.engine->add_callback(node.options, group, &node.callback));
      continue;
    }
    rclrt_core::TimerOptions timer;
    timer.period = nanoseconds(node.period);
    timer.autostart = false;
    check(part.engine->add_timer(node.options, timer, group, &node.callback));
  }
}

/// Uses what is left of a CPU from `begin` to `end`, and notes when nothing was.
void fill(int cpu, int64_t begin, int64_t end, std::vector<Gap> * gaps)
{
  run_on({cpu});
  if (!become_fifo(kFillerPriority)) {
    skip("SCHED_FIFO is not permitted");
  }
  sleep_until(begin);
  int64_t last = begin;
  while (last < end && gaps->size() < gaps->capacity()) {
    const int64_t now = now_ns();
    if (now - last > kGap) {
      gaps->push_back({last, now});
    }
    last = now;
    leave_virtual_machine();
  }
}

/// Return when the engine runs jobs.
void run_once(Part & part)
{
  std::shared_ptr<rclrt_core::Group> group;
  std::promise<void> ran;
  rclrt_core::CallbackOptions options;
  options.name = "once";
  options.run = [&ran](const rclrt_core::Job &) {
    ran.set_value();
    return true;
  };
  check(part.engine->add_group({}, &group));
  check(part.engine->add_callback(options, group, &part.once));
  part.engine->notify(*part.once);
  ran.get_future().wait();
}

std::vector<std::thread> start_engines()
{
  std::vector<std::thread> spinners;
  std::vector<int> every;
  for (Part & part : parts) {
    // All threads of the engine come from this one or the next, and so run where these do.
    run_on(part.cpus);
    every.insert(every.end(), part.cpus.begin(), part.cpus.end());
    part.engine = std::make_unique<Engine>(platform, part.options);
    add_nodes(part);
    spinners.emplace_back([&part] { check(part.engine->spin()); });
  }
  run_on(every);
  for (Part & part : parts) {
    run_once(part);
  }
  return spinners;
}

std::vector<Gap> run(int64_t begin, int64_t end)
{
  std::map<int, std::vector<Gap>> gaps;
  for (const Part & part : parts) {
    for (const int cpu : part.cpus) {
      gaps[cpu].reserve(kMaxGaps);
    }
  }
  std::vector<std::thread> fillers;
  for (auto & [cpu, mine] : gaps) {
    fillers.emplace_back([cpu = cpu, &mine = mine, begin, end] { fill(cpu, begin, end, &mine); });
  }
  const auto for_timers = [](auto && act) {
    for (Part & part : parts) {
      for (const Node & node : part.nodes) {
        if (node.period != 0) {
          check(act(*part.engine, node));
        }
      }
    }
  };
  for_timers([begin](Engine & engine, const Node & node) {
    return engine.reset_timer(node.callback, nanoseconds(begin + node.first - now_ns()));
  });
  sleep_until(end);
  for_timers([](Engine & engine, const Node & node) { return engine.cancel_timer(node.callback); });
  sleep_until(must_end);
  std::vector<Gap> every;
  for (std::thread & filler : fillers) {
    filler.join();
  }
  for (const auto & [cpu, mine] : gaps) {
    every.insert(every.end(), mine.begin(), mine.end());
  }
  return every;
}

void write_trace(Part & part, const std::string & path)
{
  rclrt_core::TraceFile file;
  check(file.open(path));
  part.engine->read_trace([&file](const rclrt_job_record & job) { file.append(job); });
  check(file.close(part.engine->trace_source()));
}

}  // namespace

int main(int argc, char ** argv)
{
  if (argc != 3) {
    std::fprintf(stderr, "graph_on_threads MILLISECONDS FOLDER < GRAPH\n");
    return EXIT_FAILURE;
  }
  const int64_t time = std::atoi(argv[1]) * kNsPerMs;
  alarm(
    static_cast<unsigned>(time / 1000000000 + 20));  // whatever happens, no thread outlasts that
  read_graph();
  mlockall(MCL_CURRENT | MCL_FUTURE);  // if permitted: no page faults
  std::vector<std::thread> spinners = start_engines();
  if (!become_fifo(kConductorPriority)) {
    skip("SCHED_FIFO is not permitted");
  }
  const int64_t begin = now_ns() + 20 * kNsPerMs;
  must_end = begin + time + kDrain;
  const std::vector<Gap> gaps = run(begin, begin + time);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].engine->stop();
    spinners[i].join();
    write_trace(parts[i], std::string(argv[2]) + "/" + std::to_string(i) + ".trace");
  }
  std::printf("ran %" PRId64 " %" PRId64 "\n", begin, begin + time);
  for (const Gap & gap : gaps) {
    std::printf("gap %" PRId64 " %" PRId64 "\n", gap.begin, gap.end);
  }
  for (const Part & part : parts) {
    for (const Node & node : part.nodes) {
      for (const Gap & ran : node.ran) {
        std::printf("limited %" PRId64 " %" PRId64 "\n", ran.begin, ran.end);
      }
    }
  }
  return EXIT_SUCCESS;
}
