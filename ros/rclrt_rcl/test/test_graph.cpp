// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "fixture.hpp"
#include "rcl_interfaces/msg/log.hpp"

namespace rclrt_rcl
{
namespace
{

using rcl_interfaces::msg::Log;
using namespace std::chrono_literals;

class Graph : public WithContext
{
protected:
  std::shared_ptr<Node> node = make_node("node");
};

TEST_F(Graph, shows_what_others_have)
{
  auto far_context = Context::make();
  NodeOptions far_options;
  far_options.context = far_context;
  Node far("far", "/away", far_options);
  auto publisher = far.create_publisher<Log>("topic", 10);
  auto subscription = far.create_subscription<Log>("topic", 10, [](const Log &) {});
  EXPECT_TRUE(node->wait_for_graph(
    [&] {
      const auto names = node->node_names();
      return node->count_publishers("/away/topic") == 1 &&
             node->count_subscribers("/away/topic") == 1 &&
             std::count(names.begin(), names.end(), "/away/far") == 1;
    },
    kPatience));
  const auto topics = node->topic_names_and_types();
  ASSERT_EQ(topics.count("/away/topic"), 1U);
  EXPECT_EQ(topics.at("/away/topic"), std::vector<std::string>{"rcl_interfaces/msg/Log"});
}

TEST_F(Graph, waiting_times_out)
{
  EXPECT_FALSE(node->wait_for_graph([] { return false; }, 10ms));
  EXPECT_TRUE(node->wait_for_graph([] { return true; }, 0ms));
}

TEST_F(Graph, waiting_ends_on_shutdown)
{
  auto waiting = std::async(std::launch::async, [this] {
    return node->wait_for_graph([this] { return node->count_publishers("t") > 0; }, -1ns);
  });
  std::this_thread::sleep_for(10ms);
  context->shutdown();
  EXPECT_FALSE(waiting.get());
}

TEST_F(Graph, names_are_expanded_and_remapped)
{
  NodeOptions options;
  options.context = context;
  options.arguments = {"--ros-args", "-r", "a:=/b", "-r", "__ns:=/robot"};
  Node remapped("node", options);
  EXPECT_EQ(remapped.fully_qualified_name(), "/robot/node");
  EXPECT_EQ(remapped.name(), "node");
  EXPECT_EQ(remapped.name_space(), "/robot");
  EXPECT_EQ(remapped.resolve_topic_name("a"), "/b");
  EXPECT_EQ(remapped.resolve_topic_name("c"), "/robot/c");
  EXPECT_EQ(remapped.resolve_topic_name("~/c"), "/robot/node/c");
  EXPECT_EQ(remapped.resolve_service_name("s"), "/robot/s");
  EXPECT_EQ(remapped.create_publisher<Log>("a", 10)->topic_name(), "/b");
}

}  // namespace
}  // namespace rclrt_rcl
