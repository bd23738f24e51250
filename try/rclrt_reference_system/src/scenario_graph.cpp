// Copyright 2026 The rclrt Authors
// SPDX-License-Identifier: Apache-2.0

#include "scenario_graph.hpp"

#include <algorithm>
#include <unordered_map>

namespace rclrt_reference_system
{

std::vector<Stage> make_stages(const Scenario & scenario)
{
  std::vector<Stage> stages;
  for (std::size_t i = 0; i < scenario.nodes.size(); ++i) {
    const ScenarioNode & node = scenario.nodes[i];
    if (node.kind != NodeKind::kIntersection) {
      stages.push_back({i, 0, node.inputs, node.output, {}});
      continue;
    }
    for (std::size_t c = 0; c < node.connections.size(); ++c) {
      stages.push_back({i, c, {node.connections[c].input}, node.connections[c].output, {}});
    }
  }

  std::unordered_map<std::string, std::size_t> publisher;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (!stages[i].output.empty()) {
      publisher.emplace(stages[i].output, i);
    }
  }
  for (Stage & stage : stages) {
    for (const std::string & topic : stage.inputs) {
      const auto found = publisher.find(topic);
      stage.upstream.push_back(found == publisher.end() ? Stage::npos : found->second);
    }
  }
  return stages;
}

std::vector<std::string> find_cycle(const Scenario & scenario, const std::vector<Stage> & stages)
{
  // Take away stages that nothing left triggers; what cannot be taken away waits for a cycle.
  std::vector<std::size_t> waiting_for(stages.size(), 0);
  std::vector<std::vector<std::size_t>> downstream(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    for (const std::size_t up : stages[i].upstream) {
      if (up != Stage::npos) {
        ++waiting_for[i];
        downstream[up].push_back(i);
      }
    }
  }
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (waiting_for[i] == 0) {
      free.push_back(i);
    }
  }
  std::vector<bool> taken(stages.size(), false);
  while (!free.empty()) {
    const std::size_t stage = free.back();
    free.pop_back();
    taken[stage] = true;
    for (const std::size_t down : downstream[stage]) {
      if (--waiting_for[down] == 0) {
        free.push_back(down);
      }
    }
  }

  const auto left = std::find(taken.begin(), taken.end(), false);
  if (left == taken.end()) {
    return {};
  }
  // Every stage left has one left upstream: walk up until one comes again.
  std::vector<std::size_t> path;
  auto at = static_cast<std::size_t>(left - taken.begin());
  while (std::find(path.begin(), path.end(), at) == path.end()) {
    path.push_back(at);
    const std::vector<std::size_t> & ups = stages[at].upstream;
    at = *std::find_if(
      ups.begin(), ups.end(), [&taken](std::size_t up) { return up != Stage::npos && !taken[up]; });
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), at));
  path.push_back(at);
  std::reverse(path.begin() + 1, path.end() - 1);  // Walked up; shown in the direction of the data.
  std::vector<std::string> names;
  names.reserve(path.size());
  for (const std::size_t stage : path) {
    names.push_back(scenario.nodes[stages[stage].node].name);
  }
  return names;
}

}  // namespace rclrt_reference_system
