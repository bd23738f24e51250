// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Options that the executors on the engine have in common.
#ifndef RCLRT_RCL__EXECUTOR_OPTIONS_HPP_
#define RCLRT_RCL__EXECUTOR_OPTIONS_HPP_

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include "rclrt_config/configured_engine.hpp"
#include "rclrt_core/attributes.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_rcl/callback_group.hpp"
#include "rclrt_rcl/context.hpp"
#include "rclrt_rcl/scheduling.hpp"

namespace rclrt_rcl
{

struct ExecutorOptions
{
  /// Null: the default context.
  std::shared_ptr<Context> context;

  /// Says what matters about callbacks, groups and the executor without a change to the code; what it
  /// says goes before everything else here (see rclrt_config). Empty: the file named by the
  /// environment variable RCLRT_CONFIGURATION, else the context's parameter files (--params-file), as
  /// far as they have `rclrt` entries.
  std::string configuration_file;

  /// Called for each entity before it is scheduled; may change what the entity's options say. Must
  /// not call the executor; may throw Error.
  std::function<void(const Entity &, Scheduling &)> configure;
  /// The same for the attributes of groups.
  std::function<void(const CallbackGroup &, rclrt_core::Attributes &)> configure_group;

  /// Called by the thread whose callback threw. Empty: stop, and rethrow from spin(). Must not
  /// throw.
  std::function<rclrt_core::ExceptionAction(const std::string & callback, std::exception_ptr)>
    on_exception;

  /// What to do when the operating system refuses attributes.
  rclrt_core::AttributesMode attributes_mode = rclrt_core::AttributesMode::kPrefer;
  rclrt_config::MiddlewareThreadsOptions middleware_threads;
  /// What orders the threads of callbacks with scheduling_policy ext.
  rclrt_config::DeadlineBackend deadline_scheduler = rclrt_config::DeadlineBackend::kAuto;
  /// The executor's timer thread. Policy unchanged: SCHED_FIFO one above the most urgent fifo or rr
  /// callback (at most 99), and as the thread that spins while there is no such callback.
  rclrt_core::Attributes timer_thread;
  /// Of every thread of the executor, bytes. 0: the OS default.
  std::size_t stack_size = 0;
  std::size_t stack_prefault = 0;
  /// mlockall() at start.
  bool lock_memory = false;
  /// Job records kept per thread until read_trace(). 0: none.
  std::size_t trace_capacity = 1024;
};

}  // namespace rclrt_rcl

#endif  // RCLRT_RCL__EXECUTOR_OPTIONS_HPP_
