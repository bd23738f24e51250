// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "marks.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <string>

#include "worker.hpp"

namespace guest
{
namespace
{

constexpr char kMarks[] = "/sys/kernel/tracing/trace_marker";

int tid() { return static_cast<int>(syscall(SYS_gettid)); }

}  // namespace

void mark(const char * format, ...)
{
  static const int file = open(kMarks, O_WRONLY | O_CLOEXEC);
  if (file < 0) {
    return;
  }
  char text[128];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  static_cast<void>(!write(file, text, static_cast<std::size_t>(length)));
}

void set_due(rclrt_scx::Slot & slot, int64_t deadline_ns)
{
  mark("rclrt %d due %" PRId64, tid(), deadline_ns);
  if (deadline_ns == 0) {
    slot.clear_deadline();
  } else {
    slot.set_deadline(deadline_ns);
  }
  mark("rclrt %d done", tid());
}

void set_budget(rclrt_scx::Slot & slot, int64_t runtime_ns, int64_t period_ns)
{
  mark("rclrt %d budget %" PRId64 " %" PRId64, tid(), runtime_ns, period_ns);
  const bool is_set =
    slot.set_budget(static_cast<uint64_t>(runtime_ns), static_cast<uint64_t>(period_ns));
  mark("rclrt %d %s", tid(), is_set ? "done" : "undone");
}

void move_to(int cpu)
{
  mark("rclrt %d on %d", tid(), cpu);
  mark("rclrt %d %s", tid(), pin_to(cpu) ? "done" : "undone");
}

bool set_online(int cpu, bool online)
{
  const std::string path = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/online";
  std::FILE * file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    return false;
  }
  mark("rclrt cpu %d %s", cpu, online ? "comes" : "leaves");
  std::fputs(online ? "1" : "0", file);
  const bool done = std::fclose(file) == 0;
  mark("rclrt cpu %d %s", cpu, online == done ? "back" : "away");
  return done;
}

}  // namespace guest
