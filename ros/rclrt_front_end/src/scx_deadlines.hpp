// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// The EDF scheduler in the kernel, as the engine sees it: a slot of its table for every thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rclrt_core/deadline_scheduler.hpp"
#include "rclrt_front_end/configured_engine.hpp"
#include "rclrt_scx/client.hpp"

namespace rclrt_front_end
{

class ScxDeadlines final : public rclrt_core::DeadlineScheduler
{
public:
  /// Null if it is not loaded or not for us; `why` says which.
  static std::shared_ptr<ScxDeadlines> open(rclrt_core::Platform & platform, std::string * why);

  const char * name() const noexcept override { return "sched_ext"; }
  rclrt_core::Attributes above() const noexcept override;
  rclrt_core::Status enter(Slot * slot) override;
  void leave(Slot slot) noexcept override;
  int start(Slot slot, rclrt_core::TimePoint deadline) noexcept override;
  void give_way() noexcept override;
  void stop(Slot slot) noexcept override;
  void forget(Slot slot) noexcept override;
  void limit(Slot slot, const Limit & limit) noexcept override;
  bool in_force() const noexcept override;
  std::vector<rclrt_core::Finding> findings() const override;

private:
  static constexpr std::size_t kMaxThreads = 4096;

  struct Seat
  {
    rclrt_scx::Slot slot;  ///< empty: nobody's
    bool in_class = false;
  };

  ScxDeadlines(rclrt_core::Platform & platform, std::unique_ptr<rclrt_scx::Client> client);

  rclrt_core::Platform & platform_;
  const std::unique_ptr<rclrt_scx::Client> client_;
  std::mutex mutex_;  ///< of coming and going; a seat is used by one thread at a time
  std::unique_ptr<std::array<Seat, kMaxThreads>> seats_;
};

/// How make_deadline_scheduler() looks for the scheduler in the kernel. Tests have their own kernel.
struct KernelDeadlines
{
  /// Null if there is none for us, and the reason.
  std::function<std::shared_ptr<rclrt_core::DeadlineScheduler>(
    rclrt_core::Platform &, std::string * why)>
    open;
  /// Whether there is one at all. Only asked if it cannot be opened.
  std::function<bool()> is_loaded;
};

std::shared_ptr<rclrt_core::DeadlineScheduler> make_deadline_scheduler_with(
  const KernelDeadlines & kernel, DeadlineBackend backend, rclrt_core::Platform & platform,
  const std::function<void(const rclrt_core::Finding &)> & tell);

}  // namespace rclrt_front_end
