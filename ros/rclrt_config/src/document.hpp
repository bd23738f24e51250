// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// What was read from files: plain values, each with the place it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rclrt_config/chain.hpp"
#include "rclrt_config/configuration.hpp"
#include "rclrt_core/attributes.hpp"
#include "rclrt_core/budget.hpp"
#include "rclrt_core/callback.hpp"
#include "rclrt_core/policy.hpp"
#include "rclrt_core/status.hpp"

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

/// What fields of a file say: each puts its value into its place. A field that is not there is empty.
template <typename To>
using Changes = std::vector<std::function<void(To *)>>;

template <typename To, typename Member, typename Value>
std::function<void(To *)> change(Member To::* member, const std::optional<Value> & value)
{
  if (!value) {
    return {};
  }
  return [member, wanted = *value](To * to) { to->*member = static_cast<Member>(wanted); };
}

/// The change of a part of something.
template <typename To, typename Part>
std::function<void(To *)> change(Part To::* part, std::function<void(Part *)> inner)
{
  if (!inner) {
    return {};
  }
  return [part, inner = std::move(inner)](To * to) { inner(&(to->*part)); };
}

template <typename To>
void put(const Changes<To> & changes, std::common_type_t<To> * to)
{
  for (const auto & one : changes) {
    if (one) {
      one(to);
    }
  }
}

enum class Target : unsigned char
{
  kCallback,
  kGroup,
};

struct Entry
{
  Place place;
  std::string node;  ///< one of Document::nodes
  Target target = Target::kCallback;
  std::string name;                         ///< as it is in the file, made absolute
  NamePattern pattern;                      ///< unless it is of a CallbackIsolatedExecutor file:
  std::string cie_id;                       ///< sorted
  std::string cie_purpose;                  ///< cie_id without what every node has
  int64_t cie_domain = 0;                   ///< ROS_DOMAIN_ID of the processes that it is for
  Changes<rclrt_core::Scheduling> changes;  ///< of a group: attributes and budget only
  Changes<Assumption> assumed;              ///< the times
  bool matched = false;
};

struct ExecutorEntry
{
  Place place;
  const rclrt_core::Policy * policy = nullptr;
  std::optional<rclrt_core::PriorityKey> priority_key;  ///< only together with `policy`
  bool has_max_threads = false;
  std::optional<rclrt_core::Attributes> middleware_thread;
  std::optional<DeadlineBackend> deadline_scheduler;
  std::vector<NamedThread> threads;
  Changes<rclrt_core::EngineOptions> changes;  ///< what all other fields say
};

struct TraceEntry
{
  Place place;
  Changes<TraceOptions> changes;
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
