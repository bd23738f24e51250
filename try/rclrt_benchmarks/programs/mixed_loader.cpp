// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

// Loads the mixed load of `bench contract` into the container that runs:
//
//   mixed_loader NAME:PERIOD_MS:WORK_MS:INPUT:OUTPUT...
//
// Exits with 1, and says why, if the container is not there within 20 s, or refuses one.

#include <chrono>
#include <composition_interfaces/srv/load_node.hpp>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "rclcpp/rclcpp.hpp"

namespace
{

using composition_interfaces::srv::LoadNode;

constexpr std::chrono::seconds kPatience{20};
constexpr std::size_t kFields = 5;

LoadNode::Request::SharedPtr request_of(const std::string & part)
{
  std::istringstream text(part);
  std::vector<std::string> fields(kFields);
  for (std::string & field : fields) {
    std::getline(text, field, ':');
  }
  auto request = std::make_shared<LoadNode::Request>();
  request->package_name = "rclrt_benchmarks";
  request->plugin_name = "rclrt_benchmarks::MixedPart";
  request->node_name = fields[0];
  const auto add = [&request](const char * name, auto value) {
    request->parameters.push_back(rclcpp::Parameter(name, value).to_parameter_msg());
  };
  add("period_ms", std::stol(fields[1]));
  add("work_ms", std::stod(fields[2]));
  add("input", fields[3]);
  add("output", fields[4]);
  return request;
}

}  // namespace

int main(int argc, char ** argv)
{
  rclcpp::init(0, nullptr);
  const auto node = std::make_shared<rclcpp::Node>("mixed_loader");
  const auto client = node->create_client<LoadNode>("/ComponentManager/_container/load_node");
  if (!client->wait_for_service(kPatience)) {
    std::cerr << "there is no container\n";
    return 1;
  }
  for (int i = 1; i < argc; ++i) {
    auto answer = client->async_send_request(request_of(argv[i]));
    if (
      rclcpp::spin_until_future_complete(node, answer, kPatience) !=
      rclcpp::FutureReturnCode::SUCCESS) {
      std::cerr << "the container did not answer\n";
      return 1;
    }
    const LoadNode::Response::SharedPtr loaded = answer.get();
    if (!loaded->success) {
      std::cerr << argv[i] << ": " << loaded->error_message << '\n';
      return 1;
    }
  }
  rclcpp::shutdown();
  return 0;
}
