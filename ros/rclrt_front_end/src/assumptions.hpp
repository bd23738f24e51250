// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What a proof takes for granted of callbacks, held against their jobs; and whether threads still have what their jobs
/// asked for. The same rules as rclrt_tools/watch/assumptions.py.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
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

namespace rclrt_front_end
{

/// Callbacks that wait and wait: what a program without findings would do in silence.
class Stalls
{
public:
  /// How often to look: what is stuck is told at the second look, within a second.
  static constexpr std::chrono::milliseconds kPeriod{400};

  /// What is to be told of the callbacks that wait now.
  std::vector<rclrt_core::Finding> look(std::vector<rclrt_core::WaitingReport> waiting);

private:
  struct Seen
  {
    rclrt_core::WaitingReport last;
    int looks =
      0;  ///< one after another at which it waited, and had begun no job since the first of them
    bool is_kept = true;  ///< by the same jobs all the time
  };

  std::set<std::string> told_;        ///< subjects: each once, whatever keeps them
  std::map<std::string, Seen> seen_;  ///< by name, of those that waited at the last look
};

/// Something that is not as the file says. Chains whose proof it breaks are those beside the callback.
struct Broken
{
  std::string who;
  std::string text;
  std::vector<std::string> chains;
};

class Assumptions
{
public:
  /// Heard once for each callback and each kind of assumption.
  using Tell = std::function<void(const Broken &)>;

  /// It reads only those parts of `configuration` that no apply() changes.
  Assumptions(const rclrt_config::Configuration & configuration, Tell tell);

  /// Whether a chain has a bound at all, so that there is something to break.
  bool has_proof() const noexcept { return has_proof_; }

  /// Records of the executor; `names` of its callbacks by their ids.
  void add(
    const std::map<uint32_t, std::string> & names, const std::vector<rclrt_job_record> & records);
  /// Look at the releases up to then, of which no more come.
  void settle(int64_t until);
  /// Look at threads. `outranked`: those of the middleware that attributes outrank.
  void look_at_threads(
    const std::vector<rclrt_core::ThreadReport> & threads,
    const std::function<std::vector<std::string>(const rclrt_core::Attributes &)> & outranked);

private:
  struct Callback
  {
    std::string name;
    rclrt_config::Assumption assumed;
    bool is_known = false;  ///< the file says something of it
    uint64_t not_run = 0;
    std::vector<int64_t> releases;
  };
  /// What the jobs of a thread have asked for.
  struct Asked
  {
    bool is_real_time = true;  ///< all of them
    int least = 99;            ///< priority
    std::string callback;      ///< one of them
  };

  void add_job(Callback & callback, const rclrt_job_record & record);
  void check_attributes(const Callback & callback, const rclrt_job_record & record);
  void tell(const std::string & callback, const char * kind, const std::string & text);
  /// Whether it is odd for the third time in a row.
  bool is_odd(const std::string & what, bool now);

  const rclrt_config::Configuration & configuration_;
  const Tell tell_;
  bool has_proof_ = false;
  bool has_assumptions_ = false;  ///< of some callback
  std::map<uint32_t, Callback> callbacks_;
  std::vector<Callback *> released_;       ///< of these, with several releases
  std::map<uint32_t, Asked> asked_;        ///< by thread
  std::set<rclrt_core::ThreadId> urgent_;  ///< threads without jobs that were real-time
  std::map<std::string, int> odd_;
  std::set<std::pair<std::string, std::string>> told_;
};

/// Times as people read them: as "%g" has it.
inline std::string milliseconds_of(rclrt_core::Duration duration)
{
  char text[32];
  std::snprintf(text, sizeof(text), "%g", static_cast<double>(duration.count()) / 1e6);
  return text;
}

inline std::string in_ms(rclrt_core::Duration duration)
{
  return milliseconds_of(duration) + " ms";
}

}  // namespace rclrt_front_end
