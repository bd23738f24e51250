// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Reads values out of a YAML map and knows where they stand, for errors with line and column.
///
/// Private to the scenario loader, which turns the exception into a Status.
#pragma once

#include <yaml-cpp/yaml.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "rclrt_core/time.hpp"

namespace rclrt_reference_system
{

/// Something in the file is wrong, at `mark`.
struct YamlError : std::runtime_error
{
  YamlError(const YAML::Mark & where, const std::string & text)
  : std::runtime_error(text), mark(where)
  {
  }
  YAML::Mark mark;
};

/// A string and where it stands.
struct LocatedString
{
  std::string value;
  YAML::Mark mark;
};

/// One map of the file.
class YamlMap
{
public:
  /// `subject` is what errors call it, e.g. "node 'Camera'". Throws YamlError unless it is a map
  /// whose keys are unique.
  YamlMap(const YAML::Node & map, std::string subject);

  void set_subject(std::string subject) { subject_ = std::move(subject); }
  const std::string & subject() const noexcept { return subject_; }
  YAML::Mark mark() const { return map_.Mark(); }

  /// Throws YamlError naming the first key that is not among `fields`, and what is.
  void allow_only(const std::vector<std::string> & fields) const;

  bool has(const std::string & field) const;
  /// Throws YamlError if the field is missing.
  YAML::Node require(const std::string & field) const;

  // Each throws YamlError if the field is missing or not of the kind.
  LocatedString string(const std::string & field) const;
  /// An identifier: letters, digits and _, not starting with a digit.
  LocatedString name(const std::string & field) const;
  /// A list of at least one, without repetition.
  std::vector<LocatedString> names(const std::string & field) const;
  LocatedString topic(const std::string & field) const;
  std::vector<LocatedString> topics(const std::string & field) const;
  std::vector<int> integers(const std::string & field, int lowest, int highest) const;
  int integer(const std::string & field, int lowest, int highest) const;
  /// Above 0, at most an hour.
  rclrt_core::Duration period_ms(const std::string & field) const;
  /// At least 0, at most 10 s.
  rclrt_core::Duration work_ms(const std::string & field) const;
  /// The items of a list of at least one.
  std::vector<YAML::Node> list(const std::string & field) const;

private:
  [[noreturn]] void fail(const YAML::Node & value, const std::string & text) const;
  double milliseconds(const std::string & field, const char * range) const;
  LocatedString checked_string(const YAML::Node & value, const std::string & field) const;
  std::vector<LocatedString> strings(
    const std::string & field, bool (*is_valid)(const std::string &), const char * rule) const;

  YAML::Node map_;
  std::string subject_;
};

/// "a, b or c"
std::string join_with_or(const std::vector<std::string> & words);

}  // namespace rclrt_reference_system
