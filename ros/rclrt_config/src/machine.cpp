// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_config/configuration.hpp"

#include <stdio.h>  // popen
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>

namespace rclrt_config
{
namespace
{

std::string run(const char * command)
{
  std::string output;
  const std::unique_ptr<FILE, int (*)(FILE *)> pipe(popen(command, "re"), &pclose);
  char buffer[256];
  while (pipe && fgets(buffer, sizeof(buffer), pipe.get()) != nullptr) {
    output += buffer;
  }
  return output;
}

/// Asked for by the same words and from the same program as when the file was made.
std::map<std::string, std::string> hardware_info()
{
  static const std::pair<const char *, const char *> names[] = {
    {"Model name", "model_name"},
    {"CPU family", "cpu_family"},
    {"Model", "model"},
    {"Thread(s) per core", "threads_per_core"},
    {"Frequency boost", "frequency_boost"},
    {"CPU max MHz", "cpu_max_mhz"},
    {"CPU min MHz", "cpu_min_mhz"},
  };
  const std::string output = run("LC_ALL=C lscpu 2>/dev/null");
  std::map<std::string, std::string> info;
  for (std::size_t start = 0; start < output.size();) {
    const std::size_t end = std::min(output.find('\n', start), output.size());
    const std::string line = output.substr(start, end - start);
    start = end + 1;
    const std::size_t colon = line.find(':');
    const std::size_t value = line.find_first_not_of(" \t", std::min(colon, line.size() - 1) + 1);
    if (colon == std::string::npos || value == std::string::npos) {
      continue;
    }
    const std::string word = line.substr(0, colon);
    const auto known = std::find_if(std::begin(names), std::end(names), [&word](const auto & name) {
      return word == name.first;
    });
    if (known != std::end(names)) {
      info[known->second] = line.substr(value, line.find_last_not_of(" \t\r") + 1 - value);
    }
  }
  return info;
}

std::optional<int64_t> read_kernel_setting(const std::string & name)
{
  std::ifstream file("/proc/sys/kernel/" + name);
  int64_t value = 0;
  return file >> value ? std::optional<int64_t>(value) : std::nullopt;
}

}  // namespace

Machine Machine::here()
{
  // Including CPUs that are offline now, as rclrt_core counts them.
  const auto cpus = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
  return {cpus, &hardware_info, &read_kernel_setting, 0};
}

}  // namespace rclrt_config
