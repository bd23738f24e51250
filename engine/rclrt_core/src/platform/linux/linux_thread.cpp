// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "platform/linux/limits.hpp"
#include "rclrt_core/linux_platform.hpp"

namespace rclrt_core
{
namespace
{

// The kernel's limit, without the terminating zero.
constexpr std::size_t kMaxNameLength = 15;

// A new thread has the name of the one that starts it until it has run. Both grow only: the first by the thread that starts
// one, before, the second by the thread itself. Read the second one first: if they are equal, all that had started were named.
std::atomic<uint64_t> threads_started{0};
std::atomic<uint64_t> threads_named{0};

struct Start
{
  LinuxPlatform * platform;
  ThreadOptions options;
  std::function<void()> body;
  std::function<void(const Finding &)> on_finding;
};

// noexcept: an exception that escapes from the body ends the process, as with std::thread.
void * thread_main(void * argument) noexcept
{
  const std::unique_ptr<Start> start(static_cast<Start *>(argument));
  const ThreadOptions & options = start->options;
  pthread_setname_np(pthread_self(), options.name.substr(0, kMaxNameLength).c_str());
  threads_named.fetch_add(1);
  const int error_number =
    start->platform->apply(start->platform->current_thread(), options.attributes);
  if (error_number != 0 && start->on_finding) {
    start->on_finding(start->platform->explain(options.name, options.attributes, error_number));
  }
  start->body();
  return nullptr;
}

class LinuxThread : public Thread
{
public:
  explicit LinuxThread(pthread_t thread) : thread_(thread) {}
  ~LinuxThread() override { LinuxThread::join(); }

  LinuxThread(const LinuxThread &) = delete;
  LinuxThread & operator=(const LinuxThread &) = delete;

  void join() override
  {
    if (!joined_) {
      pthread_join(thread_, nullptr);
      joined_ = true;
    }
  }

private:
  const pthread_t thread_;
  bool joined_ = false;
};

std::size_t usable_stack_size(std::size_t asked)
{
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto least = static_cast<std::size_t>(PTHREAD_STACK_MIN);
  return (std::max(asked, least) + page - 1) / page * page;
}

Status cannot_start(const ThreadOptions & options, int error_number)
{
  std::string text = "thread '" + options.name + "' cannot start (" +
                     std::generic_category().message(error_number) + "). ";
  if (error_number == EAGAIN || error_number == ENOMEM) {
    text += "One of these limits is reached: processes and threads of the user (RLIMIT_NPROC is " +
            linux_platform::limit_text(RLIMIT_NPROC) +
            "; ulimit -u, systemd LimitNPROC=), of the control group (pids.max; systemd TasksMax=, "
            "container --pids-limit), of the machine (/proc/sys/kernel/threads-max); or there is "
            "no memory for its stack (RLIMIT_AS is " +
            linux_platform::limit_text(RLIMIT_AS) + "; when memory is locked, RLIMIT_MEMLOCK is " +
            linux_platform::limit_text(RLIMIT_MEMLOCK) +
            ": raise it with ulimit -l or systemd LimitMEMLOCK=infinity, or set a smaller stack)";
  } else {
    text += "Stack size asked for: " + std::to_string(options.stack_size) + " bytes";
  }
  return Status::error(text);
}

// With a real-time priority from the very beginning, if that is asked for and granted: else the new thread could not
// even ask for it while others keep the CPU.
int create(
  pthread_attr_t * attributes, const Attributes & wanted, Start * start, pthread_t * id) noexcept
{
  if (is_fixed_priority(wanted.scheduling_policy)) {
    sched_param parameters{};
    parameters.sched_priority = wanted.priority;
    pthread_attr_setschedpolicy(
      attributes, static_cast<int>(facts(wanted.scheduling_policy).in_kernel));
    pthread_attr_setschedparam(attributes, &parameters);
    pthread_attr_setinheritsched(attributes, PTHREAD_EXPLICIT_SCHED);
    if (pthread_create(id, attributes, &thread_main, start) == 0) {
      return 0;
    }
    pthread_attr_setinheritsched(attributes, PTHREAD_INHERIT_SCHED);
  }
  return pthread_create(id, attributes, &thread_main, start);
}

}  // namespace

Status LinuxPlatform::start_thread(
  const ThreadOptions & options, std::function<void()> body,
  const std::function<void(const Finding &)> & on_finding, std::unique_ptr<Thread> * thread)
{
  auto start = std::make_unique<Start>(Start{this, options, std::move(body), on_finding});
  pthread_attr_t attributes;
  int error_number = pthread_attr_init(&attributes);
  if (error_number == 0) {
    if (options.stack_size != 0) {
      error_number = pthread_attr_setstacksize(&attributes, usable_stack_size(options.stack_size));
    }
    pthread_t id{};
    if (error_number == 0) {
      threads_started.fetch_add(1);
      error_number = create(&attributes, options.attributes, start.get(), &id);
      threads_named.fetch_add(error_number == 0 ? 0 : 1);  // there is none
    }
    pthread_attr_destroy(&attributes);
    if (error_number == 0) {
      start.release();  // NOLINT(bugprone-unused-return-value): the new thread owns it
      *thread = std::make_unique<LinuxThread>(id);
    }
  }
  return error_number == 0 ? Status() : cannot_start(options, error_number);
}

std::vector<std::pair<ThreadId, std::string>> LinuxPlatform::threads(bool * all_named)
{
  const uint64_t named = threads_named.load();
  const uint64_t started = threads_started.load();
  auto found = threads();
  *all_named = named == started && started == threads_started.load();
  return found;
}

}  // namespace rclrt_core
