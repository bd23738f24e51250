// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The publication that is open on the calling thread: see Publication in engine.hpp.
#pragma once

#include "order/ready.hpp"
#include "rclrt_core/platform.hpp"
#include "rclrt_core/status.hpp"
#include "threads/worker.hpp"

namespace rclrt_core
{

/// Whether one is open.
bool publishes_here() noexcept;
/// The publication has released a job that needs this. The thread is lent as much, if it has less, until the
/// publication ends. `publisher`: the worker whose thread this is, or null. Not under an engine's lock. At most one
/// change of attributes, the first time also two calls to read them.
void lend_to_publisher(const Loan & loan, Worker * publisher, Platform & platform) noexcept;

/// Deadlines that count from the stamp of a message: what the engine does with rclrt_core/message_stamp.hpp.

/// Both at one time, as far as that can be.
Clocks read_clocks(Platform & platform) noexcept;
/// The deadline of a job that has taken a message with this stamp. A stamp that is not believed counts, and is kept to be
/// told the first time. Under the engine's lock, by the thread of the job.
TimePoint count_from_stamp(
  CallbackNode & callback, const Job & job, int64_t stamp_ns, const Clocks & both) noexcept;
/// A stamp that was not believed.
Finding finding_of(const CallbackNode & callback, const StampedDeadline & found);

}  // namespace rclrt_core
