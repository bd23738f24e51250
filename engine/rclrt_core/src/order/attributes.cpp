// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/attributes.hpp"

#include <algorithm>

#include "order/urgency.hpp"

namespace rclrt_core
{
namespace
{

std::size_t word_of(int cpu) { return static_cast<std::size_t>(cpu) / 64; }
uint64_t bit_of(int cpu) { return uint64_t{1} << (static_cast<unsigned>(cpu) % 64); }

std::string in_nanoseconds(Duration duration) { return std::to_string(duration.count()) + " ns"; }

// The kernel measures runtime in units of 2^10 ns and refuses less than one.
constexpr Duration kMinRuntime{1024};

}  // namespace

CpuSet::CpuSet(const std::vector<int> & cpus)
{
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < kMaxCpus) {
      words_[word_of(cpu)] |= bit_of(cpu);
    } else {
      out_of_range_ = cpu;
    }
  }
}

bool CpuSet::empty() const noexcept
{
  return !out_of_range_ &&
         std::all_of(words_.begin(), words_.end(), [](uint64_t word) { return word == 0; });
}

bool CpuSet::contains(int cpu) const noexcept
{
  return cpu >= 0 && cpu < kMaxCpus && (words_[word_of(cpu)] & bit_of(cpu)) != 0;
}

std::vector<int> CpuSet::cpus() const
{
  std::vector<int> cpus;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (contains(cpu)) {
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

std::string CpuSet::to_string() const
{
  std::string text;
  for (int first = 0; first < kMaxCpus; ++first) {
    if (!contains(first)) {
      continue;
    }
    int last = first;
    while (contains(last + 1)) {
      ++last;
    }
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) {
      text += "-" + std::to_string(last);
    }
    first = last;
  }
  if (out_of_range_) {
    text += (text.empty() ? "" : ",") + std::to_string(*out_of_range_);
  }
  return text;
}

bool operator==(const Attributes & a, const Attributes & b) noexcept
{
  return a.scheduling_policy == b.scheduling_policy && a.priority == b.priority &&
         a.nice == b.nice && a.runtime == b.runtime && a.deadline == b.deadline &&
         a.period == b.period && a.cpu_affinity == b.cpu_affinity &&
         a.inherited_by_children == b.inherited_by_children;
}

std::string to_string(const Attributes & attributes)
{
  std::string text = to_string(attributes.scheduling_policy);
  if (facts(attributes.scheduling_policy).has_priority) {
    text += ", priority " + std::to_string(attributes.priority);
  } else if (facts(attributes.scheduling_policy).has_nice) {
    text += ", nice " + std::to_string(attributes.nice);
  } else if (facts(attributes.scheduling_policy).has_reservation) {
    text += ", runtime " + in_nanoseconds(attributes.runtime) + ", deadline " +
            in_nanoseconds(attributes.deadline) + ", period " + in_nanoseconds(attributes.period);
  }
  if (!attributes.cpu_affinity.empty()) {
    text += ", cpu_affinity " + attributes.cpu_affinity.to_string();
  }
  return text;
}

uint32_t urgency_level(const Attributes & attributes) noexcept
{
  constexpr uint32_t kLevelsOfAClass = 256;
  static_assert(kFirstStrictLevel == 2 * kLevelsOfAClass, "ext and above");
  uint32_t within = 0;
  if (facts(attributes.scheduling_policy).has_priority) {
    within = static_cast<uint32_t>(attributes.priority);
  } else if (facts(attributes.scheduling_policy).level == 1) {
    within = static_cast<uint32_t>(
      20 - (facts(attributes.scheduling_policy).has_nice ? attributes.nice : 0));
  }
  return facts(attributes.scheduling_policy).level * kLevelsOfAClass + within;
}

bool more_urgent(const Attributes & a, const Attributes & b) noexcept
{
  const auto relative_deadline = [](const Attributes & attributes) {
    return attributes.scheduling_policy == SchedulingPolicy::kDeadline ? attributes.deadline.count()
                                                                       : INT64_MAX;
  };
  return outranks(urgency_level(a), relative_deadline(a), urgency_level(b), relative_deadline(b));
}

Status validate(const Attributes & attributes, int cpu_count, const std::string & subject)
{
  const auto wrong = [&](const std::string & text) {
    return Status::error(
      subject + ": " + text + " (scheduling_policy " + to_string(attributes.scheduling_policy) +
      ")");
  };
  const PolicyFacts & known = facts(attributes.scheduling_policy);

  if (known.has_priority) {
    if (attributes.priority < 1 || attributes.priority > 99) {
      return wrong("priority is " + std::to_string(attributes.priority) + ", must be 1 to 99");
    }
  } else if (attributes.priority != 0) {
    return wrong(
      "priority is " + std::to_string(attributes.priority) +
      ", but only scheduling_policy fifo and rr have one. Remove it; queue_priority orders waiting "
      "callbacks without a "
      "policy");
  }

  if (known.has_nice) {
    if (attributes.nice < -20 || attributes.nice > 19) {
      return wrong("nice is " + std::to_string(attributes.nice) + ", must be -20 to 19");
    }
  } else if (attributes.nice != 0) {
    return wrong(
      "nice is " + std::to_string(attributes.nice) +
      ", but only scheduling_policy other and batch have one; remove it");
  }

  const struct
  {
    const char * name;
    Duration value;
    const char * at_least_what;
    Duration at_least;
  } durations[] = {
    {"runtime", attributes.runtime, "", kMinRuntime},
    {"deadline", attributes.deadline, "the runtime, ", attributes.runtime},
    {"period", attributes.period, "the deadline, ", attributes.deadline},
  };
  for (const auto & duration : durations) {
    const std::string is =
      std::string(duration.name) + " is " + in_nanoseconds(duration.value) + ", ";
    if (!known.has_reservation) {
      if (duration.value != Duration{0}) {
        return wrong(is + "but only scheduling_policy deadline has one; remove it");
      }
    } else if (duration.value < duration.at_least) {
      return wrong(
        is + "must be at least " + duration.at_least_what + in_nanoseconds(duration.at_least));
    }
  }

  std::vector<int> cpus = attributes.cpu_affinity.cpus();
  if (const auto cpu = attributes.cpu_affinity.out_of_range()) {
    cpus.push_back(*cpu);
  }
  for (const int cpu : cpus) {
    if (cpu < 0 || cpu >= cpu_count) {
      return wrong(
        "cpu_affinity names CPU " + std::to_string(cpu) + ", but this machine has CPUs 0 to " +
        std::to_string(cpu_count - 1));
    }
  }
  return Status();
}

}  // namespace rclrt_core
