// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// `rclrt scx`: the EDF scheduler of the kernel at a user's hand.

#include <getopt.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>

#include "scheduler.hpp"

namespace
{

constexpr char kUsage[] =
  R"(usage: rclrt scx <verb> [options]

  load     put the EDF scheduler of the kernel into force; needs root
             --mode full|partial  full: all threads, those without a deadline as fair background
                                  (default); partial: only threads under SCHED_EXT (Linux 7.x)
             --group NAME         whose members may use deadlines (default: root alone)
             --slots N            threads that can have a deadline (default 1024)
             --reserve PERCENT    of each CPU for the background under overload (default 5)
             --period MS          in which the reserve is given (default 100)
             --timeout MS         a thread that waits longer ejects the scheduler (default 30000);
                                  at least 20 times --period
             --ignore-cgroups     although cgroups have CPU limits or weights, which full ignores
             --foreground         stay; unload at Ctrl-C or SIGTERM, end with an error if ejected
             --record KIB         keep decisions in a ring buffer, for `record` and `check`
  unload   take it out of force: the fair class goes on with all threads
  unit     print a unit of systemd that loads with these options at every start, and again if ejected
  status   mode, threads, misses, preemptions, what each CPU runs
             --json, --prometheus   for other programs
  top      the same again and again
             --interval MS (default 1000, least 10)   --count N (default: until Ctrl-C)
  record   write decisions to a file until Ctrl-C, or for a time
             --output FILE   --seconds N
  check    prove from such a file that nothing waited while something later ran
             --input FILE    --bound-us N (default 1000)

  --directory PATH   where it is pinned (default )" RCLRT_SCX_DIRECTORY R"()
)";

struct Arguments
{
  rclrt_scx::LoadOptions load;
  uint32_t interval_ms = 1000;
  uint32_t count = 0;
  uint32_t seconds = 0;
  uint32_t bound_us = 1000;
  std::string output;
  std::string input;
  bool stays = false;
  bool json = false;
  bool prometheus = false;
};

int wrong_usage(const std::string & text)
{
  std::fprintf(stderr, "rclrt scx: %s\n\n%s", text.c_str(), kUsage);
  return 2;
}

bool number(const char * text, uint32_t & value)
{
  char * end = nullptr;
  errno = 0;
  const unsigned long parsed = std::strtoul(text, &end, 10);
  if (errno != 0 || *text < '0' || *text > '9' || *end != '\0' || parsed > UINT_MAX) {
    return false;
  }
  value = static_cast<uint32_t>(parsed);
  return true;
}

/// Empty, or what is wrong.
std::string parse(int argc, char ** argv, Arguments & arguments)
{
  enum : int
  {
    kMode = 1,
    kGroup,
    kSlots,
    kReserve,
    kPeriod,
    kTimeout,
    kRecord,
    kInterval,
    kCount,
    kOutput,
    kSeconds,
    kInput,
    kBound,
    kDirectory,
    kIgnoreCgroups,
    kForeground,
    kJson,
    kPrometheus
  };
  const option options[] = {
    {"mode", 1, nullptr, kMode},
    {"group", 1, nullptr, kGroup},
    {"slots", 1, nullptr, kSlots},
    {"reserve", 1, nullptr, kReserve},
    {"period", 1, nullptr, kPeriod},
    {"timeout", 1, nullptr, kTimeout},
    {"record", 1, nullptr, kRecord},
    {"interval", 1, nullptr, kInterval},
    {"count", 1, nullptr, kCount},
    {"output", 1, nullptr, kOutput},
    {"seconds", 1, nullptr, kSeconds},
    {"input", 1, nullptr, kInput},
    {"bound-us", 1, nullptr, kBound},
    {"directory", 1, nullptr, kDirectory},
    {"ignore-cgroups", 0, nullptr, kIgnoreCgroups},
    {"foreground", 0, nullptr, kForeground},
    {"json", 0, nullptr, kJson},
    {"prometheus", 0, nullptr, kPrometheus},
    {nullptr, 0, nullptr, 0}};
  opterr = 0;
  std::set<int> given;
  for (;;) {
    int index = 0;
    const int found = getopt_long(argc, argv, "", options, &index);
    if (found == -1) {
      break;
    }
    if (!given.insert(found).second) {
      return std::string("--") + options[index].name + " is given twice";
    }
    bool good = true;
    switch (found) {
      case kMode:
        good = std::strcmp(optarg, "full") == 0 || std::strcmp(optarg, "partial") == 0;
        arguments.load.mode = *optarg == 'p' ? RCLRT_SCX_PARTIAL : RCLRT_SCX_FULL;
        break;
      case kGroup:
        arguments.load.group = optarg;
        break;
      case kSlots:
        good = number(optarg, arguments.load.slots);
        break;
      case kReserve:
        good = number(optarg, arguments.load.reserve_percent);
        break;
      case kPeriod:
        good = number(optarg, arguments.load.period_ms);
        break;
      case kTimeout:
        good = number(optarg, arguments.load.timeout_ms);
        break;
      case kRecord:
        good = number(optarg, arguments.load.record_kib);
        break;
      case kInterval:
        good = number(optarg, arguments.interval_ms);
        break;
      case kCount:
        good = number(optarg, arguments.count);
        break;
      case kOutput:
        arguments.output = optarg;
        break;
      case kSeconds:
        good = number(optarg, arguments.seconds);
        break;
      case kInput:
        arguments.input = optarg;
        break;
      case kBound:
        good = number(optarg, arguments.bound_us);
        break;
      case kDirectory:
        arguments.load.directory = optarg;
        break;
      case kIgnoreCgroups:
        arguments.load.ignores_cgroups = true;
        break;
      case kForeground:
        arguments.stays = true;
        break;
      case kJson:
        arguments.json = true;
        break;
      case kPrometheus:
        arguments.prometheus = true;
        break;
      default:
        return std::string("unknown or incomplete option '") + argv[optind - 1] + "'";
    }
    if (!good) {
      return std::string("--") + options[index].name + ": '" + optarg + "' is not a value for it";
    }
  }
  return optind < argc ? std::string("unknown argument '") + argv[optind] + "'" : std::string();
}

int report(const std::string & problem, const char * success)
{
  if (!problem.empty()) {
    std::fprintf(stderr, "rclrt scx: %s\n", problem.c_str());
    return 1;
  }
  std::printf("%s", success);
  return 0;
}

}  // namespace

int main(int argc, char ** argv)
{
  if (argc < 2) {
    return wrong_usage("a verb is missing");
  }
  const std::string verb = argv[1];
  if (verb == "help" || verb == "-h" || verb == "--help") {
    std::printf("%s", kUsage);
    return 0;
  }
  if (verb == "--version") {
    std::printf("rclrt scx " RCLRT_VERSION "\n");
    return 0;
  }
  Arguments arguments;
  const std::string wrong = parse(argc - 1, argv + 1, arguments);
  if (!wrong.empty()) {
    return wrong_usage(wrong);
  }
  const std::string & directory = arguments.load.directory;
  if (verb == "load" && arguments.stays) {
    return report(rclrt_scx::load_and_stay(arguments.load), "");
  }
  if (verb == "unit") {
    std::string text;
    const std::string problem = rclrt_scx::systemd_unit(arguments.load, text);
    return report(problem, text.c_str());
  }
  if (verb == "load") {
    return report(rclrt_scx::load(arguments.load), "rclrt_edf is in force\n");
  }
  if (verb == "unload") {
    return report(rclrt_scx::unload(directory), "rclrt_edf is out of force\n");
  }
  if (verb == "status" && arguments.json && arguments.prometheus) {
    return wrong_usage("--json and --prometheus exclude each other");
  }
  if (verb == "status" && (arguments.json || arguments.prometheus)) {
    return report(rclrt_scx::export_status(directory, arguments.json), "");
  }
  if (verb == "status") {
    return report(rclrt_scx::show_status(directory), "");
  }
  if (verb == "top") {
    return report(rclrt_scx::show_top(directory, arguments.interval_ms, arguments.count), "");
  }
  if (verb == "record") {
    return report(rclrt_scx::record(directory, arguments.output, arguments.seconds), "");
  }
  if (verb == "check") {
    return report(rclrt_scx::check_file(arguments.input, arguments.bound_us), "");
  }
  return wrong_usage("unknown verb '" + verb + "'");
}
