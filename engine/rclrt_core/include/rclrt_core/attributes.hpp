// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Scheduling attributes: the policy, priority and CPUs that a callback asks the operating system
/// for.
///
/// They are plain values. Platform::apply() puts them in force and reads them back. A refusal
/// becomes a Finding. A larger priority is more urgent, everywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rclrt_core/status.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_core
{

enum class SchedulingPolicy : uint8_t
{
  kUnchanged,   ///< leave the thread's policy as it is (affinity may still be set)
  kOther,       ///< SCHED_OTHER, with nice
  kBatch,       ///< SCHED_BATCH, with nice
  kIdle,        ///< SCHED_IDLE
  kFifo,        ///< SCHED_FIFO, with priority 1-99
  kRoundRobin,  ///< SCHED_RR, with priority 1-99
  kDeadline,    ///< SCHED_DEADLINE, with runtime <= deadline <= period
  kExt,         ///< by the absolute deadline of the job, see DeadlineScheduler
};

struct PolicyFacts
{
  SchedulingPolicy scheduling_policy;
  const char * word;     ///< in parameters files
  uint32_t in_kernel;    ///< the number in the kernel's interface; <sched.h> lacks some
  uint32_t level;        ///< larger is more urgent; the policy's own values decide between equals
  bool has_priority;     ///< 1-99
  bool has_nice;         ///< -20 to 19
  bool has_reservation;  ///< runtime, deadline, period
};

/// A row for each policy, in the order of SchedulingPolicy. Trace records number policies in this order, too.
inline constexpr PolicyFacts kPolicies[] = {
  {SchedulingPolicy::kUnchanged, "unchanged", 0, 1, false, false, false},
  {SchedulingPolicy::kOther, "other", 0, 1, false, true, false},
  {SchedulingPolicy::kBatch, "batch", 3, 1, false, true, false},
  {SchedulingPolicy::kIdle, "idle", 5, 0, false, false, false},
  {SchedulingPolicy::kFifo, "fifo", 1, 3, true, false, false},
  {SchedulingPolicy::kRoundRobin, "rr", 2, 3, true, false, false},
  {SchedulingPolicy::kDeadline, "deadline", 6, 4, false, false, true},
  {SchedulingPolicy::kExt, "ext", 7, 2, false, false, false},
};

constexpr const PolicyFacts & facts(SchedulingPolicy kind) noexcept
{
  return kPolicies[static_cast<std::size_t>(kind)];
}

/// fifo and rr.
constexpr bool is_fixed_priority(SchedulingPolicy kind) noexcept
{
  return facts(kind).has_priority;
}

/// Whether a thread of this policy preempts ordinary threads at once: fifo, rr, deadline and ext.
constexpr bool is_strict(SchedulingPolicy kind) noexcept { return facts(kind).level >= 2; }

constexpr const char * to_string(SchedulingPolicy kind) noexcept { return facts(kind).word; }

/// A set of CPUs by number, at most 1024; empty means "do not touch the affinity".
class CpuSet
{
public:
  static constexpr int kMaxCpus = 1024;
  /// CPU n is bit n % 64 of word n / 64.
  using Words = std::array<uint64_t, kMaxCpus / 64>;

  CpuSet() = default;

  /// A number outside [0, kMaxCpus) does not become a member, but the set is then not empty. The
  /// last such number is kept for validate(), which reports it like every CPU that does not exist.
  explicit CpuSet(const std::vector<int> & cpus);

  bool empty() const noexcept;
  std::optional<int> out_of_range() const noexcept { return out_of_range_; }
  bool contains(int cpu) const noexcept;
  static CpuSet from_words(const Words & words) noexcept
  {
    CpuSet set;
    set.words_ = words;
    return set;
  }
  const Words & words() const noexcept { return words_; }
  std::vector<int> cpus() const;
  /// E.g. "0,2-3".
  std::string to_string() const;

  friend bool operator==(const CpuSet & a, const CpuSet & b) noexcept
  {
    return a.words_ == b.words_ && a.out_of_range_ == b.out_of_range_;
  }
  friend bool operator!=(const CpuSet & a, const CpuSet & b) noexcept { return !(a == b); }

private:
  Words words_{};
  std::optional<int> out_of_range_;
};

struct Attributes
{
  SchedulingPolicy scheduling_policy = SchedulingPolicy::kUnchanged;
  int priority = 0;       ///< 1-99, fifo and rr only
  int nice = 0;           ///< -20 to 19, other and batch only
  Duration runtime{0};    ///< deadline only: budget in each period
  Duration deadline{0};   ///< deadline only: relative to the start of the period
  Duration period{0};     ///< deadline only
  CpuSet cpu_affinity{};  ///< empty: unchanged
  /// Whether processes and threads that the thread creates start with the same policy. If not, they start as
  /// SCHED_OTHER (the kernel's reset-on-fork). Only a privileged thread can go back from false to true.
  bool inherited_by_children = false;

  friend bool operator==(const Attributes & a, const Attributes & b) noexcept;
  friend bool operator!=(const Attributes & a, const Attributes & b) noexcept { return !(a == b); }
};

/// In words, e.g. "fifo, priority 50, cpu_affinity 0,2-3".
std::string to_string(const Attributes & attributes);

/// Whether the OS prefers a thread with `a` over one with `b`: deadline (by relative deadline, as
/// for jobs released together), then fifo and rr by priority, then ext (among themselves their jobs'
/// deadlines decide, which are not known here), then other and batch by nice, then idle. kUnchanged
/// counts as other with nice 0. A strict weak order.
bool more_urgent(const Attributes & a, const Attributes & b) noexcept;

/// Whether the values make sense on a machine with `cpu_count` CPUs numbered from 0. The text names
/// `subject` (the callback or thread), the field, the value and the range.
Status validate(const Attributes & attributes, int cpu_count, const std::string & subject);

/// The reaction when the operating system refuses attributes.
enum class AttributesMode : uint8_t
{
  kRequire,  ///< starting fails; for callbacks added later it is a finding
  kPrefer,   ///< run without them, with a finding
  kOff,      ///< do not ask
};

}  // namespace rclrt_core
