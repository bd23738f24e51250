// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Reads values out of a YAML map and knows where they stand, for errors with line and column.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "rclrt_core/attributes.hpp"
#include "rclrt_core/time.hpp"

namespace rclrt_config
{

/// Something in the file is wrong, at `mark`. Caught by Configuration::parse().
struct YamlError : std::runtime_error
{
  YamlError(const YAML::Mark & where, const std::string & text)
  : std::runtime_error(text), mark(where)
  {
  }
  YAML::Mark mark;
};

/// "'word'", "a map", "a list" or "nothing"; long words are cut.
std::string shown(const YAML::Node & value);
/// "a, b or c"
std::string join_with_or(const std::vector<std::string> & words);

/// One field of a map.
struct YamlField
{
  std::string name;
  YAML::Mark name_mark;
  YAML::Node value;
};

/// The fields of a map, in the order of the file. Names may appear more than once.
std::vector<YamlField> fields_of(const YAML::Node & map, const std::string & subject);

/// A word and where it stands.
struct YamlText
{
  std::string text;
  YAML::Mark mark;
};

/// A map whose fields are known and appear once. Every function that reads a field returns nothing if
/// it is not there and throws YamlError if it is not of the kind.
class YamlMap
{
public:
  /// `subject` is what errors call it, e.g. "callback '/planner/timer/100ms'".
  YamlMap(const YAML::Node & map, std::string subject, const std::vector<std::string> & allowed);

  const std::string & subject() const noexcept { return subject_; }
  bool has(const std::string & field) const { return find(field) != nullptr; }
  bool is_empty() const noexcept { return fields_.empty(); }
  [[noreturn]] void fail(const std::string & field, const std::string & text) const;
  [[noreturn]] void fail(const std::string & text) const { throw YamlError(mark_, about(text)); }

  std::optional<YAML::Node> node(const std::string & field) const;
  std::optional<std::string> string(const std::string & field) const;
  std::optional<bool> boolean(const std::string & field) const;
  /// A decimal number; `hint` ends the error.
  std::optional<int64_t> integer(
    const std::string & field, int64_t lowest, int64_t highest,
    const std::string & hint = "") const;
  /// A number with ns, us, ms or s. Above 0, or `zero_means` says what 0 is.
  std::optional<rclrt_core::Duration> duration(
    const std::string & field, const char * zero_means = nullptr) const;
  /// A list of words; none if the field is not there.
  std::vector<YamlText> texts(const std::string & field) const;
  std::optional<rclrt_core::CpuSet> cpus(
    const std::string & field, int cpu_count, bool may_repeat = false) const;

  /// One of some words, each with the value it stands for.
  template <typename Value>
  std::optional<Value> word(
    const std::string & field, const std::vector<std::pair<const char *, Value>> & words) const
  {
    const auto text = string(field);
    if (!text) {
      return std::nullopt;
    }
    std::vector<std::string> known;
    for (const auto & [name, value] : words) {
      if (*text == name) {
        return value;
      }
      known.emplace_back(name);
    }
    fail(field, field + " is '" + text->substr(0, 60) + "'. Use " + join_with_or(known));
  }

private:
  const YamlField * find(const std::string & field) const;
  std::string about(const std::string & text) const { return subject_ + ": " + text; }

  std::string subject_;
  YAML::Mark mark_;
  std::vector<YamlField> fields_;
};

}  // namespace rclrt_config
