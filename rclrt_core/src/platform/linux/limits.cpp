// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "platform/linux/limits.hpp"

#include <fstream>
#include <sstream>

namespace rclrt_core::linux_platform
{

rlim_t soft_limit(Resource resource)
{
  rlimit limit{};
  getrlimit(resource, &limit);
  return limit.rlim_cur;
}

std::string limit_text(Resource resource)
{
  const rlim_t limit = soft_limit(resource);
  return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit);
}

bool has_capability(int capability)
{
  std::ifstream file("/proc/thread-self/status");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string key;
    uint64_t effective = 0;
    if (words >> key && key == "CapEff:" && words >> std::hex >> effective) {
      return ((effective >> static_cast<unsigned>(capability)) & 1) != 0;
    }
  }
  return false;
}

std::optional<std::string> first_line(const std::string & path)
{
  std::ifstream file(path);
  std::string line;
  return std::getline(file, line) ? std::optional(line) : std::nullopt;
}

std::optional<int64_t> number_in(const std::string & path)
{
  std::ifstream file(path);
  int64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

}  // namespace rclrt_core::linux_platform
