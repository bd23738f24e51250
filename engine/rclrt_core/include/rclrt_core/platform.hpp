// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The functions that the engine needs from an operating system, and nothing more.
///
/// Two implementations: LinuxPlatform (futex, pthread, sched_setattr) and SimPlatform (virtual
/// clock, virtual CPUs, preemptive virtual threads). The engine is the same code on both, so every
/// scheduling rule can be tested by comparing whole traces in virtual time.
///
/// Blocking is by wait()/wake() on a 32-bit word, with futex semantics: wait() sleeps only if the
/// word still holds `expected`, may return early for no reason, and a wake() after the word was
/// changed is never lost.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_core
{

/// Kernel thread id; the number of the virtual thread when simulated.
using ThreadId = int32_t;

/// apply() returns this if the policy is in force, but some or all of the CPUs that were asked for
/// are offline or outside the cpuset. Its value is ENODEV, which no other error has.
constexpr int kCpusLeftOut = 19;

/// A mutex with priority inheritance: its holder runs at least as urgently as each thread that
/// waits for it.
class Mutex
{
public:
  virtual ~Mutex() = default;
  virtual void lock() noexcept = 0;
  virtual void unlock() noexcept = 0;
};

/// A joinable thread. The destructor joins.
class Thread
{
public:
  virtual ~Thread() = default;
  /// Wait until the thread's body has returned. May be called once or more; not by itself.
  virtual void join() = 0;
};

struct ThreadOptions
{
  std::string name;            ///< shown by the OS, cut to 15 bytes
  std::size_t stack_size = 0;  ///< bytes; 0 is the OS default
  /// In force before `body`. A real-time priority is from the beginning, so that the thread waits for nothing that is
  /// less urgent. The new thread itself applies the rest.
  Attributes attributes;
};

/// An alarm clock for one thread, which any thread may set to another time without waking the one that waits.
class Alarm
{
public:
  virtual ~Alarm() = default;
  /// Go off at `time`, at once if that is over, and never if it is kNever. What was set before does not count any more.
  /// Two threads do not call this at the same time. At most one system call. Does not allocate.
  virtual void set(TimePoint time) noexcept = 0;
  /// By one thread: until the alarm goes off. It goes off once. May return early for no reason.
  virtual void wait() noexcept = 0;
};

/// What is kept of a thread from Platform::start_meter() to Platform::read_meter().
struct CpuMeter
{
  int64_t cpu_ns = -1;  ///< of the thread at the beginning; -1: not measured
  int64_t preemptions = -1;
  int64_t switches = 0;  ///< of a simulated platform: times the thread has lost or left its CPU
  bool outer_has_kept = false;  ///< of Linux: what the meter around this one says so far
};

struct CpuUse
{
  /// The thread has had its CPU all the time: its CPU time is the time that has passed.
  bool has_kept = false;
  int64_t cpu_ns = -1;       ///< if it has not; -1: unknown
  int32_t preemptions = -1;  ///< times it lost its CPU unwillingly; -1: unknown
};

class Platform
{
public:
  virtual ~Platform() = default;

  virtual TimePoint now() noexcept = 0;
  /// CLOCK_REALTIME in nanoseconds since 1970. Steps when the clock is set.
  virtual int64_t system_now_ns() noexcept = 0;

  virtual std::unique_ptr<Mutex> make_mutex() = 0;

  /// Start a thread. Fails when the OS has no more threads to give; the text says which limit.
  /// Attributes that are refused do not fail the start: they become a finding through
  /// `on_finding` (called in the new thread, may be empty).
  virtual Status start_thread(
    const ThreadOptions & options, std::function<void()> body,
    const std::function<void(const Finding &)> & on_finding, std::unique_ptr<Thread> * thread) = 0;

  /// Sleep while `word == expected`, until `until` at the latest. May return early.
  virtual void wait(
    const std::atomic<uint32_t> & word, uint32_t expected, TimePoint until) noexcept = 0;

  /// Look at the word until it differs, until `until` at the latest; may return early. Gives way to other threads
  /// all the while. Returns false if another thread has taken the CPU for long. A simulated platform sleeps.
  virtual bool spin(const std::atomic<uint32_t> & word, uint32_t expected, TimePoint until) noexcept
  {
    wait(word, expected, until);
    return true;
  }

  /// Wake at most one thread that sleeps on `word`.
  virtual void wake_one(const std::atomic<uint32_t> & word) noexcept = 0;

  /// An alarm that is not set. The platform outlives it. This one wakes a waiter if its time nears.
  virtual std::unique_ptr<Alarm> make_alarm();

  virtual ThreadId current_thread() noexcept = 0;
  /// CPU the caller runs on now.
  virtual int current_cpu() noexcept = 0;
  /// From here to read_meter() on the same thread: what does it use of its CPU? Nests. With `measures` the CPU time
  /// is known also if the thread loses its CPU; that costs a system call here, and one at the end if it has lost it.
  virtual CpuMeter start_meter(bool measures) noexcept = 0;
  virtual CpuUse read_meter(const CpuMeter & meter) noexcept = 0;
  /// CPU time that a thread of this process has used so far, as exact as the OS knows it now; -1: there is no such
  /// thread. One system call. Does not allocate.
  virtual int64_t cpu_time_ns(ThreadId thread) noexcept = 0;
  virtual int cpu_count() noexcept = 0;
  /// Number of these on which the calling thread may run.
  virtual int usable_cpus() noexcept { return cpu_count(); }
  /// The CPUs that a thread of this process could be given: online and in the cpuset. The affinity
  /// of the calling thread does not matter. The set may change a moment later. For configuration
  /// time: may start a thread.
  virtual CpuSet usable_cpu_set()
  {
    std::vector<int> all;
    for (int cpu = 0; cpu < cpu_count(); ++cpu) {
      all.push_back(cpu);
    }
    return CpuSet(all);
  }

  /// Put attributes in force on a thread of this process and read them back. CPUs that cannot be
  /// had are left out (kCpusLeftOut). If none of them can be had, the thread may use all CPUs of
  /// the process, as the kernel does with a thread whose CPUs go offline. Returns 0, kCpusLeftOut,
  /// or the errno of the refusal, or EPROTO when the policy that was read back differs. Does not
  /// allocate.
  virtual int apply(ThreadId thread, const Attributes & attributes) noexcept = 0;
  /// Reads the attributes in force on a thread of this process now. Returns 0 or errno. Does not
  /// allocate.
  virtual int read_back(ThreadId thread, Attributes * attributes) noexcept = 0;
  /// Turn a refusal by apply() into words: what was asked and the line to add.
  virtual Finding explain(
    const std::string & subject, const Attributes & attributes, int error_number) = 0;

  /// Look at the machine: limits that would refuse or kill real-time threads, throttling.
  virtual std::vector<Finding> check_system(bool wants_realtime) = 0;
  /// Lock all present and future memory of the process; a finding when refused.
  virtual std::vector<Finding> lock_memory() = 0;
};

}  // namespace rclrt_core
