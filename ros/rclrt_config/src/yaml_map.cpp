// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "yaml_map.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "rclrt_config/duration.hpp"

namespace rclrt_config
{

using rclrt_core::CpuSet;
using rclrt_core::Duration;

namespace
{

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// False for 010 as well: that is eight in the older YAML, and ten in the newer.
bool parse_integer(const std::string & text, int64_t * number)
{
  if (text.size() > 1 && text[0] == '0') {
    return false;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

/// Reads digits, with a point among them if that leaves no more than `digits` behind it: times ten to the power of
/// `digits`. Exact: no floating point.
bool parse_number(std::string number, int digits, int64_t * result)
{
  if (number.size() > 1 && number[0] == '0' && number[1] != '.') {
    return false;
  }
  const std::size_t point = number.find('.');
  if (point != std::string::npos) {
    const std::size_t decimals = number.size() - point - 1;
    if (point == 0 || decimals == 0 || decimals > static_cast<std::size_t>(digits)) {
      return false;
    }
    number.erase(point, 1);
    digits -= static_cast<int>(decimals);
  }
  if (!std::all_of(number.begin(), number.end(), is_digit)) {  // or there is a second point
    return false;
  }
  number.append(number.empty() ? 0 : static_cast<std::size_t>(digits), '0');
  number.erase(0, std::min(number.find_first_not_of('0'), number.size() - 1));
  return parse_integer(number, result);
}

}  // namespace

std::optional<Duration> duration_of(const std::string & text)
{
  static const std::pair<const char *, int> units[] = {{"ns", 0}, {"us", 3}, {"ms", 6}, {"s", 9}};
  std::size_t end = 0;
  while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) {
    ++end;
  }
  const auto unit = std::find_if(std::begin(units), std::end(units), [&](const auto & known) {
    return text.compare(end, std::string::npos, known.first) == 0;
  });
  int64_t nanoseconds = 0;
  const bool is_one =
    text == "0" ||
    (unit != std::end(units) && parse_number(text.substr(0, end), unit->second, &nanoseconds));
  return is_one ? std::optional(Duration(nanoseconds)) : std::nullopt;
}

std::string shown(const YAML::Node & value)
{
  if (!value.IsScalar()) {
    return value.IsMap() ? "a map" : value.IsSequence() ? "a list" : "nothing";
  }
  const std::string text = value.Scalar().substr(0, 60);
  return "'" + text + (text.size() < value.Scalar().size() ? "...'" : "'");
}

std::string join_with_or(const std::vector<std::string> & words)
{
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  return text;
}

std::vector<YamlField> fields_of(const YAML::Node & map, const std::string & subject)
{
  if (!map.IsMap()) {
    throw YamlError(
      map.Mark(), subject + ": it must be a map, 'field: value'; here is " + shown(map));
  }
  std::vector<YamlField> fields;
  for (const auto & field : map) {
    if (!field.first.IsScalar()) {
      throw YamlError(field.first.Mark(), subject + ": the name of a field must be a word");
    }
    fields.push_back({field.first.Scalar(), field.first.Mark(), field.second});
  }
  return fields;
}

YamlMap::YamlMap(
  const YAML::Node & map, std::string subject, const std::vector<std::string> & allowed)
: subject_(std::move(subject)), mark_(map.Mark()), fields_(fields_of(map, subject_))
{
  std::set<std::string> seen;
  for (const YamlField & field : fields_) {
    const std::string named = "field '" + field.name.substr(0, 60) + "'";
    if (std::find(allowed.begin(), allowed.end(), field.name) == allowed.end()) {
      throw YamlError(
        field.name_mark, about("unknown " + named + ". Use " + join_with_or(allowed)));
    }
    if (!seen.insert(field.name).second) {
      throw YamlError(field.name_mark, about(named + " appears twice. Remove one"));
    }
  }
}

const YamlField * YamlMap::find(const std::string & name) const
{
  const auto found = std::find_if(
    fields_.begin(), fields_.end(), [&name](const auto & field) { return field.name == name; });
  return found != fields_.end() ? &*found : nullptr;
}

void YamlMap::fail(const std::string & field, const std::string & text) const
{
  const YamlField * found = find(field);
  if (found == nullptr) {
    fail(text);
  }
  // "field:" without a value has its mark wherever the parser noticed.
  throw YamlError(found->value.IsNull() ? found->name_mark : found->value.Mark(), about(text));
}

std::optional<YAML::Node> YamlMap::node(const std::string & field) const
{
  const YamlField * found = find(field);
  return found ? std::optional<YAML::Node>(found->value) : std::nullopt;
}

std::optional<std::string> YamlMap::string(const std::string & field) const
{
  const auto value = node(field);
  if (!value) {
    return std::nullopt;
  }
  if (!value->IsScalar()) {
    fail(field, field + " must be a word; here is " + shown(*value));
  }
  return value->Scalar();
}

std::optional<bool> YamlMap::boolean(const std::string & field) const
{
  const auto value = node(field);
  if (!value) {
    return std::nullopt;
  }
  bool result = false;
  if (!value->IsScalar() || !YAML::convert<bool>::decode(*value, result)) {
    fail(field, field + " must be true or false; here is " + shown(*value));
  }
  return result;
}

std::optional<int64_t> YamlMap::integer(
  const std::string & field, int64_t lowest, int64_t highest, const std::string & hint) const
{
  const auto value = node(field);
  if (!value) {
    return std::nullopt;
  }
  int64_t result = 0;
  if (
    !value->IsScalar() || !parse_integer(value->Scalar(), &result) || result < lowest ||
    result > highest) {
    fail(
      field, field + " must be a whole number from " + std::to_string(lowest) + " to " +
               std::to_string(highest) + "; here is " + shown(*value) + hint);
  }
  return result;
}

std::optional<Duration> YamlMap::duration(const std::string & field, const char * zero_means) const
{
  const auto value = node(field);
  if (!value) {
    return std::nullopt;
  }
  const auto found = value->IsScalar() ? duration_of(value->Scalar()) : std::nullopt;
  if (!found || (*found == Duration::zero() && zero_means == nullptr)) {
    int64_t plain = 0;
    const bool lacks_unit =
      value->IsScalar() && parse_integer(value->Scalar(), &plain) && plain > 0;
    fail(
      field,
      field + " must be a time above 0" +
        (zero_means ? std::string(", or 0 for ") + zero_means : "") +
        ": a number with ns, us, ms or s such as 5ms or 1.5ms, and less than 292 years; here "
        "is " +
        shown(*value) + (lacks_unit ? ". Write its unit: " + value->Scalar() + "ns" : ""));
  }
  return found;
}

std::vector<YamlText> YamlMap::texts(const std::string & field) const
{
  const auto value = node(field);
  if (!value) {
    return {};
  }
  if (!value->IsSequence()) {
    fail(field, field + " must be a list; here is " + shown(*value));
  }
  std::vector<YamlText> texts;
  for (const YAML::Node & item : *value) {
    if (!item.IsScalar()) {
      throw YamlError(
        item.Mark(), about(field + " must be a list of words; here is " + shown(item)));
    }
    texts.push_back({item.Scalar(), item.Mark()});
  }
  return texts;
}

std::optional<CpuSet> YamlMap::cpus(const std::string & field, int cpu_count, bool may_repeat) const
{
  const auto value = node(field);
  if (!value) {
    return std::nullopt;
  }
  if (!value->IsSequence() || value->size() == 0) {
    fail(
      field, field + " must be a list of CPU numbers such as [0, 2]; here is " +
               (value->IsSequence() ? "an empty list. Remove the field to leave the affinity alone"
                                    : shown(*value)));
  }
  const int highest = std::min(cpu_count, CpuSet::kMaxCpus) - 1;
  std::vector<int> cpus;
  for (const YAML::Node & item : *value) {
    int64_t cpu = 0;
    if (!item.IsScalar() || !parse_integer(item.Scalar(), &cpu) || cpu < 0 || cpu > highest) {
      throw YamlError(
        item.Mark(), about(
                       field + " names CPU " + shown(item) + ", but this machine has CPUs 0 to " +
                       std::to_string(highest)));
    }
    if (!may_repeat && std::find(cpus.begin(), cpus.end(), cpu) != cpus.end()) {
      throw YamlError(
        item.Mark(), about(field + " names CPU " + shown(item) + " twice. Remove one"));
    }
    cpus.push_back(static_cast<int>(cpu));
  }
  return CpuSet(cpus);
}

}  // namespace rclrt_config
