// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "writer.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>

#include "probe.hpp"
#include "thread.hpp"

namespace rclrt_probe
{
namespace
{

constexpr long kRoundNs = 50'000'000;
constexpr std::size_t kStack = 256 * 1024;

/// What the user would call the program: of Python its script.
std::string name_of_program()
{
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string part;
  std::string name = "program";
  for (bool is_first = true; std::getline(file, part, '\0'); is_first = false) {
    if (!is_first && (part.empty() || part.front() == '-')) {
      if (part == "-c" || part == "-m") {
        break;
      }
      continue;
    }
    name = std::filesystem::path(part).filename().string();
    if (!is_first || name.rfind("python", 0) != 0) {
      break;
    }
  }
  for (char & letter : name) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(letter)) || letter == '_';
    letter = is_plain ? letter : '_';
  }
  return name.substr(0, 60);
}

/// What files of this program are called, without the ending: <program>-<process>-<random digits>. Containers may share
/// the folder and the number of the process; a program before exec() has had both, too.
std::string new_base()
{
  const char * const folder = std::getenv("RCLRT_PROBE_FOLDER");
  const std::filesystem::path path = folder ? folder : ".";
  mkdir(path.c_str(), 0777);
  const std::string name =
    name_of_program() + "-" + std::to_string(getpid()) + "-" + rclrt_core::random_digits();
  return (path / name).string();
}

int64_t wall_offset() noexcept
{
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  return int64_t{wall.tv_sec} * 1'000'000'000 + wall.tv_nsec - now_ns();
}

}  // namespace

void Writer::complain(const std::string & text) noexcept
{
  if (!has_failed_) {
    has_failed_ = true;
    std::fprintf(stderr, "rclrt_probe: %s\n", text.c_str());
  }
}

void Writer::start_thread() noexcept
{
  State idle = State::kIdle;
  if (!state_.compare_exchange_strong(idle, State::kRuns, std::memory_order_relaxed)) {
    return;
  }
  const int kept = errno;
  probe_.wall_offset.store(wall_offset(), std::memory_order_relaxed);
  // Nothing of whoever comes first: not its signals, its priority or its CPUs.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
  pthread_attr_setschedpolicy(&attributes, SCHED_OTHER);
  cpu_set_t cpus;
  if (sched_getaffinity(getpid(), sizeof(cpus), &cpus) == 0) {
    pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
  }
  pthread_t made{};
  if (const int error = pthread_create(&made, &attributes, &Writer::run, this)) {
    errno = error;
    std::perror("rclrt_probe: cannot start a thread, so nothing is written before the end");
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = kept;
}

void * Writer::run(void * self) noexcept
{
  Writer & writer = *static_cast<Writer *>(self);
  pthread_setname_np(pthread_self(), "rclrt_probe");
  while (writer.state_.load(std::memory_order_relaxed) == State::kRuns) {
    const timespec pause{0, kRoundNs};
    nanosleep(&pause, nullptr);
    const std::lock_guard lock(writer.mutex_);
    if (writer.state_.load(std::memory_order_relaxed) == State::kRuns) {
      writer.round(false);
    }
  }
  return nullptr;
}

rclrt_core::TraceFile & Writer::file_of(uint16_t executor)
{
  std::unique_ptr<rclrt_core::TraceFile> & file = files_[executor];
  if (!file) {
    if (base_.empty()) {
      base_ = new_base();
    }
    file = std::make_unique<rclrt_core::TraceFile>();
    const std::string number = executor == 0 ? "" : "." + std::to_string(executor);
    const rclrt_core::Status opened = file->open(base_ + number + ".trace");
    if (!opened.ok()) {
      complain(opened.message());
    }
    missing_.clear();  // This file does not say it yet.
  }
  return *file;
}

void Writer::describe(uint16_t executor, rclrt_core::TraceFile & file, bool is_last)
{
  rclrt_core::TraceSource source;
  source.executor = executor;
  source.callbacks = probe_.inventory.callbacks_of(executor, round_, is_last);
  if (executor == 0) {
    rclrt_core::TracedCallback outside;
    outside.id = kOutside;
    outside.name = "outside of callbacks";
    outside.group_name = "outside of callbacks";
    source.callbacks.push_back(outside);
  }
  for (const rclrt_core::TracedCallback & callback : source.callbacks) {
    const std::string symbol = probe_.inventory.symbol_of(callback.id);
    if (!symbol.empty()) {
      file.note(callback.id, symbol);
    }
  }
  probe_.rings.for_each([&](Ring & ring) { source.dropped += ring.reader.missed(ring.records); });
  if (!file.flush(source)) {
    complain("the trace ends here: " + file.close(source).message());
  } else if (is_last) {
    const rclrt_core::Status closed = file.close(source);
    if (!closed.ok()) {
      complain(closed.message());
    }
  }
}

void Writer::round(bool is_last)
{
  try {
    probe_.inventory.set_round(++round_);
    probe_.wall_offset.store(wall_offset(), std::memory_order_relaxed);
    probe_.rings.for_each([&](Ring & ring) {
      bool has_run = false;
      // Asked before reading: what comes later comes from its next thread.
      int unread = ring.thread.load(std::memory_order_acquire);
      ring.reader.read(ring.records, [&](rclrt_job_record record) {
        const uint16_t executor = record.reserved;
        record.reserved = 0;
        file_of(executor).append(record);
        has_run = true;
      });
      if (unread == Ring::kUnread) {
        ring.thread.compare_exchange_strong(unread, Ring::kFree, std::memory_order_release);
      } else if (has_run && unread != Ring::kFree) {
        ring.in_force.refresh(unread);
      }
    });
    const std::string missing = probe_.seen.missing(probe_.inventory.is_full());
    const bool is_news = missing != missing_;
    missing_ = missing;
    for (auto & [executor, file] : files_) {
      if (is_news) {
        file->note(RCLRT_TRACE_NO_CALLBACK, missing);
      }
      describe(executor, *file, is_last);
    }
  } catch (const std::exception & error) {
    complain(error.what());
  }
}

void Writer::finish() noexcept
{
  if (state_.exchange(State::kEnded, std::memory_order_relaxed) != State::kRuns) {
    return;
  }
  // Whoever holds it may never let it go: the program may end in a signal handler.
  std::unique_lock lock(mutex_, std::try_to_lock);
  for (int i = 0; !lock.owns_lock() && i < 1000; ++i) {
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
    static_cast<void>(lock.try_lock());
  }
  if (lock.owns_lock()) {
    round(true);
  }
}

void Writer::before_fork() noexcept
{
  mutex_.lock();
  probe_.inventory.mutex().lock();
}

void Writer::after_fork(bool is_child) noexcept
{
  probe_.inventory.mutex().unlock();
  if (is_child) {
    // The files are the parent's, and so is what their streams hold: not even close() them.
    for (auto & [executor, file] : files_) {
      static_cast<void>(file.release());
    }
    files_.clear();
    base_.clear();
    probe_.inventory.tell_again();
    probe_.rings.for_each([](Ring & ring) {
      ring.reader.read(ring.records, [](const rclrt_job_record &) {});
      Rings::give_back(ring);
    });
    if (state_.load(std::memory_order_relaxed) == State::kRuns) {
      state_.store(State::kIdle, std::memory_order_relaxed);
    }
  }
  mutex_.unlock();
}

}  // namespace rclrt_probe
