// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "pins.hpp"
#include "scheduler.hpp"

namespace rclrt_scx
{
namespace
{

constexpr timespec kLookAtTaskEvery{1, 0};

std::string exit_text(const rclrt_scx_state & state)
{
  std::string text(state.exit_reason, strnlen(state.exit_reason, sizeof(state.exit_reason)));
  const std::string more(
    state.exit_message, strnlen(state.exit_message, sizeof(state.exit_message)));
  return more.empty() ? text : text + ": " + more;
}

/// The user whom root must trust to run this file. Empty: root alone.
std::string who_may_change(const std::string & file)
{
  for (std::string path = file; !path.empty();) {
    struct stat found{};
    if (stat(path.c_str(), &found) != 0) {
      return path + ": " + std::strerror(errno);
    }
    const bool is_sticky = S_ISDIR(found.st_mode) && (found.st_mode & S_ISVTX) != 0;
    if (found.st_uid != 0) {
      return path + " belongs to user " + std::to_string(found.st_uid);
    }
    if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !is_sticky) {
      return "others than root may write " + path;
    }
    const std::size_t slash = path.rfind('/');
    path = path == "/" || slash == std::string::npos ? ""
           : slash == 0                              ? "/"
                                                     : path.substr(0, slash);
  }
  return {};
}

}  // namespace

std::string load_and_stay(const LoadOptions & options)
{
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  sigprocmask(SIG_BLOCK, &ends, nullptr);  // one that comes while it loads ends the wait below
  std::string problem = load(options);
  if (!problem.empty()) {
    return problem;
  }
  std::printf("rclrt_edf is in force\n");
  std::fflush(stdout);
  const std::string own = own_folder(options.directory);
  bool is_told = false;
  for (;;) {
    if (sigtimedwait(&ends, nullptr, &kLookAtTaskEvery) > 0) {
      return unload(options.directory);
    }
    Status status;
    if (!read_status(own, status).empty()) {
      std::printf("rclrt_edf was unloaded by another process\n");
      return {};
    }
    if (!is_told && access((options.directory + "/bind").c_str(), F_OK) != 0) {
      is_told = true;
      std::fprintf(
        stderr,
        "rclrt scx: somebody has removed names from %s. The scheduler stays in force, but programs "
        "that start now do not find it: unload it and load it again. Mount the folder read-only "
        "into containers\n",
        options.directory.c_str());
    }
    if (status.state.in_force == 0) {
      problem = "the kernel has ejected the scheduler: " + exit_text(status.state);
      const std::string more = unload(options.directory);
      return more.empty() ? problem : problem + "; " + more;
    }
  }
}

std::string systemd_unit(const LoadOptions & options, std::string & text)
{
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  if (length <= 0 || length == static_cast<ssize_t>(sizeof(path))) {
    return "cannot find where this program lies";
  }
  const std::string program(path, static_cast<std::size_t>(length));
  const std::string who = who_may_change(program);
  if (!who.empty()) {
    return "root would run " + program + " at every start, and " + who +
           ". Copy it first: `sudo install " + program +
           " /usr/local/sbin/rclrt-scx`, then `sudo " + "/usr/local/sbin/rclrt-scx unit ...`";
  }
  for (const std::string * part : {&program, &options.group, &options.directory}) {
    if (part->find_first_of(" \t\n\"'\\%$") != std::string::npos) {
      return "'" + *part + "' has a character that a unit of systemd cannot take as it is";
    }
  }
  const std::string wrong = check_options(options);
  if (!wrong.empty()) {
    return wrong;
  }
  text =
    "[Unit]\n"
    "Description=EDF scheduler in the kernel, for executors of rclrt\n"
    "ConditionPathExists=/sys/kernel/sched_ext/state\n"
    "StartLimitIntervalSec=300\n"
    "StartLimitBurst=5\n\n"
    "[Service]\n"
    "Type=exec\n"
    "ExecStartPre=-" +
    program + " unload --directory " + options.directory +
    "\n"
    "ExecStart=" +
    program + " load --foreground --directory " + options.directory +
    (options.group.empty() ? "" : " --group " + options.group) +
    (options.mode == RCLRT_SCX_PARTIAL ? " --mode partial" : "") +
    (options.ignores_cgroups ? " --ignore-cgroups" : "") + " --slots " +
    std::to_string(options.slots) + " --reserve " + std::to_string(options.reserve_percent) +
    " --period " + std::to_string(options.period_ms) + " --timeout " +
    std::to_string(options.timeout_ms) +
    "\n"
    "ExecStopPost=-" +
    program + " unload --directory " + options.directory +
    "\n"
    "Restart=on-failure\n"
    "RestartSec=5\n\n"
    "[Install]\n"
    "WantedBy=multi-user.target\n";
  return {};
}

}  // namespace rclrt_scx
