// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A message that a thread hands to the middleware, and how its readers will know it.
///
/// A reader knows the publisher's GID and the source time stamp. A middleware that calls the tracepoint
/// `rmw_publish` of tracetools says that stamp in the thread that publishes, before it sends the
/// message. This library stands in for that function. So the deadline of a message lies in the table
/// (DeadlineRing) before anybody can take the message. No lock is needed: several threads may publish by
/// one publisher at once, and each has the stamp of its own message.
///
/// The stand-in is in effect in executables that link this library: the dynamic linker takes the first
/// definition in the program. It calls the next one, so whoever else traces goes on tracing.
#pragma once

#include <cstdint>

#include "rclrt_core/deadline_ring.hpp"
#include "rclrt_core/job.hpp"

namespace rclrt_front_end
{

/// On the stack of the thread that publishes, around the call of the middleware. Real-time safe: no lock, no
/// system call, no allocation.
class SentMessage
{
public:
  using PublisherId = rclrt_core::DeadlineRing::PublisherId;

  explicit SentMessage(const PublisherId & publisher) noexcept;
  ~SentMessage();
  SentMessage(const SentMessage &) = delete;
  SentMessage & operator=(const SentMessage &) = delete;

  /// The middleware has taken it: into the trace, if a job has published it.
  void is_sent() const noexcept;

  /// The message that this thread is about to send has this source time stamp, nanoseconds. Does nothing
  /// outside of such a scope.
  static void stamped(int64_t source_timestamp) noexcept;

private:
  const PublisherId & publisher_;
  SentMessage * const
    outer_;  ///< a listener of the middleware may publish while it is told of a message
  uint64_t stamp_ = RCLRT_TRACE_NO_MESSAGE;
};

/// Whether a library of this process calls the function, as a middleware does that was built with
/// tracepoints. Reads the symbol tables of what is loaded: for start, not real-time safe.
bool is_called_by_a_library(const char * function);

}  // namespace rclrt_front_end
