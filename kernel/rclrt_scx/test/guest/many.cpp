// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Thousands of threads with deadlines: what those that wait cost those that run.

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "scenarios.hpp"

namespace guest
{
namespace
{

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
std::string a_thousand_pinned_and_a_thousand_free_ones_that_wait_cost_a_wake_up_little()
{
  const int cpus = cpu_count();
  if (cpus < 3) {
    return "skip: needs three CPUs";
  }
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
std::string twice_as_many_that_starve_do_not_end_the_scheduler()
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

Scenarios many_scenarios()
{
  return {
#define SCENARIO(name) {#name, name}
    SCENARIO(a_thousand_pinned_and_a_thousand_free_ones_that_wait_cost_a_wake_up_little),
    SCENARIO(twice_as_many_that_starve_do_not_end_the_scheduler),
#undef SCENARIO
  };
}

}  // namespace guest
