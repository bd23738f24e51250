// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/message_stamp.hpp"

#include <algorithm>

#include "engine_impl.hpp"
#include "messages/publication.hpp"

namespace rclrt_core
{
namespace
{

// Between the two readings of the engine's clock: nobody has taken the CPU meanwhile, for long at least.
constexpr Duration kCloseEnough = std::chrono::microseconds(2);
constexpr int kMostReadings = 3;

constexpr int64_t kDay_ns = int64_t{24} * 3600 * 1'000'000'000;

std::string text_of(Duration duration)
{
  const int64_t us = duration / std::chrono::microseconds(1);
  return us < 10'000 && us > -10'000 ? std::to_string(us) + " us"
                                     : std::to_string(us / 1000) + " ms";
}

}  // namespace

StampedDeadline deadline_from_stamp(
  int64_t stamp_ns, const Clocks & clocks, TimePoint release, Duration relative,
  Duration clock_error) noexcept
{
  StampedDeadline found;
  found.deadline = add_saturating(release, relative);
  int64_t age = 0;
  if (__builtin_sub_overflow(clocks.system_now_ns, stamp_ns, &age)) {
    age = stamp_ns < 0 ? std::numeric_limits<int64_t>::max() : -std::numeric_limits<int64_t>::max();
  }
  found.age = Duration(age);
  if (found.age < -clock_error) {
    found.fault = StampFault::kFuture;
    return found;
  }
  // Both clocks show less than half of what fits: neither difference overflows.
  const TimePoint made = clocks.now - std::max(found.age, Duration::zero());
  const TimePoint deadline = add_saturating(made, relative);
  if (deadline < release - clock_error) {
    found.fault = StampFault::kPast;
    return found;
  }
  // A message may be newer than the release, if it has replaced another one.
  found.deadline = std::min(found.deadline, deadline);
  return found;
}

DeadlineFrom deadline_counts_from() noexcept
{
  return Engine::Impl::running_here ? Engine::Impl::running_here->callback->deadline_from()
                                    : DeadlineFrom::kRelease;
}

// The thread may lose its CPU between the two clocks. Then the message would look older than it is.
Clocks read_clocks(Platform & platform) noexcept
{
  Clocks best;
  Duration shortest = Duration::max();
  for (int i = 0; i < kMostReadings && shortest > kCloseEnough; ++i) {
    const TimePoint before = platform.now();
    const int64_t system_now_ns = platform.system_now_ns();
    const TimePoint after = platform.now();
    if (after - before < shortest) {
      shortest = after - before;
      best = {before + shortest / 2, system_now_ns};
    }
  }
  return best;
}

TimePoint count_from_stamp(
  CallbackNode & callback, const Job & job, int64_t stamp_ns, const Clocks & both) noexcept
{
  StampNode & stamps = *callback.stamps;
  const StampedDeadline found = deadline_from_stamp(
    stamp_ns, both, job.release, callback.relative_deadline(), stamps.clock_error);
  if (found.fault != StampFault::kNone) {
    ++callback.statistics.stamps_refused;
    bool & told = found.fault == StampFault::kFuture ? stamps.told_of_future : stamps.told_of_past;
    if (!std::exchange(told, true)) {
      stamps.untold = found;
    }
  }
  return found.deadline;
}

Finding finding_of(const CallbackNode & callback, const StampedDeadline & found)
{
  const std::string error = "clock_error (" + text_of(callback.stamps->clock_error) + ")";
  Finding finding;
  finding.subject = callback.name();
  finding.what = std::string("counts the deadline of a message from its arrival, not from its ") +
                 to_string(callback.deadline_from()) + ": ";
  if (found.fault == StampFault::kFuture) {
    finding.what +=
      "that lies " + text_of(-found.age) + " in the future, more than " + error + " explains";
  } else {
    finding.what += "by that the message is " + text_of(found.age) +
                    " old, and its deadline was over before it came, by more than " + error;
  }
  finding.fix =
    found.age > Duration(kDay_ns) || found.age < Duration(-kDay_ns)
      ? "Fill in the stamp; if it is of simulated or recorded time, use deadline_from: release"
      : "Synchronise the clocks (PTP, chrony), or state a larger clock_error; if the clocks agree, "
        "messages take longer than relative_deadline";
  finding.fix += ". Statistics count how often (stamps_refused)";
  return finding;
}

}  // namespace rclrt_core
