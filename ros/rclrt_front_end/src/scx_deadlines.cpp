// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "scx_deadlines.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace rclrt_front_end
{

using rclrt_core::Attributes;
using rclrt_core::Finding;
using rclrt_core::SchedulingPolicy;
using rclrt_core::Status;
using rclrt_core::TimePoint;

namespace
{

// Keys are compared by their difference: the latest possible one must not be far from the others.
constexpr int64_t kLatest = int64_t{1} << 62;

Attributes ext()
{
  Attributes attributes;
  attributes.scheduling_policy = SchedulingPolicy::kExt;
  return attributes;
}

}  // namespace

std::shared_ptr<ScxDeadlines> ScxDeadlines::open(rclrt_core::Platform & platform, std::string * why)
{
  auto client = rclrt_scx::Client::open(why);
  return client ? std::shared_ptr<ScxDeadlines>(new ScxDeadlines(platform, std::move(client)))
                : nullptr;
}

ScxDeadlines::ScxDeadlines(
  rclrt_core::Platform & platform, std::unique_ptr<rclrt_scx::Client> client)
: platform_(platform),
  client_(std::move(client)),
  seats_(std::make_unique<std::array<Seat, kMaxThreads>>())
{
}

// Its class is below that of every real-time thread.
Attributes ScxDeadlines::above() const noexcept
{
  Attributes attributes;
  attributes.scheduling_policy = SchedulingPolicy::kFifo;
  attributes.priority = 1;
  return attributes;
}

Status ScxDeadlines::enter(Slot * slot)
{
  Attributes before;
  const rclrt_core::ThreadId self = platform_.current_thread();
  const int unread = platform_.read_back(self, &before);
  before.cpu_affinity = {};
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto seat =
    std::find_if(seats_->begin(), seats_->end(), [](const Seat & other) { return !other.slot; });
  if (seat == seats_->end()) {
    return Status::error(
      "sched_ext: more than " + std::to_string(kMaxThreads) + " threads in a process");
  }
  std::string why;
  rclrt_scx::Slot bound = client_->bind_this_thread(&why);
  if (!bound) {
    return Status::error("sched_ext: " + why);
  }
  // It put the thread under SCHED_EXT at once. Ours is for jobs; until then it is as it was.
  if (unread == 0 && platform_.apply(self, before) != 0) {
    return Status::error("sched_ext: the thread cannot go back to what it had before");
  }
  *seat = Seat{};
  seat->slot = std::move(bound);
  *slot = static_cast<Slot>(seat - seats_->begin());
  return {};
}

void ScxDeadlines::leave(Slot slot) noexcept
{
  const std::lock_guard<std::mutex> lock(mutex_);
  (*seats_)[slot] = Seat{};  // a slot of a thread that has ended is the kernel's already
}

int ScxDeadlines::start(Slot slot, TimePoint deadline) noexcept
{
  Seat & seat = (*seats_)[slot];
  seat.slot.set_deadline(std::clamp<int64_t>(rclrt_core::nanoseconds_of(deadline), 1, kLatest));
  int error = 0;
  if (!seat.in_class) {
    error = platform_.apply(seat.slot.tid(), ext());
  } else if (seat.slot.tid() != platform_.current_thread() && !seat.slot.is_asleep()) {
    // Also one that was stopped: it may have lost its CPU before it slept.
    error = seat.slot.reconsider();
  }
  seat.in_class = error == 0;
  if (error != 0) {
    seat.slot.clear_deadline();
  }
  return error;
}

// The kernel reads the deadline of a thread that runs when it looks for the next one.
void ScxDeadlines::give_way() noexcept { std::this_thread::yield(); }

bool ScxDeadlines::in_force() const noexcept { return client_->in_force(); }

void ScxDeadlines::stop(Slot slot) noexcept { (*seats_)[slot].slot.clear_deadline(); }

void ScxDeadlines::forget(Slot slot) noexcept
{
  stop(slot);
  (*seats_)[slot].in_class = false;
}

// The kernel takes no longer periods. A shorter one lets the job have more, but not in the first period.
void ScxDeadlines::limit(Slot slot, const Limit & limit) noexcept
{
  const auto in_range = [](rclrt_core::Duration duration) {
    return static_cast<uint64_t>(
      std::clamp<int64_t>(duration.count(), 0, RCLRT_SCX_LONGEST_PERIOD_NS));
  };
  (*seats_)[slot].slot.set_budget(
    in_range(limit.runtime), in_range(limit.period), in_range(limit.left));
}

std::vector<Finding> ScxDeadlines::findings() const
{
  if (client_->in_force()) {
    return {};
  }
  return {
    {"scheduling_policy ext",
     "the scheduler in the kernel is not in force any more (" + client_->exit_reason() +
       "): callbacks run under the fair class",
     0,
     "When the executor spins the next time it takes what there is then; to have the kernel's "
     "again, rclrt scx load before that"}};
}

}  // namespace rclrt_front_end
