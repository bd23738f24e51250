// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What `scx` and the tables say: counts, and what is missing where it cannot load.

#include <grp.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bpf_calls.hpp"
#include "scenarios.hpp"

namespace guest
{
namespace
{

rclrt_scx_cpu first_cpu()
{
  rclrt_scx_cpu cpu{};
  rclrt_scx::Table(RCLRT_SCX_DIRECTORY, "cpus").read(0, cpu);
  return cpu;
}

std::string jobs_misses_preemptions_and_what_runs_are_told()
{
  Stage stage(2, 0);
  const uint64_t preemptions = first_cpu().preemptions;
  uint64_t runs = 0;
  stage[0].go(60, 0, [&runs] {
    runs = first_cpu().running_ns;
    spin_ms(150);
  });
  const auto deadline = static_cast<uint64_t>(stage[0].slot().deadline());
  sleep_ms(20);
  stage[1].go(20, 10);
  if (!wait_all(stage.workers)) {
    return "hangs: " + stage.log.text();
  }
  const rclrt_scx_owner late = owner_of(stage[0].slot());
  const rclrt_scx_owner good = owner_of(stage[1].slot());
  if (late.jobs != 1 || late.misses != 1 || good.jobs != 1 || good.misses != 0) {
    return "jobs and misses: " + std::to_string(late.jobs) + " " + std::to_string(late.misses) +
           ", " + std::to_string(good.jobs) + " " + std::to_string(good.misses);
  }
  if (std::strcmp(late.comm, "A") != 0 || late.tgid != static_cast<uint32_t>(getpid())) {
    return "the thread that has the slot is called " + std::string(late.comm);
  }
  if (runs != deadline) {
    return "CPU 0 ran " + std::to_string(deadline) + " and said " + std::to_string(runs);
  }
  if (first_cpu().preemptions <= preemptions) {
    return "no preemption was counted";
  }
  const std::string text = output_of("scx status");
  for (const char * wanted : {"runs until, ms", "misses", "preemptions", "2 of 16 slots", " A "}) {
    const std::string missing = expect_in(text, wanted);
    if (!missing.empty()) {
      return missing;
    }
  }
  return {};
}

std::string a_thread_that_just_ends_keeps_no_slot()
{
  Stage stage(0);
  rclrt_scx::Slot outlives;
  std::thread([&] { outlives = stage.client->bind_this_thread(&stage.why); }).join();
  if (!outlives) {
    return stage.why;
  }
  uint32_t tid = 1;
  for (int i = 0; i < 1000 && tid != 0; ++i) {
    sleep_ms(5);
    tid = owner_of(outlives).tid;
  }
  return tid == 0 ? "" : "its slot is still taken";
}

/// With nothing loaded.
std::string loading_without_privilege_is_a_clear_error()
{
  const pid_t child = fork();
  if (child == 0) {
    if (setgroups(0, nullptr) != 0 || setgid(1000) != 0 || setuid(1000) != 0) {
      std::_Exit(10);
    }
    std::_Exit(expect_in(output_of("scx load"), "needs root").empty() ? 0 : 11);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "" : "something else was said";
}

/// As if the kernel had not what lies below the folder.
std::string load_without(const char * folder, const std::string & wanted)
{
  if (mount("nothing", folder, "tmpfs", 0, nullptr) != 0) {
    return std::string("cannot hide ") + folder;
  }
  const std::string text = output_of("scx load");
  umount(folder);
  return expect_in(text, wanted);
}

std::string a_kernel_without_sched_ext_is_a_clear_error()
{
  return load_without("/sys/kernel/sched_ext", "CONFIG_SCHED_CLASS_EXT");
}

std::string a_kernel_without_btf_is_a_clear_error()
{
  return load_without("/sys/kernel/btf", "CONFIG_DEBUG_INFO_BTF");
}

}  // namespace

Scenarios tools_scenarios()
{
  return {
#define SCENARIO(name) {#name, name}
    SCENARIO(jobs_misses_preemptions_and_what_runs_are_told),
    SCENARIO(a_thread_that_just_ends_keeps_no_slot),
    SCENARIO(loading_without_privilege_is_a_clear_error),
    SCENARIO(a_kernel_without_sched_ext_is_a_clear_error),
    SCENARIO(a_kernel_without_btf_is_a_clear_error),
#undef SCENARIO
  };
}

}  // namespace guest
