// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A context: one initialisation of ROS 2, usually one a process.
///
/// It owns the middleware's participant, the arguments given after `--ros-args`, and the state of
/// being shut down. It is shut down once, for good: executors stop spinning, and publishing becomes
/// an error. Every object made in it keeps it alive.
///
/// All functions are thread-safe. Set-up may throw Error.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rcl/context.h"

namespace rclrt_rcl
{

struct ContextOptions
{
  /// Unset: $ROS_DOMAIN_ID.
  std::optional<std::size_t> domain_id;
  /// Set up rcl's logging (console, file, /rosout) with the arguments of this context. Process-wide:
  /// the first context that asks for it wins.
  bool configure_logging = true;
};

namespace detail
{
class IntraProcess;
}  // namespace detail

class Context : public std::enable_shared_from_this<Context>
{
public:
  using ShutdownCallback = std::function<void()>;
  using ShutdownHandle = uint64_t;

  /// `argv` as given to main(); what follows `--ros-args` is for ROS (remapping, parameters, log
  /// levels). Errors: arguments that rcl cannot parse, a domain id out of range.
  static std::shared_ptr<Context> make(
    int argc = 0, const char * const * argv = nullptr, const ContextOptions & options = {});

  /// Shuts down.
  ~Context();
  Context(const Context &) = delete;
  Context & operator=(const Context &) = delete;

  /// Whether it has not been shut down. One atomic read.
  bool ok() const noexcept;
  /// Returns false if it had been shut down before. Runs the callbacks in this thread, in the order
  /// they were added.
  bool shutdown(const std::string & reason = "shutdown() was called");
  /// Empty while ok().
  std::string shutdown_reason() const;

  /// Have `callback` called once, by the thread that shuts down; at once if the context is already
  /// shut down. Then the callback is destroyed. It may hold the last pointer to an object that
  /// removes a callback of its own.
  ShutdownHandle on_shutdown(ShutdownCallback callback);
  /// On return the callback is destroyed and does not run any more (unless called from inside it).
  void remove_on_shutdown(ShutdownHandle handle);

  /// Returns ok(): early, with false, if the context is shut down meanwhile. Zero or less: at once.
  bool sleep_for(std::chrono::nanoseconds duration) const;

  std::size_t domain_id() const;
  /// Arguments that were not for ROS, program name first.
  std::vector<std::string> non_ros_arguments() const;

  rcl_context_t * handle() noexcept;
  detail::IntraProcess & intra_process() noexcept;

private:
  class Impl;
  Context();
  std::unique_ptr<Impl> impl_;
};

/// The default context of the process, and the functions most programs need of it.
///
///   rclrt_rcl::init(argc, argv);  ...  rclrt_rcl::shutdown();
///
/// Make the default context and install_signal_handlers(). Errors: it exists and is ok().
void init(int argc = 0, const char * const * argv = nullptr, const ContextOptions & options = {});

/// Whether the default context exists and has not been shut down.
bool ok() noexcept;

/// Shut down the default context, if there is one, and forget it.
bool shutdown(const std::string & reason = "shutdown() was called");

/// Error unless init() was called.
std::shared_ptr<Context> default_context();

/// SIGINT and SIGTERM shut down every context of the process.
///
/// The handler notes the signal and wakes a thread, which shuts the contexts down. The first signal
/// restores the handlers that were there before, so that a second Ctrl-C ends a program whose
/// callbacks do not return. A forked child ignores both signals until it calls exec().
///
/// Returns false if they were installed already. Thread-safe. Throws Error if the OS refuses.
bool install_signal_handlers();

/// Restore the handlers that were there before, and wait until the thread has served the signals
/// that came and has ended (not if a shutdown callback calls it in that thread). Returns false if
/// they were not installed. Thread-safe.
bool uninstall_signal_handlers();

}  // namespace rclrt_rcl
