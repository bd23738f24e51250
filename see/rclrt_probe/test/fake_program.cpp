// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// What programs do to the probe: fake_program MODE JOBS. Prints how many calls have reached the fake of ROS 2.

#include <dirent.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "fake_executor.hpp"

extern "C" long fake_calls(void);

namespace
{

void jobs(int count)
{
  for (int i = 0; i < count; ++i) {
    fake_wait();
    fake_timer_job();
    fake_publish();
    fake_message_job();
  }
}

/// Until a file is as large as with so many records, for ten seconds at most.
void wait_for_records(int count)
{
  const char * const folder = std::getenv("RCLRT_PROBE_FOLDER");
  const auto wanted = 64 + count * 128L;
  for (int i = 0; folder && i < 1000; ++i) {
    DIR * const opened = opendir(folder);
    while (const dirent * const entry = opened ? readdir(opened) : nullptr) {
      struct stat found{};
      if (
        stat((std::string(folder) + "/" + entry->d_name).c_str(), &found) == 0 &&
        S_ISREG(found.st_mode) && found.st_size > wanted) {
        closedir(opened);
        return;
      }
    }
    if (opened) {
      closedir(opened);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void in_threads(int count)
{
  for (int i = 0; i < count; ++i) {
    std::thread(jobs, 1).join();
  }
}

void at_once(int count)
{
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back(jobs, count);
  }
  for (std::thread & thread : threads) {
    thread.join();
  }
}

void fork_and_wait(int count)
{
  jobs(count);
  wait_for_records(2 * count);  // so that files are open
  const pid_t child = fork();
  if (child == 0) {
    jobs(count);
    std::exit(0);
  }
  jobs(count);
  int status = 1;
  waitpid(child, &status, 0);
  if (status != 0) {
    std::abort();
  }
}

double ns_of(void (*action)(), int count)
{
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    action();
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin)
           .count() /
         count;
}

/// Nanoseconds a call, medians of batches that a ring holds: callback, publication, take.
void cost(int batches)
{
  void (*const actions[])() = {fake_bare_job, fake_publish, fake_take, fake_timer_job, fake_wait};
  for (const auto action : actions) {
    std::vector<double> found;
    for (int i = 0; i < batches; ++i) {
      found.push_back(ns_of(action, 500));
    }
    std::nth_element(found.begin(), found.begin() + batches / 2, found.end());
    std::printf("%.1f ", found[static_cast<std::size_t>(batches / 2)]);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char ** argv)
{
  const std::string mode = argc > 1 ? argv[1] : "jobs";
  const int count = argc > 2 ? std::atoi(argv[2]) : 10;
  if (mode == "silent") {
    for (int i = 0; i < count; ++i) {
      fake_silent_jobs();
    }
    fake_silent_take();  // Nobody can know when this job ends.
    return 0;
  }
  fake_setup();
  if (mode == "jobs") {
    jobs(count);
  } else if (mode == "threads") {
    in_threads(count);
  } else if (mode == "at_once") {
    at_once(count);
  } else if (mode == "fork") {
    fork_and_wait(count);
  } else if (mode == "exec") {
    jobs(count);
    wait_for_records(2 * count);
    execl("/proc/self/exe", argv[0], "jobs", argv[2], nullptr);
  } else if (mode == "_exit") {
    jobs(count);
    wait_for_records(2 * count);
    _exit(3);
  } else if (mode == "kill") {
    jobs(count);
    wait_for_records(2 * count);
    std::raise(SIGKILL);
  } else if (mode == "unknown") {
    fake_unknown();
    jobs(count);
  } else if (mode == "driven") {
    for (int i = 0; i < count; ++i) {
      fake_driven_timer(i % 2 == 0);
    }
  } else if (mode == "cost") {
    cost(count);
    return 0;
  } else {
    return 2;
  }
  std::printf("calls %ld\n", fake_calls());
}
