// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Threads for scenarios in the virtual machine: each waits, runs one job of so much CPU time when told
/// to, and says in a common log when it started and ended. The scenario's own thread is SCHED_FIFO, so
/// on one CPU nothing moves until it waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rclrt_scx/client.hpp"

namespace guest
{

// ---- Threads

inline constexpr int64_t kMs = 1000000;

int64_t now_ns();
void sleep_ms(int64_t ms);
/// In every loop that waits or burns time: the emulator runs virtual CPUs in turns, and a turn lasts to
/// the next timer unless the CPU says that it waits.
inline void end_turn()
{
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}
/// Use the CPU for this much of the calling thread's own time.
void spin_ms(int64_t ms);
/// How much CPU time the calling thread has used.
int64_t cpu_time_ns();
/// Whether a thread has used clearly more of its own time than it was to use, since this was last asked. Virtual CPUs take
/// turns. While one stands still the clock of its thread goes on, for up to the time between two ticks.
bool held_up();
/// The calling thread has used so much more than it was to use; up to `most_ns` says nothing.
void note_excess(int64_t excess_ns, int64_t most_ns);
void spin_until(const std::atomic<bool> & stop);
/// For the calling thread. False with errno.
bool become_fifo(int priority);
bool become_other();
/// -1: to no CPU.
bool pin_to(int cpu);
int cpu_count();

/// What happened, in order: "A+" started, "A-" ended.
class Log
{
public:
  void add(const std::string & what);
  std::string text() const;
  /// Position of an entry, or a large number.
  std::size_t at(const std::string & what) const;

private:
  static constexpr std::size_t kMax = 256;
  std::atomic<std::size_t> next_{0};
  std::string entries_[kMax];
};

class Worker
{
public:
  /// Returns once the thread is bound and sleeps. `cpu`: pinned there, -1 for anywhere.
  Worker(rclrt_scx::Client & client, Log & log, std::string name, int cpu = -1);
  ~Worker();
  Worker(const Worker &) = delete;
  Worker & operator=(const Worker &) = delete;

  /// Run one job with the deadline this long from now (0: none). `body` in place of spinning.
  void go(int64_t deadline_ms, int64_t work_ms, std::function<void()> body = nullptr);
  /// go() with an absolute deadline in ns, or none.
  void go_at(int64_t deadline_ns, int64_t work_ms, std::function<void()> body = nullptr);
  bool done() const { return done_.load(); }
  /// Wait until the job is done and the thread sleeps again; false after a long time.
  bool wait_done() const;

  rclrt_scx::Slot & slot() { return slot_; }
  int cpu_of_job() const { return cpu_of_job_.load(); }
  const std::string & why() const { return why_; }

private:
  void run(rclrt_scx::Client & client, int cpu);
  /// Off the run queue, waiting for a job: only then a release is a wake-up.
  bool sleeps() const;

  Log & log_;
  std::string name_;
  std::string why_;
  rclrt_scx::Slot slot_;
  std::function<void()> body_;
  int64_t work_ms_ = 0;
  std::atomic<uint32_t> word_{0};  // 0 waits, 1 has a job, 2 shall end
  std::atomic<bool> ready_{false};
  std::atomic<bool> done_{true};
  std::atomic<int> cpu_of_job_{-1};
  std::atomic<int> tid_{0};
  std::thread thread_;
};

bool wait_all(const std::vector<std::unique_ptr<Worker>> & workers);

// Lines in the kernel's own trace, for the judge outside of what the scheduler did: what the kernel does not know, or
// does not tell. Only where tracefs is mounted; else all of it does nothing.
//
//   rclrt TID due NS            from now on, 0: none
//   rclrt TID on CPU            may run there only, -1: anywhere
//   rclrt TID budget NS NS      runtime and period, 0 0: none
//   rclrt TID done | undone     whether what was said before has come about
//   rclrt cpu N leaves | away | comes | back

void mark(const char * format, ...) __attribute__((format(printf, 1, 2)));

/// What the calling thread changes, said before and after. In between nobody outside can know what holds.
void set_due(rclrt_scx::Slot & slot, int64_t deadline_ns);
void set_budget(rclrt_scx::Slot & slot, int64_t runtime_ns, int64_t period_ns);
void move_to(int cpu);
/// False if the CPU cannot be taken away.
bool set_online(int cpu, bool online);

// ---- Scenarios

/// `run` returns nothing if the promise in its name holds, otherwise what was seen instead. A text that
/// begins with "skip: " says why it cannot be tried here.
struct Scenario
{
  const char * group;  ///< that `all-GROUP` runs
  int cpus;            ///< that it needs
  std::string (*run)();
};
/// By name.
std::map<std::string, Scenario> & scenarios();

/// The head of one, which adds it to these.
#define SCENARIO(group, cpus, name)                                  \
  std::string name();                                                \
  [[maybe_unused]] const bool is_known_##name =                      \
    scenarios().emplace(#name, Scenario{#group, cpus, name}).second; \
  std::string name()

/// All that the command printed.
std::string output_of(const std::string & command);
std::string expect_in(const std::string & text, const std::string & wanted);
/// Run it as uid 1000 without other groups than `rt`. What it returns, or that it ended otherwise.
std::string as_user(const std::function<std::string()> & scenario);
/// The scheduler's words about its CPUs, for root to read and to spoil. Null if they cannot be mapped.
volatile rclrt_scx_cpu * cpus_of_the_scheduler();
rclrt_scx_owner owner_of(const rclrt_scx::Slot & slot);

/// Keeps a CPU busy above all our threads until it is told to stop.
class FifoHog
{
public:
  explicit FifoHog(int cpu);
  ~FifoHog();
  FifoHog(const FifoHog &) = delete;
  FifoHog & operator=(const FifoHog &) = delete;

private:
  std::atomic<bool> started_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// Counts what the fair class gets done in background, in ms of CPU time.
class Background
{
public:
  explicit Background(int cpu, int nice = 0);
  ~Background();
  Background(const Background &) = delete;
  Background & operator=(const Background &) = delete;
  int count() const { return count_.load(); }
  /// Let it end soon; the destructor waits for that.
  void stop() { stop_.store(true); }

private:
  std::atomic<bool> started_{false};
  std::atomic<bool> stop_{false};
  std::atomic<int> count_{0};
  std::thread thread_;
};

/// A scheduler in force, a log, and some workers named A, B, ...
struct Stage
{
  explicit Stage(int workers, int cpu = -1);
  Worker & operator[](std::size_t i) { return *workers[i]; }

  std::string why;
  std::unique_ptr<rclrt_scx::Client> client;
  Log log;
  std::vector<std::unique_ptr<Worker>> workers;
};

/// When all jobs have ended: whether the log is this, or something holds.
std::string expect(Stage & stage, const std::string & wanted);
std::string expect(Stage & stage, const std::function<bool()> & holds);

}  // namespace guest
