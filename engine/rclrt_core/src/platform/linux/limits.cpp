// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "platform/linux/limits.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "platform/linux/descriptor.hpp"

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

bool is_in_machines_user_namespace(int process)
{
  constexpr ino_t kFirst = 0xEFFFFFFD;  // the kernel's PROC_USER_INIT_INO
  struct stat status{};
  if (fstatat(process, "ns/user", &status, 0) == 0) {
    return status.st_ino == kFirst;
  }
  // Another process may not be looked into: the machine's own maps all users onto themselves.
  const Descriptor file(openat(process, "uid_map", O_RDONLY | O_CLOEXEC));
  char text[256] = "";
  const ssize_t length = file.is_open() ? ::read(file.get(), text, sizeof(text) - 1) : 0;
  std::istringstream words(length > 0 ? text : "");
  uint64_t inside = 0;
  uint64_t outside = 0;
  uint64_t count = 0;
  return !(words >> inside >> outside >> count) ||
         (inside == 0 && outside == 0 && count == UINT32_MAX);
}

bool is_in_machines_user_namespace()
{
  const Descriptor self(open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
  return !self.is_open() || is_in_machines_user_namespace(self.get());
}

bool has_capability_of_machine(int capability)
{
  return has_capability(capability) && is_in_machines_user_namespace();
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
