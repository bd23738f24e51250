// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What several scenarios need.

#include <grp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "bpf_calls.hpp"
#include "scenarios.hpp"

namespace guest
{

/// All that the command printed.
std::string output_of(const std::string & command)
{
  std::string text;
  std::FILE * pipe = popen((command + " 2>&1").c_str(), "r");
  for (char line[512]; pipe != nullptr && std::fgets(line, sizeof(line), pipe) != nullptr;) {
    text += line;
  }
  if (pipe != nullptr) {
    pclose(pipe);
  }
  return text;
}

std::string expect_in(const std::string & text, const std::string & wanted)
{
  return text.find(wanted) != std::string::npos ? "" : "wanted '" + wanted + "', got: " + text;
}

std::string expect(Stage & stage, const std::string & wanted)
{
  if (!wait_all(stage.workers)) {
    return "hangs: " + stage.log.text();
  }
  return stage.log.text() == wanted ? "" : "wanted " + wanted + ", was " + stage.log.text();
}

rclrt_scx_owner owner_of(const rclrt_scx::Slot & slot)
{
  rclrt_scx_owner owner{};
  rclrt_scx::Table(RCLRT_SCX_DIRECTORY, "owners").read(slot.index(), owner);
  return owner;
}

std::string as_user(const std::function<std::string()> & scenario)
{
  int ends[2];
  if (pipe(ends) != 0) {
    return "no pipe";
  }
  const pid_t child = fork();
  if (child == 0) {
    std::string seen = "cannot become a user";
    if (setgroups(0, nullptr) == 0 && setgid(1000) == 0 && setuid(1000) == 0) {
      seen = scenario();
    }
    std::_Exit(
      write(ends[1], seen.c_str(), seen.size()) == static_cast<ssize_t>(seen.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string seen;
  char text[256];
  for (ssize_t got = 0; (got = read(ends[0], text, sizeof(text))) > 0;) {
    seen.append(text, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? seen : "ended with status " + std::to_string(status) + ": " + seen;
}

volatile rclrt_scx_cpu * cpus_of_the_scheduler()
{
  const int fd = rclrt_scx::open_pin(RCLRT_SCX_DIRECTORY "/cpus", 0);
  void * memory = mmap(
    nullptr, static_cast<std::size_t>(cpu_count()) * sizeof(rclrt_scx_cpu), PROT_READ | PROT_WRITE,
    MAP_SHARED, fd, 0);
  close(fd);
  return memory == MAP_FAILED ? nullptr : static_cast<rclrt_scx_cpu *>(memory);
}

FifoHog::FifoHog(int cpu)
: thread_([this, cpu] {
    pin_to(cpu);
    become_fifo(40);
    started_.store(true);
    spin_until(stop_);
  })
{
  while (!started_.load()) {
    sleep_ms(1);
  }
}

FifoHog::~FifoHog()
{
  stop_.store(true);
  thread_.join();
}

Background::Background(int cpu, int nice)
: thread_([this, cpu, nice] {
    pin_to(cpu);
    started_.store(true);  // Here it still has the class of its parent, and waits for nobody.
    become_other();
    setpriority(PRIO_PROCESS, 0, nice);  // Of a thread, on Linux.
    while (!stop_.load()) {
      spin_ms(1);
      count_.fetch_add(1);
    }
  })
{
  while (!started_.load()) {
    sleep_ms(1);
  }
}

Background::~Background()
{
  stop();
  thread_.join();
}

}  // namespace guest
