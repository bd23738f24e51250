// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "yaml_reader.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace rclrt_reference_system
{

using rclrt_core::Duration;

namespace
{

constexpr std::size_t kMaxName = 200;
constexpr char kNameRule[] =
  "Use letters, digits and _, not starting with a digit, at most 200 characters";
constexpr char kTopicRule[] =
  "Use names of letters, digits and _, none starting with a digit, separated by /, at most 200 "
  "characters";

bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_name(const std::string & text)
{
  return !text.empty() && text.size() <= kMaxName && is_letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_topic(const std::string & text)
{
  if (text.empty() || text.size() > kMaxName) {
    return false;
  }
  std::size_t start = text[0] == '/' ? 1 : 0;
  for (;;) {
    const std::size_t end = std::min(text.find('/', start), text.size());
    if (!is_name(text.substr(start, end - start))) {
      return false;
    }
    if (end == text.size()) {
      return true;
    }
    start = end + 1;
  }
}

Duration from_milliseconds(double value)
{
  return Duration(static_cast<int64_t>(std::llround(value * 1e6)));
}

std::string shown(const YAML::Node & value)
{
  if (!value.IsScalar()) {
    return value.IsNull() ? "nothing" : value.IsMap() ? "a map" : "a list";
  }
  const std::string text = value.Scalar().substr(0, 60);
  return "'" + text + (text.size() < value.Scalar().size() ? "...'" : "'");
}

}  // namespace

std::string join_with_or(const std::vector<std::string> & words)
{
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  return text;
}

YamlMap::YamlMap(const YAML::Node & map, std::string subject)
: map_(map), subject_(std::move(subject))
{
  if (!map.IsMap()) {
    fail(map, "it must be a map, 'field: value'; here is " + shown(map));
  }
  std::set<std::string> seen;
  for (const auto & entry : map) {
    if (!entry.first.IsScalar()) {
      fail(entry.first, "a field's name must be a word");
    }
    if (!seen.insert(entry.first.Scalar()).second) {
      fail(entry.first, "field " + shown(entry.first) + " appears twice. Remove one");
    }
  }
}

void YamlMap::fail(const YAML::Node & value, const std::string & text) const
{
  throw YamlError(value.Mark(), subject_ + ": " + text);
}

void YamlMap::allow_only(const std::vector<std::string> & fields) const
{
  for (const auto & entry : map_) {
    if (std::find(fields.begin(), fields.end(), entry.first.Scalar()) == fields.end()) {
      fail(entry.first, "unknown field " + shown(entry.first) + ". Use " + join_with_or(fields));
    }
  }
}

bool YamlMap::has(const std::string & field) const
{
  // Not map_[field]: a map with a key that is no scalar would throw.
  return std::any_of(map_.begin(), map_.end(), [&field](const auto & entry) {
    return entry.first.IsScalar() && entry.first.Scalar() == field;
  });
}

YAML::Node YamlMap::require(const std::string & field) const
{
  if (!has(field)) {
    fail(map_, "field '" + field + "' is missing");
  }
  return map_[field];
}

LocatedString YamlMap::checked_string(const YAML::Node & value, const std::string & field) const
{
  if (!value.IsScalar()) {
    fail(value, field + " must be a text; here is " + shown(value));
  }
  return {value.Scalar(), value.Mark()};
}

LocatedString YamlMap::string(const std::string & field) const
{
  return checked_string(require(field), field);
}

LocatedString YamlMap::name(const std::string & field) const
{
  const YAML::Node value = require(field);
  LocatedString name = checked_string(value, field);
  if (!is_name(name.value)) {
    fail(value, field + " " + shown(value) + " is not a valid name. " + kNameRule);
  }
  return name;
}

LocatedString YamlMap::topic(const std::string & field) const
{
  const YAML::Node value = require(field);
  LocatedString name = checked_string(value, field);
  if (!is_topic(name.value)) {
    fail(value, field + " " + shown(value) + " is not a valid topic. " + kTopicRule);
  }
  return name;
}

std::vector<LocatedString> YamlMap::strings(
  const std::string & field, bool (*is_valid)(const std::string &), const char * rule) const
{
  std::vector<LocatedString> result;
  std::set<std::string> seen;
  for (const YAML::Node & item : list(field)) {
    LocatedString text = checked_string(item, "each of " + field);
    if (!is_valid(text.value)) {
      fail(item, field + ": " + shown(item) + " is not valid. " + rule);
    }
    if (!seen.insert(text.value).second) {
      fail(item, field + ": " + shown(item) + " appears twice. Remove one");
    }
    result.push_back(std::move(text));
  }
  return result;
}

std::vector<LocatedString> YamlMap::names(const std::string & field) const
{
  return strings(field, is_name, kNameRule);
}

std::vector<LocatedString> YamlMap::topics(const std::string & field) const
{
  return strings(field, is_topic, kTopicRule);
}

std::vector<YAML::Node> YamlMap::list(const std::string & field) const
{
  const YAML::Node value = require(field);
  if (!value.IsSequence() || value.size() == 0) {
    fail(value, field + " must be a list of at least one; here is " + shown(value));
  }
  return {value.begin(), value.end()};
}

namespace
{

bool read_integer(const YAML::Node & value, int lowest, int highest, int * result)
{
  return value.IsScalar() && YAML::convert<int>::decode(value, *result) && *result >= lowest &&
         *result <= highest;
}

}  // namespace

int YamlMap::integer(const std::string & field, int lowest, int highest) const
{
  const YAML::Node value = require(field);
  int result = 0;
  if (!read_integer(value, lowest, highest, &result)) {
    fail(
      value, field + " must be a whole number from " + std::to_string(lowest) + " to " +
               std::to_string(highest) + "; here is " + shown(value));
  }
  return result;
}

std::vector<int> YamlMap::integers(const std::string & field, int lowest, int highest) const
{
  std::vector<int> result;
  for (const YAML::Node & item : list(field)) {
    int number = 0;
    if (!read_integer(item, lowest, highest, &number)) {
      fail(
        item, "each of " + field + " must be a whole number from " + std::to_string(lowest) +
                " to " + std::to_string(highest) + " on this machine; here is " + shown(item));
    }
    result.push_back(number);
  }
  return result;
}

double YamlMap::milliseconds(const std::string & field, const char * range) const
{
  const YAML::Node value = require(field);
  double result = 0;
  if (
    !value.IsScalar() || !YAML::convert<double>::decode(value, result) || !std::isfinite(result)) {
    fail(value, field + " must be a number " + range + "; here is " + shown(value));
  }
  return result;
}

Duration YamlMap::period_ms(const std::string & field) const
{
  constexpr char kRange[] = "above 0 and at most 3600000 (an hour)";
  const double value = milliseconds(field, kRange);
  if (from_milliseconds(std::clamp(value, -1.0, 3.6e6 + 1)) <= Duration(0) || value > 3.6e6) {
    fail(require(field), field + " must be " + kRange + "; here is " + shown(require(field)));
  }
  return from_milliseconds(value);
}

Duration YamlMap::work_ms(const std::string & field) const
{
  constexpr char kRange[] = "from 0 to 10000";
  const double value = milliseconds(field, kRange);
  if (!(value >= 0 && value <= 1e4)) {
    fail(require(field), field + " must be " + kRange + "; here is " + shown(require(field)));
  }
  return from_milliseconds(value);
}

}  // namespace rclrt_reference_system
