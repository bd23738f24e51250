// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_core/fifo_bands.hpp"

#include <algorithm>
#include <mutex>

#include "edf/private_edf_memory.hpp"
#include "platform/linux/shared_edf_memory.hpp"

namespace rclrt_core
{

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
  std::unique_ptr<EdfMemory> memory;
  if (options.shared_name.empty()) {
    memory = std::make_unique<PrivateEdfMemory>(platform, runners, options.run_priority);
  } else {
    const Status attached = linux_platform::SharedEdfMemory::attach(
      options.shared_name, runners, options.run_priority, &memory);
    if (!attached.ok()) {
      return attached;
    }
  }
  bands->reset(new FifoBands(platform, std::move(memory), options.run_priority));
  return {};
}

FifoBands::FifoBands(Platform & platform, std::unique_ptr<EdfMemory> memory, int run_priority)
: platform_(platform),
  run_priority_(run_priority),
  mutex_(platform.make_mutex()),
  memory_(std::move(memory))
{
  seats_.reserve(kMaxThreads);
}

FifoBands::~FifoBands() = default;

Attributes FifoBands::above() const noexcept
{
  Attributes attributes;
  attributes.policy = SchedulingPolicy::kFifo;
  attributes.priority = run_priority_ + 1;
  return attributes;
}

Status FifoBands::enter(Slot * slot)
{
  const std::lock_guard<Mutex> lock(*mutex_);
  const auto seat = std::find_if(
    seats_.begin(), seats_.end(), [](const Seat & other) { return other.thread == 0; });
  if (seat == seats_.end() && seats_.size() == kMaxThreads) {
    return Status::error(
      "fifo bands: more than " + std::to_string(kMaxThreads) + " threads in a process");
  }
  *slot = static_cast<Slot>(seat - seats_.begin());
  if (seat == seats_.end()) {
    seats_.emplace_back();
  }
  seats_[*slot] = {platform_.current_thread(), 0};
  return {};
}

void FifoBands::leave(Slot slot) noexcept
{
  forget(slot);
  const std::lock_guard<Mutex> lock(*mutex_);
  seats_[slot].thread = 0;
}

int FifoBands::start(Slot slot, TimePoint deadline) noexcept
{
  const std::lock_guard<Mutex> lock(*mutex_);
  Seat & seat = seats_[slot];
  EdfTable & table = memory_->lock();
  const int error = rclrt_core::start(
    table, *memory_, memory_->thread(seat.thread), nanoseconds_of(deadline), &seat.priority);
  memory_->unlock();
  // From now on others may change it: only the table knows, and nobody if the table is lost.
  seat.priority = 0;
  return error;
}

void FifoBands::stop(Slot slot) noexcept
{
  const std::lock_guard<Mutex> lock(*mutex_);
  Seat & seat = seats_[slot];
  EdfTable & table = memory_->lock();
  rclrt_core::stop(table, *memory_, memory_->thread(seat.thread), &seat.priority);
  memory_->unlock();
}

void FifoBands::forget(Slot slot) noexcept
{
  stop(slot);
  const std::lock_guard<Mutex> lock(*mutex_);
  seats_[slot].priority = 0;
}

std::vector<Finding> FifoBands::findings() const
{
  const std::lock_guard<Mutex> lock(*mutex_);
  return memory_->findings();
}

}  // namespace rclrt_core
