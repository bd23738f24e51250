// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "scheduler.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace rclrt_scx
{
namespace
{

namespace fs = std::filesystem;

constexpr std::size_t kMostLooks = 100'000;
constexpr std::size_t kMostNamed = 3;

/// Where cgroups of version 2 are mounted; empty if nowhere.
fs::path mount_point()
{
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string device, where, type;
    if (words >> device >> where >> type && type == "cgroup2") {
      return where;
    }
  }
  return {};
}

/// Empty if it cannot be read: the group may have gone, or its parent does not share CPU time out.
std::string first_line(const fs::path & file)
{
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

bool has_processes(const fs::path & group)
{
  std::ifstream events(group / "cgroup.events");
  std::string key, value;
  while (events >> key >> value) {
    if (key == "populated") {
      return value == "1";
    }
  }
  return false;
}

void add_limits_of(
  const fs::path & folder, const std::string & group, std::vector<CgroupLimit> & all)
{
  const auto add = [&](const char * file, const std::string & value) {
    all.push_back({group, file + (" " + value)});
  };
  const std::string most = first_line(folder / "cpu.max");
  if (!most.empty() && most.rfind("max", 0) != 0) {
    add("cpu.max", most);
  }
  const std::string idle = first_line(folder / "cpu.idle");
  if (idle == "1") {
    add("cpu.idle", idle);
    return;  // which also sets the weight
  }
  const std::string weight = first_line(folder / "cpu.weight");
  if (!weight.empty() && weight != "100") {
    add("cpu.weight", weight);
  }
}

}  // namespace

std::vector<CgroupLimit> cgroup_limits()
{
  std::vector<CgroupLimit> all;
  const fs::path root = mount_point();
  std::error_code error;
  fs::recursive_directory_iterator at(root, fs::directory_options::skip_permission_denied, error);
  const fs::recursive_directory_iterator end;
  for (std::size_t looks = 0; !error && at != end && looks < kMostLooks; ++looks) {
    std::error_code not_a_folder;
    if (at->is_directory(not_a_folder) && !at->is_symlink(not_a_folder)) {
      if (has_processes(at->path())) {
        add_limits_of(at->path(), "/" + at->path().lexically_relative(root).string(), all);
      } else {
        at.disable_recursion_pending();
      }
    }
    at.increment(error);
  }
  return all;
}

std::string describe(const std::vector<CgroupLimit> & limits)
{
  if (limits.empty()) {
    return {};
  }
  std::string text = std::to_string(limits.size()) +
                     (limits.size() == 1 ? " setting" : " settings") +
                     " of cgroups that mode full ignores: ";
  const std::size_t named = std::min(limits.size(), kMostNamed);
  for (std::size_t i = 0; i < named; ++i) {
    text += (i > 0 ? "; " : "") + limits[i].group + ": " + limits[i].value;
  }
  return text + (named < limits.size() ? "; ..." : "");
}

}  // namespace rclrt_scx
