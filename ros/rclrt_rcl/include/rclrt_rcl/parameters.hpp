// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

/// Parameters of a node: what `-p name:=value` and `--params-file` say at its start.
///
/// They are not declared, do not change, and have no services: a program reads those that it knows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "rclrt_rcl/error.hpp"

namespace rclrt_rcl
{

/// std::monostate stands for a list.
using ParameterValue = std::variant<std::monostate, bool, int64_t, double, std::string>;

class Parameters
{
public:
  using Values = std::map<std::string, ParameterValue>;

  explicit Parameters(Values values = {}) : values_(std::move(values)) {}

  /// Nothing if the parameter is not given. T: bool, int64_t, double or std::string. Error if the
  /// value is of another type.
  template <typename T>
  std::optional<T> get(const std::string & name) const
  {
    const auto found = values_.find(name);
    if (found == values_.end()) {
      return std::nullopt;
    }
    if (const T * value = std::get_if<T>(&found->second)) {
      return *value;
    }
    throw Error(
      "parameter '" + name + "' is " + type_name(found->second) + ", not " + type_name(T()));
  }

  /// All "<prefix>.<name>", by <name>.
  template <typename T>
  std::map<std::string, T> get_by_prefix(const std::string & prefix) const
  {
    const std::string start = prefix + ".";
    std::map<std::string, T> found;
    for (auto at = values_.lower_bound(start);
         at != values_.end() && at->first.compare(0, start.size(), start) == 0; ++at) {
      found[at->first.substr(start.size())] = *get<T>(at->first);
    }
    return found;
  }

private:
  static const char * type_name(const ParameterValue & value) noexcept;

  Values values_;
};

}  // namespace rclrt_rcl
