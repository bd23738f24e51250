// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Slots and schedulers that come and go. Those that need more than the scheduler in force (another
// user, a loader killed) are one step of a script in test_vm.py.

#include <dirent.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

#include "bpf_calls.hpp"
#include "scenarios.hpp"

namespace guest
{
namespace
{

/// How many slots are taken, as the kernel counts.
uint32_t slots_taken()
{
  rclrt_scx_state state{};
  return rclrt_scx::Table(RCLRT_SCX_DIRECTORY, "state").read(0, state) ? state.bound : ~0U;
}

std::string all_given_back()
{
  for (int i = 0; i < 1000 && slots_taken() != 0; ++i) {
    sleep_ms(5);
  }
  return slots_taken() == 0 ? "" : std::to_string(slots_taken()) + " slots are still taken";
}

SCENARIO(alone, 1, a_killed_client_loses_its_slots)
{
  const pid_t child = fork();
  if (child == 0) {
    Stage stage(8);
    for (auto & worker : stage.workers) {
      worker->go(1000, 60000);
    }
    sleep_ms(60000);
    std::_Exit(0);
  }
  for (int i = 0; i < 2000 && slots_taken() < 8; ++i) {
    sleep_ms(5);
  }
  if (slots_taken() != 8) {
    return "the client did not take 8 slots but " + std::to_string(slots_taken());
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return all_given_back();
}

SCENARIO(alone, 1, more_threads_than_slots_is_a_clear_error)
{
  // The scheduler under test has 16 slots.
  Stage stage(16);
  std::string why;
  bool empty = false;
  std::thread([&] { empty = !stage.client->bind_this_thread(&why); }).join();
  if (!empty || why.find("all 16 slots") == std::string::npos) {
    return "got '" + why + "'";
  }
  stage.workers.pop_back();
  std::thread([&] { empty = !stage.client->bind_this_thread(&why); }).join();
  return empty ? "a slot that was given back is not free" : "";
}

/// Threads of this process that get a slot, until one is refused; they keep it. `why`: of the refusal.
int bind_until_refused(rclrt_scx::Client & client, std::string * why)
{
  int bound = 0;
  for (bool more = true; more;) {
    const auto got = std::make_shared<std::atomic<int>>(-1);
    std::thread([&client, got, why] {
      const rclrt_scx::Slot slot = client.bind_this_thread(why);
      *got = slot ? 1 : 0;
      while (got->load() == 1) {
        sleep_ms(1000);
      }
    }).detach();
    while (got->load() == -1) {
      sleep_ms(1);
    }
    more = got->load() == 1;
    bound += more ? 1 : 0;
  }
  return bound;
}

/// After `scx load --group rt --slots 16`: of 16 slots a process gets 8, its user 12.
SCENARIO(alone, 1, a_member_leaves_slots_to_others)
{
  const std::string problem = as_user([]() -> std::string {
    std::string why;
    const auto client = rclrt_scx::Client::open(&why);
    if (client == nullptr) {
      return why;
    }
    const int bound = bind_until_refused(*client, &why);
    if (bound != 8 || why.find("this process already has 8 of the 16 slots") == std::string::npos) {
      return std::to_string(bound) + " in the first process: " + why;
    }
    const pid_t second = fork();
    if (second == 0) {
      const auto again = rclrt_scx::Client::open(&why);
      const int more = again == nullptr ? -1 : bind_until_refused(*again, &why);
      std::_Exit(
        more == 4 &&
            why.find("this user's processes already have 12 of the 16") != std::string::npos
          ? 0
          : 1 + more);
    }
    int status = 0;
    waitpid(second, &status, 0);
    return status == 0 ? "" : "the second process: status " + std::to_string(status);
  });
  return problem.empty() ? all_given_back() : problem;
}

SCENARIO(alone, 1, a_second_bind_is_refused_and_a_released_slot_is_free)
{
  Stage stage(0);
  std::string why;
  rclrt_scx::Slot slot = stage.client->bind_this_thread(&why);
  const rclrt_scx::Slot second = stage.client->bind_this_thread(&why);
  if (!slot || second || why.find("already has slot") == std::string::npos) {
    return "got '" + why + "'";
  }
  slot.release();
  slot = stage.client->bind_this_thread(&why);
  return slot && slots_taken() == 1 ? "" : "bound " + std::to_string(slots_taken()) + why;
}

/// The script runs it as uid 1000, after `scx load --group rt`.
SCENARIO(alone, 1, an_unprivileged_member_of_the_group_uses_deadlines)
{
  return as_user([]() -> std::string {
    std::string why;
    const auto client = rclrt_scx::Client::open(&why);
    if (client == nullptr) {
      return why;
    }
    Log log;
    Worker early(*client, log, "A");
    Worker late(*client, log, "B");
    early.go(1000, 10);
    late.go(2000, 10);
    if (!early.slot() || !late.slot() || !early.wait_done() || !late.wait_done()) {
      return "no slot, or no end: " + early.why();
    }
    return late.slot().lend(now_ns() + 1) == 0 ? "" : "it lends nothing";
  });
}

SCENARIO(alone, 1, without_the_group_access_is_refused_with_the_remedy)
{
  return as_user([]() -> std::string {
    std::string why;
    return rclrt_scx::Client::open(&why) == nullptr ? expect_in(why, "--group") : "not refused";
  });
}

/// As root of a container without the capabilities that Docker does not give, with nothing of the machine but the folder.
std::string in_a_container(unsigned long flags, const std::function<std::string()> & scenario)
{
  const pid_t child = fork();
  if (child == 0) {
    const auto last = [](const std::string & problem) {
      std::printf("%s\n", problem.c_str());
      std::fflush(stdout);
      std::_Exit(problem.empty() ? 0 : 1);
    };
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct kept[2] = {};
    if (
      unshare(CLONE_NEWNS) != 0 || mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("root", "/tmp", "tmpfs", 0, nullptr) != 0 || mkdir("/tmp/shared", 0755) != 0 ||
      mount(RCLRT_SCX_DIRECTORY, "/tmp/shared", "", MS_BIND, nullptr) != 0 ||
      mount("", "/tmp/shared", "", MS_REMOUNT | MS_BIND | flags, nullptr) != 0 ||
      chroot("/tmp") != 0 || chdir("/") != 0 || syscall(SYS_capget, &header, kept) != 0) {
      last(std::string("no container: ") + std::strerror(errno));
    }
    kept[0].effective = kept[0].permitted = 0xa80425fbU | 1U << CAP_SYS_NICE;
    kept[1].effective = kept[1].permitted = 0;
    if (syscall(SYS_capset, &header, kept) != 0) {
      last("the capabilities stay");
    }
    last(scenario());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? "" : "status " + std::to_string(status) + ", see above";
}

SCENARIO(alone, 1, a_container_uses_deadlines_by_a_folder_that_it_may_only_read)
{
  return in_a_container(MS_RDONLY, []() -> std::string {
    std::string why;
    const auto client = rclrt_scx::Client::open(&why, "/shared");
    const rclrt_scx::Slot slot =
      client == nullptr ? rclrt_scx::Slot() : client->bind_this_thread(&why);
    if (!slot || !client->in_force()) {
      return why;
    }
    return unlink("/shared/bind") != 0 && errno == EROFS ? "" : "it can be written";
  });
}

/// After it, nobody finds the tables any more.
SCENARIO(alone, 1, a_container_that_may_write_the_folder_ends_no_scheduler)
{
  const Stage stage(0);
  const std::string problem = in_a_container(0, []() -> std::string {
    DIR * const folder = opendir("/shared");
    while (const dirent * entry = folder == nullptr ? nullptr : readdir(folder)) {
      unlinkat(dirfd(folder), entry->d_name, 0);
    }
    return access("/shared/bind", F_OK) != 0 ? "" : "it cannot be written";
  });
  sleep_ms(100);
  return !problem.empty() ? problem : stage.client->in_force() ? "" : "it has ended";
}

SCENARIO(alone, 1, after_an_ejection_threads_go_on_and_are_told)
{
  Stage stage(2);
  stage[0].go(1000, 300);
  sleep_ms(20);
  // What an administrator does with SysRq-S.
  std::FILE * trigger = std::fopen("/proc/sysrq-trigger", "w");
  if (trigger == nullptr) {
    return "skip: no sysrq";
  }
  std::fputs("S", trigger);
  std::fclose(trigger);
  for (int i = 0; i < 1000 && stage.client->in_force(); ++i) {
    sleep_ms(5);
  }
  if (stage.client->in_force()) {
    return "not told";
  }
  std::printf("ejected because: %s\n", stage.client->exit_reason().c_str());
  if (stage.client->exit_reason().empty()) {
    return "no reason";
  }
  stage[1].go(1000, 20);
  if (!wait_all(stage.workers)) {
    return "threads stopped: " + stage.log.text();
  }
  std::string why;
  if (rclrt_scx::Client::open(&why) != nullptr || why.find("was ejected") == std::string::npos) {
    return "a new client got '" + why + "'";
  }
  bool refused = false;
  std::thread([&] { refused = !stage.client->bind_this_thread(&why); }).join();
  return refused && why.find("is gone") != std::string::npos ? "" : "a bind got '" + why + "'";
}

/// Partial mode on one CPU: SCHED_OTHER outranks us, the kernel's server saves us.
SCENARIO(alone, 1, beside_a_busy_fair_thread_partial_mode_still_runs)
{
  Stage stage(1, 0);
  std::atomic<bool> stop{false};
  std::atomic<bool> spins{false};
  std::thread spinner([&] {
    pin_to(0);
    become_other();
    spins.store(true);
    spin_until(stop);
  });
  sleep_ms(50);
  stage[0].go(1000, 60);
  bool done = false;
  for (int i = 0; i < 60 && !done; ++i) {  // With the kernel's default of 5 % it takes 1.2 s.
    sleep_ms(10);
    done = stage[0].done();
  }
  stop.store(true);
  spinner.join();
  return done ? "" : "60 ms of work were not done in 600 ms";
}

/// Partial mode: on each CPU a fair thread that never sleeps, and 50 % of work with deadlines. On one CPU less, jobs would
/// be late.
SCENARIO(alone, 1, beside_busy_fair_threads_on_all_cpus_no_job_is_late)
{
  constexpr int64_t kPeriodMs = 80;
  constexpr int64_t kWorkMs = 10;
  constexpr int kRounds = 18;
  const int cpus = cpu_count();
  Stage stage(4 * cpus);
  std::vector<std::unique_ptr<Background>> fair;
  for (int cpu = 0; cpu < cpus; ++cpu) {
    fair.push_back(std::make_unique<Background>(cpu));
  }
  std::atomic<int> late{0};
  std::atomic<int64_t> latest_ns{0};
  std::vector<std::atomic<int>> jobs_of(static_cast<std::size_t>(cpus));
  const int64_t began_ns = now_ns() + 20 * (cpus + 1) * kMs;
  for (auto & worker : stage.workers) {
    worker->go(1000, 0, [&, &slot = worker->slot()] {
      pin_to(cpus - 1);  // All begin on one CPU, and are to find the others.
      spin_ms(1);
      pin_to(-1);
      for (int i = 0; i < kRounds; ++i) {
        const int64_t release_ns = began_ns + i * kPeriodMs * kMs;
        const int64_t deadline_ns = release_ns + kPeriodMs * kMs;
        const timespec release{release_ns / 1000000000, release_ns % 1000000000};
        slot.set_deadline(deadline_ns);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &release, nullptr);
        spin_ms(kWorkMs);
        const int64_t ended_ns = now_ns();
        late += ended_ns > deadline_ns ? 1 : 0;
        latest_ns.store(std::max(latest_ns.load(), ended_ns - release_ns));
        ++jobs_of[static_cast<std::size_t>(sched_getcpu())];
      }
    });
  }
  const bool done = wait_all(stage.workers);
  fair.clear();
  std::printf(
    "LATENCY of %d jobs %d late, the last %.1f ms after its release;", kRounds * 4 * cpus,
    late.load(), static_cast<double>(latest_ns.load()) / 1e6);
  for (const auto & jobs : jobs_of) {
    std::printf(" %d", jobs.load());
  }
  std::printf(" ended on each CPU\n");
  return done && late.load() == 0 ? "" : std::to_string(late.load()) + " jobs were late";
}

}  // namespace
}  // namespace guest
