// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/policy.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <set>

#include "rclrt_trace/record.h"

namespace rclrt_core
{
namespace
{

class FirstCome final : public Policy
{
public:
  int64_t rank(const Job &) const noexcept override { return 0; }
  const char * name() const noexcept override { return "first_come"; }
  uint8_t ordering() const noexcept override { return RCLRT_ORDER_FIRST_COME; }
};

class FixedPriority final : public Policy
{
public:
  int64_t rank(const Job & job) const noexcept override { return -job.priority; }
  const char * name() const noexcept override { return "fixed_priority"; }
  uint8_t ordering() const noexcept override { return RCLRT_ORDER_FIXED_PRIORITY; }
};

class Edf final : public Policy
{
public:
  int64_t rank(const Job & job) const noexcept override { return nanoseconds_of(job.deadline); }
  const char * name() const noexcept override { return "edf"; }
  uint8_t ordering() const noexcept override { return RCLRT_ORDER_EDF; }
  bool uses_deadlines() const noexcept override { return true; }
};

/// The one policy of this class. Never destroyed: threads go on while exit() runs.
template <typename PolicyT>
const Policy & singleton() noexcept
{
  alignas(PolicyT) static std::byte storage[sizeof(PolicyT)];
  static const Policy & policy = *new (storage) PolicyT;
  return policy;
}

}  // namespace

const Policy & first_come_policy() noexcept { return singleton<FirstCome>(); }

const Policy & fixed_priority_policy() noexcept { return singleton<FixedPriority>(); }

const Policy & edf_policy() noexcept { return singleton<Edf>(); }

std::vector<const Policy *> every_policy()
{
  return {&first_come_policy(), &fixed_priority_policy(), &edf_policy()};
}

namespace
{

Duration key_of(PriorityKey key, const PriorityTask & task)
{
  return key == PriorityKey::kDeadlineMonotonic && task.relative_deadline > Duration::zero()
           ? task.relative_deadline
           : task.period;
}

Status check(int lowest, int highest, const std::vector<PriorityTask> & tasks)
{
  if (lowest < 1 || highest > 99 || lowest > highest) {
    return Status::error(
      "priority range " + std::to_string(lowest) + "-" + std::to_string(highest) +
      " must lie within 1-99");
  }
  for (const PriorityTask & task : tasks) {
    const std::string subject = "task '" + task.name + "'";
    if (task.period < Duration::zero()) {
      return Status::error(subject + ": period is negative");
    }
    if (task.priority < 0 || task.priority > 99) {
      return Status::error(
        subject + ": priority " + std::to_string(task.priority) + " is outside 1-99");
    }
    if (task.period == Duration::zero() && task.priority == 0 && task.upstream.empty()) {
      return Status::error(
        subject + ": has no period, no priority and nothing upstream to inherit one from");
    }
    for (const std::size_t index : task.upstream) {
      if (index >= tasks.size()) {
        return Status::error(subject + ": upstream index " + std::to_string(index) + " is no task");
      }
    }
  }
  return {};
}

/// Rank timers without a priority: the shortest key gets `highest`, each longer one the next lower.
void rank_timers(PriorityKey key, int lowest, int highest, std::vector<PriorityTask> & tasks)
{
  std::set<Duration> keys;
  for (const PriorityTask & task : tasks) {
    if (task.period > Duration::zero() && task.priority == 0) {
      keys.insert(key_of(key, task));
    }
  }
  for (PriorityTask & task : tasks) {
    if (task.period > Duration::zero() && task.priority == 0) {
      const auto rank = std::distance(keys.begin(), keys.find(key_of(key, task)));
      task.priority = std::max(lowest, highest - static_cast<int>(rank));
    }
  }
}

}  // namespace

Status assign_priorities(
  PriorityKey key, int lowest, int highest, std::vector<PriorityTask> * tasks)
{
  const Status valid = check(lowest, highest, *tasks);
  if (!valid.ok()) {
    return valid;
  }
  rank_timers(key, lowest, highest, *tasks);
  // What has a priority now has it for good; the others take the maximum over all paths, so repeat
  // until nothing changes. A priority travels at most one edge a round.
  std::vector<bool> inherits(tasks->size());
  std::transform(tasks->begin(), tasks->end(), inherits.begin(), [](const PriorityTask & task) {
    return task.priority == 0;
  });
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < tasks->size(); ++i) {
      for (const std::size_t from : (*tasks)[i].upstream) {
        if (inherits[i] && (*tasks)[from].priority > (*tasks)[i].priority) {
          (*tasks)[i].priority = (*tasks)[from].priority;
          changed = true;
        }
      }
    }
  }
  for (const PriorityTask & task : *tasks) {
    if (task.priority == 0) {
      return Status::error(
        "task '" + task.name +
        "': lies on or behind a cycle that no timer and no given priority feeds");
    }
  }
  return {};
}

}  // namespace rclrt_core
