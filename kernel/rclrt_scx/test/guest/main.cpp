// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Runs scenarios against the scheduler in force: `scx_guest <name>...`, or `all-order`, `all-sharing`.
// One line each on the console: `RESULT <name> pass|fail|skip <text>`. And what several scenarios need.

#include <grp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "bpf_calls.hpp"
#include "scenarios.hpp"

namespace guest
{

std::map<std::string, Scenario> & scenarios()
{
  static std::map<std::string, Scenario> all;
  return all;
}

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
  const std::string seen = expect(stage, [&] { return stage.log.text() == wanted; });
  return seen.empty() ? "" : "wanted " + wanted + ", " + seen;
}

std::string expect(Stage & stage, const std::function<bool()> & holds)
{
  const bool has_ended = wait_all(stage.workers);
  return has_ended && holds() ? "" : (has_ended ? "was " : "hangs: ") + stage.log.text();
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
    setpriority(PRIO_PROCESS, 0, nice);  // On Linux it changes the calling thread alone.
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

Stage::Stage(int count, int cpu)
{
  client = rclrt_scx::Client::open(&why);
  if (client == nullptr) {
    std::printf("no client: %s\n", why.c_str());
    std::exit(1);
  }
  become_fifo(50);
  pin_to(0);
  for (int i = 0; i < count; ++i) {
    workers.push_back(
      std::make_unique<Worker>(*client, log, std::string(1, static_cast<char>('A' + i)), cpu));
    if (!workers.back()->slot()) {
      std::printf("no slot: %s\n", workers.back()->why().c_str());
      std::exit(1);
    }
  }
}

namespace
{

/// Prints what it said; returns whether it failed.
bool fails(const std::string & name, const Scenario & scenario)
{
  const std::string seen =
    cpu_count() >= scenario.cpus
      ? scenario.run()
      : std::string("skip: needs ") + (scenario.cpus == 2 ? "two" : "three") + " CPUs";
  const bool is_skipped = seen.rfind("skip: ", 0) == 0;
  const char * const verdict = seen.empty() ? "pass" : is_skipped ? "skip" : "fail";
  std::printf("RESULT %s %s %s\n", name.c_str(), verdict, seen.c_str());
  std::fflush(stdout);
  // The interrupts of the console would take CPU time in the next scenario. An error: it is no terminal.
  static_cast<void>(tcdrain(STDOUT_FILENO));
  return !seen.empty() && !is_skipped;
}

}  // namespace
}  // namespace guest

int main(int argc, char ** argv)
{
  int failures = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string wanted = argv[i];
    bool is_known = false;
    for (const auto & [name, scenario] : guest::scenarios()) {
      if (wanted == name || wanted == std::string("all-") + scenario.group) {
        is_known = true;
        failures += guest::fails(name, scenario) ? 1 : 0;
      }
    }
    if (!is_known) {
      std::printf("RESULT %s fail no such scenario\n", wanted.c_str());
      ++failures;
    }
  }
  return failures == 0 ? 0 : 1;
}
