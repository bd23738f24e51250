// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The scheduler of the simulated platform: virtual CPUs, virtual threads, a virtual clock.
///
/// A pure state machine without OS threads or locks; SimPlatform calls it under one mutex and runs
/// whatever next_in_code() says.
///
///              place()                 block()
///   kReady  ----------->  kRunning  ------------>  kBlocked
///     ^  ^---------------    |                        |
///     |     displace()       | end()                  |
///     |                      v                        |
///     |                    kEnded                     |
///     +-----------------------------------------------+
///                      make_ready()
///
/// Invariants after reschedule(): no ready thread is more urgent than a running one on a CPU it is
/// allowed on, and none could use an idle CPU. As on Linux, a running thread is not moved to
/// another CPU to make room for a less urgent one.
///
/// It is not fast: every step looks at all threads. Tests have tens of them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rclrt_core/platform.hpp"

namespace rclrt_core::sim
{

enum class State : uint8_t
{
  kReady,    ///< could run, has no CPU
  kRunning,  ///< has a CPU
  kBlocked,
  kEnded,
};

/// Why a thread is blocked, for the list of a deadlock.
enum class Reason : uint8_t
{
  kWord,   ///< wait()
  kSleep,  ///< sleep_until()
  kJoin,   ///< Thread::join()
  kMutex,  ///< Mutex::lock()
};

struct VirtualThread
{
  ThreadId id = 0;
  std::string name;
  Attributes attributes;  ///< in force: the policy is never kUnchanged, the affinity never empty
  /// What the scheduler compares: `attributes`, or those of a more urgent thread that waits for a
  /// mutex which this one holds. The CPUs are always its own.
  Attributes urgency;

  State state = State::kReady;
  int64_t order = 0;  ///< among equally urgent ready threads the smallest runs first
  int cpu = 0;        ///< while kRunning; else the last one
  Duration work_left{0};
  bool finished_work_now = false;  ///< its work() ended at this very instant
  std::vector<const void *> held;  ///< its mutexes
  int64_t preemptions = 0;
  int64_t switches = 0;  ///< preemptions, and times it has blocked
  Duration worked{0};

  // While kBlocked:
  Reason reason = Reason::kWord;
  const void * key = nullptr;  ///< what it waits for: a word, thread or mutex
  std::string key_name;        ///< of the thread, or of the one that holds the mutex
  TimePoint until = kNever;
  int64_t blocked_order = 0;

  // Used by SimPlatform only:
  std::condition_variable has_baton;
  std::thread os_thread;
  bool in_hook = false;
};

class Machine
{
public:
  explicit Machine(int cpus);

  int cpu_count() const { return static_cast<int>(cpus_.size()); }
  TimePoint now() const { return now_; }
  const std::vector<std::shared_ptr<VirtualThread>> & live_threads() const { return threads_; }
  VirtualThread * find(ThreadId id) const;

  /// A new thread: ready, SCHED_OTHER, all CPUs.
  std::shared_ptr<VirtualThread> add(const std::string & name);
  /// EINVAL, or 0 and in force. The caller reschedules.
  int set_attributes(VirtualThread & thread, const Attributes & attributes);

  /// See SimPlatform::need_cpu().
  void need_cpu() { needs_cpu_ = true; }
  /// See SimPlatform::Locks.
  void set_locks(bool preemptible, bool inheritance);
  /// Whether `thread` may lose its CPU to a more urgent one now.
  bool may_be_preempted(const VirtualThread & thread) const;
  /// `thread` has got the mutex `key`, or gives it back. The caller reschedules.
  void acquire(VirtualThread & thread, const void * key);
  void release(VirtualThread & thread, const void * key);

  /// `thread` is to use its CPU for `duration` of virtual time.
  void begin_work(VirtualThread & thread, Duration duration);
  void block(
    VirtualThread & thread, Reason reason, const void * key, const std::string & key_name,
    TimePoint until);
  void end(VirtualThread & thread);
  /// The most urgent of those blocked on `key`, the longest waiting among equals; or nullptr.
  VirtualThread * most_urgent_blocked_on(const void * key) const;
  void make_ready(VirtualThread & thread);

  /// Give the CPUs to the most urgent ready threads.
  void reschedule();
  /// The thread that executes code now; nullptr when all that run are in work() and time must pass.
  VirtualThread * next_in_code() const;
  /// When the next thing happens: a work() ends or a blocked thread times out. kNever: nothing.
  TimePoint next_event() const;
  /// Let time pass until `time`, at most next_event().
  void advance(TimePoint time);

  /// Does what SimPlatform::schedule() does.
  std::vector<std::string> schedule() const;
  /// What each live thread waits for: "'a' joins 'b'; 'c' waits on a word".
  std::string describe_threads() const;

private:
  struct Segment
  {
    TimePoint begin;
    TimePoint end;
    int cpu;
    ThreadId thread;
    std::string name;
  };

  int cpu_for(const VirtualThread & thread) const;
  void place(VirtualThread & thread, int cpu);
  void displace(VirtualThread & thread);
  void leave_cpu(VirtualThread & thread);
  /// Let every holder of a mutex be as urgent as the most urgent of those that wait for it, through
  /// chains of mutexes too.
  void lend_urgency();

  bool needs_cpu_ = false;
  bool preemptible_locks_ = false;
  bool inheritance_ = false;
  TimePoint now_{};
  std::vector<VirtualThread *> cpus_;  ///< the thread that runs on each, or nullptr
  std::vector<std::shared_ptr<VirtualThread>> threads_;  ///< not ended, by id
  std::vector<Segment> segments_;
  std::vector<std::size_t> last_segment_;  ///< of each CPU, or npos
  ThreadId last_id_ = 0;
  int64_t tail_ = 0;
  int64_t head_ = 0;
};

/// "1.25" for 1250000 ns.
std::string in_milliseconds(Duration duration);

}  // namespace rclrt_core::sim
