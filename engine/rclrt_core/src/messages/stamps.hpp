// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Deadlines that count from the stamp of a message: what the engine does with rclrt_core/message_stamp.hpp.
#ifndef STAMPS_HPP_
#define STAMPS_HPP_

#include "order/ready.hpp"
#include "rclrt_core/platform.hpp"
#include "rclrt_core/status.hpp"

namespace rclrt_core
{

/// Both at one time, as far as that can be.
Clocks read_clocks(Platform & platform) noexcept;
/// The deadline of a job that has taken a message with this stamp. A stamp that is not believed counts, and is kept to be
/// told the first time. Under the engine's lock, by the thread of the job.
TimePoint count_from_stamp(
  CallbackNode & callback, const ReleaseStamp & job, int64_t stamp_ns,
  const Clocks & both) noexcept;
/// A stamp that was not believed.
Finding finding_of(const CallbackNode & callback, const StampedDeadline & found);

}  // namespace rclrt_core

#endif  // STAMPS_HPP_
