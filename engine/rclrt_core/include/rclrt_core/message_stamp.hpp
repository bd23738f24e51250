// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Deadlines that count from when a message was made, by the clock of the machine that made it.
///
/// A stamp is what CLOCK_REALTIME of that machine showed. The user states how far the two clocks may be apart
/// (Scheduling::clock_error). The deadline of a job that has taken such a message, by that stamp, lies
///
///   no earlier than   the job's release - clock_error
///   no later than     the job's release + relative deadline
///
/// whatever the stamp says. A stamp that would lead out of these bounds is not believed: then the deadline counts
/// from the release, as without stamps, and a finding says so. So a wrong clock, a stamp of 1970, of a simulation
/// or of a recording can neither put a job behind what it had without stamps, nor before all others.
///
/// Steps of CLOCK_REALTIME: the age of a message is what that clock says when the message is taken, and nothing
/// else of it is kept. So a step counts against messages that are on their way just then, as an error of their
/// stamps, and against no job that has its deadline already.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "rclrt_core/time.hpp"

namespace rclrt_core
{

/// What a relative deadline counts from.
enum class DeadlineFrom : uint8_t
{
  kRelease,      ///< the job's release: here, by this machine's clock
  kSourceStamp,  ///< the middleware's source time stamp: when the message was published
  kHeaderStamp,  ///< the stamp in the message's header, by convention when the data were measured
};

const char * to_string(DeadlineFrom from) noexcept;

/// Nanoseconds of CLOCK_REALTIME, or this: the message has no stamp of the kind that is wanted.
constexpr int64_t kNoStamp = std::numeric_limits<int64_t>::min();

/// Why a stamp is not believed.
enum class StampFault : uint8_t
{
  kNone,
  kFuture,  ///< it is later than now, by more than the clocks may be apart
  kPast,    ///< its deadline was over before the release, by more than the clocks may be apart
};

struct StampedDeadline
{
  TimePoint deadline{};
  StampFault fault = StampFault::kNone;
  /// How old the message was when it was taken; below 0: it is from the future.
  Duration age{0};
};

/// What both clocks show at one time.
struct Clocks
{
  TimePoint now{};
  int64_t system_now_ns = 0;
};

/// The rule above. Real-time safe, for any values. `relative` and `clock_error` are not negative.
StampedDeadline deadline_from_stamp(
  int64_t stamp_ns, const Clocks & clocks, TimePoint release, Duration relative,
  Duration clock_error) noexcept;

/// What that job's callback counts from, the calling thread's: which stamp to look for. kRelease outside of
/// callbacks. Real-time safe, no lock.
DeadlineFrom deadline_counts_from() noexcept;

}  // namespace rclrt_core
