// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What a proof takes for granted of callbacks, held against their jobs; and whether threads still have what their jobs
/// asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rclrt_config/configuration.hpp"
#include "rclrt_core/engine.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_core/time.hpp"
#include "rclrt_core/trace_file.hpp"

namespace rclrt_watch
{

/// Something that is not as the file or the model says.
struct Broken
{
  std::string who;
  std::string kind;
  std::string text;                 ///< with the worst value so far
  std::vector<std::string> chains;  ///< whose proof it breaks: those beside the callback
  uint64_t times = 0;
  int64_t worst = 0;
};

/// What a file or a model says of a callback.
struct Expected
{
  std::string name;  ///< there; the callback's own if `is_known` is false
  bool is_known = false;
  rclrt_config::Assumption assumed;  ///< priority 0: any
  std::optional<rclrt_core::Duration> deadline;
  /// Callbacks that publish what releases it. Unset: it is not said.
  std::optional<std::vector<std::string>> released_by;
};

/// What a proof was made for.
struct Terms
{
  const char * where = "file";  ///< what says so
  bool has_proof = false;       ///< a chain has a bound, so that there is something to break
  bool has_all = false;         ///< every callback that may run in real time is in it
  std::function<Expected(const std::string & callback)> of;
  /// The names of the chains that may run where the callback runs; of "": all.
  std::function<std::vector<std::string>(const std::string & callback)> chains_beside;
};

/// The terms of a file read only those parts of `configuration` that no apply() changes.
Terms terms_of(const rclrt_config::Configuration & configuration);

class Assumptions
{
public:
  /// Heard once for each callback and each kind of assumption. May be empty.
  using Tell = std::function<void(const Broken &)>;

  /// What was seen of a callback.
  struct Callback
  {
    Expected expected;
    uint64_t jobs = 0;
    std::optional<rclrt_core::Duration> worst = std::nullopt;    ///< from release to end
    std::optional<rclrt_core::Duration> longest = std::nullopt;  ///< CPU time
    uint64_t misses = 0;
    uint64_t not_run = 0;
    std::vector<int64_t> releases = {};
  };

  Assumptions(Terms terms, Tell tell);

  /// Whether a chain has a bound at all, so that there is something to break.
  bool has_proof() const noexcept { return terms_.has_proof; }

  /// Records of an executor; `names` of its callbacks by their ids. `source` is its number here, `executor` that within
  /// its process.
  void add(
    const std::map<uint32_t, std::string> & names, const std::vector<rclrt_job_record> & records,
    std::size_t source = 0, uint32_t executor = 0);
  /// Look at the releases up to then, of which no more come.
  void settle(int64_t until);
  /// Threads of a process.
  struct Threads
  {
    std::vector<rclrt_core::ThreadReport> all;
    std::vector<std::size_t> sources = {};        ///< the executors of the process
    std::set<rclrt_core::ThreadId> workers = {};  ///< may have what jobs ask for that are not seen
    std::string who = {};                         ///< the program; empty: this one
  };
  /// `outranked`: those of the middleware that attributes outrank; may be empty.
  void look_at_threads(
    const Threads & threads,
    const std::function<std::vector<std::string>(const rclrt_core::Attributes &)> & outranked);

  /// Something that is wrong: `who` may be no callback.
  void note(
    const std::string & who, const std::string & kind, const std::string & text,
    std::vector<std::string> chains, int64_t size = 0);

  /// In the order in which they were found.
  const std::vector<Broken> & broken() const noexcept { return broken_; }
  /// By the names that the file or model has, or their own.
  const std::map<std::string, Callback> & callbacks() const noexcept { return callbacks_; }

private:
  /// What the jobs of a thread have asked for.
  struct Asked
  {
    bool is_real_time = true;  ///< all of them
    int least = 99;            ///< priority
    std::string callback;      ///< one of them
  };

  /// Callbacks by their ids in one executor.
  using Known = std::map<uint32_t, Callback *>;

  void add_job(Callback & callback, const rclrt_job_record & record, std::size_t source);
  void check_attributes(const Callback & callback, const rclrt_job_record & record);
  void check_trigger(
    const Callback & callback, const rclrt_job_record & record, const Known & known);
  /// `size`: how bad it is. The text of the worst counts.
  void tell(
    const std::string & callback, const char * kind, const std::string & text, int64_t size = 1);
  std::string says() const { return std::string("; the ") + terms_.where + " says "; }
  /// Whether it is odd for the third time in a row.
  bool is_odd(const std::string & what, bool now);

  const Terms terms_;
  const Tell tell_;
  bool has_assumptions_;  ///< of some callback
  std::map<std::string, Callback> callbacks_;
  std::map<std::size_t, Known> sources_;
  std::vector<Callback *> released_;                        ///< of these, with several releases
  std::map<std::size_t, std::map<uint32_t, Asked>> asked_;  ///< by source and thread
  /// Threads without jobs that were real-time, by the first source of their process.
  std::map<std::size_t, std::set<rclrt_core::ThreadId>> urgent_;
  std::map<std::string, int> odd_;
  std::vector<Broken> broken_;
  std::map<std::pair<std::string, std::string>, std::size_t> told_;  ///< places in `broken_`
};

/// Times as people read them, with all their digits.
inline std::string milliseconds_of(rclrt_core::Duration duration)
{
  char text[40];
  const int size = std::snprintf(
    text, sizeof(text), "%s%lld.%06lld", duration.count() < 0 ? "-" : "",
    std::llabs(duration.count() / 1'000'000), std::llabs(duration.count() % 1'000'000));
  std::string ms(text, static_cast<std::size_t>(size));
  ms.erase(ms.find_last_not_of('0') + 1);
  return ms.back() == '.' ? ms.substr(0, ms.size() - 1) : ms;
}

inline std::string in_ms(rclrt_core::Duration duration)
{
  return milliseconds_of(duration) + " ms";
}

}  // namespace rclrt_watch
