// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Everything at once: eleven threads with deadlines in three processes, which block, migrate, change their deadlines and
// budgets, are stopped, and end by an exec; beside threads of the background, bursts of SCHED_FIFO, and moves from
// cgroup to cgroup. More work than there are CPUs. The order is judged by the record, see machine.sh.

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <random>

#include "scenarios.hpp"
#include "worker.hpp"

namespace guest
{
namespace
{

constexpr std::array<int, 3> kThreads = {4, 4, 3};  // of each process; the last one execs
constexpr int kMost = 4;
constexpr int64_t kLengthMs = 1200;
constexpr int kShortMs = 4;
constexpr int kLongMs = 12;
constexpr int64_t kPatienceMs = 10'000;
constexpr char kCgroups[] = "/tmp/cgroups_of_the_mix";

/// Jobs that each thread has done, in memory that the processes share.
using Jobs = std::array<std::atomic<int>, kThreads.size() * kMost>;

struct Load
{
  bool has_budgets;
  int most_ms;  // In one go.
  int
    fourths;  // So many of four jobs have a deadline before they are released; the others have one when they run.
};

void member(
  rclrt_scx::Client & client, unsigned seed, Load load, int64_t until_ns, std::atomic<int> & jobs)
{
  std::minstd_rand random(seed);
  const auto from = [&random](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  const auto in = [&from](int least, int most) { return now_ns() + from(least, most) * kMs; };
  bool has_deadline = false;
  std::string why;
  rclrt_scx::Slot slot = client.bind_this_thread(&why);
  if (!slot) {
    std::printf("no slot: %s\n", why.c_str());
    return;
  }
  // On one CPU there is too much to do: some may get nothing before the others have ended.
  while (now_ns() < until_ns || (jobs.load() == 0 && now_ns() < until_ns + kPatienceMs * kMs)) {
    if (!has_deadline) {
      set_due(slot, in(5, 150));
      sched_yield();
    }
    spin_ms(from(0, load.most_ms));
    switch (from(0, 7)) {
      case 0:
        set_due(slot, in(200, 400));
        sched_yield();
        break;
      case 1:
        set_due(slot, in(1, 2));
        break;
      case 2:
        sleep_ms(from(1, 4));
        break;
      case 3:
        move_to(from(-1, cpu_count() - 1));
        break;
      case 4:
        if (load.has_budgets) {
          set_budget(slot, from(1, 3) * kMs, 20 * kMs);
        }
        break;
      case 5:
        if (load.has_budgets) {
          set_budget(slot, 0, 0);
        }
        break;
      default:
        break;
    }
    spin_ms(from(0, 3));
    jobs.fetch_add(1);
    const int pause = from(1, 12);
    has_deadline = from(1, 4) <= load.fourths;  // Of the next job; else it has none until it runs.
    set_due(slot, has_deadline ? in(pause + 5, pause + 150) : 0);
    sleep_ms(pause);
  }
  set_due(
    slot, 0);  // The end of the slot would be the end of the deadline, too, but says so to nobody.
}

/// Returns in the parent only.
pid_t start(std::size_t process, Jobs & jobs, Load load)
{
  const pid_t child = fork();
  if (child != 0) {
    return child;
  }
  become_other();
  pin_to(-1);
  std::string why;
  const auto client = rclrt_scx::Client::open(&why);
  if (client == nullptr) {
    std::printf("no client: %s\n", why.c_str());
    std::_Exit(1);
  }
  const int64_t until_ns = now_ns() + kLengthMs * kMs;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads[process]; ++i) {
    const std::size_t number = process * kMost + static_cast<std::size_t>(i);
    threads.emplace_back([&, number] {
      member(*client, static_cast<unsigned>(18 + number), load, until_ns, jobs[number]);
    });
  }
  if (process == kThreads.size() - 1) {
    sleep_ms(kLengthMs / 2);
    execlp("sleep", "sleep", "0", nullptr);
  }
  for (std::thread & thread : threads) {
    thread.join();
  }
  std::_Exit(0);
}

/// Two cgroups to move between, with the CPU controller where the kernel has it.
class Cgroups
{
public:
  Cgroups()
  {
    mkdir(kCgroups, 0700);
    is_mounted_ = mount("none", kCgroups, "cgroup2", 0, nullptr) == 0;
    write("/cgroup.subtree_control", "+cpu");
    mkdir(box().c_str(), 0700);
  }
  ~Cgroups()
  {
    rmdir(box().c_str());
    write("/cgroup.subtree_control", "-cpu");
    umount(kCgroups);
    rmdir(kCgroups);
  }
  Cgroups(const Cgroups &) = delete;
  Cgroups & operator=(const Cgroups &) = delete;

  bool move(pid_t process, bool into_box)
  {
    return is_mounted_ &&
           write(into_box ? "/box/cgroup.procs" : "/cgroup.procs", std::to_string(process));
  }

private:
  static std::string box() { return std::string(kCgroups) + "/box"; }
  static bool write(const std::string & file, const std::string & text)
  {
    std::ofstream out(kCgroups + file);
    out << text << std::flush;
    return out.good();
  }
  bool is_mounted_ = false;
};

/// `comes_and_goes`: the last CPU is taken away and brought back, twice, unless it is the only one. `shows_order`: jobs
/// are so long that a wrong order shows from outside. How late a budget makes a thread only the scheduler
/// knows, so only the threads of one process have some.
std::string mix(bool comes_and_goes, bool shows_order)
{
  Stage stage(0);
  const int last = cpu_count() - 1;
  void * memory =
    mmap(nullptr, sizeof(Jobs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return "no memory";
  }
  Jobs & jobs = *new (memory) Jobs{};
  Cgroups cgroups;
  std::vector<pid_t> children;
  for (std::size_t i = 0; i < kThreads.size(); ++i) {
    const Load load = shows_order ? Load{i == 1, kLongMs, 3} : Load{true, kShortMs, 2};
    children.push_back(start(i, jobs, load));
  }
  std::atomic<bool> stop{false};
  std::thread bursts([&stop] {
    pin_to(-1);
    become_fifo(40);
    while (!stop.load()) {
      spin_ms(2);
      sleep_ms(23);
    }
  });
  int moves = 0;
  int switched = 0;
  {
    Background first(0);
    Background second(last, 5);
    for (int round = 0; round < 12; ++round) {
      sleep_ms(60);
      if (comes_and_goes && last > 0 && round % 3 == 1) {
        switched += set_online(last, round % 2 == 0) ? 1 : 0;
      }
      kill(children[1], SIGSTOP);
      moves += cgroups.move(children[0], round % 2 == 0) ? 1 : 0;
      sleep_ms(20);
      kill(children[1], SIGCONT);
    }
  }
  stop.store(true);
  bursts.join();
  std::string seen = moves == 12 ? "" : std::to_string(moves) + " of 12 moves; ";
  if (comes_and_goes && last > 0 && switched != 4) {
    seen += "a CPU did not come or go: " + std::to_string(switched) + " of 4; ";
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    int status = 0;
    waitpid(children[i], &status, 0);
    seen += status == 0
              ? ""
              : "process " + std::to_string(i) + " ended with " + std::to_string(status) + "; ";
    for (int j = 0; j < kThreads[i]; ++j) {
      const int done = jobs[i * kMost + static_cast<std::size_t>(j)].load();
      seen += done > 0 ? ""
                       : "thread " + std::to_string(j) + " of process " + std::to_string(i) +
                           " did nothing; ";
    }
  }
  munmap(memory, sizeof(Jobs));
  return seen + (stage.client->in_force() ? "" : "ejected: " + stage.client->exit_reason());
}

std::string whatever_threads_do_each_gets_on() { return mix(false, false); }

std::string whatever_threads_do_those_with_earlier_deadlines_run() { return mix(false, true); }

std::string whatever_threads_do_while_a_cpu_comes_and_goes_each_gets_on()
{
  return mix(true, false);
}

}  // namespace

Scenarios mix_scenarios()
{
  return {
#define SCENARIO(name) {#name, name}
    SCENARIO(whatever_threads_do_each_gets_on),
    SCENARIO(whatever_threads_do_those_with_earlier_deadlines_run),
    SCENARIO(whatever_threads_do_while_a_cpu_comes_and_goes_each_gets_on),
#undef SCENARIO
  };
}

}  // namespace guest
