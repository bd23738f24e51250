// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Executors with a wait set, after rclcpp's: what they have in common. For comparison only; see
/// FAITHFULNESS.md for what each behaviour stands for.
///
/// A *polling point* is a call of rcl_wait(): only there timers are sampled and the middleware is
/// asked for work. What it found is kept as the result and handed out one by one, in the order
/// timers, subscriptions, services, clients, the rest; what becomes ready meanwhile waits for the
/// next polling point, which comes when the result is used up. The time between two of them is a
/// *processing window*.
///
/// The list of entities is collected anew only when something has changed or somebody interrupted.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <string>

#include "rclrt_core/job.hpp"
#include "rclrt_core/time.hpp"
#include "rclrt_rcl/executor.hpp"

namespace rclrt_baselines
{

class Member;  // an entity as the executor sees it

class WaitSetExecutor : public rclrt_rcl::Executor
{
public:
  ~WaitSetExecutor() override;

protected:
  /// Null: the default context.
  explicit WaitSetExecutor(std::shared_ptr<rclrt_rcl::Context> context);

  struct Executable
  {
    std::shared_ptr<Member> member;
    rclrt_core::Job job;
  };

  // One thread at a time may call these four.

  /// A polling point. Negative: no timeout.
  void wait_for_work(std::chrono::nanoseconds timeout);
  /// The next one of the present result whose group is free; the group is taken.
  bool next_ready(Executable * executable);
  /// next_ready(), else wait and try once more.
  bool next(Executable * executable, std::chrono::nanoseconds timeout);
  /// Whatever is left of it is found again at the next polling point.
  void drop_result();

  /// Run it and give its group back. From any thread.
  void execute(const Executable & executable);
  static bool in_exclusive_group(const Executable & executable) noexcept;
  /// Negative when that is never.
  static std::chrono::nanoseconds time_until(rclrt_core::TimePoint until);
  static rclrt_core::Job job_of_now();

  void do_spin_some(rclrt_core::TimePoint until, bool exhaustive) override;
  bool do_spin_once(rclrt_core::TimePoint until) override;
  void interrupt() noexcept override;
  /// A trigger that nobody has waited for costs the next spin one look.
  void clear_interrupt() noexcept override {}

  class Impl;
  const std::unique_ptr<Impl> impl_;

private:
  void on_group_added(const std::shared_ptr<rclrt_rcl::CallbackGroup> & group) override;
  void on_group_removed(const rclrt_rcl::CallbackGroup * group) override;
  void on_entity_added(const std::shared_ptr<rclrt_rcl::Entity> & entity) override;
  void on_entity_removed(const std::shared_ptr<rclrt_rcl::Entity> & entity) override;
};

/// One thread on a wait set, after rclcpp's SingleThreadedExecutor. For comparison only.
class WaitSetSingleThreadedExecutor : public WaitSetExecutor
{
public:
  /// Null: the default context.
  explicit WaitSetSingleThreadedExecutor(std::shared_ptr<rclrt_rcl::Context> context = nullptr);
  ~WaitSetSingleThreadedExecutor() override;

private:
  void do_spin() override;
};

/// Several threads on one wait set, after rclcpp's MultiThreadedExecutor. For comparison only.
///
/// One mutex guards the wait set: one thread waits or chooses, the others run callbacks or queue for
/// the mutex. A mutually exclusive group that is busy is left out; the thread that has run one of
/// its callbacks interrupts the wait, so that it is looked at again.
class WaitSetMultiThreadedExecutor : public WaitSetExecutor
{
public:
  /// 0 threads: as many as there are CPUs, but at least 2. The thread that spins is one of them.
  explicit WaitSetMultiThreadedExecutor(
    std::size_t threads = 0, std::shared_ptr<rclrt_rcl::Context> context = nullptr);
  ~WaitSetMultiThreadedExecutor() override;

  std::size_t thread_count() const noexcept { return threads_; }

private:
  void do_spin() override;
  void work();

  const std::size_t threads_;
  std::mutex wait_mutex_;
  /// A callback has thrown. Set by its thread before it interrupts the wait, read by all.
  std::atomic<bool> failed_{false};
  std::exception_ptr exception_;  ///< guarded by wait_mutex_
};

/// One thread that runs everything a wait has found before it waits again, after rclcpp's
/// StaticSingleThreadedExecutor. For comparison only.
///
/// Order within a window: subscriptions before timers. Groups are not looked at: nothing runs in
/// parallel anyway.
class StaticExecutor : public WaitSetExecutor
{
public:
  /// Null: the default context.
  explicit StaticExecutor(std::shared_ptr<rclrt_rcl::Context> context = nullptr);
  ~StaticExecutor() override;

private:
  void do_spin() override;
  void do_spin_some(rclrt_core::TimePoint until, bool exhaustive) override;
  bool do_spin_once(rclrt_core::TimePoint until) override;
  /// Run what the present result has, or the first of it. Returns whether there was any.
  bool execute_ready(bool only_one);
};

struct Event;

/// One thread and an unbounded first-in-first-out queue of events, after rclcpp's experimental
/// EventsExecutor. For comparison only.
///
/// Every message, request, trigger ... is an event, put there by the thread of the middleware that
/// announced it; every expiry of a timer is one, put there by a timer thread that advances the timer
/// at that moment. So an executor that falls behind owes a burst: each missed period runs later.
class FifoEventsExecutor : public rclrt_rcl::Executor
{
public:
  /// Null: the default context.
  explicit FifoEventsExecutor(std::shared_ptr<rclrt_rcl::Context> context = nullptr);
  ~FifoEventsExecutor() override;

private:
  void on_group_added(const std::shared_ptr<rclrt_rcl::CallbackGroup> & group) override;
  void on_group_removed(const rclrt_rcl::CallbackGroup * group) override;
  void on_entity_added(const std::shared_ptr<rclrt_rcl::Entity> & entity) override;
  void on_entity_removed(const std::shared_ptr<rclrt_rcl::Entity> & entity) override;
  void do_spin() override;
  void do_spin_some(rclrt_core::TimePoint until, bool exhaustive) override;
  bool do_spin_once(rclrt_core::TimePoint until) override;
  void interrupt() noexcept override;
  /// An event that only wakes costs the next spin one look.
  void clear_interrupt() noexcept override {}
  /// False when there was nothing to execute, e.g. of an entity that was removed.
  bool execute(const Event & event);

  class Impl;
  const std::unique_ptr<Impl> impl_;
};

/// Executors by the names that experiments have for them. Not thread-safe, and not for real-time threads.
/// preemptive, priority_events, isolated: ours, without options; preemptive_beat: with a beat of 200 us;
/// priority_events_re: with release-and-execute. wait_set_single, wait_set_multi, static, events_fifo: these baselines.
/// `threads`: of wait_set_multi; 0: as many as there are CPUs, but at least 2. Throws std::runtime_error for any other name.
std::unique_ptr<rclrt_rcl::Executor> executor_by_name(
  const std::string & name, std::size_t threads = 0);

}  // namespace rclrt_baselines
