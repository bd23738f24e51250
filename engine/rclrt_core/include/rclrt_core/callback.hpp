// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A callback: the unit the engine schedules.
///
/// The handle is created by Engine::add_callback() or add_timer() and is only ever used through
/// the engine. It stays valid as long as somebody holds it; the engine forgets it on
/// Engine::remove().
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/budget.hpp"
#include "rclrt_core/job.hpp"
#include "rclrt_core/message_stamp.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_core
{

enum class CallbackKind : uint8_t
{
  kTimer,
  kSubscription,
  kService,
  kClient,
  kWaitable,
};

const char * to_string(CallbackKind kind) noexcept;

/// What happens to a release that finds earlier jobs of the same callback still unfinished.
enum class OverrunRule : uint8_t
{
  kQueueAll,    ///< it waits its turn; beyond `depth` waiting jobs the oldest is dropped
  kKeepLatest,  ///< it replaces the job that waits, if one does: at most one waits
  kSkip,        ///< it is dropped while a job waits or runs
};

const char * to_string(OverrunRule rule) noexcept;

/// What a user says about a callback: in code, through a front end, or in a parameters file. All of it is
/// optional.
struct Scheduling
{
  /// For the thread that runs the callback, put in force before it runs.
  Attributes attributes;
  /// 1-99: the order of waiting jobs under fixed_priority_policy(), larger first. 0: the priority in `attributes`.
  int queue_priority = 0;
  /// Deadline of a job = release + this. 0: inherited from the job that published, and in a group the
  /// earliest of what its callbacks have taken and not handed on. The deadline of another process' message
  /// is known when the message has been taken. Until then the engine expects it to be as far away as that
  /// of the message before.
  Duration relative_deadline{0};
  /// What the relative deadline counts from. From a stamp, for subscriptions: if this machine knows the deadline of
  /// the job that has published the message, that counts; if not, the stamp in the message (message_stamp.hpp).
  DeadlineFrom deadline_from = DeadlineFrom::kRelease;
  /// How far the clock that stamps and the one of this machine may be apart. Needed with a stamp, 0 or more and below
  /// the relative deadline.
  Duration clock_error{-1};
  /// Raise the priority (and a fifo or rr thread priority) to that of the most urgent callback that
  /// has released this one by publishing, under the same engine [Teper25 §VIII-C].
  bool inherit_priority = false;
  /// Unset: the front ends keep the latest for timers, the engine queues all.
  std::optional<OverrunRule> overrun_rule;
  /// Its jobs advance a clock of Engine::add_clock(). While one of them waits or runs, and timers follow such a clock,
  /// what arrives from outside of the engine's jobs is held back: the timers that the clock makes due come first.
  bool sets_clock = false;
  /// Not 0: the thread that brings the work may run it itself (see Engine::notify()), because the callback takes no longer
  /// than this, waits for nothing, and neither creates nor destroys entities. Not for timers, and only in a group that
  /// is mutually exclusive.
  Duration inline_bound{0};
  /// CPU time of the callback's jobs, enforced while the engine spins. Neither for inline callbacks nor for
  /// SCHED_DEADLINE, which has one, nor where the group has one (GroupOptions::budget).
  Budget budget;
  /// Not empty: the budget is that of the chain with this name. The callbacks of an engine that name it share it, at
  /// most 16, and all of them give the same one.
  std::string chain;
};

struct CallbackOptions : Scheduling
{
  /// Stable and unique within the engine, e.g. "/node/subscription/topic".
  std::string name;
  CallbackKind kind = CallbackKind::kWaitable;
  /// Take one unit of work and execute it. Returns false when there was nothing to take. Called by
  /// several threads at once if the group is reentrant. May throw: see EngineOptions::on_exception.
  std::function<bool(const Job &)> run;
  /// Bound on waiting jobs, normally the QoS depth. At least 1.
  uint32_t depth = 1;
  /// Where a file says some of this, e.g. "robot.yaml:5:9": what is refused is told with that place.
  std::string place{};
};

/// Identifies a clock of the engine.
using ClockId = uint32_t;
constexpr ClockId kSteadyClock = 0;  ///< CLOCK_MONOTONIC
constexpr ClockId kSystemClock = 1;  ///< CLOCK_REALTIME; a step is noticed within 100 ms

struct TimerOptions
{
  /// Between releases; 0 releases again as soon as the previous job has ended. Not negative.
  Duration period{0};
  /// From start to the first release. Negative: overdue by that much; the overrun rule says what becomes
  /// of the releases missed, and the phase is kept. Unset: one period.
  std::optional<Duration> first;
  ClockId clock = kSteadyClock;
  /// Release once, one period after start or reset.
  bool one_shot = false;
  /// Otherwise it waits for reset_timer().
  bool autostart = true;
};

/// Counters of one callback since it was added. They only grow.
struct CallbackStatistics
{
  uint64_t released = 0;         ///< jobs released (including those dropped or skipped later)
  uint64_t executed = 0;         ///< jobs whose `run` found work
  uint64_t empty = 0;            ///< jobs whose `run` found nothing to take
  uint64_t dropped = 0;          ///< jobs dropped because `depth` others waited (overload)
  uint64_t skipped = 0;          ///< jobs replaced or skipped by the overrun rule
  uint64_t exceptions = 0;       ///< jobs that threw
  uint64_t inlined = 0;          ///< jobs run by the thread that brought their work
  uint64_t over_bound = 0;       ///< of these: longer than the callback's bound
  uint64_t deadline_misses = 0;  ///< jobs that ended after their deadline
  uint64_t stamps_refused = 0;   ///< messages whose stamp was not believed (see DeadlineFrom)
  uint64_t over_budget =
    0;  ///< periods whose budget was not enough; of a group's: seen in a job of this one
  Duration max_response{0};  ///< longest release to end
};

class Callback
{
public:
  virtual ~Callback() = default;
  Callback(const Callback &) = delete;
  Callback & operator=(const Callback &) = delete;

  const std::string & name() const noexcept { return name_; }
  CallbackKind kind() const noexcept { return kind_; }
  /// Index used in trace records, unique within the engine.
  uint32_t id() const noexcept { return id_; }
  /// See Scheduling::relative_deadline.
  Duration relative_deadline() const noexcept { return relative_deadline_; }
  /// See Scheduling::deadline_from.
  DeadlineFrom deadline_from() const noexcept { return deadline_from_; }
  /// Whether a job of it was ever released.
  bool was_released() const noexcept { return was_released_.load(std::memory_order_relaxed); }

protected:
  Callback(
    std::string name, CallbackKind kind, uint32_t id, Duration relative_deadline,
    DeadlineFrom deadline_from)
  : name_(std::move(name)),
    relative_deadline_(relative_deadline),
    id_(id),
    kind_(kind),
    deadline_from_(deadline_from)
  {
  }

private:
  const std::string name_;
  const Duration relative_deadline_;
  const uint32_t id_;
  const CallbackKind kind_;
  const DeadlineFrom deadline_from_;

protected:
  /// Set by threads that have the engine's lock, and never cleared. Relaxed: it says nothing of anything else, and a
  /// thread that reads it too late asks again.
  std::atomic<bool> was_released_{false};
};

}  // namespace rclrt_core
