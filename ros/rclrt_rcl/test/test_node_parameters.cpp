// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Parameters of nodes: what the command line and files give them, and what options say.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "error_text.hpp"
#include "fixture.hpp"
#include "parameter_overrides.hpp"

namespace rclrt_rcl
{
namespace
{

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using Reason = ParameterError::Reason;

class NodeParameters : public ::testing::Test
{
protected:
  /// A node of a program that was started with these arguments.
  std::unique_ptr<Node> make(
    std::vector<std::string> arguments, NodeOptions options = {},
    const std::string & name_space = "")
  {
    arguments.insert(arguments.begin(), {"program", "--ros-args"});
    std::vector<const char *> argv;
    for (const auto & argument : arguments) {
      argv.push_back(argument.c_str());
    }
    options.context = Context::make(static_cast<int>(argv.size()), argv.data());
    return std::make_unique<Node>("node", name_space, options);
  }

  std::string write_file(const std::string & text)
  {
    const std::string path = ::testing::TempDir() + "parameters_" + std::to_string(getpid()) + "_" +
                             std::to_string(files_.size()) + ".yaml";
    std::ofstream(path) << text;
    files_.push_back(path);
    return path;
  }

  ~NodeParameters() override
  {
    for (const auto & path : files_) {
      std::remove(path.c_str());
    }
  }

  std::vector<std::string> files_;
};

TEST_F(NodeParameters, values_on_the_command_line_override_defaults)
{
  const auto node = make(
    {"-p", "rate:=20.5", "-p", "count:=3", "-p", "on:=true", "-p", "name:=far", "-p",
     "list:=[1.5, 2.5]", "-p", "node:mine:=1", "-p", "other:theirs:=1"});
  EXPECT_EQ(node->declare_parameter("rate", 10.0), 20.5);
  EXPECT_EQ(node->declare_parameter("count", 1), 3);
  EXPECT_TRUE(node->declare_parameter("on", false));
  EXPECT_EQ(node->declare_parameter("name", "near"), "far");
  EXPECT_EQ(
    node->declare_parameter("list", std::vector<double>()), (std::vector<double>{1.5, 2.5}));
  EXPECT_EQ(node->declare_parameter("mine", 0), 1);
  EXPECT_EQ(node->declare_parameter("theirs", 0), 0);
  EXPECT_EQ(node->get_parameter<float>("rate"), 20.5F);
}

TEST_F(NodeParameters, an_override_of_the_wrong_type_says_how_to_write_it)
{
  const auto node = make({"-p", "rate:=20"});
  EXPECT_THAT(
    error_of([&] { node->declare_parameter("rate", 10.0); }),
    ::testing::AllOf(HasSubstr("'rate' of '/node'"), HasSubstr("write 20.0")));
}

TEST_F(NodeParameters, files_name_nodes_exactly_or_by_wildcards)
{
  const std::string path = write_file(
    "/**:\n  ros__parameters:\n    everywhere: 1\n    nested:\n      deep: [a, b]\n"
    "/robot/node:\n  ros__parameters:\n    exact: 2\n"
    "/*/node:\n  ros__parameters:\n    one_level: 3\n"
    "/other:\n  ros__parameters:\n    other: 4\n");
  const auto node = make({"--params-file", path}, {}, "/robot");
  const auto & overrides = node->parameters()->overrides();
  EXPECT_EQ(overrides.at("everywhere"), 1);
  EXPECT_EQ(overrides.at("exact"), 2);
  EXPECT_EQ(overrides.at("one_level"), 3);
  EXPECT_EQ(overrides.count("other"), 0U);
  EXPECT_EQ(
    node->declare_parameter<std::vector<std::string>>("nested.deep"),
    (std::vector<std::string>{"a", "b"}));
}

TEST_F(NodeParameters, of_several_entries_that_name_a_node_the_last_in_the_file_counts)
{
  // However exactly they name it: as with rclcpp, and as with the attributes of callbacks.
  const char * const names[] = {"/**", "/*/node", "/robot/*", "/**/node", "/robot/node"};
  for (const char * const first : names) {
    for (const char * const last : names) {
      if (first == last) {
        continue;
      }
      const std::string both = write_file(
        std::string(first) + ":\n  ros__parameters: {a: 1, b: 1}\n" + last +
        ":\n  ros__parameters: {a: 2}\n");
      const auto node = make({"--params-file", both}, {}, "/robot");
      EXPECT_EQ(node->parameters()->overrides().at("a"), 2) << first << " then " << last;
      EXPECT_EQ(node->parameters()->overrides().at("b"), 1) << first << " then " << last;
    }
  }
}

TEST_F(NodeParameters, a_file_that_is_not_yaml_is_an_error_with_line_and_column)
{
  const std::string good = write_file("/**:\n  ros__parameters: {a: 1}\n");
  // Broken before any value: those that rcl has parsed already, it leaks.
  const std::string bad = write_file("/**:\n  ros__parameters: {a: ]\n");
  const std::vector<std::string> files = {"--params-file", good, "--params-file", bad};
  EXPECT_THAT(
    error_of([&] { make(files); }),
    ::testing::AllOf(
      HasSubstr("initialising ROS 2: "), HasSubstr(". " + bad + ":2:24: this is not YAML: "),
      Not(HasSubstr(good))));
  NodeOptions options;
  options.arguments = {"--ros-args"};
  options.arguments.insert(options.arguments.end(), files.begin(), files.end());
  EXPECT_THAT(
    error_of([&] { make({}, options); }),
    ::testing::AllOf(
      HasSubstr("creating node 'node'"), HasSubstr(". " + bad + ":2:24: this is not YAML: "),
      Not(HasSubstr(good))));
}

TEST_F(NodeParameters, patterns_match_whole_parts_of_names)
{
  using detail::names_node;
  EXPECT_TRUE(names_node("/**", "/node"));
  EXPECT_TRUE(names_node("/**", "/a/b/node"));
  EXPECT_TRUE(names_node("/**/node", "/node"));
  EXPECT_TRUE(names_node("/a/**/node", "/a/b/c/node"));
  EXPECT_TRUE(names_node("node", "/node"));
  EXPECT_TRUE(names_node("/*", "/node"));
  EXPECT_FALSE(names_node("/*", "/a/node"));
  EXPECT_FALSE(names_node("/*/node", "/node"));
  EXPECT_FALSE(names_node("/no", "/node"));
  EXPECT_FALSE(names_node("/a/**", "/b/node"));
}

TEST_F(NodeParameters, nearer_sources_count_more)
{
  NodeOptions options;
  options.arguments = {"--ros-args", "-p", "b:=2", "-p", "c:=2"};
  options.parameter_overrides = {Parameter("c", 3)};
  const auto node = make({"-p", "a:=1", "-p", "b:=1", "-p", "c:=1"}, options);
  EXPECT_EQ(node->declare_parameter("a", 0), 1);
  EXPECT_EQ(node->declare_parameter("b", 0), 2);
  EXPECT_EQ(node->declare_parameter("c", 0), 3);
}

TEST_F(NodeParameters, arguments_of_the_program_may_be_ignored)
{
  NodeOptions options;
  options.use_global_arguments = false;
  EXPECT_EQ(make({"-p", "a:=1"}, options)->declare_parameter("a", 0), 0);
}

TEST_F(NodeParameters, an_unreadable_file_is_an_error_that_names_it)
{
  EXPECT_THAT(error_of([&] { make({"--params-file", "/no/such.yaml"}); }), HasSubstr("such.yaml"));
}

TEST_F(NodeParameters, overrides_may_be_declared_automatically)
{
  NodeOptions options;
  options.automatically_declare_parameters_from_overrides = true;
  const auto node = make({"-p", "a:=1"}, options);
  EXPECT_EQ(node->get_parameter<int>("a"), 1);
  EXPECT_TRUE(node->set_parameter(Parameter("a", "text")).successful);
}

TEST_F(NodeParameters, a_parameter_without_default_needs_an_override)
{
  const auto node = make({"-p", "given:=1"});
  EXPECT_EQ(node->declare_parameter<int>("given"), 1);
  EXPECT_EQ(reason_of([&] { node->declare_parameter<int>("missing"); }), Reason::kNoValue);
  EXPECT_EQ(node->get_parameter_or("missing", 7), 7);
  int value = 0;
  EXPECT_FALSE(node->get_parameter("missing", value));
  EXPECT_TRUE(node->get_parameter("given", value));
  EXPECT_EQ(value, 1);
}

TEST_F(NodeParameters, several_are_set_one_by_one_or_at_once)
{
  const auto node = make({});
  node->declare_parameter("a", 1);
  node->declare_parameter("b", 1);
  const auto results = node->set_parameters({Parameter("a", 2), Parameter("b", "wrong")});
  EXPECT_TRUE(results.at(0).successful);
  EXPECT_FALSE(results.at(1).successful);
  EXPECT_EQ(node->get_parameter<int>("a"), 2);
  EXPECT_EQ(
    reason_of([&] { node->set_parameter(Parameter("undeclared", 1)); }), Reason::kUndeclared);
}

TEST_F(NodeParameters, services_are_there_unless_they_are_switched_off)
{
  const auto services = [](const Node & node) {
    std::vector<std::string> names;
    for (const auto & entity : node.default_callback_group()->entities()) {
      names.push_back(entity->name());
    }
    return names;
  };
  EXPECT_THAT(services(*make({})), Contains("/node/service/node/set_parameters"));
  EXPECT_THAT(services(*make({})), Contains("/node/service/node/get_type_description"));
  EXPECT_THAT(services(*make({})), Not(Contains("/node/service/node/set_logger_levels")));
  NodeOptions options;
  options.start_parameter_services = false;
  options.start_type_description_service = false;
  options.enable_logger_service = true;
  const auto node = make({}, options);
  EXPECT_THAT(
    services(*node),
    ::testing::UnorderedElementsAre(
      "/node/service/node/get_logger_levels", "/node/service/node/set_logger_levels"));
  EXPECT_THAT(
    services(*make({"-p", "start_type_description_service:=false"})),
    Not(Contains("/node/service/node/get_type_description")));
}

TEST_F(NodeParameters, events_are_published_unless_they_are_switched_off)
{
  // A topic that nobody else in this domain has.
  const std::string topic = "/events_" + std::to_string(getpid());
  const std::vector<std::string> arguments = {"-r", "/parameter_events:=" + topic};
  auto publishes = make(arguments);
  EXPECT_TRUE(wait_for([&] { return publishes->count_publishers(topic) == 1; }));
  publishes.reset();
  NodeOptions options;
  options.start_parameter_event_publisher = false;
  const auto node = make(arguments, options);
  EXPECT_TRUE(wait_for([&] { return node->count_publishers(topic) == 0; }));
}

}  // namespace
}  // namespace rclrt_rcl
