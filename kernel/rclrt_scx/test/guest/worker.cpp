// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "scenarios.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

namespace guest
{

namespace
{

int64_t read_clock(clockid_t clock)
{
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<int64_t>(time.tv_sec) * 1000000000 + time.tv_nsec;
}

std::atomic<bool> g_held_up{false};

int64_t futex(std::atomic<uint32_t> & word, int operation, uint32_t value)
{
  return syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

}  // namespace

int64_t now_ns() { return read_clock(CLOCK_MONOTONIC); }

void sleep_ms(int64_t ms)
{
  const timespec time{ms / 1000, ms % 1000 * kMs};
  nanosleep(&time, nullptr);
}

int64_t cpu_time_ns() { return read_clock(CLOCK_THREAD_CPUTIME_ID); }

void spin_ms(int64_t ms)
{
  const int64_t end = cpu_time_ns() + ms * kMs;
  while (cpu_time_ns() < end) {
    end_turn();
  }
}

bool held_up() { return g_held_up.exchange(false); }

void note_excess(int64_t excess_ns, int64_t most_ns)
{
  if (excess_ns > most_ns) {
    g_held_up.store(true);
  }
}

void spin_until(const std::atomic<bool> & stop)
{
  for (unsigned i = 1; !stop.load(); ++i) {
    if (i % 1024 == 0) {
      end_turn();
    }
  }
}

bool become_fifo(int priority)
{
  sched_param parameters{};
  parameters.sched_priority = priority;
  return sched_setscheduler(0, SCHED_FIFO, &parameters) == 0;
}

bool become_other()
{
  const sched_param parameters{};
  return sched_setscheduler(0, SCHED_OTHER, &parameters) == 0;
}

bool pin_to(int cpu)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (cpu < 0 || i == cpu) {
      CPU_SET(static_cast<unsigned>(i), &set);
    }
  }
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

int cpu_count() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }

void Log::add(const std::string & what)
{
  const std::size_t i = next_.fetch_add(1);
  if (i < kMax) {
    entries_[i] = what;
  }
}

std::string Log::text() const
{
  std::string text;
  for (std::size_t i = 0; i < next_.load() && i < kMax; ++i) {
    text += (i == 0 ? "" : " ") + entries_[i];
  }
  return text;
}

std::size_t Log::at(const std::string & what) const
{
  for (std::size_t i = 0; i < next_.load() && i < kMax; ++i) {
    if (entries_[i] == what) {
      return i;
    }
  }
  return kMax;
}

Worker::Worker(rclrt_scx::Client & client, Log & log, std::string name, int cpu)
: log_(log), name_(std::move(name)), thread_([this, &client, cpu] { run(client, cpu); })
{
  for (int i = 0; i < 5000 && !(ready_.load() && sleeps()); ++i) {
    sleep_ms(1);
  }
}

Worker::~Worker()
{
  word_.store(2);
  futex(word_, FUTEX_WAKE_PRIVATE, 1);
  thread_.join();
}

void Worker::run(rclrt_scx::Client & client, int cpu)
{
  pthread_setname_np(pthread_self(), name_.c_str());
  pin_to(cpu);
  tid_.store(static_cast<int>(syscall(SYS_gettid)));
  slot_ = client.bind_this_thread(&why_);
  ready_.store(true);
  for (;;) {
    const int64_t before = cpu_time_ns();
    while (word_.load() == 0) {
      futex(word_, FUTEX_WAIT_PRIVATE, 0);
    }
    if (word_.load() == 2) {
      slot_.release();
      return;
    }
    word_.store(0);
    cpu_of_job_.store(sched_getcpu());
    log_.add(name_ + "+");
    if (body_) {
      body_();
    } else {
      spin_ms(work_ms_);
    }
    log_.add(name_ + "-");
    if (!body_) {
      note_excess(cpu_time_ns() - before - work_ms_ * kMs, kMs);
    }
    done_.store(true);
  }
}

void Worker::go(int64_t deadline_ms, int64_t work_ms, std::function<void()> body)
{
  go_at(
    deadline_ms == 0 ? RCLRT_SCX_NO_DEADLINE : now_ns() + deadline_ms * kMs, work_ms,
    std::move(body));
}

void Worker::go_at(int64_t deadline_ns, int64_t work_ms, std::function<void()> body)
{
  work_ms_ = work_ms;
  body_ = std::move(body);
  done_.store(false);
  if (!slot_.set_deadline(deadline_ns)) {
    slot_.clear_deadline();
  }
  word_.store(1);
  if (futex(word_, FUTEX_WAKE_PRIVATE, 1) != 1) {
    log_.add(name_ + "(was awake)");  // The kernel saw no release: what follows proves nothing.
  }
}

bool Worker::wait_done() const
{
  for (int i = 0; i < 4000 && !(done() && sleeps()); ++i) {
    sleep_ms(5);
  }
  return done();
}

bool Worker::sleeps() const
{
  // The kernel says "0" for a thread that is on a run queue, even if it was preempted on its way
  // to sleep.
  std::ifstream file("/proc/self/task/" + std::to_string(tid_.load()) + "/wchan");
  std::string where;
  file >> where;
  return where.find("futex") != std::string::npos;
}

bool wait_all(const std::vector<std::unique_ptr<Worker>> & workers)
{
  for (const auto & worker : workers) {
    if (!worker->wait_done()) {
      return false;
    }
  }
  return true;
}

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
