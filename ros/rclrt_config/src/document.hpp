// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What was read from files: plain values, each with the place it came from.
#ifndef DOCUMENT_HPP_
#define DOCUMENT_HPP_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rclrt_config/chain.hpp"
#include "rclrt_config/configuration.hpp"
#include "rclrt_core/attributes.hpp"
#include "rclrt_core/budget.hpp"
#include "rclrt_core/callback.hpp"
#include "rclrt_core/policy.hpp"
#include "rclrt_core/status.hpp"
#include "rclrt_core/waiting.hpp"

namespace rclrt_config
{

/// A name with wildcards, as the names of nodes in ROS parameters files: `*` stands for one part
/// between slashes, `**` for any number of them, also none.
class NamePattern
{
public:
  NamePattern() = default;
  /// `text` is one for which problem_with() is empty.
  explicit NamePattern(const std::string & text);

  /// Why `text` is no pattern and what to do; empty if it is one. It begins with a slash.
  static std::string problem_with(const std::string & text);

  bool matches(const std::string & name) const;
  /// Whether its first parts match `node` one by one, without `**`.
  bool names_node(const std::string & node) const;
  bool has_wildcard() const;
  /// Whether `word` is one of the parts.
  bool has_part(const std::string & word) const;

private:
  std::vector<std::string> parts_;
};

struct Place
{
  std::string file;
  int line = 0;
  int column = 0;
};

/// "file:line:column"
inline std::string to_string(const Place & place)
{
  return place.file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column);
}

/// Those fields of an entry that end in rclrt_core::Attributes.
struct AttributeFields
{
  std::optional<rclrt_core::SchedulingPolicy> scheduling_policy;
  std::optional<int> priority;
  std::optional<int> nice;
  std::optional<rclrt_core::CpuSet> cpu_affinity;
  std::optional<rclrt_core::Duration> runtime;
  std::optional<rclrt_core::Duration> deadline;
  std::optional<rclrt_core::Duration> period;
};

/// A policy starts afresh: what went with the one before is forgotten. The affinity stays.
void put(const AttributeFields & fields, rclrt_core::Attributes * attributes);

enum class Target : unsigned char
{
  kCallback,
  kGroup,
};

/// Those that a proof takes for granted of a callback.
struct AssumedTimes
{
  std::optional<rclrt_core::Duration> wcet;
  std::optional<rclrt_core::Duration> min_period;
  std::optional<rclrt_core::Duration> bound;
};

struct Entry
{
  Place place;
  std::string node;  ///< one of Document::nodes
  Target target = Target::kCallback;
  std::string name;         ///< as it is in the file, made absolute
  NamePattern pattern;      ///< unless it is of a CallbackIsolatedExecutor file:
  std::string cie_id;       ///< sorted
  std::string cie_purpose;  ///< the same without what every node has
  int64_t cie_domain = 0;   ///< ROS_DOMAIN_ID of the processes that it is for
  AttributeFields attributes;
  /// What the other fields say: each puts its value into its place.
  std::vector<std::function<void(rclrt_core::Scheduling *)>> changes;
  std::optional<rclrt_core::Budget> group_budget;  ///< of a group
  AssumedTimes assumed;
  bool matched = false;
};

struct ExecutorEntry
{
  Place place;
  const rclrt_core::Policy * policy = nullptr;
  std::optional<rclrt_core::PriorityKey> priority_key;  ///< only together with `policy`
  std::optional<std::size_t> max_threads;
  std::optional<rclrt_core::AttributesMode> attributes;
  std::optional<rclrt_core::Attributes> middleware_thread;
  std::optional<rclrt_core::Attributes> timer_thread;
  std::optional<bool> lock_memory;
  std::optional<std::size_t> stack_size;
  std::optional<DeadlineBackend> deadline_scheduler;
  std::optional<rclrt_core::Waiting> wait;
  std::optional<rclrt_core::Duration> spin;
  std::optional<int64_t> spin_cpu_percent;
  std::optional<int64_t> capacity_percent;
  std::optional<rclrt_core::Duration> beat;
  std::vector<NamedThread> threads;
};

struct TraceEntry
{
  Place place;
  std::optional<bool> live;
  std::optional<std::string> directory;
  std::optional<bool> service;
  std::optional<rclrt_core::Duration> keep;
  std::optional<bool> on_miss;
  std::optional<int> on_signal;
  std::optional<uint64_t> limit;
};

struct Document
{
  std::vector<Entry> entries;
  std::vector<ExecutorEntry> executors;
  std::vector<TraceEntry> traces;
  std::vector<Chain> chains;
  std::optional<Place> chains_place;
  std::optional<bool> diagnostics;
  std::vector<NamedThread> threads;  ///< of a CallbackIsolatedExecutor file
  std::vector<std::string> nodes;    ///< what has ros__parameters, as rcl compares it
  std::vector<rclrt_core::Finding> notes;
};

}  // namespace rclrt_config

#endif  // DOCUMENT_HPP_
