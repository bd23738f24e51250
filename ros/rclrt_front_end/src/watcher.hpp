// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Watches over the chains of a configuration while an executor exists. An ordinary thread (SCHED_OTHER) does it all: it
/// reads the records that the executors of this user keep in memory (rclrt_watch::LiveFollower), every 50 ms. Jobs pay nothing for it
/// beyond their record, and nobody waits for it.
///
/// A chain belongs to the executor that has its last callback: that one counts, tells and reports. Its other callbacks
/// may be in any executor of this user on this machine, also in other processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rclrt_config/configuration.hpp"
#include "rclrt_core/callback.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/platform.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_front_end/executor_report.hpp"
#include "rclrt_front_end/process_platform.hpp"
#include "rclrt_watch/assumptions.hpp"
#include "rclrt_watch/chain_watch.hpp"
#include "rclrt_watch/live_follower.hpp"

namespace rclrt_front_end
{

class Watcher
{
public:
  struct Options
  {
    /// From any thread.
    std::function<void(const rclrt_core::Finding &)> tell;
    /// See CommonOptions::on_chain_miss. May be empty.
    std::function<void(const ChainReport &)> on_miss;
    /// Empty: there are no diagnostics.
    PublishDiagnostics publish;
  };

  /// It reads only those parts of `configuration` that no apply() changes. Both must outlive it.
  Watcher(
    rclrt_core::Engine & engine, const rclrt_config::Configuration & configuration,
    Options options);
  /// Waits for the thread.
  ~Watcher();
  Watcher(const Watcher &) = delete;
  Watcher & operator=(const Watcher &) = delete;

  /// The reports of the chains that end in this executor. Thread-safe.
  std::vector<ChainReport> chains() const;

private:
  /// An executor, and where its records are.
  struct Source : rclrt_watch::ChainSource
  {
    rclrt_watch::LiveFollower file;
    bool is_spoilt = false;  ///< somebody else has written into the file
  };

  void run();
  void step(int64_t now);
  void look(int64_t now);
  void open(const std::string & path);
  void give_up(const std::string & path, Source & source);
  void settle(int64_t now);
  void publish();
  void look_at_threads();
  void tell_broken(const rclrt_watch::Broken & broken);
  // Under the mutex:
  ChainReport report_of(const rclrt_watch::WatchedChain & chain) const;
  void tell_of(const rclrt_watch::WatchedChain & chain, int64_t now);
  bool has_missed() const;
  DiagnosticStatus status_of_proof() const;

  rclrt_core::Engine & engine_;
  const rclrt_config::Configuration & configuration_;
  const Options options_;
  const uint32_t executor_;
  std::atomic<uint32_t> end_{
    0};  ///< set once by the destructor; release and acquire by Platform::wait()

  mutable PiMutex mutex_;
  // Under the mutex:
  rclrt_watch::ChainSet chains_;
  uint64_t lost_ = 0;
  std::set<std::string> unproved_;  ///< chains whose proof was seen to be broken
  std::vector<std::pair<std::string, std::string>>
    broken_;  ///< which callback, and how; some of them

  // Used by the thread of the watcher alone:
  std::map<std::string, Source> sources_;
  std::set<std::string> refused_;  ///< files that are no live traces; for a while
  int64_t next_look_ = 0;
  int64_t next_forgetting_ = 0;
  int64_t next_settle_ = 0;
  int64_t next_publication_ = 0;
  std::map<std::string, rclrt_core::CallbackStatistics>
    published_;  ///< of callbacks, the last time
  rclrt_watch::Assumptions assumptions_;
  std::set<std::string> above_bound_;  ///< chains that were told
  uint64_t lost_of_ended_ = 0;

  std::unique_ptr<rclrt_core::Thread> thread_;  ///< ends first
};

}  // namespace rclrt_front_end
