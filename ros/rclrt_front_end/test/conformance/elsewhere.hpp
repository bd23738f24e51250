// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A test program in a second process, which has another task there.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace conformance
{

/// This program again, with these arguments, until this goes.
class Elsewhere
{
public:
  explicit Elsewhere(const std::vector<std::string> & arguments)
  {
    std::vector<const char *> pointers = {"elsewhere"};
    for (const std::string & argument : arguments) {
      pointers.push_back(argument.c_str());
    }
    pointers.push_back(nullptr);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      return;
    }
    to_child_ = ends[1];
    child_ = fork();
    if (child_ == 0) {
      dup2(ends[0], STDIN_FILENO);
      execv("/proc/self/exe", const_cast<char **>(pointers.data()));
      _exit(1);
    }
    close(ends[0]);
  }
  ~Elsewhere()
  {
    close(to_child_);
    waitpid(child_, nullptr, 0);
  }
  Elsewhere(const Elsewhere &) = delete;
  Elsewhere & operator=(const Elsewhere &) = delete;

private:
  pid_t child_ = -1;
  int to_child_ = -1;
};

/// There: until the first process lets go of its input. No test waits longer than ten minutes for it, under a sanitizer
/// either.
inline bool goes_on()
{
  static const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
  char byte = 0;
  return ::read(STDIN_FILENO, &byte, 1) != 0 && std::chrono::steady_clock::now() < end;
}

/// main() of both. What follows `option` is what the task gets.
inline int run(
  int argc, char ** argv, const std::string & option,
  const std::function<void(const std::string &)> & task)
{
  if (argc == 3 && argv[1] == option) {
    task(argv[2]);
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

}  // namespace conformance
