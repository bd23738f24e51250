// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Options that executors have in common, whatever their front end.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/engine_options.hpp"
#include "rclrt_core/policy.hpp"
#include "rclrt_front_end/configured_engine.hpp"

namespace rclrt_front_end
{

struct CommonOptions
{
  /// Says what matters about callbacks, groups and the executor without a change to the code; what it
  /// says overrides everything else here (see rclrt_config). Empty: the file named by the
  /// environment variable RCLRT_CONFIGURATION, else the context's parameters files (--params-file), as
  /// far as they have `rclrt` entries.
  std::string configuration_file;

  /// Called by the thread whose callback threw. Empty: stop, and rethrow from spin(). Must not
  /// throw.
  std::function<rclrt_core::ExceptionAction(const std::string & callback, std::exception_ptr)>
    on_exception;

  /// What to do when the operating system refuses attributes.
  rclrt_core::AttributesMode attributes_mode = rclrt_core::AttributesMode::kPrefer;
  MiddlewareThreadsOptions middleware_threads;
  /// What orders the threads of callbacks with scheduling_policy ext.
  DeadlineBackend deadline_scheduler = DeadlineBackend::kAuto;
  /// The executor's timer thread. Policy unchanged: SCHED_FIFO one above the most urgent fifo, rr or ext
  /// callback (at most 99; 99 if there is a deadline callback), and as the thread that spins while there is
  /// no such callback.
  rclrt_core::Attributes timer_thread;
  /// The stack of every thread of the executor, bytes. 0: the OS default.
  std::size_t stack_size = 0;
  /// What threads without work do: sleep at once, or look for work first. Not the timer thread.
  rclrt_core::WaitingOptions waiting;
  /// mlockall() at start.
  bool lock_memory = false;
  /// Job records kept per thread until read_trace(). 0: none.
  std::size_t trace_capacity = 1024;
  /// What else becomes of them: files in memory and on disk.
  rclrt_config::TraceOptions trace;
  /// Called when a chain of the parameters file has missed its deadline, or has fallen silent: within half a second, and
  /// once for all misses that were found together. The caller is a background thread of ordinary priority, which looks
  /// at no chain meanwhile. Must not throw, and must not destroy the executor.
  std::function<void(const ChainReport &)> on_chain_miss;
};

/// These options, as an engine takes them. `engine`: what the execution model says. `middleware`: see Middleware::of().
ConfiguredEngineOptions configured_engine_options(
  const CommonOptions & from, rclrt_core::EngineOptions engine,
  std::vector<std::string> parameter_files, const Middleware & middleware);

/// The options that belong to one execution model. Each front end has one executor class a model.

/// A bounded pool of threads that are created before they are needed.
struct PreemptiveOptions
{
  /// Order among jobs that wait for a thread or in a group.
  const rclrt_core::Policy * policy = &rclrt_core::fixed_priority_policy();
  /// The pool has as many threads as the groups can use at once, and at most this many.
  std::size_t max_threads = 64;
};

/// One thread (or more, if it is reentrant) for each group.
struct IsolatedOptions
{
  /// Order among the jobs of a group.
  const rclrt_core::Policy * policy = &rclrt_core::fixed_priority_policy();
};

/// One thread for all callbacks, and a more urgent one for timers.
struct PriorityEventsOptions
{
  /// Order among all jobs that wait.
  const rclrt_core::Policy * policy = &rclrt_core::fixed_priority_policy();
  /// Whether the timer thread also runs the callbacks of timers. Otherwise it only releases them.
  bool release_and_execute = false;
};

/// These options, as an engine takes them.
rclrt_core::EngineOptions engine_options(const PreemptiveOptions & from);
rclrt_core::EngineOptions engine_options(const IsolatedOptions & from);
rclrt_core::EngineOptions engine_options(const PriorityEventsOptions & from);

}  // namespace rclrt_front_end
