// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/deadline_scheduler.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>

#include "edf/edf_table.hpp"
#include "platform/forks.hpp"
#include "platform/linux/edf_neighbours.hpp"

namespace rclrt_core
{

using linux_platform::EdfNeighbours;

/// All but `is_refused` is under the lock.
class FifoBands::Impl final : public EdfHost
{
public:
  Impl(Platform & platform, uint32_t runners, int run_priority)
  : platform_(platform), run_priority_(run_priority), table(runners, run_priority)
  {
    seats.reserve(kMaxThreads);
  }

  int set_priority(int32_t thread, int32_t priority) noexcept override
  {
    Attributes attributes;
    attributes.scheduling_policy = SchedulingPolicy::kFifo;
    attributes.priority = priority;
    const int error = platform_.apply(thread, attributes);
    has_changed = true;
    if (error == EPERM) {
      is_refused.store(true, std::memory_order_relaxed);
    } else if (error == 0 && priority == run_priority_) {
      is_refused.store(false, std::memory_order_relaxed);
    }
    return error;
  }
  void is_wrong(uint32_t process) noexcept override { wrong |= uint64_t{1} << (process - 1); }

  /// After the jobs of `thread` have changed; 0: to see what others tell.
  int settle(int32_t thread, int32_t * priority) noexcept
  {
    has_changed = false;
    wrong = 0;
    const bool has_others = others && others->has_any();
    if (has_others) {
      // First told, then looked: model/edf_bell.pml.
      if (thread != 0) {
        others->publish(table);
      }
      others->look(table);
      const uint32_t suspect = table.process_in_the_way_of(thread, arrivals);
      if (suspect != 0) {
        static_cast<void>(others->drop_if_gone(suspect, table));
      }
    }
    const int error = table.settle(*this, thread, priority);
    if (others && (has_changed || (thread != 0 && !has_others))) {
      others->publish(table);
    }
    for (uint32_t i = 0; wrong != 0 && i < EdfNeighbours::kMaxNeighbours; ++i) {
      if (((wrong >> i) & 1) != 0) {
        others->ring(i + 1);
      }
    }
    if (has_changed && has_others && others->have_told_more()) {
      // What they looked at was not this, and what we looked at was not that. Also model/edf_bell.pml.
      others->look_again();
    }
    if (others) {
      others->answer();
    }
    return error;
  }

  void look() noexcept
  {
    const std::lock_guard<Mutex> lock(*mutex);
    int32_t none = 0;
    settle(0, &none);
  }

  bool is_forked() const noexcept { return count_forks() != forks_; }

private:
  static_assert(EdfNeighbours::kMaxNeighbours <= 64, "one bit each");

  Platform & platform_;
  const int run_priority_;
  const uint32_t forks_ = count_forks();

public:
  struct Seat
  {
    ThreadId thread = 0;   ///< 0: free
    int32_t priority = 0;  ///< in force while it has no job; 0: not known
  };

  std::unique_ptr<Mutex> mutex = platform_.make_mutex();
  EdfTable table;
  std::vector<Seat> seats;  ///< room for kMaxThreads from the start
  uint64_t arrivals = 0;
  bool has_changed = false;
  uint64_t wrong = 0;  ///< one bit for each process that has to look
  /// Relaxed, by whoever has asked the OS last: whether it refuses the run priority.
  std::atomic<bool> is_refused{false};
  std::unique_ptr<EdfNeighbours> others;  ///< null: none are shared with
};

Status FifoBands::make(
  Platform & platform, const FifoBandsOptions & options, std::shared_ptr<FifoBands> * bands)
{
  if (options.run_priority < 2 || options.run_priority > 98) {
    return Status::error(
      "fifo bands: run_priority is " + std::to_string(options.run_priority) +
      ", must be 2 to 98: those that wait need one below it, the middleware one above");
  }
  const int cpus = options.runners > 0 ? options.runners : platform.usable_cpus();
  const auto runners = static_cast<uint32_t>(cpus);
  auto impl = std::make_unique<Impl>(platform, runners, options.run_priority);
  if (!options.shared_name.empty()) {
    EdfNeighbours::Options shared;
    shared.name = options.shared_name;
    shared.runners = runners;
    shared.run_priority = options.run_priority;
    Status status = EdfNeighbours::make(platform, *impl->mutex, shared, &impl->others);
    if (status.ok()) {
      status = impl->others->start(impl->table, [all = impl.get()] { all->look(); });
    }
    if (!status.ok()) {
      return status;
    }
  }
  bands->reset(new FifoBands(platform, std::move(impl), options.run_priority));
  return {};
}

FifoBands::FifoBands(Platform & platform, std::unique_ptr<Impl> impl, int run_priority)
: platform_(platform), run_priority_(run_priority), impl_(std::move(impl))
{
}

FifoBands::~FifoBands()
{
  if (impl_->is_forked()) {
    impl_.release();  // NOLINT(bugprone-unused-return-value): its thread is the parent's
  } else if (impl_->others) {
    impl_->others->stop();  // its thread uses the rest
  }
}

const char * FifoBands::name() const noexcept
{
  if (impl_->is_refused.load(std::memory_order_relaxed)) {
    return "fifo bands (refused)";
  }
  return impl_->others ? "fifo bands" : "fifo bands (this process only)";
}

Attributes FifoBands::above() const noexcept
{
  Attributes attributes;
  attributes.scheduling_policy = SchedulingPolicy::kFifo;
  attributes.priority = run_priority_ + 1;
  return attributes;
}

Status FifoBands::enter(Slot * slot)
{
  {
    const std::lock_guard<Mutex> lock(*impl_->mutex);
    auto & seats = impl_->seats;
    const auto seat = std::find_if(
      seats.begin(), seats.end(), [](const Impl::Seat & other) { return other.thread == 0; });
    if (seat == seats.end() && seats.size() == kMaxThreads) {
      return Status::error(
        "fifo bands: more than " + std::to_string(kMaxThreads) + " threads in a process");
    }
    *slot = static_cast<Slot>(seat - seats.begin());
    if (seat == seats.end()) {
      seats.emplace_back();
    }
    seats[*slot] = {platform_.current_thread(), 0};
  }
  if (impl_->others && !impl_->is_forked()) {
    impl_->others->look_around();
  }
  return {};
}

void FifoBands::leave(Slot slot) noexcept
{
  forget(slot);
  const std::lock_guard<Mutex> lock(*impl_->mutex);
  impl_->seats[slot].thread = 0;
}

int FifoBands::start(Slot slot, TimePoint deadline) noexcept
{
  if (impl_->is_forked()) {
    return ESRCH;
  }
  const auto now = static_cast<uint64_t>(nanoseconds_of(platform_.now()));
  const std::lock_guard<Mutex> lock(*impl_->mutex);
  Impl::Seat & seat = impl_->seats[slot];
  // The clock is the same for all processes.
  impl_->arrivals = std::max(impl_->arrivals + 1, now);
  if (!impl_->table.put(seat.thread, nanoseconds_of(deadline), impl_->arrivals, seat.priority)) {
    return ENOSPC;
  }
  return impl_->settle(seat.thread, &seat.priority);
}

void FifoBands::stop(Slot slot) noexcept
{
  if (impl_->is_forked()) {
    return;
  }
  const std::lock_guard<Mutex> lock(*impl_->mutex);
  Impl::Seat & seat = impl_->seats[slot];
  impl_->table.remove(seat.thread, &seat.priority);
  impl_->settle(seat.thread, &seat.priority);
}

void FifoBands::forget(Slot slot) noexcept
{
  stop(slot);
  const std::lock_guard<Mutex> lock(*impl_->mutex);
  impl_->seats[slot].priority = 0;
}

std::vector<Finding> FifoBands::findings() const
{
  return impl_->others ? impl_->others->findings() : std::vector<Finding>();
}

}  // namespace rclrt_core
