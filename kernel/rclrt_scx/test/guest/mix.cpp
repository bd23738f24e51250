// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Everything at once: eleven threads with deadlines in three processes, which block, migrate, change their deadlines and
// budgets, are stopped, and end by an exec; beside threads of the background, bursts of SCHED_FIFO, and moves from
// cgroup to cgroup. More work than there are CPUs. The order is judged by the record, see machine.sh.

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <random>
#include <thread>

#include "scenarios.hpp"

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
    has_deadline = from(1, 4) <= load.fourths;  // Else the job gets one as it runs.
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

SCENARIO(alone, 1, whatever_threads_do_each_gets_on) { return mix(false, false); }

SCENARIO(alone, 1, whatever_threads_do_those_with_earlier_deadlines_run)
{
  return mix(false, true);
}

SCENARIO(alone, 1, whatever_threads_do_while_a_cpu_comes_and_goes_each_gets_on)
{
  return mix(true, false);
}

// ---- Thousands of threads with deadlines: what those that wait cost those that run

constexpr int kMany = 1000;
constexpr int64_t kStack = 65536;

/// Threads that wait for a CPU with a deadline, once they have been let go, and end when they get one.
class Crowd
{
public:
  /// `cpu`: where they may run; -1: anywhere.
  Crowd(rclrt_scx::Client & client, int count, int cpu, int64_t deadline_ns)
  {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStack);
    threads_.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      threads_.push_back(std::make_unique<Member>(Member{this, &client, cpu, deadline_ns, {}}));
      if (pthread_create(
            &threads_.back()->thread, &attributes, &Crowd::run, threads_.back().get())) {
        threads_.pop_back();
        break;
      }
    }
    pthread_attr_destroy(&attributes);
    for (int i = 0; i < 20000 && ready_.load() < static_cast<int>(threads_.size()); ++i) {
      sleep_ms(1);
    }
  }
  ~Crowd()
  {
    let_go();
    for (const auto & member : threads_) {
      pthread_join(member->thread, nullptr);
    }
  }
  Crowd(const Crowd &) = delete;
  Crowd & operator=(const Crowd &) = delete;

  void let_go()
  {
    go_.store(1);
    syscall(SYS_futex, &go_, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
  }
  int bound() const { return bound_.load(); }
  int done() const { return done_.load(); }

private:
  struct Member
  {
    Crowd * crowd;
    rclrt_scx::Client * client;
    int cpu;
    int64_t deadline_ns;
    pthread_t thread;
  };

  static void * run(void * argument)
  {
    const Member & self = *static_cast<Member *>(argument);
    Crowd & crowd = *self.crowd;
    std::string why;
    become_other();
    pin_to(self.cpu);
    rclrt_scx::Slot slot = self.client->bind_this_thread(&why);
    if (slot) {
      slot.set_deadline(self.deadline_ns);
      crowd.bound_.fetch_add(1);
    }
    crowd.ready_.fetch_add(1);
    while (crowd.go_.load() == 0) {
      syscall(SYS_futex, &crowd.go_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
    crowd.done_.fetch_add(1);
    return nullptr;
  }

  std::vector<std::unique_ptr<Member>> threads_;
  std::atomic<uint32_t> go_{0};
  std::atomic<int> ready_{0};
  std::atomic<int> bound_{0};
  std::atomic<int> done_{0};
};

/// Median time from waking a thread that preempts to its first instruction, ns.
int64_t wake_to_run(Worker & worker, int64_t deadline_ns)
{
  std::vector<int64_t> samples;
  for (int i = 0; i < 41; ++i) {
    int64_t woken = 0;
    const int64_t began = now_ns();
    worker.go_at(deadline_ns, 0, [&] { woken = now_ns(); });
    worker.wait_done();
    samples.push_back(woken - began);
  }
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

// Beside hogs on all CPUs, with earlier and with later deadlines than theirs.
SCENARIO(alone, 3, a_thousand_pinned_and_a_thousand_free_ones_that_wait_cost_a_wake_up_little)
{
  const int cpus = cpu_count();
  const int64_t soon = now_ns() + 1000'000 * kMs;  // Nobody is late.
  const auto in_order = [soon](int place) { return soon + place * 1000 * kMs; };
  Stage stage(0);
  const auto add = [&stage](const char * name, int cpu) -> Worker & {
    stage.workers.push_back(std::make_unique<Worker>(*stage.client, stage.log, name, cpu));
    return *stage.workers.back();
  };
  std::atomic<bool> stop{false};
  const auto until_the_end = [&stop] { spin_until(stop); };
  Worker & pinned = add("pinned", 0);
  Worker & free = add("free", -1);
  std::string seen;
  {
    Crowd here(*stage.client, kMany, 1, in_order(1));
    Crowd anywhere(*stage.client, kMany, -1, in_order(4));
    if (here.bound() < kMany || anywhere.bound() < kMany) {
      seen = "only " + std::to_string(here.bound() + anywhere.bound()) + " have a slot. ";
    }
    for (int cpu = 0; cpu < cpus; ++cpu) {
      add("hog", cpu).go_at(in_order(cpu == 1 ? 0 : 3), 0, until_the_end);
    }
    sleep_ms(20);
    const int64_t before[2] = {wake_to_run(pinned, in_order(2)), wake_to_run(free, in_order(2))};
    here.let_go();
    anywhere.let_go();
    sleep_ms(50);
    const int64_t after[2] = {wake_to_run(pinned, in_order(2)), wake_to_run(free, in_order(2))};
    const int done = here.done() + anywhere.done();
    for (const int i : {0, 1}) {
      std::printf(
        "LATENCY wake to run of one that is %s, median of 41: alone %.1f us, beside %d that wait "
        "%.1f us\n",
        i == 0 ? "pinned" : "free", static_cast<double>(before[i]) / 1e3, 2 * kMany - done,
        static_cast<double>(after[i]) / 1e3);
      if (after[i] > 2 * before[i]) {
        seen += std::string(i == 0 ? "pinned" : "free") + ": more than twice. ";
      }
    }
    if (done > kMany / 2) {
      seen += std::to_string(done) + " did not wait";
    }
    stop.store(true);
  }
  if (!wait_all(stage.workers)) {
    return "hangs";
  }
  return stage.client->in_force() ? seen : "ejected: " + stage.client->exit_reason();
}

// Loaded with --timeout 2000 and the period of 100 ms: ten on each CPU would have their turn in time if all turns came at
// the same pace.
SCENARIO(alone, 1, twice_as_many_that_starve_do_not_end_the_scheduler)
{
  constexpr int kStarved = 20;
  const int cpus = cpu_count();
  Stage stage(0);
  std::atomic<bool> stop{false};
  std::vector<std::unique_ptr<std::atomic<bool>>> ran;
  for (int i = 0; i < kStarved * cpus + cpus; ++i) {
    const bool is_hog = i < cpus;
    ran.push_back(std::make_unique<std::atomic<bool>>(false));
    stage.workers.push_back(std::make_unique<Worker>(
      *stage.client, stage.log, is_hog ? "hog" : "starved", i % 3 == 0 ? i % cpus : -1));
    std::atomic<bool> & its = *ran.back();
    stage.workers.back()->go_at(now_ns() + (is_hog ? 1000 : 100'000) * kMs, 0, [&stop, &its] {
      its.store(true);
      spin_until(stop);
    });
  }
  sleep_ms(5000);
  stop.store(true);
  if (!wait_all(stage.workers)) {
    return "hangs";
  }
  if (!stage.client->in_force()) {
    return "ejected: " + stage.client->exit_reason();
  }
  const auto never = std::count_if(ran.begin(), ran.end(), [](const auto & its) { return !*its; });
  return never == 0 ? "" : std::to_string(never) + " never ran";
}

}  // namespace
}  // namespace guest
