// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What every front end does with an engine: its callbacks get what the parameters file says about them, its timers
/// are ranked if the file asks for that, and no callback outranks the middleware's threads.
///
/// Thread-safe. Adding and removing allocate and are for configuration time; a job never comes here.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rclrt_config/configuration.hpp"
#include "rclrt_core/deadline_scheduler.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_front_end/executor_report.hpp"
#include "rclrt_front_end/local_publishers.hpp"
#include "rclrt_front_end/middleware.hpp"
#include "rclrt_front_end/process_platform.hpp"
#include "rclrt_front_end/recorder.hpp"

namespace rclrt_front_end
{

/// Makes what orders the threads of callbacks with scheduling_policy ext, when an executor starts.
using rclrt_config::DeadlineBackend;

/// Null if none can be had: a finding for `tell` says why. Lesser trouble is a finding, too. `platform` must outlive it.
std::shared_ptr<rclrt_core::DeadlineScheduler> make_deadline_scheduler(
  DeadlineBackend backend, rclrt_core::Platform & platform,
  const std::function<void(const rclrt_core::Finding &)> & tell);

using MakeDeadlineScheduler = std::function<std::shared_ptr<rclrt_core::DeadlineScheduler>(
  DeadlineBackend, rclrt_core::Platform &,
  const std::function<void(const rclrt_core::Finding &)> &)>;

class Watcher;

/// Scheduling of the middleware's own threads, which hand messages to the executor. They must
/// outrank its workers: a worker that preempts the thread that woke it runs into the lock this
/// thread still holds, and blocks.
struct MiddlewareThreadsOptions
{
  /// kOff: leave them alone. Otherwise what the engine does with refused attributes holds here too.
  rclrt_core::AttributesMode mode = rclrt_core::AttributesMode::kPrefer;
  /// Unset: SCHED_FIFO one above the most urgent fifo, rr or ext callback (at most 99), and nothing while
  /// there is no such callback.
  std::optional<rclrt_core::Attributes> attributes;
};

struct ConfiguredEngineOptions
{
  /// EngineOptions::timer_thread with policy unchanged: SCHED_FIFO one above the most urgent fifo, rr or
  /// ext callback (at most 99), and as the thread that spins while there is no such callback.
  rclrt_core::EngineOptions engine;
  /// Which one the front end talks to.
  Middleware middleware;
  MiddlewareThreadsOptions middleware_threads;
  /// For callbacks with scheduling_policy ext, unless `engine` brings a scheduler. Chosen when the
  /// first one spins, or is added while it spins; and anew when it spins with one not in force any more.
  DeadlineBackend deadline_scheduler = DeadlineBackend::kAuto;
  /// The function that makes it: tests have others.
  MakeDeadlineScheduler make_deadline_scheduler = rclrt_front_end::make_deadline_scheduler;
  /// See Configuration::find().
  std::string configuration_file;
  std::vector<std::string> parameter_files;
  int64_t domain_id = 0;  ///< of the executor's context
  rclrt_config::TraceOptions trace = nothing_recorded();
  /// See CommonOptions.
  std::function<void(const ChainReport &)> on_chain_miss;
  /// Used if the configuration wants diagnostics. Empty: the front end cannot.
  PublishDiagnostics publish_diagnostics;

  /// No file of any kind.
  static rclrt_config::TraceOptions nothing_recorded();
};

class ConfiguredEngine
{
public:
  using Tell = std::function<void(const rclrt_core::Finding &)>;

  /// `platform` must outlive the engine. Errors: of Configuration::find() and apply().
  static rclrt_core::Status make(
    rclrt_core::Platform & platform, ConfiguredEngineOptions options,
    std::unique_ptr<ConfiguredEngine> * engine);
  ~ConfiguredEngine();
  ConfiguredEngine(const ConfiguredEngine &) = delete;
  ConfiguredEngine & operator=(const ConfiguredEngine &) = delete;

  /// For everything but what this class has functions for: releases, spinning, the trace.
  rclrt_core::Engine & engine() noexcept { return *engine_; }
  const rclrt_core::Engine & engine() const noexcept { return *engine_; }

  // As the engine's. Further errors: the configuration makes something impossible of the options.

  /// `cie_id`: see cie_group_id(). `of`: what the group stands for, if it may go and come back: then the
  /// new one is the old one (see Engine::add_group_again()), unless it is to have other options.
  rclrt_core::Status add_group(
    rclrt_core::GroupOptions options, const std::string & cie_id,
    std::shared_ptr<rclrt_core::Group> * group, const std::shared_ptr<const void> & of = nullptr);
  /// Whether the configuration names groups as CallbackIsolatedExecutor does, by what is in them.
  bool names_groups_by_members() const;
  /// Whether it would make something else of `options`, those for add_group(), with this id than the group
  /// has.
  bool has_other_options(
    rclrt_core::GroupOptions options, const std::string & cie_id, const rclrt_core::Group & group);
  rclrt_core::Status remove_group(const std::shared_ptr<rclrt_core::Group> & group);
  /// `publishers`: of a subscription's topic, if they are known; else it is never inline. A callback that asks for it
  /// and cannot have it is queued, with a finding; one that is no subscription is an error.
  rclrt_core::Status add_callback(
    rclrt_core::CallbackOptions options, const std::shared_ptr<rclrt_core::Group> & group,
    std::shared_ptr<rclrt_core::Callback> * callback, const LocalPublishers & publishers = nullptr);
  rclrt_core::Status add_timer(
    rclrt_core::CallbackOptions options, rclrt_core::TimerOptions timer,
    const std::shared_ptr<rclrt_core::Group> & group,
    std::shared_ptr<rclrt_core::Callback> * callback);
  /// Returns how many of its jobs have waited.
  uint64_t remove(const std::shared_ptr<rclrt_core::Callback> & callback);
  /// Timers whose priorities are derived are ranked anew.
  rclrt_core::Status set_timer_period(
    const std::shared_ptr<rclrt_core::Callback> & timer, rclrt_core::Duration period);
  /// If its priority was derived, it is not any more.
  rclrt_core::Status set_attributes(
    const std::shared_ptr<rclrt_core::Callback> & callback,
    const rclrt_core::Attributes & attributes);

  /// Around Engine::spin(): between the two the middleware's threads outrank the callbacks. `tell`
  /// hears what of the configuration has no effect. Errors: attributes are required, and there is
  /// such an entry about a node that is here, or the middleware's threads are outranked or, for a
  /// real-time callback, not found; then there is nothing to end.
  rclrt_core::Status begin_spin(const Tell & tell);
  /// Before Engine::run_one(), which leaves attributes alone. Error: they are required.
  rclrt_core::Status may_run_inline() const;
  void end_spin();
  /// What orders callbacks with scheduling_policy ext, e.g. "fifo bands"; empty if nothing does (yet). If
  /// the one in the kernel was unloaded or ejected it says so, and so do the findings: the callbacks run
  /// under the kernel's fair class until the next spin, which chooses anew.
  std::string deadline_scheduler() const;

  /// Whether there is one, in force or not. Real-time safe but for the engine's lock.
  bool has_deadline_scheduler() const { return engine_->deadline_scheduler() != nullptr; }

  /// Look whether there are new threads of the middleware, or new ones that the file names. Not real-time safe. Returns
  /// false if there is nothing to look for.
  bool look_at_threads();

  /// Adds a finding that only the front end knows of; call it once for each.
  void report(const rclrt_core::Finding & finding) const;
  /// What the engine, the configuration and the middleware's threads gave reason to say.
  std::vector<rclrt_core::Finding> findings() const;
  /// See ExecutorReport.
  std::vector<ChainReport> chains() const;
  /// By name, of the callbacks that are here.
  std::map<std::string, rclrt_core::CallbackStatistics> statistics() const;
  /// By the ids in job records, also of the callbacks that are gone, but only 1024 of these: the newest.
  std::map<uint32_t, std::string> callback_names() const;

private:
  /// A timer whose priority is derived.
  struct RankedTimer
  {
    std::shared_ptr<rclrt_core::Callback> callback;
    rclrt_core::Duration period{0};
  };

  ConfiguredEngine(
    rclrt_core::Platform & platform, rclrt_config::Configuration configuration,
    const ConfiguredEngineOptions & options);

  /// From here on; `live`: why others cannot see it.
  void record(rclrt_config::TraceOptions options, const rclrt_core::Status & live);
  /// The chains that the configuration declares; as record().
  void watch(const ConfiguredEngineOptions & options);
  /// Leaves out CPUs that may not be used, with a finding. Error: attributes are required.
  rclrt_core::Status fit_to_machine(
    const std::string & subject, rclrt_core::Attributes * attributes);

  // All under the mutex:
  rclrt_core::Status configure_group(
    rclrt_core::GroupOptions * options, const std::string & cie_id);
  rclrt_core::Status configure(
    rclrt_core::CallbackOptions * options, const rclrt_core::Group & group, bool * is_ranked);
  rclrt_core::Status added(const std::shared_ptr<rclrt_core::Callback> & callback);
  void fit_to_middleware(rclrt_core::CallbackOptions * options, const LocalPublishers & publishers);
  rclrt_core::Status rank_timers();
  rclrt_core::Status make_room();
  rclrt_core::Status name_threads();
  rclrt_core::Status outrank_callbacks();
  void choose_deadline_scheduler();
  void share_deadlines();
  rclrt_core::Attributes os_attributes(const rclrt_core::Attributes & attributes) const;
  rclrt_core::Finding find_outranked(
    const rclrt_core::Attributes & most_urgent, const std::string & who) const;
  void tell_outranked();

  const Middleware middleware_;
  MiddlewareThreadsOptions middleware_threads_;  ///< constant after make()
  rclrt_core::CpuSet timer_thread_cpus_;         ///< likewise
  const DeadlineBackend deadline_backend_;
  const MakeDeadlineScheduler make_deadline_scheduler_;
  const std::unique_ptr<rclrt_core::Engine> engine_;

  /// Inherits priorities, as the next: a real-time thread that calls spin_some() also tells findings.
  mutable PiMutex mutex_;
  rclrt_config::Configuration configuration_;
  /// For each inline callback, by its name: how many publishers of its topic this process has.
  std::map<std::string, LocalPublishers> inline_;
  std::map<uint32_t, RankedTimer> ranked_;  ///< by the callback's id
  /// Groups that went are there, too, as long as there is what they stand for.
  std::map<std::weak_ptr<const void>, std::shared_ptr<rclrt_core::Group>, std::owner_less<>>
    groups_;
  bool spinning_ = false;
  std::shared_ptr<rclrt_core::DeadlineScheduler> chosen_;  ///< by us
  rclrt_core::Attributes outranked_;  ///< what the middleware's threads were raised above
  int looks_ =
    0;  ///< at the middleware's threads, while not all are there that it is known to have
  std::string
    doubtful_;  ///< the callback above threads of the middleware, until that is looked at again

  mutable PiMutex
    findings_mutex_;  ///< taken last; also by threads of the middleware that appear late
  mutable std::vector<rclrt_core::Finding> findings_;

  std::unique_ptr<Recorder> recorder_;  ///< constant after make(), as the next; they end first
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace rclrt_front_end
