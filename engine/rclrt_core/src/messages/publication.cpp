// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "messages/publication.hpp"

#include <utility>

#include "platform/forks.hpp"
#include "rclrt_core/engine.hpp"

namespace rclrt_core
{
namespace
{

/// All of it is read and written by its own thread only.
struct Here
{
  int depth = 0;
  uint32_t forks = 0;              // of this process, when the publication began
  Worker * publisher = nullptr;    // a worker of an engine that was lent something
  Platform * raised_on = nullptr;  // a thread that is not an engine's; `before` is what it had
  Attributes before;
  uint32_t level = 0;
  int64_t os_deadline_ns = INT64_MAX;
};

thread_local Here here;

void lend_to_a_stranger(const Loan & loan, Platform & platform) noexcept
{
  const ThreadId self = platform.current_thread();
  if (!here.raised_on) {
    if (platform.read_back(self, &here.before) != 0) {
      return;
    }
    here.before.cpu_affinity = CpuSet();
    here.level = urgency_level(here.before);
    here.os_deadline_ns =
      here.before.scheduling_policy == SchedulingPolicy::kDeadline ? 0 : INT64_MAX;
  }
  if (!outranks(loan.level, loan.os_deadline_ns, here.level, here.os_deadline_ns)) {
    return;
  }
  Attributes lent =
    loan.attributes.scheduling_policy == SchedulingPolicy::kExt ? loan.above : loan.attributes;
  // A thread without privilege cannot take back that its children start without real time.
  lent.inherited_by_children = here.before.inherited_by_children;
  if (platform.apply(self, lent) == 0) {
    here.raised_on = &platform;
    here.level = loan.level;
    here.os_deadline_ns = loan.os_deadline_ns;
  }
}

}  // namespace

Loan::Loan(const Demand & demand, DeadlineScheduler * deadlines)
: attributes(demand.attributes->complete),
  level(demand.level()),
  os_deadline_ns(demand.os_deadline_ns()),
  scheduler(deadlines)
{
  attributes.cpu_affinity = CpuSet();
  if (attributes.scheduling_policy == SchedulingPolicy::kExt && deadlines) {
    above = deadlines->above();
  } else if (attributes.scheduling_policy == SchedulingPolicy::kExt) {
    attributes = {};
    level = 0;  // nobody orders deadlines: nothing to lend
  } else if (attributes.scheduling_policy == SchedulingPolicy::kDeadline) {
    // Nobody can lend a budget. This is the most that can be had.
    attributes = {};
    attributes.scheduling_policy = SchedulingPolicy::kFifo;
    attributes.priority = 99;
    level = urgency_level(attributes);
    os_deadline_ns = INT64_MAX;
  }
}

bool publishes_here() noexcept { return here.depth > 0; }

void lend_to_publisher(const Loan & loan, Worker * publisher, Platform & platform) noexcept
{
  if (!publisher) {
    lend_to_a_stranger(loan, platform);
  } else if (!publisher->is_left_alone) {
    publisher->urgency.lend(loan);
    here.publisher = publisher;
  }
}

Publication::Publication() noexcept
{
  if (here.depth++ == 0) {
    here.forks = count_forks();
  }
}

Publication::~Publication()
{
  if (--here.depth > 0) {
    return;
  }
  if (here.forks != count_forks()) {  // in a child: these threads are its parent's
    Section::forget_all();
    here.publisher = nullptr;
  }
  // The thread is as urgent as the most urgent it wakes: none preempts it before all are awake.
  Section::settle_all();
  Section::wake_all();
  if (Worker * const publisher = std::exchange(here.publisher, nullptr)) {
    publisher->urgency.give_back();
  }
  if (Platform * const platform = std::exchange(here.raised_on, nullptr)) {
    platform->apply(platform->current_thread(), here.before);
  }
}

}  // namespace rclrt_core
