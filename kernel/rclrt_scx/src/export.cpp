// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// The state for other programs: JSON, and what Prometheus reads.

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

#include "scheduler.hpp"

namespace rclrt_scx
{
namespace
{

/// As JSON and Prometheus quote it alike. Names of threads may be any bytes, so what is not ASCII is shown as '?'.
std::string quoted(const std::string & text)
{
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else {
      out += c >= ' ' && c <= '~' ? c : '?';
    }
  }
  return out + '"';
}

std::string name_of(const rclrt_scx_owner & owner)
{
  return quoted(std::string(owner.comm, strnlen(owner.comm, sizeof(owner.comm))));
}

std::string deadline(int64_t ns)
{
  return ns <= RCLRT_SCX_NO_DEADLINE ? "null" : std::to_string(ns);
}

/// What a CPU runs, and until when.
std::string runs(const rclrt_scx_cpu & cpu)
{
  const char * word = "deadline";
  switch (cpu.offline != 0 ? RCLRT_SCX_RUNS_NOTHING : cpu.running_ns) {
    case RCLRT_SCX_RUNS_BACKGROUND:
      word = "background";
      break;
    case RCLRT_SCX_RUNS_NOTHING:
      word = cpu.offline != 0 ? "offline" : "nothing";
      break;
    case RCLRT_SCX_RUNS_PROTECTED:
      word = "reserve";
      break;
    default:
      return "\"deadline\", \"deadline_ns\": " + std::to_string(cpu.running_ns);
  }
  return quoted(word) + ", \"deadline_ns\": null";
}

void print_json(const Status & status)
{
  const rclrt_scx_state & state = status.state;
  std::printf(
    "{\"schema\": \"rclrt_scx_status/1\", \"in_force\": %s, \"kernel\": %s, \"exit_reason\": %s, "
    "\"exit_message\": %s,\n \"mode\": \"%s\", \"reserve_percent\": %u, \"period_ms\": %u, "
    "\"slots\": %u, \"events_lost\": %" PRIu64 ",\n \"ignored_cgroup_settings\": [",
    state.in_force != 0 ? "true" : "false", quoted(kernel_state()).c_str(),
    quoted({state.exit_reason, strnlen(state.exit_reason, sizeof(state.exit_reason))}).c_str(),
    quoted({state.exit_message, strnlen(state.exit_message, sizeof(state.exit_message))}).c_str(),
    state.mode == RCLRT_SCX_PARTIAL ? "partial" : "full", state.reserve_percent, state.period_ms,
    state.slots, state.events_lost);
  const char * separator = "";
  for (const CgroupLimit & limit : ignored_limits(state)) {
    std::printf(
      "%s\n  {\"cgroup\": %s, \"setting\": %s}", separator, quoted(limit.group).c_str(),
      quoted(limit.value).c_str());
    separator = ",";
  }
  std::printf("],\n \"cpus\": [");
  separator = "";
  for (std::size_t i = 0; i < status.cpus.size(); ++i) {
    const rclrt_scx_cpu & cpu = status.cpus[i];
    std::printf(
      "%s\n  {\"cpu\": %zu, \"runs\": %s, \"jobs_at_least\": %" PRIu64
      ", \"misses_at_least\": %" PRIu64 ", \"preemptions\": %" PRIu64 ", \"reserves\": %" PRIu64
      "}",
      separator, i, runs(cpu).c_str(), cpu.jobs, cpu.misses, cpu.preemptions, cpu.reserves);
    separator = ",";
  }
  std::printf("],\n \"threads\": [");
  separator = "";
  for (const Status::Thread & thread : status.threads) {
    std::printf(
      "%s\n  {\"slot\": %u, \"tid\": %u, \"pid\": %u, \"name\": %s, \"deadline_ns\": %s, "
      "\"lent_ns\": %s, \"jobs_at_least\": %" PRIu64 ", \"misses_at_least\": %" PRIu64 "}",
      separator, thread.slot, thread.owner.tid, thread.owner.tgid, name_of(thread.owner).c_str(),
      deadline(thread.urgency.deadline_ns).c_str(), deadline(thread.urgency.lent_ns).c_str(),
      thread.owner.jobs, thread.owner.misses);
    separator = ",";
  }
  std::printf("]}\n");
}

void head(const char * name, const char * type, const char * help)
{
  std::printf("# HELP rclrt_scx_%s %s\n# TYPE rclrt_scx_%s %s\n", name, help, name, type);
}

void single(const char * name, const char * help, uint64_t value)
{
  head(name, "gauge", help);
  std::printf("rclrt_scx_%s %" PRIu64 "\n", name, value);
}

void of_cpus(
  const Status & status, const char * name, const char * help, uint64_t rclrt_scx_cpu::* value)
{
  head(name, "counter", help);
  for (std::size_t i = 0; i < status.cpus.size(); ++i) {
    std::printf("rclrt_scx_%s{cpu=\"%zu\"} %" PRIu64 "\n", name, i, status.cpus[i].*value);
  }
}

void of_threads(
  const Status & status, const char * name, const char * help, uint64_t rclrt_scx_owner::* value)
{
  head(name, "counter", help);
  for (const Status::Thread & thread : status.threads) {
    std::printf(
      "rclrt_scx_%s{tid=\"%u\",pid=\"%u\",name=%s} %" PRIu64 "\n", name, thread.owner.tid,
      thread.owner.tgid, name_of(thread.owner).c_str(), thread.owner.*value);
  }
}

void print_prometheus(const Status & status)
{
  single(
    "in_force", "1 while it decides, 0 after the kernel has ejected it.", status.state.in_force);
  single("slots", "Threads that can have a deadline.", status.state.slots);
  single("slots_taken", "Threads that have a slot.", status.threads.size());
  single(
    "ignored_cgroup_settings", "Limits and weights of cgroups that do not hold in mode full.",
    ignored_limits(status.state).size());
  of_cpus(status, "jobs_total", "Jobs that ended, at least.", &rclrt_scx_cpu::jobs);
  of_cpus(status, "misses_total", "Of these after their deadline.", &rclrt_scx_cpu::misses);
  of_cpus(status, "preemptions_total", "By an earlier deadline.", &rclrt_scx_cpu::preemptions);
  of_cpus(status, "reserves_total", "Turns of the reserve.", &rclrt_scx_cpu::reserves);
  of_threads(status, "thread_jobs_total", "Jobs that ended, at least.", &rclrt_scx_owner::jobs);
  of_threads(status, "thread_misses_total", "Of these late.", &rclrt_scx_owner::misses);
}

}  // namespace

std::vector<CgroupLimit> ignored_limits(const rclrt_scx_state & state)
{
  return state.mode == RCLRT_SCX_FULL && state.in_force != 0 ? cgroup_limits()
                                                             : std::vector<CgroupLimit>();
}

std::string export_status(const std::string & directory, bool as_json)
{
  Status status;
  const std::string problem = read_status(directory, status);
  if (problem.empty()) {
    as_json ? print_json(status) : print_prometheus(status);
  }
  return problem;
}

}  // namespace rclrt_scx
