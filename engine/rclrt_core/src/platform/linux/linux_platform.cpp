// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/linux_platform.hpp"

#include <alloca.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "platform/forks.hpp"
#include "platform/linux/sched_attr.hpp"

namespace rclrt_core
{
namespace
{

static_assert(
  sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free,
  "the kernel reads the word of a futex directly");

constexpr int64_t kSecond = 1'000'000'000;

// Written by the only thread of a child, before anything else runs in it: relaxed.
std::atomic<uint32_t> forks{0};

int64_t clock_ns(clockid_t clock)
{
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}

[[noreturn]] void die(const char * call, int error_number)
{
  std::fprintf(
    stderr, "rclrt_core: %s: %s\n", call, std::generic_category().message(error_number).c_str());
  std::abort();
}

void relax_cpu() noexcept
{
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield");
#endif
}

class PiMutex : public Mutex
{
public:
  PiMutex()
  {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    const int error_number = pthread_mutex_init(&mutex_, &attributes);
    pthread_mutexattr_destroy(&attributes);
    if (error_number != 0) {
      throw std::system_error(
        error_number, std::generic_category(), "a mutex with priority inheritance");
    }
  }
  ~PiMutex() override { pthread_mutex_destroy(&mutex_); }

  PiMutex(const PiMutex &) = delete;
  PiMutex & operator=(const PiMutex &) = delete;

  // A failure is a bug of the caller (not the owner, destroyed); going on would corrupt its data.
  void lock() noexcept override
  {
    // The engine holds it for less than a microsecond, a system call to wait for it takes several.
    for (int i = 0; i < kTries; ++i) {
      if (pthread_mutex_trylock(&mutex_) == 0) {
        return;
      }
      relax_cpu();
    }
    if (const int error_number = pthread_mutex_lock(&mutex_); error_number != 0) {
      die("pthread_mutex_lock", error_number);
    }
  }
  void unlock() noexcept override
  {
    if (const int error_number = pthread_mutex_unlock(&mutex_); error_number != 0) {
      die("pthread_mutex_unlock", error_number);
    }
  }

private:
  static constexpr int kTries = 50;  // together about a microsecond

  pthread_mutex_t mutex_;
};

}  // namespace

TimePoint LinuxPlatform::now() noexcept { return time_point_of(clock_ns(CLOCK_MONOTONIC)); }

int64_t LinuxPlatform::system_now_ns() noexcept { return clock_ns(CLOCK_REALTIME); }

std::unique_ptr<Mutex> LinuxPlatform::make_mutex() { return std::make_unique<PiMutex>(); }

void LinuxPlatform::wait(
  const std::atomic<uint32_t> & word, uint32_t expected, TimePoint until) noexcept
{
#ifdef RCLRT_SANITIZE_thread
  // The sanitizer holds a signal back until the thread calls a function that it knows to block, and
  // the system call below it does not know.
  usleep(0);
  until = std::min(until, now() + std::chrono::milliseconds(100));
#endif
  const int64_t until_ns = nanoseconds_of(until);
  timespec time{};
  time.tv_sec = static_cast<time_t>(until_ns / kSecond);
  time.tv_nsec = static_cast<long>(until_ns % kSecond);
  // The plain wait takes a duration, this one a point of CLOCK_MONOTONIC: being preempted between
  // here and the kernel does not make the sleep longer. Every result is allowed to the caller:
  // woken, timed out, EAGAIN (the word had changed), EINTR, EINVAL (a time before zero). Without a
  // time the kernel arms no timer.
  syscall(
    SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, until == kNever ? nullptr : &time,
    nullptr, FUTEX_BITSET_MATCH_ANY);
}

bool LinuxPlatform::spin(
  const std::atomic<uint32_t> & word, uint32_t expected, TimePoint until) noexcept
{
  // A thread of the middleware takes the CPU for less, one that computes takes a slice of the scheduler.
  constexpr Duration kLong = std::chrono::milliseconds(1);
  constexpr int kLooks =
    16;  // together less than a microsecond; then it asks whether somebody else wants the CPU
  for (TimePoint before = now();;) {
    for (int i = 0; i < kLooks; ++i) {
      // Acquire: pairs with the release of the thread that changes the word.
      if (word.load(std::memory_order_acquire) != expected) {
        return true;
      }
      relax_cpu();
    }
    sched_yield();
    const TimePoint after = now();
    if (after - before > kLong) {
      return false;
    }
    if (after >= until) {
      return true;
    }
    before = after;
  }
}

void LinuxPlatform::wake_one(const std::atomic<uint32_t> & word) noexcept
{
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// Asked for under the engine's lock, so the kernel is asked once a thread. A child has another thread here than its parent.
ThreadId LinuxPlatform::current_thread() noexcept
{
  static thread_local ThreadId known = 0;
  static thread_local uint32_t known_after = 0;
  const uint32_t forks = count_forks();
  if (known == 0 || known_after != forks) {
    known = static_cast<ThreadId>(syscall(SYS_gettid));
    known_after = forks;
  }
  return known;
}

int LinuxPlatform::current_cpu() noexcept { return sched_getcpu(); }

CpuMeter LinuxPlatform::start_meter(bool measures) noexcept
{
  return linux_platform::start_meter(measures);
}

CpuUse LinuxPlatform::read_meter(const CpuMeter & meter) noexcept
{
  return linux_platform::read_meter(meter);
}

// The clock of a thread by its number: what pthread_getcpuclockid() makes of a pthread_t.
int64_t LinuxPlatform::cpu_time_ns(ThreadId thread) noexcept
{
  constexpr clockid_t kOfAThread = 4;
  constexpr clockid_t kAsScheduled = 2;
  timespec time{};
  if (thread <= 0 || clock_gettime(~thread * 8 | kOfAThread | kAsScheduled, &time) != 0) {
    return -1;
  }
  return int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}

// Including those that are offline now: numbers below this may exist.
int LinuxPlatform::cpu_count() noexcept
{
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_CONF)));
}

int LinuxPlatform::usable_cpus() noexcept
{
  Attributes here;
  const int error = linux_platform::get_affinity(current_thread(), &here.cpu_affinity);
  return error == 0 ? static_cast<int>(here.cpu_affinity.cpus().size()) : cpu_count();
}

// The kernel tells nobody which CPUs a thread could be given, but takes no others when it is asked for all.
CpuSet LinuxPlatform::usable_cpu_set()
{
  CpuSet usable;
  try {
    std::thread([this, &usable] {
      const ThreadId self = current_thread();
      // Where it is forbidden to ask, the affinity that was inherited is what may be used.
      (void)linux_platform::set_affinity_to_all(self);
      (void)linux_platform::get_affinity(self, &usable);
    }).join();
  } catch (const std::system_error &) {  // there are no more threads
    (void)linux_platform::get_affinity(current_thread(), &usable);
  }
  return usable;
}

namespace
{

/// Returns 0, kCpusLeftOut or errno.
int give_cpus(ThreadId thread, const CpuSet & cpus) noexcept
{
  const int error = linux_platform::set_affinity(thread, cpus);
  if (error == EINVAL) {
    const int no_error = linux_platform::set_affinity_to_all(thread);
    return no_error != 0 ? no_error : kCpusLeftOut;
  }
  if (error != 0) {
    return error;
  }
  CpuSet in_force;
  const int unreadable = linux_platform::get_affinity(thread, &in_force);
  return unreadable != 0 ? unreadable : in_force == cpus ? 0 : kCpusLeftOut;
}

}  // namespace

int LinuxPlatform::apply(ThreadId thread, const Attributes & attributes) noexcept
{
  const bool has_policy = attributes.scheduling_policy != SchedulingPolicy::kUnchanged;
  const bool has_affinity = !attributes.cpu_affinity.empty();
  int policy_error = 0;
  int affinity_error = 0;
  // A SCHED_DEADLINE thread must be allowed on all CPUs: it gives up a narrow affinity before it
  // becomes one, and gets a narrow one after it has ceased to be one.
  const bool affinity_first = attributes.scheduling_policy == SchedulingPolicy::kDeadline;
  if (has_affinity && affinity_first) {
    affinity_error = give_cpus(thread, attributes.cpu_affinity);
  }
  if (has_policy) {
    policy_error = linux_platform::set_policy(thread, attributes);
  }
  if (has_affinity && !affinity_first) {
    affinity_error = give_cpus(thread, attributes.cpu_affinity);
  }
  if (has_policy && policy_error == 0) {
    Attributes in_force = attributes;
    policy_error = linux_platform::get_policy(thread, &in_force);
    if (policy_error == 0 && in_force != attributes) {
      policy_error = EPROTO;
    }
  }
  return policy_error != 0 ? policy_error : affinity_error;
}

int LinuxPlatform::read_back(ThreadId thread, Attributes * attributes) noexcept
{
  const int error_number = linux_platform::get_policy(thread, attributes);
  return error_number != 0 ? error_number
                           : linux_platform::get_affinity(thread, &attributes->cpu_affinity);
}

std::vector<std::pair<ThreadId, std::string>> LinuxPlatform::threads()
{
  std::vector<std::pair<ThreadId, std::string>> threads;
  std::error_code error;  // A thread may end while we look; it is left out then.
  for (const auto & entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(entry.path() / "comm");
    std::string name;
    if (std::getline(file, name)) {
      threads.emplace_back(std::stoi(entry.path().filename()), name);
    }
  }
  return threads;
}

uint32_t count_forks() noexcept
{
  static const int registered =
    pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace rclrt_core
