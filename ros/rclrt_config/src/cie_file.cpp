// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "configuration_impl.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "fields.hpp"
#include "rclrt_config/cie_group_id.hpp"

namespace rclrt_config
{

using rclrt_core::Attributes;
using rclrt_core::Scheduling;
using rclrt_core::SchedulingPolicy;

namespace
{

/// A list of such a file.
struct Section
{
  const char * name;
  std::vector<const char *>
    keys;  ///< the field that names an entry; after it what older versions called it
  std::vector<const char *> others;  ///< the further fields
  const char * noun;                 ///< of an entry, in messages
  /// It was written by a look at the machine: a policy may be missing, and "UNMANAGEABLE" stands for no value.
  bool is_scanned;
};

const std::vector<Section> & lists()
{
  static const std::vector<Section> all = {
    {"callback_groups",
     {"id"},
     {"domain_id", "policy", "priority", "nice", "runtime", "deadline", "period", "affinity"},
     "group",
     false},
    {"non_ros_threads",
     {"name", "id"},
     {"policy", "priority", "nice", "runtime", "deadline", "period", "affinity"},
     "thread",
     false},
    {"kernel_threads",
     {"comm"},
     {"policy", "priority", "nice", "runtime", "deadline", "period", "affinity"},
     "kernel thread",
     true},
    {"irqs", {"irq"}, {"name", "affinity"}, "interrupt", true},
  };
  return all;
}

std::vector<std::string> sections()
{
  std::vector<std::string> names = {"hardware_info", "rt_throttling"};
  for (const Section & list : lists()) {
    names.emplace_back(list.name);
  }
  return names;
}

/// Numbers in these files are decimal whatever zeros stand in front.
void strip_zeros(YAML::Node value)
{
  if (!value.IsScalar() || value.Scalar().size() < 2) {
    return;
  }
  const std::string & text = value.Scalar();
  const std::size_t sign = text[0] == '-' ? 1 : 0;
  if (text.find_first_not_of("0123456789", sign) == std::string::npos && text[sign] == '0') {
    const std::size_t digit = std::min(text.find_first_not_of('0', sign), text.size() - 1);
    value = text.substr(0, sign) + text.substr(digit);
  }
}

/// Takes away the fields without a value, and the zeros in front of numbers.
void simplify(YAML::Node entry, bool is_scanned)
{
  static const std::vector<std::string> words = {"id", "name", "comm"};
  if (!entry.IsMap()) {
    return;
  }
  std::vector<YAML::Node> without;
  for (const auto & field : entry) {
    const YAML::Node & value = field.second;
    const bool is_marked = is_scanned && value.IsScalar() && value.Scalar() == "UNMANAGEABLE";
    if (value.IsNull() || (value.IsSequence() && value.size() == 0) || is_marked) {
      without.push_back(field.first);
    } else if (
      field.first.IsScalar() &&
      std::find(words.begin(), words.end(), field.first.Scalar()) == words.end()) {
      strip_zeros(value);
      if (value.IsSequence()) {  // not what is inside of its items: an alias may be endless
        std::for_each(value.begin(), value.end(), strip_zeros);
      }
    }
  }
  for (const YAML::Node & name : without) {
    entry.remove(name);
  }
}

class CieReader
{
public:
  CieReader(const std::string & file, const Machine & machine) : file_(file), machine_(machine) {}

  Document read(const YAML::Node & root);

private:
  std::vector<Entry> read_list(const YamlMap & file, const Section & section);
  Entry read_entry(const YAML::Node & value, const Section & section);
  Changes<Scheduling> read_scheduling(const YamlMap & map, const Section & section);
  void keep(std::vector<Entry> entries, const Section & section);
  void check_hardware(const YAML::Node & value);
  void check_throttling(const YAML::Node & value);
  void note(
    const Place & place, const std::string & what, const std::string & fix,
    rclrt_core::Severity severity = rclrt_core::Severity::kWarning)
  {
    document_.notes.push_back({to_string(place), what, 0, fix, severity});
  }
  /// One finding for all entries of a list that are not for an executor of this process.
  void leave(const std::vector<Entry> & entries, const std::string & what, const std::string & fix)
  {
    if (!entries.empty()) {
      note(
        entries.front().place, what + ": " + std::to_string(entries.size()), fix,
        rclrt_core::Severity::kNote);
    }
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
  for (const Section & section : lists()) {
    keep(read_list(file, section), section);
  }
  return std::move(document_);
}

void CieReader::keep(std::vector<Entry> entries, const Section & section)
{
  const std::string name = section.name;
  if (name == "callback_groups") {
    const auto elsewhere = std::stable_partition(
      entries.begin(), entries.end(),
      [this](const Entry & entry) { return entry.cie_domain == machine_.domain_id; });
    leave(
      {elsewhere, entries.end()},
      "entries of callback_groups for another domain than this process's, " +
        std::to_string(machine_.domain_id),
      "Nothing is to be done if other processes are meant");
    entries.erase(elsewhere, entries.end());
    for (Entry & entry : entries) {
      entry.cie_id = sorted_cie_id(entry.name);
      entry.cie_purpose = purpose_of_cie_id(entry.name);
      document_.entries.push_back(std::move(entry));
    }
    return;
  }
  const auto asks = [](const Entry & entry) {
    const Attributes wanted = attributes_of(entry.changes);
    Attributes untouched;
    untouched.scheduling_policy = SchedulingPolicy::kOther;
    return wanted != Attributes() && wanted != untouched;
  };
  entries.erase(std::stable_partition(entries.begin(), entries.end(), asks), entries.end());
  if (name == "non_ros_threads") {
    for (const Entry & entry : entries) {
      document_.threads.push_back({entry.name, attributes_of(entry.changes)});
    }
  } else {
    leave(
      entries, "entries of " + name + " that are not an executor's", "rclrt apply follows them");
  }
}

std::vector<Entry> CieReader::read_list(const YamlMap & file, const Section & section)
{
  const std::string name = section.name;
  std::vector<Entry> entries;
  const auto list = file.node(name);
  if (!list || list->IsNull()) {
    return entries;
  }
  if (!list->IsSequence()) {
    file.fail(name, name + " must be a list; here is " + shown(*list));
  }
  std::map<std::pair<int64_t, std::string>, int> lines;
  for (const YAML::Node & value : *list) {
    Entry entry = read_entry(value, section);
    const auto [earlier, is_new] =
      lines.emplace(std::pair(entry.cie_domain, sorted_cie_id(entry.name)), entry.place.line);
    if (!is_new) {
      throw YamlError(
        value.Mark(), std::string("the ") + section.noun + " '" + entry.name +
                        "' has an entry in line " + std::to_string(earlier->second) +
                        " already. Remove one");
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

Entry CieReader::read_entry(const YAML::Node & value, const Section & section)
{
  std::vector<std::string> fields(section.keys.begin(), section.keys.end());
  fields.insert(fields.end(), section.others.begin(), section.others.end());
  simplify(value, section.is_scanned);
  std::string subject = std::string("entry of ") + section.name;
  const YamlMap unnamed(value, subject, fields);
  Entry entry;
  entry.place = place(value.Mark());
  entry.target = Target::kGroup;
  for (const char * key : section.keys) {
    entry.name = entry.name.empty() ? unnamed.string(key).value_or("") : entry.name;
  }
  if (entry.name.empty()) {
    throw YamlError(value.Mark(), subject + ": " + section.keys.front() + " is missing");
  }
  subject = std::string(section.noun) + " '" + entry.name + "'";
  const YamlMap map(value, subject, fields);
  map.integer("irq", 0, INT32_MAX);
  entry.cie_domain = map.integer("domain_id", 0, INT32_MAX).value_or(machine_.domain_id);
  entry.changes = read_scheduling(map, section);
  // A node's name, then "/*": all of its groups.
  if (map.has("id") && entry.name.find('*') != std::string::npos) {
    const bool is_good = entry.name.size() > 2 &&
                         entry.name.find_first_of("*@") == entry.name.size() - 1 &&
                         entry.name[entry.name.size() - 2] == '/';
    if (!is_good) {
      map.fail("id", "a * can only stand at the end, after the node's name and a slash: /node/*");
    }
  }
  return entry;
}

/// Fields that go with another policy are passed over, as they always were; templates have them.
Changes<Scheduling> CieReader::read_scheduling(const YamlMap & map, const Section & section)
{
  Changes<Scheduling> changes = {
    attribute(&Attributes::cpu_affinity, map.cpus("affinity", machine_.cpu_count, true))};
  const auto policy = map.word<SchedulingPolicy>(
    "policy", {{"SCHED_OTHER", SchedulingPolicy::kOther},
               {"SCHED_BATCH", SchedulingPolicy::kBatch},
               {"SCHED_IDLE", SchedulingPolicy::kIdle},
               {"SCHED_FIFO", SchedulingPolicy::kFifo},
               {"SCHED_RR", SchedulingPolicy::kRoundRobin},
               {"SCHED_DEADLINE", SchedulingPolicy::kDeadline}});
  if (!policy && section.is_scanned) {
    for (const char * field : {"priority", "nice", "runtime", "deadline", "period"}) {
      if (map.has(field)) {
        map.fail(field, std::string(field) + " needs a policy beside it");
      }
    }
    return changes;
  }
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
    return map.integer(need(field), 1, INT64_MAX, " (ns)");
  };
  changes.push_back(start_afresh(*policy));
  switch (*policy) {
    case SchedulingPolicy::kFifo:
    case SchedulingPolicy::kRoundRobin:
      changes.push_back(attribute(&Attributes::priority, map.integer(need("priority"), 1, 99)));
      break;
    case SchedulingPolicy::kDeadline:
      changes.push_back(attribute(&Attributes::runtime, nanoseconds("runtime")));
      changes.push_back(attribute(&Attributes::deadline, nanoseconds("deadline")));
      changes.push_back(attribute(&Attributes::period, nanoseconds("period")));
      break;
    default: {
      // Before there was `nice`, `priority` held it.
      const char * field = map.has("nice") || !map.has("priority") ? "nice" : "priority";
      const auto nice = map.integer(need(field), -20, 19, " (nice)");
      if (*policy != SchedulingPolicy::kIdle) {  // to which it means nothing
        changes.push_back(attribute(&Attributes::nice, nice));
      }
    }
  }
  check_attributes(changes, map, "policy", machine_.cpu_count);
  return changes;
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
