// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include <chrono>
#include <sstream>
#include <string>

#include "rclrt_reference_system/scenario.hpp"

namespace rclrt_reference_system
{
namespace
{

using namespace std::chrono_literals;
using rclrt_core::Duration;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kCpus = 2;

std::string error_of(const std::string & text)
{
  Scenario scenario;
  scenario.name = "before";
  const rclrt_core::Status status = parse_scenario(text, "file.yaml", kCpus, &scenario);
  EXPECT_FALSE(status.ok()) << text;
  EXPECT_EQ(scenario.name, "before") << "a refused file must leave the scenario alone";
  return status.message();
}

/// A file whose list of nodes is `nodes`; they start in line 4.
std::string file_with(const std::string & nodes, const std::string & more = "")
{
  return "schema: 1\nname: test\nnodes:\n" + nodes + more;
}

const char kCamera[] = "- {name: Camera, kind: sensor, period_ms: 50, output: image}\n";

Scenario shipped(const std::string & name)
{
  Scenario scenario;
  const std::string path = std::string(RCLRT_SCENARIOS) + "/" + name;
  const rclrt_core::Status status = load_scenario(path, kCpus, &scenario);
  EXPECT_TRUE(status.ok()) << status.message();
  return scenario;
}

TEST(ScenarioLoader, reads_the_autoware_reference_system)
{
  const Scenario scenario = shipped("autoware_reference_system.yaml");
  ASSERT_EQ(scenario.nodes.size(), 24u);
  int count[7] = {};
  double working_per_s = 0;
  for (const ScenarioNode & node : scenario.nodes) {
    ++count[static_cast<int>(node.kind)];
    EXPECT_EQ(node.qos_depth, node.kind == NodeKind::kCommand ? 10u : 1u) << node.name;
    const bool works = node.kind != NodeKind::kSensor && node.kind != NodeKind::kCommand;
    EXPECT_EQ(node.work, works ? Duration(1930us) : Duration(0)) << node.name;
    if (node.kind == NodeKind::kSensor) {
      working_per_s += 1e9 / static_cast<double>(node.period.count());
    }
  }
  EXPECT_THAT(count, ElementsAre(6, 9, 5, 1, 1, 2, 0));
  EXPECT_NEAR(working_per_s, 10 + 10 + 1000.0 / 120 + 1000.0 / 60 + 10 + 40, 1e-9);
  EXPECT_THAT(scenario.hot_path.roots, ElementsAre("FrontLidarDriver", "RearLidarDriver"));
  EXPECT_EQ(scenario.hot_path.through.size(), 5u);
  EXPECT_EQ(scenario.hot_path.sink, "ObjectCollisionEstimator");
}

TEST(ScenarioLoader, reads_the_seven_timers_at_the_utilization_in_their_name)
{
  const std::pair<const char *, double> files[] = {
    {"teper_seven_timers_60.yaml", 0.61},
    {"teper_seven_timers_80.yaml", 0.80},
    {"teper_seven_timers_90.yaml", 0.895}};
  for (const auto & [file, expected] : files) {
    double utilization = 0;
    const Scenario scenario = shipped(file);
    for (const ScenarioNode & node : scenario.nodes) {
      EXPECT_EQ(node.kind, NodeKind::kTimer);
      utilization +=
        static_cast<double>(node.work.count()) / static_cast<double>(node.period.count());
    }
    EXPECT_EQ(scenario.nodes.size(), 7u);
    EXPECT_NEAR(utilization, expected, 0.005) << file;
    EXPECT_TRUE(scenario.hot_path.roots.empty());
  }
}

TEST(ScenarioLoader, a_node_overrides_the_defaults_of_the_file)
{
  Scenario scenario;
  const std::string text =
    "schema: 1\nname: test\nwork_ms: 2\nqos_depth: 3\nnodes:\n" + std::string(kCamera) +
    "- {name: A, kind: transform, input: image, output: a}\n"
    "- {name: B, kind: transform, input: /image, output: b, work_ms: 0.5, qos_depth: 7,\n"
    "   priority: 42, cpu_affinity: [1], deadline_ms: 12.5}\n";
  const rclrt_core::Status status = parse_scenario(text, "file.yaml", kCpus, &scenario);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(scenario.nodes[0].work, Duration(0)) << "a sensor works only if it says so";
  EXPECT_EQ(scenario.nodes[0].period, Duration(50ms));
  EXPECT_EQ(scenario.nodes[1].work, Duration(2ms));
  EXPECT_EQ(scenario.nodes[1].qos_depth, 3u);
  EXPECT_EQ(scenario.nodes[1].priority, 0);
  const ScenarioNode & b = scenario.nodes[2];
  EXPECT_THAT(b.inputs, ElementsAre("image")) << "/image and image are one topic";
  EXPECT_EQ(b.work, Duration(500us));
  EXPECT_EQ(b.qos_depth, 7u);
  EXPECT_EQ(b.priority, 42);
  EXPECT_THAT(b.cpu_affinity.cpus(), ElementsAre(1));
  EXPECT_EQ(b.deadline, Duration(12500us));
}

/// Line by line a file, " => ", and what is said of it; "|" are ends of lines. What begins with "-" are nodes, which
/// "NODES:" stands before; "@" is the camera. "hot:" is a path over nodes, "timer:" the fields of one.
constexpr char kRefused[] = R"(
=> must be a map
- 1|- 2 => 1:1: scenario: it must be a map
? {a: b}|: c => must be a word
schema: 2|name: x|nodes: [] => 1:9: scenario: schema
name: x => 'schema' is missing
schema: 1|name: x|nodes: [] => a list of at least one
schema: 1|schema: 1 => 2:1: scenario: field 'schema' appears twice
schema: 1|name: x|message_type: std_msgs/msg/String|nodes: [] => 3:15: unknown message_type 'std_msgs/msg/String'. Use r
NODES: - 3 => 4:3: node 1: it must be a map
NODES: - {name: A, kind: sensr, output: a} => 4:19: node 'A': unknown kind 'sensr'. Use sensor, transform, fusion, cycl
NODES: - {name: A, kind: sensor, perod_ms: 5, output: a} => 4:27: sensor 'A': unknown field 'perod_ms'. Use name, kind,
NODES: - {name: A, kind: command, input: a, output: b} => command 'A': unknown field 'output'
NODES: @colour: red => 5:1: scenario: unknown field
NODES: - {name: A, kind: timer, period_ms: 5} => timer 'A': field 'work_ms' is missing
NODES: @@ => 5:10: the name 'Camera' is taken by the node in line 4
NODES: @- {name: B, kind: sensor, period_ms: 5, output: /image} => 5:49: topic 'image' is published by 'Camera' and by 'B
NODES: @- {name: B, kind: fusion, inputs: [image, /image], output: b} => receives topic 'image' twice
NODES: @- {name: B, kind: command, input: images} => 5:35: node 'B' receives topic 'images', which nobody publishes
NODES: - {name: A, kind: transform, input: a, output: a} => 4:10: the nodes trigger each other in a cycle: A -> A
timer: period_ms: 1, work_ms: 1, cpu_affinity: [] => at least one
timer: period_ms: 1, work_ms: 1, deadline_ms: -3 => deadline_ms must be
timer: period_ms: 1, work_ms: 1, qos_depth: 0 => qos_depth must be
hot: roots: [Camera], sink: C => 'C' receives nothing from the nodes named before
hot: roots: [Camera], through: [A, B], sink: C => 8:42: hot_path: node 'B' sends nothing to the nodes named after it
hot: roots: [Camra], sink: C => there is no node 'Camra'
hot: roots: [A], sink: C => root 'A' is a transform
hot: roots: [Camera], through: [A, A], sink: C => twice
hot: roots: [Camera], through: [A, C], sink: C => twice
hot: roots: [Camera] => 'sink' is missing
hot: roots: [a, b, c, d, e, f, g, h, i], sink: C => at most 8 roots
)";

/// Rows as those above, with each of the words before ";" in place of "$".
constexpr char kRefusedWords[] = R"(
1st a-b "" "ä" a/b ; NODES: - {name: $, kind: sensor, period_ms: 5, output: a} => 4:10: node 1: name
/ a//b a/ "" ~x a/1 "{node}" ; NODES: - {name: A, kind: sensor, period_ms: 5, output: $} => 4:49: sensor 'A': output
-1 0 -0.0 .nan .inf 1e300 fast [] '' 1e-9 ; timer: period_ms: $, work_ms: 1 => 4:37: timer 'A': period_ms must be a
-0.1 .nan -.inf 1e9 busy ; timer: work_ms: $, period_ms: 1 => 4:35: timer 'A': work_ms must be
0 100 -5 1.5 high 99999999999999999999 ; timer: period_ms: 1, work_ms: 1, priority: $ => 4:62: timer 'A': priority must
[2] [0,7] [-1] [one] ; timer: period_ms: 1, work_ms: 1, cpu_affinity: $ => each of cpu_affinity must be a whole number f
)";

const char kPaths[] =
  "- {name: A, kind: transform, input: image, output: a}\n"
  "- {name: B, kind: transform, input: image, output: b}\n- {name: C, kind: command, input: a}\n";

std::string replaced(std::string text, char what, const std::string & with)
{
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size()) {
    text.replace(at, 1, with);
  }
  return text;
}

/// The file of a row of the tables.
std::string file_of(const std::string & said)
{
  const auto after = [&said](const std::string & word) {
    return said.rfind(word, 0) == 0 ? said.substr(word.size()) : std::string();
  };
  if (const std::string nodes = after("NODES: "); !nodes.empty()) {
    return file_with(replaced(nodes, '@', kCamera) + "\n");
  }
  if (const std::string fields = after("timer: "); !fields.empty()) {
    return file_with("- {name: A, kind: timer, " + fields + "}\n");
  }
  if (const std::string path = after("hot: "); !path.empty()) {
    return file_with(std::string(kCamera) + kPaths, "hot_path: {" + path + "}\n");
  }
  return replaced(said, '|', "\n");
}

void expect_refused(const std::string & row)
{
  const std::size_t at = row.find("=> ");
  ASSERT_NE(at, std::string::npos) << row;
  const std::string said = row.substr(0, at == 0 ? 0 : at - 1);
  const std::string error = error_of(file_of(said));
  EXPECT_THAT(error, HasSubstr(row.substr(at + 3))) << row;
  EXPECT_THAT(error, StartsWith("file.yaml")) << row;
}

TEST(ScenarioLoader, what_cannot_run_is_refused_with_its_place_and_what_to_write)
{
  std::istringstream rows(kRefused + 1);
  for (std::string row; std::getline(rows, row);) {
    expect_refused(row);
  }
  std::istringstream more(kRefusedWords + 1);
  for (std::string row; std::getline(more, row);) {
    const std::size_t end = row.find(" ; ");
    std::istringstream words(row.substr(0, end));
    for (std::string word; words >> word;) {
      expect_refused(replaced(row.substr(end + 3), '$', word));
    }
  }
  const std::string fields = "- {name: " + std::string(300, 'a') + ", kind: timer}\n";
  EXPECT_THAT(error_of(file_with(fields)), HasSubstr("not a valid name"));
  Scenario scenario;
  EXPECT_TRUE(
    parse_scenario(file_of("hot: roots: [Camera], through: [A], sink: C"), "f", 2, &scenario).ok());
}

TEST(ScenarioLoader, a_cycle_is_refused_and_shown)
{
  EXPECT_THAT(
    error_of(file_with(
      std::string(kCamera) + "- {name: A, kind: fusion, inputs: [image, c], output: a}\n"
                             "- {name: B, kind: transform, input: a, output: b}\n"
                             "- {name: C, kind: transform, input: b, output: c}\n")),
    testing::AnyOf(
      HasSubstr("A -> B -> C -> A"), HasSubstr("B -> C -> A -> B"), HasSubstr("C -> A -> B -> C")));
  EXPECT_THAT(
    error_of(file_with("- {name: A, kind: cyclic, period_ms: 10, inputs: [b], output: a}\n"
                       "- {name: B, kind: transform, input: a, output: b}\n")),
    testing::AnyOf(HasSubstr("cycle: A -> B -> A"), HasSubstr("cycle: B -> A -> B")));
}

TEST(ScenarioLoader, malformed_yaml_is_refused_with_line_and_column)
{
  EXPECT_THAT(
    error_of("schema: 1\nname: [oops\nnodes: 3\n"),
    testing::ContainsRegex("^file.yaml:[34]:[0-9]+: malformed YAML: "));
  EXPECT_THAT(error_of("a: b: c\n"), StartsWith("file.yaml:1:"));
  EXPECT_THAT(error_of(std::string(100'000, '[')), StartsWith("file.yaml:"));
  EXPECT_THAT(error_of("\t- x"), StartsWith("file.yaml:1:2: malformed YAML"));
  EXPECT_THAT(error_of("*nobody"), HasSubstr("file.yaml:1:"));
}

TEST(ScenarioLoader, a_file_that_is_not_there_is_an_error)
{
  Scenario scenario;
  EXPECT_THAT(
    load_scenario("/does/not/exist.yaml", 2, &scenario).message(),
    HasSubstr("/does/not/exist.yaml: cannot be read"));
  EXPECT_FALSE(load_scenario("/", 2, &scenario).ok()) << "a directory";
}

TEST(ScenarioLoader, connections_of_an_intersection_do_not_make_a_cycle_unless_they_do)
{
  Scenario scenario;
  const std::string chain =
    std::string(kCamera) +
    "- name: X\n  kind: intersection\n  connections:\n"
    "  - {input: image, output: one, work_ms: 3}\n  - {input: two, output: three}\n"
    "- {name: T, kind: transform, input: one, output: two}\n";
  const rclrt_core::Status status = parse_scenario(file_with(chain), "f", kCpus, &scenario);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(scenario.nodes[1].connections[0].work, Duration(3ms));
  EXPECT_THAT(
    error_of(file_with("- name: X\n  kind: intersection\n  connections:\n"
                       "  - {input: b, output: a}\n  - {input: a, output: b}\n")),
    HasSubstr("cycle: X -> X -> X"));
}

TEST(ScenarioLoader, a_very_long_chain_is_no_problem)
{
  std::string nodes = "- {name: N0, kind: sensor, period_ms: 5, output: t0}\n";
  for (int i = 1; i < 3000; ++i) {
    const std::string n = std::to_string(i);
    nodes += "- {name: N" + n + ", kind: transform, input: t" + std::to_string(i - 1) +
             ", output: t" + n + "}\n";
  }
  Scenario scenario;
  EXPECT_TRUE(parse_scenario(file_with(nodes), "f", kCpus, &scenario).ok());
}

}  // namespace
}  // namespace rclrt_reference_system
