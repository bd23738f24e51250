// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
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

TEST(ScenarioLoader, something_else_than_a_scenario_is_refused)
{
  EXPECT_THAT(error_of(""), HasSubstr("must be a map"));
  EXPECT_THAT(error_of("- 1\n- 2\n"), HasSubstr("file.yaml:1:1: scenario: it must be a map"));
  EXPECT_THAT(error_of("? {a: b}\n: c\n"), HasSubstr("must be a word"));
  EXPECT_THAT(
    error_of("schema: 2\nname: x\nnodes: []\n"), HasSubstr("file.yaml:1:9: scenario: schema"));
  EXPECT_THAT(error_of("name: x\n"), HasSubstr("'schema' is missing"));
  EXPECT_THAT(error_of(file_with("- 3\n")), HasSubstr("file.yaml:4:3: node 1: it must be a map"));
  EXPECT_THAT(error_of("schema: 1\nname: x\nnodes: []\n"), HasSubstr("a list of at least one"));
  EXPECT_THAT(
    error_of("schema: 1\nschema: 1\n"),
    HasSubstr("file.yaml:2:1: scenario: field 'schema' appears twice"));
}

TEST(ScenarioLoader, a_file_that_is_not_there_is_an_error)
{
  Scenario scenario;
  EXPECT_THAT(
    load_scenario("/does/not/exist.yaml", 2, &scenario).message(),
    HasSubstr("/does/not/exist.yaml: cannot be read"));
  EXPECT_FALSE(load_scenario("/", 2, &scenario).ok()) << "a directory";
}

TEST(ScenarioLoader, unknown_kinds_fields_and_types_are_refused_and_the_known_ones_named)
{
  EXPECT_THAT(
    error_of(file_with("- {name: A, kind: sensr, period_ms: 5, output: a}\n")),
    HasSubstr(
      "file.yaml:4:19: node 'A': unknown kind 'sensr'. Use sensor, transform, fusion, cyclic, "
      "intersection, command or timer"));
  EXPECT_THAT(
    error_of(file_with("- {name: A, kind: sensor, perod_ms: 5, output: a}\n")),
    HasSubstr("file.yaml:4:27: sensor 'A': unknown field 'perod_ms'. Use name, kind, "));
  EXPECT_THAT(
    error_of(file_with("- {name: A, kind: command, input: a, output: b}\n")),
    HasSubstr("command 'A': unknown field 'output'"));
  EXPECT_THAT(
    error_of(file_with(kCamera, "colour: red\n")),
    HasSubstr("file.yaml:5:1: scenario: unknown field"));
  EXPECT_THAT(
    error_of("schema: 1\nname: x\nmessage_type: std_msgs/msg/String\nnodes: []\n"),
    HasSubstr("file.yaml:3:15: unknown message_type 'std_msgs/msg/String'. Use rclrt_reference_"));
  EXPECT_THAT(
    error_of(file_with("- {name: A, kind: timer, period_ms: 5}\n")),
    HasSubstr("timer 'A': field 'work_ms' is missing"));
}

TEST(ScenarioLoader, duplicate_names_are_refused)
{
  EXPECT_THAT(
    error_of(file_with(std::string(kCamera) + kCamera)),
    HasSubstr("file.yaml:5:10: the name 'Camera' is taken by the node in line 4"));
  EXPECT_THAT(
    error_of(file_with(
      std::string(kCamera) + "- {name: B, kind: sensor, period_ms: 5, output: /image}\n")),
    HasSubstr("file.yaml:5:49: topic 'image' is published by 'Camera' and by 'B'"));
  EXPECT_THAT(
    error_of(file_with(
      std::string(kCamera) + "- {name: B, kind: fusion, inputs: [image, /image], output: b}\n")),
    HasSubstr("receives topic 'image' twice"));
}

TEST(ScenarioLoader, names_that_ros_would_refuse_are_refused)
{
  for (const std::string name : {"1st", "a-b", "\"\"", "\"a b\"", "\"ä\"", "a/b"}) {
    EXPECT_THAT(
      error_of(file_with("- {name: " + name + ", kind: sensor, period_ms: 5, output: a}\n")),
      HasSubstr("file.yaml:4:10: node 1: name "))
      << name;
  }
  for (const std::string topic : {"/", "a//b", "a/", "\"\"", "~x", "a/1", "\"{node}\""}) {
    EXPECT_THAT(
      error_of(file_with("- {name: A, kind: sensor, period_ms: 5, output: " + topic + "}\n")),
      HasSubstr("file.yaml:4:49: sensor 'A': output "))
      << topic;
  }
  EXPECT_THAT(
    error_of(file_with("- {name: " + std::string(300, 'a') + ", kind: timer}\n")),
    HasSubstr("not a valid name"));
}

TEST(ScenarioLoader, an_input_that_nobody_publishes_is_refused)
{
  EXPECT_THAT(
    error_of(file_with(std::string(kCamera) + "- {name: B, kind: command, input: images}\n")),
    HasSubstr("file.yaml:5:35: node 'B' receives topic 'images', which nobody publishes"));
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
    error_of(file_with("- {name: A, kind: transform, input: a, output: a}\n")),
    HasSubstr("file.yaml:4:10: the nodes trigger each other in a cycle: A -> A"));
}

TEST(ScenarioLoader, a_cycle_through_a_timer_is_refused_too)
{
  EXPECT_THAT(
    error_of(file_with("- {name: A, kind: cyclic, period_ms: 10, inputs: [b], output: a}\n"
                       "- {name: B, kind: transform, input: a, output: b}\n")),
    testing::AnyOf(HasSubstr("cycle: A -> B -> A"), HasSubstr("cycle: B -> A -> B")));
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

TEST(ScenarioLoader, values_out_of_range_are_refused_with_the_range)
{
  const auto timer = [](const std::string & fields) {
    return file_with("- {name: A, kind: timer, " + fields + "}\n");
  };
  for (const std::string period :
       {"-1", "0", "-0.0", ".nan", ".inf", "1e300", "fast", "[]", "''", "1e-9"}) {
    EXPECT_THAT(
      error_of(timer("period_ms: " + period + ", work_ms: 1")),
      HasSubstr("file.yaml:4:37: timer 'A': period_ms must be a"))
      << period;
  }
  for (const std::string work : {"-0.1", ".nan", "-.inf", "1e9", "busy"}) {
    EXPECT_THAT(
      error_of(timer("work_ms: " + work + ", period_ms: 1")),
      HasSubstr("file.yaml:4:35: timer 'A': work_ms must be "))
      << work;
  }
  for (const std::string priority : {"0", "100", "-5", "1.5", "high", "99999999999999999999"}) {
    EXPECT_THAT(
      error_of(timer("period_ms: 1, work_ms: 1, priority: " + priority)),
      HasSubstr("file.yaml:4:62: timer 'A': priority must be a whole number from 1 to 99"))
      << priority;
  }
  for (const std::string cpus : {"[2]", "[0, 7]", "[-1]", "[one]"}) {
    EXPECT_THAT(
      error_of(timer("period_ms: 1, work_ms: 1, cpu_affinity: " + cpus)),
      HasSubstr("each of cpu_affinity must be a whole number from 0 to 1 on this machine"))
      << cpus;
  }
  EXPECT_THAT(
    error_of(timer("period_ms: 1, work_ms: 1, cpu_affinity: []")), HasSubstr("at least one"));
  EXPECT_THAT(
    error_of(timer("period_ms: 1, work_ms: 1, deadline_ms: -3")), HasSubstr("deadline_ms must be"));
  EXPECT_THAT(
    error_of(timer("period_ms: 1, work_ms: 1, qos_depth: 0")), HasSubstr("qos_depth must be"));
}

TEST(ScenarioLoader, a_hot_path_that_is_no_path_is_refused)
{
  const std::string nodes = std::string(kCamera) +
                            "- {name: A, kind: transform, input: image, output: a}\n"
                            "- {name: B, kind: transform, input: image, output: b}\n"
                            "- {name: C, kind: command, input: a}\n";
  const auto hot = [&nodes](const std::string & path) {
    return file_with(nodes, "hot_path: {" + path + "}\n");
  };
  Scenario scenario;
  EXPECT_TRUE(
    parse_scenario(hot("roots: [Camera], through: [A], sink: C"), "f", 2, &scenario).ok());
  EXPECT_THAT(
    error_of(hot("roots: [Camera], sink: C")),
    HasSubstr("'C' receives nothing from the nodes named before"));
  EXPECT_THAT(
    error_of(hot("roots: [Camera], through: [A, B], sink: C")),
    HasSubstr("file.yaml:8:42: hot_path: node 'B' sends nothing to the nodes named after it"));
  EXPECT_THAT(error_of(hot("roots: [Camra], sink: C")), HasSubstr("there is no node 'Camra'"));
  EXPECT_THAT(error_of(hot("roots: [A], sink: C")), HasSubstr("root 'A' is a transform"));
  EXPECT_THAT(error_of(hot("roots: [Camera], through: [A, A], sink: C")), HasSubstr("twice"));
  EXPECT_THAT(error_of(hot("roots: [Camera], through: [A, C], sink: C")), HasSubstr("twice"));
  EXPECT_THAT(error_of(hot("roots: [Camera]")), HasSubstr("'sink' is missing"));
  EXPECT_THAT(
    error_of(hot("roots: [a, b, c, d, e, f, g, h, i], sink: C")), HasSubstr("at most 8 roots"));
}

}  // namespace
}  // namespace rclrt_reference_system
