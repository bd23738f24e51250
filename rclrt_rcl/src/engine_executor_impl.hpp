// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// How entities become callbacks of the engine.
#ifndef ENGINE_EXECUTOR_IMPL_HPP_
#define ENGINE_EXECUTOR_IMPL_HPP_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "executor_configuration.hpp"
#include "rclrt_rcl/engine_executor.hpp"
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

  rclrt_core::Engine & engine() noexcept { return engine_; }

  void add_group(const CallbackGroup & group);
  void remove_group(const CallbackGroup * group);
  void add_entity(const std::shared_ptr<Entity> & entity);
  void remove_entity(const std::shared_ptr<Entity> & entity);
  void set_attributes(const Entity & entity, const rclrt_core::Attributes & attributes);

  /// If a callback has thrown.
  void rethrow();
  std::vector<rclrt_core::Finding> findings() const;
  std::map<std::string, rclrt_core::CallbackStatistics> statistics() const;
  std::map<uint32_t, std::string> callback_names() const;

  /// While it exists, the middleware's threads outrank the callbacks.
  class Spin
  {
  public:
    explicit Spin(Impl & impl);
    ~Spin();
    Spin(const Spin &) = delete;
    Spin & operator=(const Spin &) = delete;

  private:
    Impl & impl_;
  };

private:
  struct Member
  {
    std::shared_ptr<Entity> entity;  ///< let go of when it is removed, and it is when it is closed
    std::shared_ptr<rclrt_core::Callback> callback;
    Timer * timer = nullptr;  ///< if it is one
    bool is_ranked = false;   ///< its priority is derived
  };
  struct WatchedClock
  {
    std::shared_ptr<Clock> clock;
    rclrt_core::ClockId id = 0;
    Clock::ObserverHandle observer = 0;
  };

  // All under the mutex:
  rclrt_core::CallbackOptions options_for(const std::shared_ptr<Entity> & entity, Member * member);
  void drive(Member & member, rclrt_core::CallbackOptions options);
  rclrt_core::ClockId clock_id(const std::shared_ptr<Clock> & clock);
  void outrank_callbacks();
  void check_outranked(const rclrt_core::Attributes & most_urgent, const std::string & whose);
  /// Derive the priorities of those timers anew that have none of their own.
  void rank_timers();

  /// Entries of the configuration that have no effect: into the log, or an error.
  void tell_configuration();
  void clock_changed(const Clock * clock, rclrt_core::ClockId id, ClockChange change);
  void report(const rclrt_core::Finding & finding);

  const std::shared_ptr<Context> context_;
  ExecutorOptions options_;

  mutable std::mutex mutex_;
  detail::ExecutorConfiguration configuration_;
  std::unordered_map<const CallbackGroup *, std::shared_ptr<rclrt_core::Group>> groups_;
  std::unordered_map<const Entity *, Member> members_;
  std::map<uint32_t, std::string> former_names_;  ///< of callbacks that are gone, for the trace
  std::vector<WatchedClock> clocks_;
  bool spinning_ = false;
  rclrt_core::Attributes outranked_;  ///< what the middleware's threads were raised above

  mutable std::mutex findings_mutex_;  ///< taken last
  std::vector<rclrt_core::Finding> findings_;

  rclrt_core::Engine engine_;
};

}  // namespace rclrt_rcl

#endif  // ENGINE_EXECUTOR_IMPL_HPP_
