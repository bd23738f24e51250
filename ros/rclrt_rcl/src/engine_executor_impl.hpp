// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// How entities become callbacks of the engine.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "rclrt_front_end/configured_engine.hpp"
#include "rclrt_front_end/teller.hpp"
#include "rclrt_rcl/executor.hpp"
#include "rclrt_rcl/timer.hpp"

namespace rclrt_rcl
{

class EngineExecutor::Impl : public std::enable_shared_from_this<Impl>
{
public:
  Impl(
    std::shared_ptr<Context> context, const ExecutorOptions & options,
    rclrt_core::EngineOptions engine_options);
  ~Impl();
  Impl(const Impl &) = delete;
  Impl & operator=(const Impl &) = delete;

  rclrt_core::Engine & engine() noexcept { return engine_->engine(); }
  rclrt_front_end::ConfiguredEngine & configured() noexcept { return *engine_; }

  void add_group(const CallbackGroup & group);
  void remove_group(const CallbackGroup * group);
  void add_entity(const std::shared_ptr<Entity> & entity);
  void remove_entity(const std::shared_ptr<Entity> & entity);
  void set_attributes(const Entity & entity, const rclrt_core::Attributes & attributes);

  void check_may_run_inline() const;
  /// If a callback has thrown.
  void rethrow();

  /// Logs what the engine has found out, if there is something new.
  void tell_findings() { teller_.tell_if_requested(*engine_); }

  /// While it exists, the middleware's threads outrank the callbacks, and a thread logs findings.
  class Spin
  {
  public:
    explicit Spin(Impl & impl);
    ~Spin();
    Spin(const Spin &) = delete;
    Spin & operator=(const Spin &) = delete;

  private:
    Impl & impl_;
    std::optional<rclrt_front_end::Teller::OwnThread> teller_thread_;
  };

private:
  struct Member
  {
    std::shared_ptr<Entity> entity;  ///< let go of when it is removed, and it is when it is closed
    std::shared_ptr<rclrt_core::Callback> callback;
    Timer * timer = nullptr;  ///< if it is one
  };
  struct ObservedClock
  {
    std::shared_ptr<Clock> clock;
    rclrt_core::ClockId id = 0;
    Clock::ObserverHandle observer = 0;
  };

  rclrt_core::CallbackOptions options_for(const std::shared_ptr<Entity> & entity);
  // All under the mutex:
  void add_timer(
    Member member, rclrt_core::CallbackOptions options, std::unique_lock<std::mutex> & lock);
  void drive(Member & member, rclrt_core::CallbackOptions options);
  rclrt_core::ClockId clock_id(const std::shared_ptr<Clock> & clock);
  /// Stop observing it if no timer needs it any more. Gives up the lock then.
  void let_go_of(const std::shared_ptr<Clock> & clock, std::unique_lock<std::mutex> & lock);

  void clock_changed(const Clock * clock, rclrt_core::ClockId id, ClockChange change);

  const std::shared_ptr<Context> context_;
  const ExecutorOptions options_;

  rclrt_front_end::Teller teller_;  // the engine asks it, so it goes last

  mutable std::mutex mutex_;
  std::unordered_map<const CallbackGroup *, std::shared_ptr<rclrt_core::Group>> groups_;
  std::unordered_map<const Entity *, Member> members_;
  std::vector<ObservedClock> clocks_;

  std::unique_ptr<rclrt_front_end::ConfiguredEngine> engine_;
};

}  // namespace rclrt_rcl
