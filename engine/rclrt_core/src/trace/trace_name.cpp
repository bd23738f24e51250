// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/trace_name.hpp"

#include <errno.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <regex>

#include "rclrt_core/trace_file.hpp"

namespace rclrt_core
{

std::string random_digits()
{
  uint64_t number = 0;
  if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number)) {
    timespec now{};  // early in the machine's boot
    clock_gettime(CLOCK_MONOTONIC, &now);
    number = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  }
  std::string digits(16, '0');
  for (char & digit : digits) {
    digit = "0123456789abcdef"[number & 15];
    number >>= 4;
  }
  return digits;
}

std::string program_in_trace_name()
{
  std::string name(program_invocation_short_name);
  for (char & c : name) {
    if (std::strchr("/~", c) != nullptr || c < '!' || c > '~') {
      c = '_';
    }
  }
  return name.substr(0, 64);
}

std::string trace_name(uint32_t executor)
{
  return program_in_trace_name() + "-" + std::to_string(getpid()) + "-" + std::to_string(executor) +
         "-" + random_digits();
}

bool is_trace_name(const std::string & name)
{
  static const std::regex pattern(".*-[0-9]+-[0-9]+-[0-9a-f]{16}\\.trace");
  return std::regex_match(name, pattern);
}

}  // namespace rclrt_core
