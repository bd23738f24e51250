// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "configuration_impl.hpp"

#include <algorithm>
#include <csignal>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "fields.hpp"

namespace rclrt_config
{

using rclrt_core::Attributes;
using rclrt_core::AttributesMode;
using rclrt_core::DeadlineFrom;
using rclrt_core::Duration;
using rclrt_core::EngineOptions;
using rclrt_core::OverrunRule;
using rclrt_core::PriorityKey;
using rclrt_core::Scheduling;
using rclrt_core::Waiting;
using rclrt_core::WaitingOptions;

namespace
{

constexpr char kEverywhere[] = "/**";

using Change = std::function<void(Scheduling *)>;

struct CallbackField
{
  const char * name;
  Change (*read)(const YamlMap & map);
};

/// The fields of a callback besides those of its attributes.
const CallbackField kCallbackFields[] = {
  {"relative_deadline",
   [](const YamlMap & map) {
     return change(
       &Scheduling::relative_deadline,
       map.duration("relative_deadline", "that of what triggered it"));
   }},
  {"deadline_from",
   [](const YamlMap & map) {
     return change(
       &Scheduling::deadline_from,
       map.word<DeadlineFrom>(
         "deadline_from", {{"release", DeadlineFrom::kRelease},
                           {"source_stamp", DeadlineFrom::kSourceStamp},
                           {"header_stamp", DeadlineFrom::kHeaderStamp}}));
   }},
  {"clock_error",
   [](const YamlMap & map) {
     return change(&Scheduling::clock_error, map.duration("clock_error", "the same clock"));
   }},
  {"overruns",
   [](const YamlMap & map) {
     return change(
       &Scheduling::overrun_rule, map.word<OverrunRule>(
                                    "overruns", {{"queue_all", OverrunRule::kQueueAll},
                                                 {"keep_latest", OverrunRule::kKeepLatest},
                                                 {"skip", OverrunRule::kSkip}}));
   }},
  {"inline_bound",
   [](const YamlMap & map) {
     return change(&Scheduling::inline_bound, map.duration("inline_bound", "no inline run"));
   }},
  {"budget", [](const YamlMap & map) { return change(&Scheduling::budget, read_budget(map)); }},
  {"queue_priority",
   [](const YamlMap & map) {
     return change(
       &Scheduling::queue_priority, map.integer("queue_priority", 1, 99, ". Larger goes first"));
   }},
  {"inherit_priority",
   [](const YamlMap & map) {
     return change(&Scheduling::inherit_priority, map.boolean("inherit_priority"));
   }},
};

std::vector<std::string> callback_field_names()
{
  std::vector<std::string> names;
  for (const CallbackField & field : kCallbackFields) {
    names.emplace_back(field.name);
  }
  names.insert(names.end(), std::begin(kAssumptionFields), std::end(kAssumptionFields));
  return attribute_field_names(names);
}

/// What executor.policy chooses.
struct PolicyWord
{
  const rclrt_core::Policy * policy = nullptr;
  std::optional<PriorityKey> key;
};

class ParametersReader
{
public:
  ParametersReader(const std::string & file, int cpu_count) : file_(file), cpu_count_(cpu_count) {}

  Document read(const YAML::Node & root)
  {
    read_namespace(root, "");
    return std::move(document_);
  }

private:
  void read_namespace(const YAML::Node & map, const std::string & key);
  void read_parameters(const YAML::Node & map, const std::string & node);
  void read_rclrt(const YAML::Node & map, const std::string & node);
  void read_entries(const YAML::Node & map, const std::string & node, Target target);
  Entry read_entry(const YamlField & field, const std::string & node, Target target);
  void read_executor(const YamlField & field, const std::string & node);
  void read_trace(const YamlField & field, const std::string & node);
  static void throw_unless_everywhere(
    const YamlField & field, const std::string & node, const std::optional<Place> & earlier);
  std::optional<Attributes> read_thread(const YamlMap & executor, const std::string & field);
  std::vector<NamedThread> read_threads(const YamlMap & executor);
  Place place(const YAML::Mark & mark) const { return {file_, mark.line + 1, mark.column + 1}; }

  const std::string & file_;
  int cpu_count_;
  Document document_;
  /// With aliases a small file can be an endless tree.
  int maps_left_ = 100'000;
  std::map<std::pair<Target, std::string>, int> lines_;
};

/// Namespaces and nodes, as deep as there are, down to ros__parameters. `key` is what rcl makes of the names so far.
void ParametersReader::read_namespace(const YAML::Node & map, const std::string & key)
{
  const std::string name = (key.empty() || key[0] == '/' ? "" : "/") + key;
  for (const YamlField & field : fields_of(map, key.empty() ? "file" : "'" + name + "'")) {
    if (--maps_left_ < 0 || name.size() > 4096) {
      throw YamlError(field.name_mark, "the namespaces are nested without end. Remove the alias");
    }
    if (field.name == "ros__parameters") {
      if (name.empty()) {
        throw YamlError(
          field.name_mark, "ros__parameters of which node? Put it under a name such as '/**'");
      }
      document_.nodes.push_back(key);
      read_parameters(field.value, name);
    } else if (!field.value.IsMap()) {
      throw YamlError(
        field.name_mark, "'" + field.name.substr(0, 60) +
                           "' stands outside of ros__parameters. Put it into '/**: "
                           "ros__parameters:'");
    } else {
      const bool is_joined = key.empty() || key.back() == '/' || field.name.rfind('/', 0) == 0;
      read_namespace(field.value, key + (is_joined ? "" : "/") + field.name);
    }
  }
}

void ParametersReader::read_parameters(const YAML::Node & map, const std::string & node)
{
  if (map.IsNull()) {
    return;
  }
  bool seen = false;
  for (const YamlField & field : fields_of(map, "ros__parameters of '" + node + "'")) {
    if (field.name == "rclrt") {
      if (std::exchange(seen, true)) {
        throw YamlError(field.name_mark, "'rclrt' appears twice here. Make one of the two");
      }
      const std::string problem = NamePattern::problem_with(node);
      if (!problem.empty()) {
        std::string text = "the node's name '";
        text.append(node, 0, 200).append("' cannot be used: ").append(problem);
        throw YamlError(field.name_mark, text);
      }
      read_rclrt(field.value, node);
    } else if (field.name.rfind("rclrt.", 0) == 0) {
      throw YamlError(
        field.name_mark, "'" + field.name.substr(0, 60) +
                           "' would be passed over. Write a map 'rclrt:' instead of dots");
    }
  }
}

void ParametersReader::read_rclrt(const YAML::Node & map, const std::string & node)
{
  // Threads that are no executor's belong to `./rclrt apply`, which checks them.
  const std::set<std::string> of_apply = {"non_ros_threads", "kernel_threads", "irqs"};
  std::vector<std::string> names = {"executor", "callbacks", "groups",
                                    "trace",    "chains",    "diagnostics"};
  names.insert(names.end(), of_apply.begin(), of_apply.end());
  const YamlMap sections(map, "rclrt", names);
  for (const YamlField & field : fields_of(map, "rclrt")) {
    if (of_apply.count(field.name) != 0) {
      continue;
    }
    if (field.name == "executor") {
      read_executor(field, node);
    } else if (field.name == "trace") {
      read_trace(field, node);
    } else if (field.name == "chains") {
      throw_unless_everywhere(field, node, document_.chains_place);
      document_.chains_place = place(field.name_mark);
      document_.chains = read_chains(field.value, file_);
    } else if (field.name == "diagnostics") {
      throw_unless_everywhere(field, node, std::nullopt);
      document_.diagnostics = sections.boolean("diagnostics");
    } else {
      read_entries(field.value, node, field.name == "groups" ? Target::kGroup : Target::kCallback);
    }
  }
}

void ParametersReader::read_entries(const YAML::Node & map, const std::string & node, Target target)
{
  for (const YamlField & field :
       fields_of(map, target == Target::kGroup ? "groups" : "callbacks")) {
    Entry entry = read_entry(field, node, target);
    const auto [earlier, is_new] = lines_.emplace(std::pair(target, entry.name), entry.place.line);
    if (!is_new) {
      throw YamlError(
        field.name_mark, "'" + entry.name + "' has an entry in line " +
                           std::to_string(earlier->second) + " already. Make one of the two");
    }
    document_.entries.push_back(std::move(entry));
  }
}

Entry ParametersReader::read_entry(const YamlField & field, const std::string & node, Target target)
{
  const bool is_absolute = !field.name.empty() && field.name[0] == '/';
  const bool is_group = target == Target::kGroup;
  const auto fail = [&field](const std::string & text) {
    throw YamlError(field.name_mark, "'" + field.name.substr(0, 200) + "': " + text);
  };
  if (is_absolute && node != kEverywhere) {
    fail(
      "under the node '" + node + "' names go on from the node's, such as " +
      (is_group ? "group/default" : "subscription/scan") +
      ". Names with a slash in front belong under '/**'");
  }
  Entry entry;
  entry.place = place(field.name_mark);
  entry.node = document_.nodes.back();
  entry.target = target;
  entry.name = is_absolute ? field.name : node + "/" + field.name;
  const std::string problem = NamePattern::problem_with(entry.name);
  if (!problem.empty()) {
    fail(problem);
  }
  entry.pattern = NamePattern(entry.name);
  const std::vector<std::string> kinds =
    is_group ? std::vector<std::string>{"group"}
             : std::vector<std::string>{"timer", "subscription", "service", "client", "waitable"};
  if (!entry.pattern.has_wildcard() && std::none_of(kinds.begin(), kinds.end(), [&](auto & kind) {
        return entry.pattern.has_part(kind);
      })) {
    fail(
      "nothing can have this name. Write the node's name, then " + join_with_or(kinds) + ", then " +
      (is_group ? "the group's name" : "the topic, the service or the given name"));
  }

  const std::string subject = (is_group ? "group '" : "callback '") + entry.name + "'";
  const YamlMap map(
    field.value, subject, is_group ? attribute_field_names({"budget"}) : callback_field_names());
  if (map.is_empty()) {
    fail("the entry is empty. Give it a field or remove it");
  }
  entry.changes = read_attributes(map, cpu_count_);
  if (is_group) {
    entry.changes.push_back(change(&Scheduling::budget, read_budget(map)));
    return entry;
  }
  for (const CallbackField & callback_field : kCallbackFields) {
    if (map.has(callback_field.name)) {
      entry.changes.push_back(callback_field.read(map));
    }
  }
  entry.assumed = read_assumption_fields(map);
  return entry;
}

void ParametersReader::throw_unless_everywhere(
  const YamlField & field, const std::string & node, const std::optional<Place> & earlier)
{
  if (node != kEverywhere) {
    throw YamlError(
      field.name_mark, "an executor does not belong to the node '" + node + "' alone. Put '" +
                         field.name + "' under '/**'");
  }
  if (earlier) {
    throw YamlError(
      field.name_mark, "'" + field.name + "' is in line " + std::to_string(earlier->line) +
                         " already. Make one of the two");
  }
}

void ParametersReader::read_trace(const YamlField & field, const std::string & node)
{
  const auto & earlier = document_.traces;
  throw_unless_everywhere(
    field, node, earlier.empty() ? std::nullopt : std::optional<Place>(earlier.front().place));
  const YamlMap map(field.value, "trace", {"directory", "keep", "on_miss", "on_signal", "limit"});
  document_.traces.push_back(
    {place(field.name_mark),
     {change(&TraceOptions::directory, map.string("directory")),
      change(&TraceOptions::keep, map.duration("keep", "everything")),
      change(&TraceOptions::on_miss, map.boolean("on_miss")),
      change(
        &TraceOptions::on_signal,
        map.word<int>(
          "on_signal", {{"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}, {"SIGHUP", SIGHUP}})),
      change(
        &TraceOptions::limit, map.integer("limit", 1'000'000, int64_t{1} << 50, " (bytes)"))}});
}

void ParametersReader::read_executor(const YamlField & field, const std::string & node)
{
  const auto & earlier = document_.executors;
  throw_unless_everywhere(
    field, node, earlier.empty() ? std::nullopt : std::optional<Place>(earlier.front().place));
  const YamlMap map(
    field.value, "executor",
    {"policy", "max_threads", "attributes", "middleware_thread", "threads", "timer_thread",
     "lock_memory", "stack_size", "deadline_scheduler", "wait", "spin", "beat"});
  const auto waiting = [](auto member, const auto & value) {
    return change(&EngineOptions::waiting, change(member, value));
  };
  const auto & by_priority = rclrt_core::fixed_priority_policy();
  std::vector<std::pair<const char *, PolicyWord>> orders;
  for (const rclrt_core::Policy * policy : rclrt_core::every_policy()) {
    orders.push_back({policy->name(), {policy, {}}});
  }
  orders.push_back({"rate_monotonic", {&by_priority, PriorityKey::kRateMonotonic}});
  orders.push_back({"deadline_monotonic", {&by_priority, PriorityKey::kDeadlineMonotonic}});

  ExecutorEntry entry;
  entry.place = place(field.name_mark);
  if (const auto word = map.word<PolicyWord>("policy", orders)) {
    entry.policy = word->policy;
    entry.priority_key = word->key;
  }
  entry.has_max_threads = map.has("max_threads");
  entry.middleware_thread = read_thread(map, "middleware_thread");
  entry.threads = read_threads(map);
  entry.deadline_scheduler = map.word<DeadlineBackend>(
    "deadline_scheduler", {{"auto", DeadlineBackend::kAuto},
                           {"sched_ext", DeadlineBackend::kSchedExt},
                           {"fifo_bands", DeadlineBackend::kFifoBands}});
  const auto beat = map.duration("beat", "none");
  if (beat > Duration{0} && beat < std::chrono::microseconds(50)) {
    map.fail("beat", "beat is below 50us: the CPUs would do little else. Use 200us to 1ms");
  }
  entry.changes = {
    change(&EngineOptions::max_threads, map.integer("max_threads", 1, 1000)),
    change(
      &EngineOptions::attributes_mode, map.word<AttributesMode>(
                                         "attributes", {{"require", AttributesMode::kRequire},
                                                        {"prefer", AttributesMode::kPrefer},
                                                        {"off", AttributesMode::kOff}})),
    change(&EngineOptions::timer_thread, read_thread(map, "timer_thread")),
    change(&EngineOptions::lock_memory, map.boolean("lock_memory")),
    change(
      &EngineOptions::stack_size, map.integer("stack_size", 65'536, int64_t{1} << 32, " (bytes)")),
    waiting(
      &WaitingOptions::kind,
      map.word<Waiting>(
        "wait",
        {{"block", Waiting::kBlock}, {"spin", Waiting::kSpin}, {"adaptive", Waiting::kAdaptive}})),
    waiting(&WaitingOptions::spin, map.duration("spin")),
    waiting(&WaitingOptions::beat, beat)};
  document_.executors.push_back(entry);
}

std::optional<Attributes> ParametersReader::read_thread(
  const YamlMap & executor, const std::string & field)
{
  const auto value = executor.node(field);
  if (!value) {
    return std::nullopt;
  }
  const YamlMap map(*value, field, attribute_field_names());
  const Attributes attributes = attributes_of(read_attributes(map, cpu_count_));
  if (attributes.scheduling_policy == rclrt_core::SchedulingPolicy::kUnchanged) {
    map.fail("scheduling_policy is missing");
  }
  return attributes;
}

std::vector<NamedThread> ParametersReader::read_threads(const YamlMap & executor)
{
  constexpr std::size_t kLongestName = 15;  // of a thread, on Linux
  std::vector<NamedThread> threads;
  if (const auto names = executor.node("threads")) {
    std::vector<std::string> all;
    for (const YamlField & field : fields_of(*names, "threads")) {
      const std::string & name = field.name;
      if (name.empty() || name.size() > kLongestName + (name.back() == '*' ? 1 : 0)) {
        throw YamlError(
          field.name_mark, "'" + name.substr(0, 100) +
                             "' is no name of a thread: it has 1 to 15 bytes, or is the beginning "
                             "of names, with * at the end");
      }
      if (name.compare(0, 5, "rclrt") == 0) {
        throw YamlError(
          field.name_mark, "'" + name +
                             "' are threads of executors, which have what their callbacks ask for. "
                             "Use callbacks, groups, timer_thread or middleware_thread");
      }
      all.push_back(name);
    }
    const YamlMap map(*names, "threads", all);
    for (const std::string & name : all) {
      if (const auto attributes = read_thread(map, name)) {
        threads.push_back({name, *attributes});
      }
    }
  }
  return threads;
}

}  // namespace

Document read_parameters_file(const YAML::Node & root, const std::string & file, int cpu_count)
{
  if (root.IsNull()) {
    return {};
  }
  return ParametersReader(file, cpu_count).read(root);
}

}  // namespace rclrt_config
