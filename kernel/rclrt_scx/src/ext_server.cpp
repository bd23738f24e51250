// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "scheduler.hpp"

#include <glob.h>

#include <fstream>
#include <vector>

namespace rclrt_scx
{
namespace
{

constexpr char kServers[] = "/sys/kernel/debug/sched/ext_server/cpu*";
constexpr uint64_t kRuntimeNs = 900000;
constexpr uint64_t kPeriodNs = 1000000;

std::vector<std::string> servers()
{
  std::vector<std::string> found;
  glob_t matches{};
  if (glob(kServers, 0, nullptr, &matches) == 0) {
    found.assign(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  }
  globfree(&matches);
  return found;
}

uint64_t read_number(const std::string & path)
{
  uint64_t value = 0;
  std::ifstream(path) >> value;
  return value;
}

bool write_number(const std::string & path, uint64_t value)
{
  std::ofstream file(path);
  file << value << std::flush;
  return file.good();
}

}  // namespace

void read_ext_server(uint64_t & runtime_ns, uint64_t & period_ns)
{
  const auto all = servers();
  runtime_ns = all.empty() ? 0 : read_number(all.front() + "/runtime");
  period_ns = all.empty() ? 0 : read_number(all.front() + "/period");
}

std::string set_ext_server(uint64_t runtime_ns, uint64_t period_ns)
{
  std::string problem;
  for (const std::string & server : servers()) {
    // The kernel wants runtime <= period at every moment.
    const bool shrink = period_ns < read_number(server + "/runtime");
    const bool early = shrink && write_number(server + "/runtime", runtime_ns);
    const bool period = write_number(server + "/period", period_ns);
    const bool runtime = early || write_number(server + "/runtime", runtime_ns);
    if (!period || !runtime) {
      problem = "the kernel does not let " + server + " be set";
    }
  }
  return problem;
}

std::string tune_ext_server()
{
  if (servers().empty()) {
    return "partial mode needs the kernel's server for SCHED_EXT (Linux 7.x, with debugfs mounted "
           "on "
           "/sys/kernel/debug); without it any busy SCHED_OTHER thread starves deadlines: use full "
           "mode";
  }
  return set_ext_server(kRuntimeNs, kPeriodNs);
}

}  // namespace rclrt_scx
