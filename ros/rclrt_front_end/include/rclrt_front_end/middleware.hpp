// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What a front end has to know of one ROS middleware (RMW implementation), chosen by its name.
///
/// This package does not depend on rmw: a front end passes the name in, and what the RMW says of itself.
/// An RMW that is not in the table works, too. What depends on facts that are not known of it is left
/// alone, and a finding says so.
#pragma once

#include <string>
#include <vector>

#include "rclrt_core/status.hpp"

namespace rclrt_front_end
{

/// When a message gets its received_timestamp.
enum class ReceptionStamp
{
  kArrival,  ///< when the middleware received it
  kTake,     ///< when the executor took it out of the middleware, maybe much later
  kUnknown,
};

/// "arrival", "take", "unknown".
const char * to_string(ReceptionStamp stamp) noexcept;

struct Middleware
{
  /// As rmw_get_implementation_identifier() says; empty if nobody has said it.
  std::string rmw;
  /// Whether it is in the table. If not, everything below is the careful guess.
  bool is_known = false;
  /// Names of its threads; "dq.*" stands for all that begin with "dq.". Empty: not known.
  std::vector<std::string> threads;
  /// Names of threads that wait for locks without sleeping. Above the thread that holds the lock,
  /// on its CPU, such a thread would wait for ever. So they are left as they are.
  std::vector<std::string> busy_waiting;
  /// All its threads are there when for each of these one is: it receives, and it has the protocol's timers. A name may be
  /// one of several.
  std::vector<std::vector<std::string>> complete_with;
  /// Whether publications go out by such threads.
  bool publishes_by_busy_waiting = false;
  /// Whether it says, before it sends a message, the source time stamp by which readers know the message. It
  /// says so at the tracepoint `rmw_publish`. Another process finds the deadline of a message by that stamp.
  bool tells_stamps = false;
  /// Whether the publisher of a message has the same id for a reader in another process. Not if the id is a handle.
  bool has_ids_for_all = true;
  ReceptionStamp reception_stamp = ReceptionStamp::kUnknown;
  /// Whether another process finds the deadline of a message.
  bool carries_deadlines() const noexcept { return tells_stamps && has_ids_for_all; }
  /// Whether its threads may run callbacks: it was tested which locks they hold when they bring a message.
  bool may_run_callbacks = false;

  /// `tells_stamps`: whether the tracepoint was seen in what is loaded.
  static Middleware of(const std::string & rmw, bool tells_stamps = true);

  /// Whether a thread with this name (at most 15 bytes, see pthread_setname_np(3)) is one of its own that may be raised.
  bool owns_thread(const std::string & name) const;
  /// "dds.*", or "recv, recvUC, dq.*".
  std::string threads_text() const;

  /// `who`: the callback that preempts its threads, since none was found.
  rclrt_core::Finding no_thread_found(const std::string & who) const;
  /// `who` is to run on its threads, which it may not.
  rclrt_core::Finding no_inline(const std::string & who) const;
  /// Deadlines of messages do not reach other processes.
  rclrt_core::Finding no_deadlines() const;
  /// `who`, a callback in real time, publishes by threads that are left as they are.
  rclrt_core::Finding publishes_late(const std::string & who) const;
};

}  // namespace rclrt_front_end
