// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <bpf/libbpf.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "bpf_calls.hpp"
#include "order_checker.hpp"
#include "scheduler.hpp"

namespace rclrt_scx
{
namespace
{

constexpr std::chrono::milliseconds kLookEvery{20};

volatile sig_atomic_t stopped = 0;

int keep_event(void * events, void * data, size_t size)
{
  rclrt_scx_event event{};
  std::memcpy(&event, data, size < sizeof(event) ? size : sizeof(event));
  static_cast<std::vector<rclrt_scx_event> *>(events)->push_back(event);
  return 0;
}

struct FreeRing
{
  void operator()(ring_buffer * ring) const { ring_buffer__free(ring); }
};

}  // namespace

std::string record(const std::string & directory, const std::string & output, uint32_t seconds)
{
  if (output.empty()) {
    return "record: --output FILE is missing";
  }
  std::ofstream file(output);
  if (!file) {
    return "cannot write " + output + ": " + std::strerror(errno);
  }
  const int fd = open_pin((directory + "/events").c_str(), 0);
  if (fd < 0) {
    return "no decisions are recorded (" + directory + "/events: " + std::strerror(errno) +
           "): load with `rclrt scx load --record 4096`, and be root";
  }
  std::vector<rclrt_scx_event> events;
  const std::unique_ptr<ring_buffer, FreeRing> ring(
    ring_buffer__new(fd, keep_event, &events, nullptr));
  if (!ring) {
    close(fd);
    return "cannot read " + directory + "/events: " + std::strerror(errno);
  }
  struct sigaction action{};
  action.sa_handler = [](int) { stopped = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (stopped == 0 && (seconds == 0 || std::chrono::steady_clock::now() < end)) {
    std::this_thread::sleep_for(kLookEvery);  // Nobody wakes us, see note() of the scheduler.
    ring_buffer__consume(ring.get());
  }
  ring_buffer__consume(ring.get());
  close(fd);
  Status status;
  const std::string problem = read_status(directory, status);
  write_events(file, events, status.state.events_lost);
  file.close();
  std::printf("%zu events\n", events.size());
  return file ? problem : "cannot write " + output + ": " + std::strerror(errno);
}

std::string check_file(const std::string & input, uint32_t bound_us)
{
  std::ifstream file(input);
  if (!file) {
    return "cannot read '" + input + "' (--input): " + std::strerror(errno);
  }
  std::vector<rclrt_scx_event> events;
  const std::string problem = read_events(file, events);
  if (!problem.empty()) {
    return input + ": " + problem;
  }
  const CheckResult result = check_order(events, uint64_t{bound_us} * 1000);
  if (result.waits == 0) {
    return input + ": of " + std::to_string(events.size()) +
           " events none is of a thread that waits with a deadline, so the record proves nothing: "
           "record while such threads run";
  }
  std::printf(
    "%zu events, %zu waits, %zu switches to a deadline; longest inversion within the bound: %.1f "
    "us\n",
    events.size(), result.waits, result.switches, static_cast<double>(result.longest_ns) / 1e3);
  for (const Violation & violation : result.violations) {
    std::printf(
      "from %" PRIu64 " ns for %.1f us: thread %u (deadline %" PRIu64
      ") waited while CPU %u ran thread %u (%s%" PRIu64 ")\n",
      violation.from_ns, static_cast<double>(violation.until_ns - violation.from_ns) / 1e3,
      violation.waiting, violation.waiting_key, violation.cpu, violation.running,
      violation.running_key == RCLRT_SCX_RUNS_BACKGROUND ? "background " : "deadline ",
      violation.running_key == RCLRT_SCX_RUNS_BACKGROUND ? 0 : violation.running_key);
  }
  return result.violations.empty()
           ? std::string()
           : std::to_string(result.violations.size()) + " inversions longer than " +
               std::to_string(bound_us) + " us";
}

}  // namespace rclrt_scx
