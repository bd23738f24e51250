// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "refusal.hpp"

#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <vector>

#include "bpf_calls.hpp"
#include "seccomp.hpp"

namespace rclrt_scx
{
namespace
{

constexpr char kLogEnd[] = "-- END PROG LOAD LOG --";

std::string first_word(const char * path)
{
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

/// The value of a line of /proc/self/status.
std::string status_value(const std::string & key)
{
  std::ifstream file("/proc/self/status");
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, key.size(), key) == 0) {
      const std::size_t at = line.find_first_not_of(" \t", key.size());
      return at == std::string::npos ? std::string() : line.substr(at);
    }
  }
  return {};
}

/// The mode that is in force stands in brackets.
std::string lockdown_mode()
{
  std::ifstream file("/sys/kernel/security/lockdown");
  std::string line;
  std::getline(file, line);
  const std::size_t begin = line.find('[');
  const std::size_t end = line.find(']', begin);
  const std::string mode =
    end == std::string::npos ? std::string() : line.substr(begin + 1, end - begin - 1);
  return mode == "none" ? std::string() : mode;
}

/// A machine's own user namespace maps all users onto themselves.
bool is_in_user_namespace()
{
  std::ifstream file("/proc/self/uid_map");
  uint64_t inside = 0;
  uint64_t outside = 0;
  uint64_t count = 0;
  return (file >> inside >> outside >> count) &&
         (inside != 0 || outside != 0 || count != UINT32_MAX);
}

/// Debian's builds of these cannot run it, whatever they say: 7.1, and 7.2 before 7.2.13.
bool is_known_as_bad(const std::string & release)
{
  int major = 0;
  int minor = 0;
  int patch = 0;
  return std::sscanf(release.c_str(), "%d.%d.%d", &major, &minor, &patch) >= 2 && major == 7 &&
         (minor == 1 || (minor == 2 && patch < 13));
}

std::string without_marks(const std::string & release, const std::string & what)
{
  return "this kernel, " + release + ", cannot run the scheduler: " + what +
         ", because the kernel was built without the marks `bpf_kfunc`. So are Debian's builds of "
         "Linux 7.1 and of 7.2 before 7.2.13. Take 7.2.13 or newer, or one from 6.16 to 7.0";
}

}  // namespace

Facts facts_of_this_machine()
{
  Facts facts;
  struct statfs sys{};
  facts.has_sys = statfs("/sys", &sys) == 0 && static_cast<uint64_t>(sys.f_type) == SYSFS_MAGIC;
  facts.state = first_word("/sys/kernel/sched_ext/state");
  facts.scheduler = first_word("/sys/kernel/sched_ext/root/ops");
  facts.has_types = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
  facts.is_root = geteuid() == 0;
  facts.is_nested = is_in_user_namespace();
  unsigned long long capabilities = 0;
  std::sscanf(status_value("CapEff:").c_str(), "%llx", &capabilities);
  facts.capabilities = capabilities;
  facts.is_filtered = has_seccomp_filter();
  // Nothing is pinned at an empty path: a kernel that looks says so.
  const int file = open_pin("", 0);
  facts.bpf_is_refused = file < 0 && (errno == EPERM || errno == ENOSYS);
  facts.lockdown = lockdown_mode();
  utsname system{};
  facts.release = uname(&system) == 0 ? system.release : "";
  return facts;
}

std::string no_sched_ext(const Facts & facts)
{
  if (!facts.has_sys) {
    return "/sys is not mounted here, so it cannot be seen whether the kernel has sched_ext: mount "
           "it (mount -t sysfs sysfs /sys)";
  }
  return "this kernel has no sched_ext: it needs Linux 6.12 or newer with CONFIG_SCHED_CLASS_EXT. "
         "Executors order deadlines without it, see docs/how-to/edf.md";
}

std::string why_not_here(const Facts & facts)
{
  if (facts.state.empty()) {
    return no_sched_ext(facts);
  }
  if (!facts.has_types) {
    return "this kernel does not describe its types (no /sys/kernel/btf/vmlinux): it needs "
           "CONFIG_DEBUG_INFO_BTF";
  }
  if (!facts.is_root) {
    return "loading a scheduler needs root (CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN)";
  }
  if (facts.is_nested) {
    return "loading a scheduler needs root of the machine: this is root of a user namespace "
           "(rootless container). Load it on the host";
  }
  const struct
  {
    int number;
    const char * name;
  } needed[] = {
    {CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}, {CAP_BPF, "CAP_BPF"}, {CAP_PERFMON, "CAP_PERFMON"}};
  std::string missing;
  for (const auto & one : needed) {
    if (((facts.capabilities >> one.number) & 1) == 0) {
      missing += (missing.empty() ? "" : ", ") + std::string(one.name);
    }
  }
  if (!missing.empty()) {
    return "loading a scheduler needs capabilities that this process has not: " + missing +
           ". Load it on the host (or give them to the service or container)";
  }
  if (facts.bpf_is_refused) {
    return refused_bpf(facts.is_filtered);
  }
  if (facts.state != "disabled") {
    return "a scheduler is already in force: " + facts.scheduler +
           (facts.scheduler.find("rclrt_edf") == 0 ? "; `rclrt scx unload` first"
                                                   : "; unload that one first");
  }
  return {};
}

// From Linux 7.1 on some of sched_ext's functions have an argument that the kernel fills in, not the program. The type
// information shows them without it, if whoever built the kernel has marked the functions. Without the marks no program
// can call them, whatever it declares.
std::string explain_refusal(const std::string & complaints, const Facts & facts)
{
  const std::string locked =
    "this machine is locked down (/sys/kernel/security/lockdown says " + facts.lockdown +
    "), so the kernel refuses the scheduler, which reads its memory. Boot without `lockdown=`, and "
    "without Secure Boot where the distribution ties it to that";
  if (!facts.lockdown.empty() && complaints.find("cannot use helper") != std::string::npos) {
    return locked;
  }
  const std::string before = "extern (func ksym) '";
  const std::size_t begin = complaints.find(before);
  if (begin != std::string::npos) {
    const std::size_t name = begin + before.size();
    const std::size_t end = complaints.find('\'', name);
    const std::size_t line_end = complaints.find('\n', name);
    const std::string line = complaints.substr(name, line_end - name);
    const bool is_whole = end != std::string::npos && end < line_end;
    const std::string function = is_whole ? complaints.substr(name, end - name) : std::string();
    if (is_whole && line.find("incompatible with vmlinux") != std::string::npos) {
      return without_marks(
        facts.release, "its type information (BTF) describes " + function +
                         "() in a form in which no program can call it");
    }
    if (is_whole && line.find("not found in kernel") != std::string::npos) {
      return "this kernel, " + facts.release +
             ", cannot run the scheduler: it lacks the function " + function +
             "(). Take Linux 6.16 to 7.0, or 7.2.13 or newer";
    }
  }
  if (is_known_as_bad(facts.release)) {
    return without_marks(facts.release, "it refuses the calls of sched_ext's functions");
  }
  return facts.lockdown.empty() ? std::string() : locked;
}

// The verifier says in its last lines what is wrong, before a count of what it has looked at; from Linux 7.3 on below a
// line of its own.
std::string verdict_of(const std::string & complaints)
{
  constexpr std::size_t kMost = 3;
  std::vector<std::string> lines;
  std::size_t at = 0;
  while (at < complaints.size()) {
    const std::size_t end = std::min(complaints.find('\n', at), complaints.size());
    const std::string line = complaints.substr(at, end - at);
    at = end + 1;
    if (line.find(kLogEnd) != std::string::npos) {
      break;
    }
    if (line.compare(0, 7, "Reason:") == 0 && at < complaints.size()) {
      const std::size_t reason_end = std::min(complaints.find('\n', at), complaints.size());
      return "\n" + complaints.substr(at, reason_end - at);
    }
    if (!line.empty() && line.compare(0, 10, "processed ") != 0) {
      lines.push_back(line);
    }
  }
  std::string verdict;
  for (std::size_t i = lines.size() > kMost ? lines.size() - kMost : 0; i < lines.size(); ++i) {
    verdict += "\n" + lines[i];
  }
  return verdict;
}

}  // namespace rclrt_scx
