// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What an engine is given when it is made.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/policy.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_core
{

class Callback;
class DeadlineScheduler;
class TraceMemory;

/// What a thread without work does until there is some: sleep at once, or look for it for a while first.
///
/// To wake a thread on a CPU that sleeps takes far longer than to queue a job and to find it. A thread that
/// looks for work needs no waking, and keeps its CPU awake. The price is CPU time.
enum class Waiting : uint8_t
{
  kBlock,     ///< sleep at once
  kSpin,      ///< look for work for `spin`, then sleep
  kAdaptive,  ///< sleep until the next job is likely, look for it then; if gaps are irregular, sleep
};

const char * to_string(Waiting waiting) noexcept;

/// A thread that looks for work gives way to all other threads: it has the attributes that the thread had which
/// called spin() (SCHED_OTHER, or it does not look at all), yields again and again, and stops for 100 ms when
/// another thread has taken its CPU for more than a millisecond. At most one thread of a lane looks, and at most
/// one thread less than there are CPUs: on a single CPU none does.
struct WaitingOptions
{
  Waiting kind = Waiting::kBlock;
  /// kSpin: for so long after the last job. kAdaptive: at most so long for one job. Not negative.
  Duration spin = std::chrono::milliseconds(1);
  /// kAdaptive: of the time of one CPU, spent on looking. 0 to 1.
  double max_share = 0.25;
  /// Not 0: while the engine spins, a thread on each CPU wakes after each such time, under SCHED_FIFO 1 (there is none
  /// if the timer thread is not under fifo or rr). For virtual machines in which a CPU with ordinary work learns late
  /// that a more urgent thread was woken for it: with a beat it learns it within this time. At least 50 us.
  Duration beat{0};
};

enum class ExecutionModel : uint8_t
{
  kPriorityEvents,  ///< one thread, ordered queue, a more urgent timer thread [Teper25 §IV-V]
  kPreemptive,      ///< bounded pre-created threads, the OS preempts [ROSRT §IV]
  kIsolated,        ///< persistent threads of its own for every group [CIE25]
};

const char * to_string(ExecutionModel model) noexcept;

/// The reaction to a callback that has thrown. The thread that ran the callback calls it.
enum class ExceptionAction : uint8_t
{
  kContinue,
  kStop,  ///< stop the engine; spin() returns and hands the exception out
};

struct EngineOptions
{
  ExecutionModel model = ExecutionModel::kPreemptive;
  const Policy * policy = &fixed_priority_policy();
  /// Events only: the timer thread also executes timer callbacks ("release-and-execute").
  bool release_and_execute = false;
  /// Pool only. The pool has as many threads as its groups can use at once, and at most this many.
  /// They are created when groups are added or the engine starts, never when a job is released.
  std::size_t max_threads = 64;
  /// Stack of every thread the engine creates, bytes; 0 is the OS default.
  std::size_t stack_size = 0;
  /// What threads without work do. Not those of timers.
  WaitingOptions waiting;
  /// mlockall() at start.
  bool lock_memory = false;
  AttributesMode attributes_mode = AttributesMode::kPrefer;
  /// Orders the threads of callbacks with scheduling_policy ext. Null: these callbacks run without
  /// it, with a finding, or not at all (`attributes_mode`). The same holds for the jobs of a thread
  /// that gets no slot of it. May be shared by engines.
  std::shared_ptr<DeadlineScheduler> deadlines;
  /// The timer thread; must outrank the callbacks, so not ext: then spin() fails (see
  /// set_timer_thread()). Threads of the engine that have no attributes yet keep those of the thread that
  /// started them.
  Attributes timer_thread;
  /// Trace records that each thread keeps: the newest, 128 bytes each. Rounded up to a power of two, and one less. 0:
  /// none.
  std::size_t trace_capacity = 1024;
  /// Where they are kept. Null: on the heap. Not to be shared by engines.
  std::shared_ptr<TraceMemory> trace_memory;
  /// Empty: stop. Must not throw.
  std::function<ExceptionAction(const Callback &, std::exception_ptr)> on_exception;
  /// Called when there is a new finding. From any thread, also from one of the engine's before or after
  /// a job, and under the engine's locks. So it must only pass the news on to another thread, which
  /// then asks for findings(). Must not throw.
  std::function<void()> on_finding;
};

}  // namespace rclrt_core
