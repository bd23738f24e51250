// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What matters about callbacks, groups and an executor, read from a file instead of code.
///
/// The file is a ROS parameters file with an `rclrt` entry, or one of CallbackIsolatedExecutor; the
/// package's README.md has the fields. Where several entries match a name, they are applied in the
/// order of the file, field by field: the last one wins, as for ROS parameters. Of several files, as
/// for these, nodes are in the order in which the files name them first.
///
/// Whatever is wrong with a file is an error when it is loaded, with "file:line:column" and a
/// remedy. What can only be seen later is told by unmatched() and notes().
///
/// Not thread-safe: apply() remembers what it matched. It allocates; apply it while configuring, to
/// one executor.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rclrt_config/chain.hpp"
#include "rclrt_core/attributes.hpp"
#include "rclrt_core/callback.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/group.hpp"
#include "rclrt_core/policy.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_config
{

/// What orders the threads of callbacks with scheduling_policy ext: the values of executor.deadline_scheduler.
enum class DeadlineBackend : uint8_t
{
  kAuto,       ///< sched_ext if our scheduler is loaded and may be used, else FIFO bands
  kSchedExt,   ///< the scheduler in the kernel (rclrt_scx)
  kFifoBands,  ///< rclrt_core::FifoBands, shared by all processes of the user
};

/// What a file says of a thread that is no executor's.
struct NamedThread
{
  std::string name;  ///< of threads that have it; with "*" at the end, of those that begin so
  rclrt_core::Attributes attributes;
};

/// The values of `trace`: what an executor records of its jobs, and where.
struct TraceOptions
{
  /// The newest records of every thread are in a file in memory that other programs of the user can read, also after
  /// the process was killed (rclrt_core::make_live_trace()).
  bool live = true;

  /// Trace files are written there; it is made if it is not there. Empty: none. The environment variable RCLRT_TRACE
  /// overrides it.
  std::string directory;
  /// 0: all records are written. Above: a flight recorder. It keeps the last jobs in memory, as long as this, and
  /// writes them on an occasion.
  rclrt_core::Duration keep{0};
  /// The occasions: a job that ends after its deadline,
  bool on_miss = true;
  /// and a signal, e.g. SIGUSR2; 0: none.
  int on_signal = 0;
  /// Bytes of all files of the executor together, and of what is kept in memory. The oldest files are removed.
  uint64_t limit = uint64_t{1} << 30;
};

/// An entry that was applied to nothing. Its place is the subject of the finding.
struct Unmatched
{
  rclrt_core::Finding finding;
  /// The executor has nodes that the entry is about, so a name in it is surely wrong. Otherwise the
  /// entry may be meant for another process that reads the same file.
  bool node_is_here = false;
};

/// What a configuration is held against: the machine it is loaded on.
///
/// A plain value, so that tests can load a file for another machine. The functions are called only
/// for files that ask for them; each costs up to some ten milliseconds.
struct Machine
{
  /// CPUs are numbered from 0.
  int cpu_count = 1;
  /// As lscpu says, by the names of CallbackIsolatedExecutor's `hardware_info`: "model_name",
  /// "cpu_family" ... What is unknown is missing.
  std::function<std::map<std::string, std::string>()> hardware;
  /// By name, "sched_rt_period_us" or "sched_rt_runtime_us"; -1 is "no limit", unset is unknown.
  std::function<std::optional<int64_t>(const std::string &)> kernel_setting;

  /// ROS_DOMAIN_ID of the process, for files that name processes by it.
  int64_t domain_id = 0;

  /// The one this program runs on, in domain 0.
  static Machine here();
};

class Configuration
{
public:
  /// Priorities derived by rate_monotonic and deadline_monotonic lie between these. Room is left
  /// above for given priorities and for the threads that release callbacks.
  static constexpr int kLowestDerived = 10;
  static constexpr int kHighestDerived = 59;

  /// No entries.
  Configuration();
  ~Configuration();
  Configuration(Configuration &&) noexcept;
  Configuration & operator=(Configuration &&) noexcept;

  /// Add the entries of a file, after those that are there. A file without any is no error (see
  /// empty()). On an error nothing is added.
  rclrt_core::Status load(const std::string & path, const Machine & machine = Machine::here());
  /// Reads the text of a file; `name` stands for the file in messages.
  rclrt_core::Status parse(
    const std::string & text, const std::string & name, const Machine & machine = Machine::here());

  /// Load what an executor should use: `given` if it is not empty (a file without entries is an error
  /// then), else the file named by the environment variable RCLRT_CONFIGURATION if that is set (also
  /// to nothing, which means none), else those of `parameter_files` that have entries.
  rclrt_core::Status find(
    const std::string & given, const std::vector<std::string> & parameter_files,
    const Machine & machine = Machine::here());

  bool empty() const noexcept;
  /// Whether groups are named as CallbackIsolatedExecutor does, by what is in them.
  bool names_groups_by_members() const noexcept;

  /// Change what the file says about the callback `options->name`, and nothing else but `options->place`: the engine
  /// judges the outcome, and names the entries. Error: it would have two budgets. Then `options` is unchanged.
  rclrt_core::Status apply(rclrt_core::CallbackOptions * options);
  /// Applies what the files say of the group `options->name`. `cie_id` is what CallbackIsolatedExecutor would call
  /// it, see cie_group_id(); it may be empty if there is no such file.
  void apply(rclrt_core::GroupOptions * options, const std::string & cie_id = {});
  /// Applies what the files say of an executor's engine.
  rclrt_core::Status apply(rclrt_core::EngineOptions * options);
  /// Applies what the files say of an executor's trace.
  void apply(TraceOptions * options) const;

  /// Scheduling of the middleware's threads, if the file says something about it.
  const std::optional<rclrt_core::Attributes> & middleware_thread() const noexcept;
  /// Threads that are no executor's, in the order of the files.
  std::vector<NamedThread> threads() const;
  /// What executor.deadline_scheduler says, if it does.
  std::optional<DeadlineBackend> deadline_scheduler() const noexcept;

  /// Set by executor.policy rate_monotonic and deadline_monotonic.
  std::optional<rclrt_core::PriorityKey> priority_key() const noexcept;
  /// Whether the callback's priority is to be derived: there is a key, and neither code nor file
  /// says anything about it or its group. A timer is then ranked by derive_priorities(); all others
  /// get inherit_from_publishers().
  bool is_derived(
    const rclrt_core::CallbackOptions & callback, const rclrt_core::Attributes & group) const;
  /// Rank timers, all of them anew whenever one comes. One without a period gets kLowestDerived. Errors:
  /// of rclrt_core::assign_priorities().
  rclrt_core::Status derive_priorities(std::vector<rclrt_core::PriorityTask> * timers) const;
  /// fifo with that priority.
  static rclrt_core::Attributes derived_attributes(int priority);
  /// From kLowestDerived on, as urgent as the most urgent callback that triggers it.
  static void inherit_from_publishers(rclrt_core::CallbackOptions * options);

  /// The chains of all files; their names are different.
  const std::vector<Chain> & chains() const noexcept;
  /// Whether executors publish on /diagnostics: what the file says, else whether there are chains.
  bool diagnostics() const noexcept;
  /// Whether there is something to watch over: a chain, or what a proof takes for granted of a callback.
  bool is_watched() const noexcept;
  /// A plan among the files was edited, or is of a newer program: see notes().
  bool proof_is_void() const noexcept;
  /// What the files say of the callback, for what watches over it.
  Assumption assumption(const std::string & callback) const;
  /// The chains whose proof has to do with the callback, by their names: it may run on a CPU of theirs.
  std::vector<std::string> chains_beside(const std::string & callback) const;

  /// Entries for callbacks and groups, and callbacks of chains, that no apply() has matched so far.
  std::vector<Unmatched> unmatched() const;
  /// What else the user should know: fields without effect here, what is not an executor's business.
  std::vector<rclrt_core::Finding> notes() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Whether a name in a ROS parameters file, which may have wildcards, stands for a node.
bool names_node(const std::string & pattern, const std::string & node);

}  // namespace rclrt_config
