// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "platform/linux/limits.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
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

namespace
{

/// The kernel refuses thread -1 as invalid before it asks for permissions; a filter comes before the kernel.
bool is_filtered()
{
  uint64_t attr[7] = {sizeof(attr)};
  return syscall(SYS_sched_setattr, -1, attr, 0U) != 0 && errno == EPERM;
}

bool is_in(const std::string & list, const std::string & word)
{
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

/// The group of this process for CPU time, if groups of version 1 do that; else empty.
std::string cpu_group(const std::string & root)
{
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second != std::string::npos && is_in(line.substr(first + 1, second - first - 1), "cpu")) {
      return line.substr(second + 1);
    }
  }
  return {};
}

std::string cpu_mount(const std::string & root)
{
  std::ifstream mounts(root + "/proc/self/mounts");
  std::string line;
  while (std::getline(mounts, line)) {
    std::istringstream words(line);
    std::string device;
    std::string where;
    std::string type;
    std::string options;
    if (words >> device >> where >> type >> options && type == "cgroup" && is_in(options, "cpu")) {
      return where;
    }
  }
  return {};
}

}  // namespace

const char * const kRtprioFix =
  "Add the line '@realtime - rtprio 99' to /etc/security/limits.d/realtime.conf and log in as a "
  "member of that group, or raise the limit where the program is started (systemd: LimitRTPRIO=99; "
  "container: --ulimit rtprio=99), or give CAP_SYS_NICE";

RealtimeFacts realtime_facts(int priority, const std::string & root)
{
  RealtimeFacts facts;
  facts.limit = limit_text(RLIMIT_RTPRIO);
  facts.is_nested = has_capability(CAP_SYS_NICE) && !is_in_machines_user_namespace();
  facts.is_permitted = has_capability_of_machine(CAP_SYS_NICE) ||
                       soft_limit(RLIMIT_RTPRIO) >= static_cast<rlim_t>(priority);
  facts.is_filtered = is_filtered();
  const std::string group = cpu_group(root);
  if (!group.empty()) {
    // In a container the path may be that outside, and the mount begin at the group itself.
    const std::string mount = cpu_mount(root);
    for (const std::string & folder : {mount + group, mount}) {
      facts.group_file = folder + "/cpu.rt_runtime_us";
      facts.group_runtime_us = number_in(root + facts.group_file);
      if (facts.group_runtime_us) {
        break;
      }
    }
  }
  return facts;
}

std::string why_no_realtime(const RealtimeFacts & facts)
{
  if (facts.is_filtered) {
    return "A seccomp filter of this service or container refuses the call. Let it pass (systemd: "
           "RestrictRealtime=no, and SystemCallFilter= with @resources; container: --security-opt "
           "seccomp=PROFILE with sched_setattr allowed)";
  }
  if (!facts.is_permitted) {
    const std::string limit = "RLIMIT_RTPRIO is " + facts.limit;
    return facts.is_nested
             ? limit +
                 ", and CAP_SYS_NICE of a user namespace (rootless container) does not count. "
                 "Raise the limit of the user on the machine, and where the program is started "
                 "(container: --ulimit rtprio=99)"
             : limit + ". " + kRtprioFix;
  }
  if (facts.group_runtime_us && *facts.group_runtime_us == 0) {
    return facts.group_file +
           " is 0, and then no process of that control group may have real-time priorities. Write "
           "there how many us of cpu.rt_period_us they may use, first into the groups above it "
           "(docker: --cpu-rt-runtime)";
  }
  // Nothing else refuses a process whose limit or capability is enough.
  return "Limits and capabilities are enough: the kernel was built with CONFIG_RT_GROUP_SCHED, and "
         "with cgroup v2 it refuses real-time priorities to every control group but the first, as "
         "in each container and service. There is no file to set in cgroup v2. Boot with "
         "rt_group_sched=0 (Linux 6.16 or newer), or take a kernel without that option, or start "
         "the program where no controller `cpu` is enabled for its group";
}

}  // namespace rclrt_core::linux_platform
