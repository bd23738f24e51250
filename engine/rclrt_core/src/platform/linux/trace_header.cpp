// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "trace/trace_header.hpp"

#include <errno.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <regex>

#include "rclrt_core/job.hpp"
#include "rclrt_core/trace_file.hpp"

namespace rclrt_core
{
namespace
{

int64_t clock_ns(clockid_t clock)
{
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Zeros where the kernel does not tell.
void read_boot_id(uint8_t (&id)[16])
{
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  std::string digits;
  for (const char c : text) {
    if (c != '-') {
      digits += c;
    }
  }
  if (digits.size() == 2 * sizeof(id)) {
    for (std::size_t i = 0; i < sizeof(id); ++i) {
      id[i] = static_cast<uint8_t>(std::stoul(digits.substr(2 * i, 2), nullptr, 16));
    }
  }
}

/// As long as readers take it; the end of a name says most. No character is cut in two.
std::string in_trace(const std::string & name)
{
  if (name.size() <= RCLRT_TRACE_MAX_NAME) {
    return name;
  }
  std::size_t begin = name.size() - RCLRT_TRACE_MAX_NAME + 3;
  while (begin < name.size() && (static_cast<unsigned char>(name[begin]) & 0xC0) == 0x80) {
    ++begin;
  }
  return "..." + name.substr(begin);
}

}  // namespace

rclrt_trace_header make_trace_header()
{
  rclrt_trace_header header{};
  std::memcpy(header.magic, RCLRT_TRACE_MAGIC, sizeof(header.magic));
  header.version = RCLRT_TRACE_VERSION;
  header.record_size = sizeof(rclrt_job_record);
  read_boot_id(header.boot_id);
  header.clock_offset_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
  header.process = static_cast<uint32_t>(getpid());
  return header;
}

void describe(const TraceSource & source, rclrt_trace_header * header) noexcept
{
  header->executor = source.executor;
  header->model = static_cast<uint8_t>(source.model);
  header->ordering = static_cast<uint8_t>(source.ordering);
  header->timers_preempt = source.timers_preempt ? 1 : 0;
}

std::string describe(const TracedCallback & callback)
{
  rclrt_trace_callback entry{};
  entry.id = callback.id;
  entry.group = callback.group;
  entry.parallelism = callback.parallelism;
  entry.kind = static_cast<uint32_t>(callback.kind) + 1;
  static_assert(static_cast<int>(CallbackKind::kTimer) + 1 == RCLRT_KIND_TIMER);
  static_assert(static_cast<int>(CallbackKind::kWaitable) + 1 == RCLRT_KIND_WAITABLE);
  entry.period_ns =
    callback.period < Duration::zero() ? RCLRT_TRACE_UNKNOWN : callback.period.count();
  const std::string name = in_trace(callback.name);
  const std::string group_name = in_trace(callback.group_name);
  entry.name_length = static_cast<uint32_t>(name.size());
  entry.group_name_length = static_cast<uint32_t>(group_name.size());
  return std::string(reinterpret_cast<const char *>(&entry), sizeof(entry)) + name + group_name;
}

uint64_t publisher_in_trace(const std::array<uint8_t, 16> & gid) noexcept
{
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint8_t byte : gid) {
    hash = (hash ^ byte) * 0x100000001b3;
  }
  return hash != 0 ? hash : 1;
}

uint64_t replier_in_trace(const std::array<uint8_t, 16> & client) noexcept
{
  auto gid = client;
  gid.back() = static_cast<uint8_t>(~gid.back());
  return publisher_in_trace(gid);
}

std::string random_digits()
{
  uint64_t number = 0;
  if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number)) {
    timespec now{};  // early in the machine's boot
    clock_gettime(CLOCK_MONOTONIC, &now);
    number = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  }
  std::string digits(16, '0');
  for (char & digit : digits) {
    digit = "0123456789abcdef"[number & 15];
    number >>= 4;
  }
  return digits;
}

std::string program_in_trace_name()
{
  std::string name(program_invocation_short_name);
  for (char & c : name) {
    if (std::strchr("/~", c) != nullptr || c < '!' || c > '~') {
      c = '_';
    }
  }
  return name.substr(0, 64);
}

std::string trace_name(uint32_t executor)
{
  return program_in_trace_name() + "-" + std::to_string(getpid()) + "-" + std::to_string(executor) +
         "-" + random_digits();
}

bool is_trace_name(const std::string & name)
{
  static const std::regex pattern(".*-[0-9]+-[0-9]+-[0-9a-f]{16}\\.trace");
  return std::regex_match(name, pattern);
}

}  // namespace rclrt_core
