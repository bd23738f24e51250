// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "rclrt_reference_system/scenario.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "scenario_graph.hpp"
#include "yaml_reader.hpp"

namespace rclrt_reference_system
{

using rclrt_core::CpuSet;
using rclrt_core::Duration;
using rclrt_core::Status;

namespace
{

struct KindRules
{
  NodeKind kind;
  const char * name;
  std::vector<std::string> required;
  std::vector<std::string> optional;
};

const std::vector<KindRules> & kinds()
{
  static const std::vector<KindRules> rules = {
    {NodeKind::kSensor, "sensor", {"period_ms", "output"}, {}},
    {NodeKind::kTransform, "transform", {"input", "output"}, {}},
    {NodeKind::kFusion, "fusion", {"inputs", "output"}, {}},
    {NodeKind::kCyclic, "cyclic", {"period_ms", "inputs", "output"}, {}},
    {NodeKind::kIntersection, "intersection", {"connections"}, {}},
    {NodeKind::kCommand, "command", {"input"}, {}},
    {NodeKind::kTimer, "timer", {"period_ms", "work_ms"}, {}},
  };
  return rules;
}

/// Reads one file. Throws YamlError.
class ScenarioReader
{
public:
  explicit ScenarioReader(int cpu_count) : cpu_count_(cpu_count) {}

  Scenario read(const YAML::Node & root);

private:
  ScenarioNode read_node(const YAML::Node & yaml);
  void read_connections(const YamlMap & map, ScenarioNode * node);
  void read_hot_path(const YAML::Node & yaml);
  void check_graph();
  void check_hot_path();
  std::string add_input(const LocatedString & topic, const std::string & node);
  std::string add_output(const LocatedString & topic, const std::string & node);

  int cpu_count_;
  Scenario scenario_;
  Duration default_work_{0};
  int default_depth_ = 1;
  std::map<std::string, YAML::Mark> node_marks_;
  std::map<std::string, std::string> publishers_;                  // topic -> node
  std::set<std::pair<std::string, std::string>> subscriptions_;    // node, topic
  std::vector<std::pair<LocatedString, std::string>> input_uses_;  // topic, node
  std::vector<LocatedString> hot_names_;                           // roots, through, sink
};

Scenario ScenarioReader::read(const YAML::Node & root)
{
  const YamlMap map(root, "scenario");
  map.allow_only(
    {"schema", "name", "description", "message_type", "work_ms", "qos_depth", "nodes", "hot_path"});
  map.integer("schema", 1, 1);
  scenario_.name = map.name("name").value;
  if (map.has("description")) {
    scenario_.description = map.string("description").value;
  }
  if (map.has("message_type")) {
    const LocatedString type = map.string("message_type");
    if (type.value != kMessageType) {
      throw YamlError(
        type.mark, "unknown message_type '" + type.value + "'. Use " + std::string(kMessageType));
    }
  }
  if (map.has("work_ms")) {
    default_work_ = map.work_ms("work_ms");
  }
  if (map.has("qos_depth")) {
    default_depth_ = map.integer("qos_depth", 1, 10'000);
  }
  for (const YAML::Node & node : map.list("nodes")) {
    scenario_.nodes.push_back(read_node(node));
  }
  check_graph();
  if (map.has("hot_path")) {
    read_hot_path(map.require("hot_path"));
    check_hot_path();
  }
  return std::move(scenario_);
}

ScenarioNode ScenarioReader::read_node(const YAML::Node & yaml)
{
  YamlMap map(yaml, "node " + std::to_string(scenario_.nodes.size() + 1));
  ScenarioNode node;
  const LocatedString name = map.name("name");
  node.name = name.value;
  map.set_subject("node '" + node.name + "'");
  const auto [earlier, is_new] = node_marks_.emplace(node.name, name.mark);
  if (!is_new) {
    throw YamlError(
      name.mark, "the name '" + node.name + "' is taken by the node in line " +
                   std::to_string(earlier->second.line + 1) + ". Choose another");
  }

  const LocatedString kind = map.string("kind");
  const auto rules = std::find_if(
    kinds().begin(), kinds().end(), [&kind](const KindRules & r) { return kind.value == r.name; });
  if (rules == kinds().end()) {
    std::vector<std::string> names;
    for (const KindRules & known : kinds()) {
      names.emplace_back(known.name);
    }
    throw YamlError(
      kind.mark, map.subject() + ": unknown kind '" + kind.value + "'. Use " + join_with_or(names));
  }
  node.kind = rules->kind;
  map.set_subject(std::string(rules->name) + " '" + node.name + "'");
  std::vector<std::string> fields = {"name",     "kind",         "work_ms",    "qos_depth",
                                     "priority", "cpu_affinity", "deadline_ms"};
  fields.insert(fields.end(), rules->required.begin(), rules->required.end());
  std::sort(fields.begin() + 2, fields.end());
  fields.erase(std::unique(fields.begin(), fields.end()), fields.end());
  map.allow_only(fields);
  for (const std::string & field : rules->required) {
    map.require(field);
  }

  const bool works_by_default = node.kind != NodeKind::kSensor && node.kind != NodeKind::kCommand;
  node.work = map.has("work_ms") ? map.work_ms("work_ms")
              : works_by_default ? default_work_
                                 : Duration(0);
  if (map.has("period_ms")) {
    node.period = map.period_ms("period_ms");
  }
  if (map.has("input")) {
    node.inputs.push_back(add_input(map.topic("input"), node.name));
  }
  if (map.has("inputs")) {
    const std::vector<LocatedString> topics = map.topics("inputs");
    if (node.kind == NodeKind::kFusion && topics.size() < 2) {
      throw YamlError(
        topics[0].mark, map.subject() + ": needs two inputs or more. One is a transform");
    }
    for (const LocatedString & topic : topics) {
      node.inputs.push_back(add_input(topic, node.name));
    }
  }
  if (map.has("output")) {
    node.output = add_output(map.topic("output"), node.name);
  }
  if (map.has("connections")) {
    read_connections(map, &node);
  }
  node.qos_depth = static_cast<uint32_t>(
    map.has("qos_depth") ? map.integer("qos_depth", 1, 10'000) : default_depth_);
  if (map.has("priority")) {
    node.priority = map.integer("priority", 1, 99);
  }
  if (map.has("cpu_affinity")) {
    node.cpu_affinity = CpuSet(map.integers("cpu_affinity", 0, cpu_count_ - 1));
  }
  if (map.has("deadline_ms")) {
    node.deadline = map.period_ms("deadline_ms");
  }
  return node;
}

void ScenarioReader::read_connections(const YamlMap & map, ScenarioNode * node)
{
  for (const YAML::Node & item : map.list("connections")) {
    const YamlMap connection(
      item, map.subject() + ", connection " + std::to_string(node->connections.size() + 1));
    connection.allow_only({"input", "output", "work_ms"});
    ScenarioConnection result;
    result.input = add_input(connection.topic("input"), node->name);
    result.output = add_output(connection.topic("output"), node->name);
    result.work = connection.has("work_ms") ? connection.work_ms("work_ms") : node->work;
    node->connections.push_back(std::move(result));
  }
}

std::string ScenarioReader::add_input(const LocatedString & topic, const std::string & node)
{
  // "/a" and "a" are the same topic: nodes of a scenario have no namespace.
  LocatedString plain{topic.value.substr(topic.value[0] == '/' ? 1 : 0), topic.mark};
  if (!subscriptions_.emplace(node, plain.value).second) {
    throw YamlError(
      topic.mark, "node '" + node + "' receives topic '" + plain.value + "' twice. Remove one");
  }
  input_uses_.emplace_back(plain, node);
  return plain.value;
}

std::string ScenarioReader::add_output(const LocatedString & topic, const std::string & node)
{
  std::string plain = topic.value.substr(topic.value[0] == '/' ? 1 : 0);
  const auto [earlier, is_new] = publishers_.emplace(plain, node);
  if (!is_new) {
    throw YamlError(
      topic.mark, "topic '" + plain + "' is published by '" + earlier->second + "' and by '" +
                    node + "'. Lost samples are counted by topic, so only one may");
  }
  return plain;
}

void ScenarioReader::check_graph()
{
  for (const auto & [topic, node] : input_uses_) {
    if (publishers_.count(topic.value) == 0) {
      throw YamlError(
        topic.mark, "node '" + node + "' receives topic '" + topic.value +
                      "', which nobody publishes. Correct the name or add the node that does");
    }
  }
  const std::vector<std::string> cycle = find_cycle(scenario_, make_stages(scenario_));
  if (!cycle.empty()) {
    std::string path = cycle[0];
    for (std::size_t i = 1; i < cycle.size(); ++i) {
      path += " -> " + cycle[i];
    }
    throw YamlError(
      node_marks_.at(cycle[0]), "the nodes trigger each other in a cycle: " + path +
                                  ". Data would go round for ever; take one of the inputs away");
  }
}

void ScenarioReader::read_hot_path(const YAML::Node & yaml)
{
  const YamlMap map(yaml, "hot_path");
  map.allow_only({"roots", "through", "sink"});
  std::vector<LocatedString> roots = map.names("roots");
  if (roots.size() > kMaxHotPathRoots) {
    throw YamlError(
      roots[kMaxHotPathRoots].mark,
      "hot_path: at most " + std::to_string(kMaxHotPathRoots) + " roots");
  }
  for (const LocatedString & root : roots) {
    scenario_.hot_path.roots.push_back(root.value);
    hot_names_.push_back(root);
  }
  if (map.has("through")) {
    for (const LocatedString & name : map.names("through")) {
      scenario_.hot_path.through.push_back(name.value);
      hot_names_.push_back(name);
    }
  }
  hot_names_.push_back(map.name("sink"));
  scenario_.hot_path.sink = hot_names_.back().value;
}

void ScenarioReader::check_hot_path()
{
  const std::size_t roots = scenario_.hot_path.roots.size();
  std::vector<std::string> reached;  // topics that carry the roots' data
  std::vector<bool> leads_on(hot_names_.size(), false);
  std::vector<std::size_t> owner;  // of each topic reached: index into hot_names_
  const std::vector<Stage> stages = make_stages(scenario_);
  for (std::size_t i = 0; i < hot_names_.size(); ++i) {
    const auto & [name, mark] = hot_names_[i];
    for (std::size_t k = 0; k < i; ++k) {
      if (hot_names_[k].value == name) {
        throw YamlError(mark, "hot_path: node '" + name + "' appears twice. Remove one");
      }
    }
    if (node_marks_.count(name) == 0) {
      throw YamlError(mark, "hot_path: there is no node '" + name + "'");
    }
    bool connected = false;
    for (const Stage & stage : stages) {
      const ScenarioNode & node = scenario_.nodes[stage.node];
      if (node.name != name) {
        continue;
      }
      if (i < roots) {
        if (node.period == Duration(0) || stage.output.empty()) {
          throw YamlError(
            mark, "hot_path: root '" + name + "' is a " + to_string(node.kind) +
                    ". Use a sensor or a cyclic node");
        }
        connected = true;
      }
      bool carries = i < roots;
      for (const std::string & topic : stage.inputs) {
        const auto found = std::find(reached.begin(), reached.end(), topic);
        if (i >= roots && found != reached.end()) {
          leads_on[owner[static_cast<std::size_t>(found - reached.begin())]] = true;
          carries = connected = true;
        }
      }
      if (carries && !stage.output.empty()) {
        reached.push_back(stage.output);
        owner.push_back(i);
      }
    }
    if (!connected) {
      throw YamlError(
        mark, "hot_path: node '" + name + "' receives nothing from the nodes named before it");
    }
  }
  for (std::size_t i = 0; i + 1 < hot_names_.size(); ++i) {
    if (!leads_on[i]) {
      throw YamlError(
        hot_names_[i].mark,
        "hot_path: node '" + hot_names_[i].value + "' sends nothing to the nodes named after it");
    }
  }
}

std::string located(const std::string & source, const YAML::Mark & mark, const std::string & text)
{
  if (mark.is_null()) {
    return source + ": " + text;
  }
  return source + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1) +
         ": " + text;
}

}  // namespace

const char * to_string(NodeKind kind) noexcept
{
  for (const KindRules & rules : kinds()) {
    if (rules.kind == kind) {
      return rules.name;
    }
  }
  return "unknown";
}

Status parse_scenario(
  const std::string & text, const std::string & source, int cpu_count, Scenario * scenario)
{
  try {
    *scenario = ScenarioReader(cpu_count).read(YAML::Load(text));
    return {};
  } catch (const YamlError & error) {
    return Status::error(located(source, error.mark, error.what()));
  } catch (const YAML::Exception & error) {
    return Status::error(located(source, error.mark, "malformed YAML: " + error.msg));
  }
}

Status load_scenario(const std::string & path, int cpu_count, Scenario * scenario)
{
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    return Status::error(path + ": cannot be read. Name a scenario file (YAML)");
  }
  return parse_scenario(text.str(), path, cpu_count, scenario);
}

}  // namespace rclrt_reference_system
