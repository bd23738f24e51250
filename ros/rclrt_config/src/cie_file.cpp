// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "cie_file.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "fields.hpp"
#include "rclrt_config/cie_group_id.hpp"

namespace rclrt_config
{

using rclrt_core::Attributes;
using rclrt_core::SchedulingPolicy;

namespace
{

const std::vector<std::string> & sections()
{
  static const std::vector<std::string> names = {
    "callback_groups", "non_ros_threads", "hardware_info", "rt_throttling"};
  return names;
}

class CieReader
{
public:
  CieReader(const std::string & file, const Machine & machine) : file_(file), machine_(machine) {}

  Document read(const YAML::Node & root);

private:
  std::vector<Entry> read_list(const YamlMap & file, const std::string & section);
  Entry read_entry(const YAML::Node & value, const std::string & section);
  AttributeFields read_scheduling(const YamlMap & map);
  void check_hardware(const YAML::Node & value);
  void check_throttling(const YAML::Node & value);
  void note(const Place & place, const std::string & what, const std::string & fix)
  {
    document_.notes.push_back({to_string(place), what, 0, fix});
  }
  Place place(const YAML::Mark & mark) const { return {file_, mark.line + 1, mark.column + 1}; }

  const std::string & file_;
  const Machine & machine_;
  Document document_;
};

Document CieReader::read(const YAML::Node & root)
{
  const YamlMap file(root, "CallbackIsolatedExecutor file", sections());
  if (const auto hardware = file.node("hardware_info")) {
    check_hardware(*hardware);
  }
  if (const auto throttling = file.node("rt_throttling")) {
    check_throttling(*throttling);
  }
  for (Entry & entry : read_list(file, "callback_groups")) {
    entry.cie_id = sorted_cie_id(entry.name);
    entry.cie_purpose = purpose_of_cie_id(entry.name);
    document_.entries.push_back(std::move(entry));
  }
  for (const Entry & entry : read_list(file, "non_ros_threads")) {
    Attributes wanted;
    put(entry.attributes, &wanted);
    Attributes untouched;
    untouched.policy = SchedulingPolicy::kOther;
    if (wanted != untouched) {
      document_.threads.push_back({entry.name, "", wanted});
    }
  }
  return std::move(document_);
}

std::vector<Entry> CieReader::read_list(const YamlMap & file, const std::string & section)
{
  std::vector<Entry> entries;
  const auto list = file.node(section);
  if (!list || list->IsNull()) {
    return entries;
  }
  if (!list->IsSequence()) {
    file.fail(section, section + " must be a list; here is " + shown(*list));
  }
  std::map<std::string, int> lines;
  for (const YAML::Node & value : *list) {
    Entry entry = read_entry(value, section);
    const auto [earlier, is_new] = lines.emplace(sorted_cie_id(entry.name), entry.place.line);
    if (!is_new) {
      throw YamlError(
        value.Mark(), "the id '" + entry.name + "' has an entry in line " +
                        std::to_string(earlier->second) + " already. Remove one");
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

Entry CieReader::read_entry(const YAML::Node & value, const std::string & section)
{
  const std::vector<std::string> fields = {"id",      "policy",   "priority", "nice",
                                           "runtime", "deadline", "period",   "affinity"};
  std::string subject = "entry of " + section;
  std::string id = YamlMap(value, subject, fields).string("id").value_or("");
  if (id.empty()) {
    throw YamlError(value.Mark(), subject + ": id is missing");
  }
  subject = (section == "callback_groups" ? "group '" : "thread '") + id + "'";
  Entry entry;
  entry.place = place(value.Mark());
  entry.target = Target::kGroup;
  entry.name = std::move(id);
  entry.attributes = read_scheduling(YamlMap(value, subject, fields));
  return entry;
}

/// Fields that go with another policy are passed over, as they always were; templates have them.
AttributeFields CieReader::read_scheduling(const YamlMap & map)
{
  const auto policy = map.word<SchedulingPolicy>(
    "policy", {{"SCHED_OTHER", SchedulingPolicy::kOther},
               {"SCHED_BATCH", SchedulingPolicy::kBatch},
               {"SCHED_IDLE", SchedulingPolicy::kIdle},
               {"SCHED_FIFO", SchedulingPolicy::kFifo},
               {"SCHED_RR", SchedulingPolicy::kRoundRobin},
               {"SCHED_DEADLINE", SchedulingPolicy::kDeadline}});
  if (!policy) {
    map.fail("policy is missing. Add for example 'policy: SCHED_FIFO' and 'priority: 50'");
  }
  const auto need = [&map](const std::string & field) {
    if (!map.has(field)) {
      map.fail(
        "policy", map.string("policy").value_or("") + " needs the field " + field + " beside it");
    }
    return field;
  };
  const auto nanoseconds = [&](const std::string & field) {
    return rclrt_core::Duration(map.integer(need(field), 1, INT64_MAX, " (ns)").value_or(0));
  };
  AttributeFields fields;
  fields.scheduling_policy = policy;
  switch (*policy) {
    case SchedulingPolicy::kFifo:
    case SchedulingPolicy::kRoundRobin:
      fields.priority = static_cast<int>(map.integer(need("priority"), 1, 99).value_or(1));
      break;
    case SchedulingPolicy::kDeadline:
      fields.runtime = nanoseconds("runtime");
      fields.deadline = nanoseconds("deadline");
      fields.period = nanoseconds("period");
      break;
    default: {
      // Before there was `nice`, `priority` held it.
      const char * field = map.has("nice") || !map.has("priority") ? "nice" : "priority";
      const auto nice = map.integer(need(field), -20, 19, " (nice)");
      if (*policy != SchedulingPolicy::kIdle) {  // to which it means nothing
        fields.nice = static_cast<int>(*nice);
      }
    }
  }
  const auto affinity = map.node("affinity");
  if (affinity && !affinity->IsNull() && !(affinity->IsSequence() && affinity->size() == 0)) {
    fields.cpu_affinity = map.cpus("affinity", machine_.cpu_count);
  }
  Attributes attributes;
  put(fields, &attributes);
  const auto valid = rclrt_core::validate(attributes, machine_.cpu_count, map.subject());
  if (!valid.ok()) {
    map.fail("policy", valid.message().substr(map.subject().size() + 2));
  }
  return fields;
}

void CieReader::check_hardware(const YAML::Node & value)
{
  const YamlMap expected(
    value, "hardware_info",
    {"model_name", "cpu_family", "model", "threads_per_core", "frequency_boost", "cpu_max_mhz",
     "cpu_min_mhz"});
  for (const auto & [name, here] : machine_.hardware()) {
    const auto there = expected.string(name);
    if (there && *there != here) {
      std::string text = "the file is for a machine with ";
      text.append(name).append(" '").append(*there).append("', this one has '").append(here);
      text += "'. Check the entries for this machine, then update hardware_info";
      expected.fail(name, text);
    }
  }
}

void CieReader::check_throttling(const YAML::Node & value)
{
  const YamlMap expected(value, "rt_throttling", {"period_us", "runtime_us"});
  const auto check = [&](const char * field, const char * setting) {
    const auto there = expected.integer(field, -1, INT32_MAX);
    const auto here = machine_.kernel_setting(setting);
    if (there && here && *there != *here) {
      const std::string name = std::string("kernel.") + setting;
      note(
        place(value[field].Mark()),
        name + " is " + std::to_string(*here) + ", the file expects " + std::to_string(*there),
        "As root: sysctl -w " + name + "=" + std::to_string(*there));
    }
  };
  check("period_us", "sched_rt_period_us");
  check("runtime_us", "sched_rt_runtime_us");
}

}  // namespace

bool is_cie_file(const YAML::Node & root)
{
  if (!root.IsMap()) {
    return false;
  }
  for (const auto & field : root) {
    for (const std::string & section : sections()) {
      if (field.first.IsScalar() && field.first.Scalar() == section) {
        return true;
      }
    }
  }
  return false;
}

Document read_cie_file(const YAML::Node & root, const std::string & file, const Machine & machine)
{
  return CieReader(file, machine).read(root);
}

using rclrt_core::CallbackKind;

namespace
{

/// The node's name, then the parts.
std::vector<std::string> split(const std::string & id)
{
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= id.size();) {
    const std::size_t end = std::min(id.find('@', start), id.size());
    parts.push_back(id.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

/// Without the parts for which `is_dropped(part, node)`.
template <typename Predicate>
std::string sorted_without(const std::string & id, Predicate is_dropped)
{
  std::vector<std::string> parts = split(id);
  const std::string node = parts.front();
  parts.erase(parts.begin());
  parts.erase(
    std::remove_if(
      parts.begin(), parts.end(),
      [&](const std::string & part) {
        return part.empty() || part == "Waitable" || is_dropped(part, node);
      }),
    parts.end());
  std::sort(parts.begin(), parts.end());
  std::string text = node;
  for (const std::string & part : parts) {
    text += "@" + part;
  }
  return text;
}

bool is_of_every_node(const std::string & part, const std::string & node)
{
  static const char * const services[] = {
    "describe_parameters", "get_parameter_types",  "get_parameters",
    "list_parameters",     "set_parameters",       "set_parameters_atomically",
    "get_logger_levels",   "get_type_description", "set_logger_levels",
  };
  return part == "Subscription(/parameter_events)" ||
         std::any_of(std::begin(services), std::end(services), [&](const char * service) {
           return part == "Service(" + node + "/" + service + ")";
         });
}

}  // namespace

std::string sorted_cie_id(const std::string & id)
{
  return sorted_without(id, [](const auto &, const auto &) { return false; });
}

std::string purpose_of_cie_id(const std::string & id)
{
  return sorted_without(id, is_of_every_node);
}

std::string cie_group_id(const std::string & node, const std::vector<CieMember> & members)
{
  std::string id = node;
  for (const CieMember & member : members) {
    switch (member.kind) {
      case CallbackKind::kTimer:
        id += "@Timer(" + std::to_string(member.period.count()) + ")";
        break;
      case CallbackKind::kSubscription:
        id += "@Subscription(" + member.resolved_name + ")";
        break;
      case CallbackKind::kService:
        id += "@Service(" + member.resolved_name + ")";
        break;
      case CallbackKind::kClient:
        id += "@Client(" + member.resolved_name + ")";
        break;
      case CallbackKind::kWaitable:
        break;
    }
  }
  return sorted_cie_id(id);
}

}  // namespace rclrt_config
