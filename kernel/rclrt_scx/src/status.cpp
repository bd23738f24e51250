// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include "bpf_calls.hpp"
#include "pins.hpp"
#include "refusal.hpp"
#include "scheduler.hpp"

namespace rclrt_scx
{
namespace
{

std::string first_word(const char * path)
{
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

}  // namespace

std::string kernel_state() { return first_word("/sys/kernel/sched_ext/state"); }

std::string kernel_scheduler() { return first_word("/sys/kernel/sched_ext/root/ops"); }

std::string read_status(const std::string & directory, Status & status)
{
  Table state(directory, "state");
  if (state.error() == EACCES || state.error() == EPERM) {
    return "may not read " + directory + ": be root, or load with `--group` of this user";
  }
  if (state.error() != 0 && kernel_state().empty()) {
    return no_sched_ext(facts_of_this_machine());
  }
  if (state.error() != 0) {
    return "no EDF scheduler is loaded (nothing in " + directory + "): `rclrt scx load`";
  }
  if (
    !state.read(0, status.state) || status.state.magic != RCLRT_SCX_MAGIC ||
    status.state.version != RCLRT_SCX_VERSION) {
    return "what is pinned in " + directory +
           " is not of this version: `rclrt scx unload`, then load again";
  }
  Table cpus(directory, "cpus");
  Table owners(directory, "owners");
  Table slots(directory, "slots");
  status.cpus.resize(status.state.cpus);
  for (uint32_t i = 0; i < status.state.cpus; ++i) {
    cpus.read(i, status.cpus[i]);
  }
  status.threads.clear();
  for (uint32_t i = 1; i <= status.state.slots; ++i) {
    Status::Thread thread{i, {}, {}};
    if (owners.read(i, thread.owner) && thread.owner.tid != 0 && slots.read(i, thread.urgency)) {
      status.threads.push_back(thread);
    }
  }
  return {};
}

std::string unload(const std::string & directory)
{
  if (geteuid() != 0) {
    return "unloading a scheduler needs root";
  }
  if (!is_pinned(directory)) {
    return "no EDF scheduler is loaded (nothing in " + directory + ")";
  }
  const Lock lock;
  std::string problem = lock.problem().empty() ? used_by_others(directory) : lock.problem();
  if (!problem.empty()) {
    return problem;
  }
  const bool made = says_made(directory);
  // What cannot be removed from our own file systems goes with them.
  problem = remove_pins(directory);
  remove_directory(directory, made);
  const auto is_in_force = [] {
    return kernel_scheduler().find("rclrt_edf") == 0 && kernel_state() != "disabled";
  };
  // The kernel moves all threads back to the fair class by itself, in the background.
  for (int i = 0; i < 500 && is_in_force(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (is_in_force()) {
    return "the kernel still has the scheduler in force: " +
           (problem.empty() ? "another process holds its link open" : problem);
  }
  return is_pinned(directory) ? "the scheduler is out of force, but " + problem : std::string();
}

}  // namespace rclrt_scx
