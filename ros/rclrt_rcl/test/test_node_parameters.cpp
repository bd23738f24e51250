// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Parameters of nodes: what the command line and files give them.

#include <gmock/gmock.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "fixture.hpp"
#include "rclrt_config/configuration.hpp"

namespace rclrt_rcl
{
namespace
{

using ::testing::HasSubstr;
using ::testing::Not;

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

TEST_F(NodeParameters, are_what_the_command_line_gives)
{
  const auto node = make(
    {"-p", "rate:=20.5", "-p", "count:=3", "-p", "on:=true", "-p", "name:=far", "-p",
     "list:=[1.5, 2.5]", "-p", "node:mine:=1", "-p", "other:theirs:=1", "-p", "limit./a:=4", "-p",
     "limits:=5"});
  const Parameters & given = node->parameters();
  EXPECT_EQ(given.get<double>("rate"), 20.5);
  EXPECT_EQ(given.get<int64_t>("count"), 3);
  EXPECT_EQ(given.get<bool>("on"), true);
  EXPECT_EQ(given.get<std::string>("name"), "far");
  EXPECT_EQ(given.get<int64_t>("mine"), 1);
  EXPECT_EQ(given.get<int64_t>("theirs"), std::nullopt);
  EXPECT_EQ(given.get_by_prefix<int64_t>("limit"), (std::map<std::string, int64_t>{{"/a", 4}}));
}

TEST_F(NodeParameters, of_another_type_are_an_error_that_names_both)
{
  const auto node = make({"-p", "rate:=20", "-p", "list:=[1.5, 2.5]"});
  EXPECT_EQ(
    error_of([&] { node->parameters().get<double>("rate"); }),
    "parameter 'rate' is a whole number, not a number with a fraction");
  EXPECT_EQ(
    error_of([&] { node->parameters().get<std::string>("list"); }),
    "parameter 'list' is a list, not text");
  EXPECT_THAT(
    error_of([&] { make({"-p", "use_sim_time:=3"}); }),
    HasSubstr("parameter 'use_sim_time' is a whole number, not true or false"));
}

TEST_F(NodeParameters, files_name_nodes_exactly_or_by_wildcards)
{
  const std::string path = write_file(
    "/**:\n  ros__parameters:\n    everywhere: 1\n    nested:\n      deep: 5\n"
    "/robot/node:\n  ros__parameters:\n    exact: 2\n"
    "/*/node:\n  ros__parameters:\n    one_level: 3\n"
    "/other:\n  ros__parameters:\n    other: 4\n");
  const auto node = make({"--params-file", path}, {}, "/robot");
  const Parameters & given = node->parameters();
  EXPECT_EQ(given.get<int64_t>("everywhere"), 1);
  EXPECT_EQ(given.get<int64_t>("nested.deep"), 5);
  EXPECT_EQ(given.get<int64_t>("exact"), 2);
  EXPECT_EQ(given.get<int64_t>("one_level"), 3);
  EXPECT_EQ(given.get<int64_t>("other"), std::nullopt);
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
      EXPECT_EQ(node->parameters().get<int64_t>("a"), 2) << first << " then " << last;
      EXPECT_EQ(node->parameters().get<int64_t>("b"), 1) << first << " then " << last;
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

TEST_F(NodeParameters, what_is_for_executors_has_their_precedence)
{
  // Files with keys, each of which gives another value; ">" is between nested ones.
  const std::vector<std::vector<std::string>> cases[] = {
    {{"/**", "/robot/node"}},
    {{"/robot/node", "/**"}},
    {{"/**", "/robot/node"}, {"/**"}},
    {{"/robot/node"}, {"/**"}},
    {{"/robot/*", "/*/node"}, {"/robot/*"}, {"/elsewhere", "/robot/*"}},
    {{"/**/node"}, {"/robot/**"}, {"/**/node"}},
    {{"robot/node", "/**"}, {"/robot/node"}},
    {{"robot>node", "/**"}, {"robot/node"}},
    {{"/>robot>node", "/**"}, {"/robot/node"}},
    {{"/**>node", "/robot>*"}, {"/**/node"}},
    {{"/*", "/robot/node", "/node"}, {"/*/*"}},
  };
  for (const auto & files : cases) {
    std::vector<std::string> arguments;
    rclrt_config::Configuration configuration;
    std::string shown;
    int level = 0;
    for (const auto & keys : files) {
      std::string text;
      shown += " |";
      for (const std::string & key : keys) {
        shown += " " + key;
        ++level;
        std::string closing = "\n";
        for (std::size_t begin = 0; begin <= key.size();) {
          const std::size_t end = std::min(key.find('>', begin), key.size());
          text += "\"" + key.substr(begin, end - begin) + "\": {";
          closing.insert(0, "}");
          begin = end + 1;
        }
        const std::string number = std::to_string(level);
        text += "ros__parameters: {level: " + number +
                ", rclrt: {callbacks: {timer/100ms: {queue_priority: " + number + "}}}}" + closing;
      }
      arguments.insert(arguments.end(), {"--params-file", write_file(text)});
      const auto status = configuration.load(files_.back());
      ASSERT_TRUE(status.ok()) << shown << ": " << status.message();
    }
    const auto node = make(arguments, {}, "/robot");
    rclrt_core::CallbackOptions timer;
    timer.name = "/robot/node/timer/100ms";
    timer.kind = rclrt_core::CallbackKind::kTimer;
    ASSERT_TRUE(configuration.apply(&timer).ok()) << shown;
    EXPECT_EQ(timer.queue_priority, node->parameters().get<int64_t>("level")) << shown;
  }
}

TEST_F(NodeParameters, nearer_sources_count_more)
{
  NodeOptions options;
  options.arguments = {"--ros-args", "-p", "b:=2"};
  const auto node = make({"-p", "a:=1", "-p", "b:=1"}, options);
  EXPECT_EQ(node->parameters().get<int64_t>("a"), 1);
  EXPECT_EQ(node->parameters().get<int64_t>("b"), 2);
}

TEST_F(NodeParameters, arguments_of_the_program_may_be_ignored)
{
  NodeOptions options;
  options.use_global_arguments = false;
  EXPECT_EQ(make({"-p", "a:=1"}, options)->parameters().get<int64_t>("a"), std::nullopt);
}

TEST_F(NodeParameters, an_unreadable_file_is_an_error_that_names_it)
{
  EXPECT_THAT(error_of([&] { make({"--params-file", "/no/such.yaml"}); }), HasSubstr("such.yaml"));
}

}  // namespace
}  // namespace rclrt_rcl
