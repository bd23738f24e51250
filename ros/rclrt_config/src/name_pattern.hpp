// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// A name with wildcards, as the names of nodes in ROS parameters files: `*` stands for one part
/// between slashes, `**` for any number of them, also none.
#ifndef NAME_PATTERN_HPP_
#define NAME_PATTERN_HPP_

#include <string>
#include <vector>

namespace rclrt_config
{

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

}  // namespace rclrt_config

#endif  // NAME_PATTERN_HPP_
