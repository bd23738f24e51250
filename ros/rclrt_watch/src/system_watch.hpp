// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What was seen of a system from outside, held against a model; and as JSON. What rclrt_watch says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rclrt_config/chain.hpp"
#include "rclrt_watch/assumptions.hpp"
#include "rclrt_watch/chain_watch.hpp"

namespace rclrt_watch
{

/// The callbacks of a model by their names. As in a plan, a name may stand for all callbacks of one kind of a node.
class Model
{
public:
  /// `entry`: how a parameters file calls it.
  void add(Expected callback, const std::string & entry);
  /// Null: the model does not have it.
  const Expected * find(const std::string & callback);
  Terms terms(const std::vector<rclrt_config::Chain> & chains);
  const std::vector<Expected> & callbacks() const noexcept { return callbacks_; }

private:
  std::vector<Expected> callbacks_;
  std::map<std::string, std::size_t> known_;  ///< by their names, and by those that were asked for
  std::vector<std::pair<rclrt_config::ChainLink, std::size_t>> nodes_;
};

class SystemWatch
{
public:
  /// `is_met`: by the bounds, all deadlines are met. The model must outlive this.
  SystemWatch(
    Model & model, std::string name, bool is_met, const std::vector<rclrt_config::Chain> & chains);

  /// Records of an executor, of all its threads; `names` of its callbacks. Those that cannot be true are lost.
  void add(
    std::size_t source, ChainSource & executor, const std::map<uint32_t, std::string> & names,
    std::vector<rclrt_job_record> records);
  /// Judge what has ended by then; of that nothing more comes.
  void settle(int64_t until);
  /// Something that is no job of a callback of the system. `beside`: the callback whose chains it concerns; "": all.
  void note(
    const std::string & who, const std::string & kind, const std::string & text,
    const std::string & beside);
  void look_at_threads(const Assumptions::Threads & threads)
  {
    assumptions_.look_at_threads(threads, {});
  }
  /// Records that are missing, besides those that cannot be true.
  void set_lost(uint64_t records) { lost_ = records; }

  /// All that was seen, times in ms; schema 1. One line. `with_instances`: also those of chains that are kept, and the jobs
  /// of the worst one, times in ns.
  std::string to_json(bool with_instances) const;
  /// A diagnostic_msgs/DiagnosticStatus for each chain, with the most misses in a row since the last time. One line.
  std::string diagnostics();

private:
  bool is_proved() const;
  std::vector<Broken> broken() const;

  const Model & model_;
  const std::string name_;
  const bool is_met_;
  const Terms terms_;
  ChainSet chains_;
  Assumptions assumptions_;
  uint64_t lost_ = 0;
  uint64_t insane_ = 0;
};

/// A text as JSON has it. What is no UTF-8 stays as it is.
std::string quoted(const std::string & text);

}  // namespace rclrt_watch
